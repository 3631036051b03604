"""The daemon's life: plans that follow one another, each with a dispatcher, on one bench.

    configuration ──> plan ──> generation: recognisers, workers, dispatcher ──> runs
         ^ reload                   └─ retires when the next one is there; its runs end under it
         └── SIGHUP, POST /-/reload

What outlives a generation: the exporter process, this process's bench, the money spent, the pauses
of providers that refused us, and what is running.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import trio

from daemon.clock import now_ns, wall_ns
from daemon.dispatch import Dispatcher, Duty, Outcome, State
from daemon.dump import dumped
from daemon.duties import (
    allowance_of,
    assignments_of,
    limits_of,
    lines_of,
    overall_of,
    pairs_of_job,
    price_of,
)
from daemon.errors import UserError
from daemon.exporter_settings import model_labels, streams_of
from daemon.gate import hindrance
from daemon.local.spawn import local_server
from daemon.notify import Notifier
from daemon.order import Bench
from daemon.plan import Plan, Target, new_id
from daemon.quiet import Quiet
from daemon.rounds import Outcome as RunOutcome
from daemon.rounds import Rounds
from daemon.runs import finished_record, outcome_of, started_record
from daemon.schedule import Due, Job
from daemon.supervise import Recording
from daemon.treasury import Treasury, spending_record
from daemon.workers import rounds_beside
from measure.records import SECOND
from measure.wire import Record

AGENDA_S = 5.0
"""How often it is told what is due next."""
ALIVE_S = 10.0
"""How often it is written down that this program runs."""
LOOK_S = 0.2
"""How often it is looked whether somebody asks for a reload over HTTP, and whether what hindered
all recording is over."""


@dataclass(slots=True)
class Generation:
    """One plan at work."""

    number: int
    plan: Plan
    dispatcher: Dispatcher
    jobs: frozenset[Job]
    rounds: Rounds


class Service:
    """Everything that the daemon does once the exporter process is there. ``live`` is its life."""

    def __init__(
        self,
        reread: Callable[[], Awaitable[Plan]],
        path: str,
        recording: Recording,
        notifier: Notifier,
        treasury: Treasury,
    ) -> None:
        """``reread`` reads the configuration at ``path`` again; it may take a while.

        It raises UserError for a configuration that cannot be taken.
        """
        self.state = State(ledger=treasury.ledger)
        self.current: Generation | None = None
        self.ending = False
        """Nothing more is begun; the session that each run is in the middle of is its last."""
        self._reread = reread
        self._path = path
        self._recording = recording
        self._notifier = notifier
        self._treasury = treasury
        self._begun = 0
        self._wanted = trio.Event()
        """Somebody wants the configuration to be taken again."""
        self._living = False
        self._engines: Engines
        self._generations: trio.Nursery
        self._bench: Bench

    async def live(self, plan: Plan, ours: Bench, missed_since_ns: int | None) -> None:
        """Measure on schedule until ``drain`` has been called and what ran is over."""
        async with engines() as self._engines, trio.open_nursery() as generations:
            self._generations = generations
            self._bench = ours
            await generations.start(self._generation, plan, 0)
            if missed_since_ns is not None and self.current is not None:
                self.current.dispatcher.count_missed(missed_since_ns)
            self._living = True
            if not self.ending:
                self._notifier.ready(self._status(plan))

    def want_reload(self) -> None:
        """Have the configuration taken again, soon; wanted again meanwhile, it is done again."""
        self._wanted.set()

    async def reload_when_wanted(self) -> None:
        """Take the configuration again whenever that is wanted, one time after the other."""
        heeded, handoff = 0, self._recording.handoff
        while True:
            if handoff is not self._recording.handoff:  # a new exporter process counts from 0
                heeded, handoff = 0, self._recording.handoff
            asked = handoff.reloads_asked
            if self._living and (asked > heeded or self._wanted.is_set()):
                heeded, self._wanted = asked, trio.Event()
                await self._reload(asked)
            with trio.move_on_after(LOOK_S):
                await self._wanted.wait()
                await trio.sleep(0 if self._living else LOOK_S)

    async def _reload(self, asked: int) -> None:
        """Read the configuration again and take it, if it is without mistakes.

        Clips are read and surveyed elsewhere: what is being measured goes on meanwhile. ``asked``:
        how often that was asked for over HTTP before.
        """
        if not self.ending:
            self._notifier.reloading(now_ns())
        try:
            plan = await self._reread()
            self._require_same_process(plan)
            if self.ending:
                raise UserError("the program is ending")
            await self._generations.start(self._generation, plan, asked)
        except UserError as error:
            self._tell_refused(str(error), asked)
            self._tell_manager("the newest configuration was not taken")
            return
        self._recording.log("info", "configuration_taken", path=self._path)
        self._tell_manager(self._status(plan))

    def _tell_manager(self, status: str) -> None:
        if not self.ending:
            self._notifier.ready(status)

    def drain(self) -> None:
        """Begin nothing more; ``live`` ends when the sessions that go on are over."""
        self.ending = True
        self._notifier.stopping(f"{len(self.state.running)} runs are being ended")
        if self.current is not None:
            self.current.dispatcher.retire()

    async def tell_when_recordable(self) -> None:
        """Wake whoever waits for the journal, or for a worker, as soon as it is there again."""
        missing = self._missing()
        while True:
            was, missing = missing, self._missing()
            if was - missing:
                self.state.tell_change()
            await trio.sleep(LOOK_S)

    def _missing(self) -> frozenset[str]:
        """What nothing can be measured without, and is not there: in one word, or by its model."""
        journal = {"journal"} if self._journal_full() else set()
        exporter = {"exporter"} if self._exporter_gone() else set()
        unmanned = frozenset() if self.current is None else self.current.rounds.unmanned
        return unmanned | journal | exporter

    def next_due_ns(self) -> int | None:
        """When the next run is due, in nanoseconds since 1970."""
        due = [] if self.current is None else list(self.current.dispatcher.next_due.values())
        return min(due, default=None)

    def quiet(self) -> Quiet:
        """A time in which nothing is measured."""
        return Quiet(self.state, self.next_due_ns, wall_ns)

    async def tell_agenda(self) -> None:
        """Tell what is due next, and who is left alone, for ever."""
        while True:
            self._recording.put(self._agenda())
            await trio.sleep(AGENDA_S)

    # One generation

    async def _generation(
        self,
        plan: Plan,
        asked: int,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Do what ``plan`` asks for until it is retired. Raises UserError before it has begun.

        The one before it is retired, and what is configured is told, in one step: no run begins
        under both, and no series of the new plan is met before it is known.
        """
        self._begun += 1
        number = self._begun
        prefix = "" if number == 1 else f"{number}."
        targets = await self._engines.targets(plan.targets)
        async with rounds_beside(plan, targets, self._recording, self._bench, prefix) as rounds:
            duty = self._duty(plan, rounds)
            dispatcher = Dispatcher(duty, self.state)
            jobs = frozenset(assignment.job for assignment in duty.assignments)
            before, self.current = self.current, Generation(number, plan, dispatcher, jobs, rounds)
            if before is not None:
                before.dispatcher.retire()
            if self.ending:
                dispatcher.retire()
            self._tell_configured(plan, asked)
            task_status.started()
            await dispatcher.work()

    def _duty(self, plan: Plan, rounds: Rounds) -> Duty:
        settings = plan.settings

        async def run(due: Due) -> Outcome:
            return await self._run(plan, rounds, due)

        return Duty(
            assignments_of(plan),
            limits_of(settings),
            settings.daemon.seed,
            overall_of(settings),
            lambda provider: allowance_of(settings, provider),
            run,
            self._journal_full,
            self._recording.put,
            self._settled,
            now_ns,
            wall_ns,
            self._exporter_gone,
            lambda model: model in rounds.unmanned,
        )

    async def _run(self, plan: Plan, rounds: Rounds, due: Due) -> Outcome:
        """One model with one corpus, clip after clip, for as long as anybody wants it."""
        run_id, started_ns = new_id(), now_ns()
        pairs = pairs_of_job(plan, due.job, due.wall_ns)
        self._recording.put(started_record(due.job, run_id, len(pairs)))
        outcome = RunOutcome()
        try:
            for nth, pair in enumerate(pairs):
                if self.ending or not self._is_wanted(due.job):
                    outcome.unmeasured += len(pairs) - nth
                    break
                await rounds.measure_some(run_id, [pair], outcome)
        finally:
            self._recording.put(finished_record(due.job, run_id, started_ns, outcome))
        price = price_of(plan.settings, due.job.model)
        return outcome_of(outcome.measured, price, lost=len(outcome.lost))

    def _is_wanted(self, job: Job) -> bool:
        """The plan that is in force now asks for this job as well."""
        return self.current is None or job in self.current.jobs

    def _journal_full(self) -> bool:
        return hindrance(self._recording.report, alive=self._recording.alive) is not None

    def _exporter_gone(self) -> bool:
        return self._recording.hindrance is not None

    async def _settled(self) -> None:
        await self._treasury.keep()
        if self.current is not None:
            self._recording.put(self._spending(self.current.plan))

    # What is told

    def _spending(self, plan: Plan) -> Record:
        settings = plan.settings
        providers = dict.fromkeys(target.name.partition("/")[0] for target in plan.targets)
        return spending_record(
            self.state.ledger,
            now_ns(),
            wall_ns(),
            overall=overall_of(settings),
            own=[(one, allowance_of(settings, one)) for one in providers],
        )

    def _agenda(self) -> Record:
        next_runs: dict[str, float] = {}
        if self.current is not None:
            for job, due_ns in self.current.dispatcher.next_due.items():
                due_s = due_ns / SECOND
                next_runs[job.schedule] = min(due_s, next_runs.get(job.schedule, due_s))
        paused = self.state.pauses.all_until_ns(wall_ns())
        return {
            "k": "agenda",
            "t": now_ns(),
            "next_run_unix_s": next_runs,
            "paused_until_unix_s": {name: until / SECOND for name, until in paused.items()},
        }

    def _tell_configured(self, plan: Plan, asked: int) -> None:
        self._recording.put(
            {
                "k": "configured",
                "t": now_ns(),
                "asked": asked,
                "successful": True,
                "error": None,
                "text": dumped(plan.settings),
                "streams": [
                    {
                        "provider": one.provider,
                        "model": one.model,
                        "dataset": one.dataset,
                        "flow": one.flow,
                    }
                    for one in streams_of(plan)
                ],
                "schedules": [line.name for line in lines_of(plan)],
                "models": [model_labels(target) for target in plan.targets],
                "wall_unix_ns": wall_ns(),
            }
        )
        self._recording.put(self._spending(plan))
        for line in plan.skipped:
            self._recording.log("warning", "model_skipped", reason=line)

    def _tell_refused(self, error: str, asked: int) -> None:
        self._recording.put(
            {
                "k": "configured",
                "t": now_ns(),
                "asked": asked,
                "successful": False,
                "error": error,
                "wall_unix_ns": wall_ns(),
            }
        )
        self._recording.log("error", "configuration_refused", path=self._path, error=error)

    def _status(self, plan: Plan) -> str:
        return f"{len(plan.targets)} models, {len(plan.recordings)} clips"

    def _require_same_process(self, plan: Plan) -> None:
        """What the exporter process was started with cannot be changed without a restart."""
        if self.current is None:
            return
        now = self.current.plan.settings
        for name in ("journal", "web", "log"):
            if getattr(plan.settings, name) != getattr(now, name):
                raise UserError(f"[{name}] cannot be changed by a reload: restart the program")


