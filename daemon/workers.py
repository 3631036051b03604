"""Measuring in several processes, from the side of the main one.

                    ┌── control ──> worker "1" ── records ──┐
    main process ───┼── control ──> worker "2" ── records ──┼──> one exporter process
         └──────────┴── records: rounds, health ────────────┘

The main process measures nothing then. It gives each worker its models, starts another in place of
one that has died or hangs, and collects what was measured. Where one worker is enough, there is
none: this process measures by itself.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import trio

from daemon.gate import Gate
from daemon.order import Bench, Pair
from daemon.plan import Plan, Target
from daemon.post import Post, Stint
from daemon.rounds import Outcome, OwnRounds, Rounds, started_record
from daemon.shards import Shard, shards
from daemon.supervise import Recording, bench, supervision

END_S = 1.2
"""How long the workers may take to end orderly before they are killed."""
BACK_S = 30.0
"""How long a run waits for a worker that is being replaced, at most: measured later, it would be at
another moment than its schedule's, and the end of the program would wait for it."""


@asynccontextmanager
async def measuring(
    plan: Plan, targets: tuple[Target, ...], recording: Recording
) -> AsyncIterator[Rounds]:
    """Whatever measures ``targets``: this process, or as many as the configuration asks for."""
    shares = _shares(plan)
    if len(shares) == 1:
        async with bench(recording) as ours:
            yield OwnRounds(plan, targets, ours, gate_of(recording))
    else:
        async with supervision(recording), crew(plan, targets, recording, shares) as several:
            yield several


@asynccontextmanager
async def rounds_beside(
    plan: Plan, targets: tuple[Target, ...], recording: Recording, ours: Bench, prefix: str
) -> AsyncIterator[Rounds]:
    """The same, where this process has its bench already, and perhaps another plan going on."""
    shares = _shares(plan)
    if len(shares) == 1:
        yield OwnRounds(plan, targets, ours, gate_of(recording))
    else:
        async with crew(plan, targets, recording, shares, prefix) as several:
            yield several


def gate_of(recording: Recording) -> Gate:
    """What a measurement of this process passes: the journal has room, and somebody writes it."""
    return Gate(recording, recording.log, lambda: recording.hindrance)


def worker_count(plan: Plan) -> int:
    """How many processes measure."""
    return len(_shares(plan))


def shortfall(plan: Plan) -> str | None:
    """Why there are fewer workers than the configuration asks for; None where there are not."""
    asked, count = plan.settings.daemon.workers, worker_count(plan)
    if count == asked:
        return None
    instead = f"{count} are started" if count > 1 else "this process measures alone"
    return f"workers: {asked} asked for, {instead}: the models of one provider stay together"


@asynccontextmanager
async def crew(
    plan: Plan,
    targets: tuple[Target, ...],
    recording: Recording,
    shares: tuple[Shard, ...],
    prefix: str = "",
) -> AsyncIterator["Crew"]:
    """One worker for each share, each replaced when it dies or hangs, all ended with this context.

    ``prefix`` goes before their numbers, where those of another crew may still be ending.
    """
    several = Crew(plan, targets, recording, shares, prefix)
    async with trio.open_nursery() as nursery:
        for post in several.posts:
            nursery.start_soon(post.hold)
        try:
            yield several
        finally:
            await several.end()


class Crew:
    """The workers together."""

    def __init__(
        self,
        plan: Plan,
        targets: tuple[Target, ...],
        recording: Recording,
        shares: tuple[Shard, ...],
        prefix: str = "",
    ) -> None:
        self._plan = plan
        self._targets = targets
        self._recording = recording
        self._shares = shares
        self.posts = tuple(
            Post(
                f"{prefix}{number}",
                replace(plan, targets=tuple(targets[place] for place in share)),
                recording,
            )
            for number, share in enumerate(shares, start=1)
        )

    @property
    def unmanned(self) -> frozenset[str]:
        """The models of workers that are being started or replaced."""
        return frozenset(
            self._targets[place].name
            for post, share in zip(self.posts, self._shares, strict=True)
            if not post.manned
            for place in share
        )

    async def measure_some(self, run_id: str, pairs: Sequence[Pair], outcome: Outcome) -> None:
        """Measure these pairs of the plan, which are one model's, beside whatever else goes on."""
        place, share = next(
            (place, share) for place, share in enumerate(self._shares) if pairs[0].target in share
        )
        own = [Pair(share.index(pair.target), pair.recording) for pair in pairs]
        post = self.posts[place]
        with trio.move_on_after(min(self._plan.settings.daemon.start_within_s, BACK_S)) as soon:
            await post.ready()
        if soon.cancelled_caught:
            outcome.unmeasured += len(pairs)
            return
        stint = await post.take_on(run_id, own)
        try:
            await stint.over.wait()
        finally:
            outcome.measured += [measurement for _, measurement in stint.measured]
            outcome.lost += stint.lost
            outcome.unmeasured += stint.unmeasured

    async def measure(self, run_id: str, outcome: Outcome) -> None:
        """Measure all of the plan once. Cancelling this ends the workers, orderly."""
        self._recording.put(started_record(self._plan, self._targets, run_id))
        stints = [await post.take_on(run_id) for post in self.posts]
        try:
            for stint in stints:
                await stint.over.wait()
        finally:
            if not all(stint.over.is_set() for stint in stints):
                await self.end()
            self._collect(stints, outcome)

    async def end(self) -> None:
        """End all workers, and wait until they have ended."""
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as telling:  # one that hangs may not hear of it at all
                for post in self.posts:
                    telling.start_soon(post.dismiss)
                with trio.move_on_after(END_S):
                    for post in self.posts:
                        await post.vacant.wait()
                for post in self.posts:
                    post.kill()
            for post in self.posts:
                await post.vacant.wait()

    def _collect(self, stints: list[Stint], outcome: Outcome) -> None:
        """What was measured, in the order of the plan, whoever was first."""
        measured = [
            ((share[pair.target], pair.recording), measurement)
            for share, stint in zip(self._shares, stints, strict=True)
            for pair, measurement in stint.measured
        ]
        outcome.measured += [one for _, one in sorted(measured, key=lambda placed: placed[0])]
        for stint in stints:
            outcome.lost += stint.lost
            outcome.unmeasured += stint.unmeasured


def _shares(plan: Plan) -> tuple[Shard, ...]:
    names = [target.name for target in plan.targets]
    return shards(names, plan.settings.daemon.workers)
