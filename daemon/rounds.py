"""One round: every model hears every clip once.

A model hears its clips one after another, so that never two of our streams share a provider. As
many models as allowed are measured at the same time.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import trio

from daemon.clock import now_ns, wall_ns
from daemon.gate import Gate
from daemon.order import Bench, Pair
from daemon.plan import Plan, Target
from daemon.session import measure_once
from measure.measurement import Measurement
from measure.wire import Record


@dataclass(slots=True)
class Outcome:
    """What came of a round, or of several; filled while they go on."""

    measured: list[Measurement] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Sessions whose process died in the middle of them. The journal has what was recorded."""
    unmeasured: int = 0
    """Measurements that did not even begin."""

    @property
    def sessions(self) -> int:
        """How many began."""
        return len({one.session_id for one in self.measured}) + len(self.lost)

    @property
    def failures(self) -> int:
        """How many of them have a reading that does not count."""
        failed = {one.session_id for one in self.measured if not one.reading.valid}
        return len(failed) + len(self.lost)


class Rounds(Protocol):
    """Whatever can measure a round: this process, or several."""

    async def measure(self, run_id: str, outcome: Outcome) -> None:
        """Measure all of the plan once.

        When it is cancelled, ``outcome`` has what was measured until then, those measurements that
        were interrupted included.
        """

    async def measure_some(self, run_id: str, pairs: Sequence[Pair], outcome: Outcome) -> None:
        """Measure these pairs of the plan, which are one model's, beside whatever else goes on."""

    @property
    def unmanned(self) -> frozenset[str]:
        """The models for which nobody is there that could measure them now."""


@dataclass(frozen=True, slots=True)
class OwnRounds:
    """Rounds in this process."""

    plan: Plan
    targets: tuple[Target, ...]
    bench: Bench
    gate: Gate

    @property
    def unmanned(self) -> frozenset[str]:
        """None: this process is here."""
        return frozenset()

    async def measure(self, run_id: str, outcome: Outcome) -> None:
        """Measure all of the plan once."""
        await measure_round(
            self.plan,
            self.targets,
            self.bench,
            run_id,
            parallel=self.plan.settings.daemon.parallel,
            measured=outcome.measured.append,
            gate=self.gate,
        )

    async def measure_some(self, run_id: str, pairs: Sequence[Pair], outcome: Outcome) -> None:
        """Measure these pairs of the plan, which are one model's, beside whatever else goes on."""

        async def begin(_pair: Pair, _session_id: str) -> None:
            await self.gate.passed()

        await measure_pairs(
            self.plan,
            self.targets,
            self.bench,
            run_id,
            pairs,
            parallel=1,
            begin=begin,
            measured=lambda _pair, measurement: outcome.measured.append(measurement),
        )


def pairs_of(plan: Plan, targets: Sequence[Target]) -> list[Pair]:
    """The measurements of one round."""
    return [
        Pair(target, recording)
        for target in range(len(targets))
        for recording in range(len(plan.recordings))
    ]


def started_record(plan: Plan, targets: Sequence[Target], run_id: str) -> Record:
    """How a round is recorded when it begins."""
    return {
        "k": "run_started",
        "t": now_ns(),
        "run_id": run_id,
        "models": [target.name for target in targets],
        "clips": len(plan.recordings),
        "wall_unix_ns": wall_ns(),
    }


async def measure_round(
    plan: Plan,
    targets: tuple[Target, ...],
    bench: Bench,
    run_id: str,
    *,
    parallel: int,
    measured: Callable[[Measurement], None],
    gate: Gate | None = None,
) -> None:
    """Measure every target with every clip of ``plan``; ``measured`` gets each as it is made.

    Each waits at the ``gate`` until it may begin.

    When this is cancelled, what was measured until then has been given to ``measured``, those that
    were interrupted included.
    """

    async def begin(_pair: Pair, _session_id: str) -> None:
        if gate is not None:
            await gate.passed()

    bench.recorder.put(started_record(plan, targets, run_id))
    await measure_pairs(
        plan,
        targets,
        bench,
        run_id,
        pairs_of(plan, targets),
        parallel=parallel,
        begin=begin,
        measured=lambda _pair, measurement: measured(measurement),
    )


async def measure_pairs(
    plan: Plan,
    targets: Sequence[Target],
    bench: Bench,
    run_id: str,
    pairs: Sequence[Pair],
    *,
    parallel: int,
    begin: Callable[[Pair, str], Awaitable[None]],
    measured: Callable[[Pair, Measurement], None],
) -> None:
    """Measure some of a round. ``begin`` is awaited with the session's name before each."""
    limit = trio.CapacityLimiter(parallel)

    async def measure_target(target: int) -> None:
        async with limit:
            for pair in [pair for pair in pairs if pair.target == target]:
                recording = plan.recordings[pair.recording]
                order = plan.order(targets[target], recording, run_id)
                await begin(pair, order.session_id)
                await measure_once(order, bench, partial(measured, pair))

    async with trio.open_nursery() as nursery:
        for target in dict.fromkeys(pair.target for pair in pairs):
            nursery.start_soon(measure_target, target)