class Engines:
    """The embedded recognisers, each started when it is first needed."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._addresses: dict[str, str] = {}
        self._starting = trio.Lock()

    async def targets(self, wanted: tuple[Target, ...]) -> tuple[Target, ...]:
        """The same, with the addresses of their recognisers. Raises UserError."""
        async with self._starting:
            for target in wanted:
                if target.engine is not None and target.engine not in self._addresses:
                    server = local_server(target.engine)
                    address = await self._stack.enter_async_context(server)
                    self._addresses[target.engine] = address
        return tuple(
            target if target.engine is None else target.at(self._addresses[target.engine])
            for target in wanted
        )


@asynccontextmanager
async def engines() -> AsyncIterator[Engines]:
    """Recognisers that live as long as this."""
    async with AsyncExitStack() as stack:
        yield Engines(stack)


Write = Callable[[Path, bytes], None]
"""Replaces a file as a whole. Raises OSError."""


async def keep_alive_mark(path: Path, write: Write) -> None:
    """Leave the moment behind, often enough for a restart to know what it has missed."""
    while True:
        await trio.to_thread.run_sync(leave_alive_mark, path, write)
        await trio.sleep(ALIVE_S)


def leave_alive_mark(path: Path, write: Write) -> None:
    """Leave the moment behind; a full disk keeps us from that, and from nothing else."""
    with suppress(OSError):
        write(path, str(wall_ns()).encode())
