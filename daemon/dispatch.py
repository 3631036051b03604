"""Begins each job at its moment, or says why it was missed; for months.

    agenda ──due──> admitted? ──yes──> set its cost aside ──> run ──> settle cost, pauses
                        │ no: wait for a change, but not longer than it may begin late
                        └──> job_missed, with the reason

Jobs that run when the plan is changed end under the plan that they began under: a new dispatcher
takes over the state, the old one begins nothing more.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import trio

from daemon.admission import Hindrance, Limits, Pauses, Running, is_over
from daemon.budget import Allowance, Ledger, Overrun
from daemon.schedule import Due, Job, Timing, agenda, count_between, moments
from measure.faults import Fault
from measure.records import SECOND
from measure.wire import Record

NAP_S = 300.0
"""The wall clock may be set: it is looked at again after so long at the latest."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One job as the configuration has it."""

    job: Job
    timing: Timing
    cost_usd: float = 0.0
    """What one run of it is expected to cost."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    cost_usd: float
    faults: Sequence[Fault] = ()
    """Of the provider, in the order in which they came."""
    answered: bool = False
    """At least one session gave an answer after the last fault."""
    whole: bool = True
    """``cost_usd`` is all of it: no session was lost, of which nobody knows how much it sent."""


@dataclass(slots=True)
class State:
    """What outlives a change of the plan."""

    ledger: Ledger = field(default_factory=Ledger)
    pauses: Pauses = field(default_factory=Pauses)
    running: Running = field(default_factory=Running)
    changed: trio.Event = field(default_factory=trio.Event)
    """Something ended: who waits may look again."""
    quiet: bool = False
    """The host is testing itself: nothing begins."""

    def tell_change(self) -> None:
        """Wake everyone who waits for a change."""
        self.changed.set()
        self.changed = trio.Event()


@dataclass(frozen=True, slots=True)
class Duty:
    """What is to be done, and the hands to do it with."""

    assignments: tuple[Assignment, ...]
    limits: Limits
    seed: int
    overall: Allowance
    of_provider: Callable[[str], Allowance]
    run: Callable[[Due], Awaitable[Outcome]]
    """Does one run; raises only where this program is at fault."""
    journal_full: Callable[[], bool]
    put: Callable[[Record], None]
    settled: Callable[[], Awaitable[None]]
    """Called after money was set aside or spent: to keep the ledger."""
    now_ns: Callable[[], int]
    wall_ns: Callable[[], int]
    exporter_gone: Callable[[], bool] = lambda: False
    worker_gone: Callable[[str], bool] = lambda model: False
    """Nobody is there that could measure this model."""


class Dispatcher:
    """``work`` is its one task; it ends when nothing is assigned, or after ``retire``."""

    def __init__(self, duty: Duty, state: State) -> None:
        self._duty = duty
        self._state = state
        self._of = {assignment.job: assignment for assignment in duty.assignments}
        self._agenda = trio.CancelScope()
        self._retired = False
        self.next_due: dict[Job, int] = {}
        """When each job is due next, in nanoseconds since 1970."""

    async def work(self, after_ns: int | None = None) -> None:
        """Begin what is due after ``after_ns`` (now, if not given) until retired; end what runs."""
        start_ns = self._duty.wall_ns() if after_ns is None else after_ns
        async with trio.open_nursery() as runs:
            with self._agenda:
                await self._keep_the_agenda(start_ns, runs)

    def retire(self) -> None:
        """Begin nothing more; what runs is ended in order."""
        self._retired = True
        self._agenda.cancel()
        self._state.tell_change()

    def count_missed(self, since_ns: int) -> int:
        """Tell what was missed since ``since_ns`` because this program was not running."""
        now_ns, missed = self._duty.wall_ns(), 0
        for job, assignment in self._of.items():
            count = count_between(assignment.timing, self._duty.seed, job, since_ns, now_ns)
            if count:
                self._tell_missed(job, Hindrance.NOT_RUNNING, None, count)
            missed += count
        return missed

    async def _keep_the_agenda(self, after_ns: int, runs: trio.Nursery) -> None:
        self._note_next(self._of, after_ns)
        jobs = [(assignment.timing, job) for job, assignment in self._of.items()]
        for due in agenda(jobs, self._duty.seed, after_ns):
            await self._sleep_until(due.wall_ns)
            self._note_next([due.job], due.wall_ns)
            runs.start_soon(self._see_to, due)

    def _note_next(self, jobs: Iterable[Job], after_ns: int) -> None:
        for job in jobs:
            line = moments(self._of[job].timing, self._duty.seed, job, after_ns)
            self.next_due[job] = next(line)

    async def _sleep_until(self, wall_ns: int) -> None:
        while (left_ns := wall_ns - self._duty.wall_ns()) > 0:  # noqa: ASYNC110  it may be set
            await trio.sleep(min(left_ns / SECOND, NAP_S))

    async def _see_to(self, due: Due) -> None:
        """Begin it as soon as it may, or miss it."""
        why = await self._wait_for_admission(due)
        if why is None:
            self._tell_begun(due)
            await self._do(due)
        else:
            self._tell_missed(due.job, *why)

    async def _wait_for_admission(self, due: Due) -> tuple[Hindrance, str | None] | None:
        """None: it may begin, and has begun as far as others are concerned."""
        limits = self._duty.limits
        if is_over(due, self._duty.wall_ns(), limits):
            return Hindrance.NOT_RUNNING, None
        while (why := self._hindrance(due.job)) is not None:
            left_ns = due.wall_ns + limits.start_within_ns - self._duty.wall_ns()
            if self._retired or left_ns <= 0:
                return why
            with trio.move_on_after(left_ns / SECOND):
                await self._state.changed.wait()
        self._state.running.begin(due.job)
        return None

    def _hindrance(self, job: Job) -> tuple[Hindrance, str | None] | None:
        if self._state.quiet:
            return Hindrance.SELFTEST, None
        if self._duty.exporter_gone():
            return Hindrance.EXPORTER_GONE, None
        if self._duty.journal_full():
            return Hindrance.JOURNAL_FULL, None
        if self._duty.worker_gone(job.model):
            return Hindrance.WORKER_GONE, None
        paused_until_ns = self._state.pauses.until_ns(job.provider)
        if paused_until_ns > self._duty.wall_ns():
            return Hindrance.PROVIDER_PAUSED, None
        overrun = self._overrun(job)
        if overrun is not None:
            return Hindrance.OVER_BUDGET, str(overrun)
        busy = self._state.running.hinders(job, self._duty.limits)
        return None if busy is None else (busy, None)

    def _overrun(self, job: Job) -> Overrun | None:
        return self._state.ledger.overrun(
            job.provider,
            self._of[job].cost_usd,
            self._duty.wall_ns(),
            own=self._duty.of_provider(job.provider),
            overall=self._duty.overall,
        )

    async def _do(self, due: Due) -> None:
        job = due.job
        begun_ns, set_aside_usd = self._duty.wall_ns(), self._of[job].cost_usd
        spent_usd = set_aside_usd
        self._state.ledger.spend(job.provider, set_aside_usd, begun_ns)
        try:
            await self._duty.settled()
            outcome = await self._duty.run(due)
            lost = not outcome.whole
            spent_usd = max(outcome.cost_usd, set_aside_usd) if lost else outcome.cost_usd
            self._learn(job.provider, outcome)
        finally:
            self._state.ledger.spend(job.provider, spent_usd - set_aside_usd, begun_ns)
            self._state.running.end(job)
            self._state.tell_change()
        await self._duty.settled()

    def _tell_begun(self, due: Due) -> None:
        self._duty.put(
            {
                "k": "job_begun",
                "t": self._duty.now_ns(),
                **_labels(due.job),
                "waited_ns": max(0, self._duty.wall_ns() - due.wall_ns),
            }
        )

    def _learn(self, provider: str, outcome: Outcome) -> None:
        if outcome.answered:
            self._state.pauses.answered(provider)
            return
        for fault in outcome.faults:
            until_ns = self._state.pauses.refused(provider, fault, self._duty.wall_ns())
            if until_ns is not None:
                self._tell_pause(provider, fault, until_ns)
                return  # one run is one refusal, however often it was told so

    def _tell_pause(self, provider: str, fault: Fault, until_ns: int) -> None:
        fields = {"provider": provider, "kind": fault.kind.value, "until_unix_s": until_ns / SECOND}
        self._duty.put(
            {
                "k": "log",
                "t": self._duty.now_ns(),
                "level": "warning",
                "event": "provider_paused",
                "fields": fields,
            }
        )

    def _tell_missed(self, job: Job, why: Hindrance, detail: str | None, count: int = 1) -> None:
        self._duty.put(
            {
                "k": "job_missed",
                "t": self._duty.now_ns(),
                **_labels(job),
                "why": why.value,
                "detail": detail,
                "count": count,
            }
        )


def _labels(job: Job) -> Record:
    return {
        "schedule": job.schedule,
        "provider": job.provider,
        "model": job.model,
        "dataset": job.corpus,
    }
