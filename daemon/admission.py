"""Whether a job that is due may begin: a pure decision from what is going on.

Schedules are open-loop: a job that cannot begin soon after its moment is missed, counted and told
with the reason. It is never moved to a later time, which would measure at the moments that suit us.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from daemon.schedule import Due, Job
from measure.faults import Fault, FaultKind
from measure.records import SECOND

FIRST_PAUSE_NS = 60 * SECOND
LONGEST_PAUSE_NS = 24 * 3600 * SECOND


class Hindrance(StrEnum):
    """Why a job could not begin."""

    STILL_RUNNING = "still_running"
    """The same job has not ended since its last moment."""
    PROVIDER_BUSY = "provider_busy"
    """As many streams are open at its provider as are allowed."""
    TOO_MANY = "too_many"
    """As many jobs run on this host as are allowed."""
    PROVIDER_PAUSED = "provider_paused"
    """Its provider refused us lately."""
    OVER_BUDGET = "over_budget"
    """It would cost more than may be spent."""
    JOURNAL_FULL = "journal_full"
    """What would be measured could not be kept."""
    EXPORTER_GONE = "exporter_gone"
    """The process that records has ended, and is not back yet."""
    WORKER_GONE = "worker_gone"
    """The process that would measure it died or hung, and the next one does not work yet."""
    SELFTEST = "selftest"
    """The host was testing itself, and needs to be alone for that."""
    NOT_RUNNING = "not_running"
    """This program was not running, or stood still."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may go on at the same time, and how late a job may begin."""

    jobs: int = 1
    jobs_per_provider: int = 1
    start_within_ns: int = 30 * SECOND


@dataclass(slots=True)
class Pause:
    """A provider that refused us is left alone, longer each time it does so again."""

    until_ns: int = 0
    refusals: int = 0


@dataclass(slots=True)
class Pauses:
    """The pauses of all providers; moments in nanoseconds since 1970."""

    _of: dict[str, Pause] = field(default_factory=dict)

    def refused(self, provider: str, fault: Fault, now_ns: int) -> int | None:
        """The provider refused: until when to leave it alone; None where that is no reason to.

        As long as it asks for (Retry-After), but at least a minute after the first refusal, two
        after the second, and so on to a day.
        """
        if fault.kind not in (FaultKind.AUTH, FaultKind.QUOTA, FaultKind.RATE):
            return None
        pause = self._of.setdefault(provider, Pause())
        own_ns = min(FIRST_PAUSE_NS << min(pause.refusals, 20), LONGEST_PAUSE_NS)
        asked_ns = round((fault.retry_after_s or 0) * SECOND)
        pause.refusals += 1
        pause.until_ns = max(pause.until_ns, now_ns + max(own_ns, asked_ns))
        return pause.until_ns

    def answered(self, provider: str) -> None:
        """It answers again: the next refusal is a first one."""
        self._of.pop(provider, None)

    def all_until_ns(self, now_ns: int) -> dict[str, int]:
        """Until when each provider is left alone that is left alone now."""
        return {name: pause.until_ns for name, pause in self._of.items() if pause.until_ns > now_ns}

    def until_ns(self, provider: str) -> int:
        """Until when it is left alone; 0 where it is not."""
        pause = self._of.get(provider)
        return 0 if pause is None else pause.until_ns


@dataclass(slots=True)
class Running:
    """The jobs that run now."""

    _jobs: list[Job] = field(default_factory=list)

    def begin(self, job: Job) -> None:
        self._jobs.append(job)

    def end(self, job: Job) -> None:
        self._jobs.remove(job)

    def __len__(self) -> int:
        return len(self._jobs)

    def hinders(self, job: Job, limits: Limits) -> Hindrance | None:
        """Why ``job`` cannot begin beside these; None where it can."""
        if job in self._jobs:
            return Hindrance.STILL_RUNNING
        at_provider = Counter(running.provider for running in self._jobs)
        if at_provider[job.provider] >= limits.jobs_per_provider:
            return Hindrance.PROVIDER_BUSY
        return Hindrance.TOO_MANY if len(self._jobs) >= limits.jobs else None


def is_over(due: Due, now_ns: int, limits: Limits) -> bool:
    """The job is missed: it is too late for it to begin."""
    return now_ns - due.wall_ns > limits.start_within_ns
