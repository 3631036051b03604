"""One run of the daemon, as it is recorded and as the dispatcher learns of it. Pure but for ids."""

from collections.abc import Sequence

from daemon.budget import cost_usd
from daemon.clock import now_ns, wall_ns
from daemon.dispatch import Outcome
from daemon.rounds import Outcome as RunOutcome
from daemon.schedule import Job
from measure.faults import Fault, Whose
from measure.measurement import Measurement
from measure.records import SECOND
from measure.wire import Record


def started_record(job: Job, run_id: str, clips: int) -> Record:
    """How a run is recorded when it begins."""
    return {
        "k": "run_started",
        "t": now_ns(),
        "run_id": run_id,
        "schedule": job.schedule,
        "models": [job.model],
        "dataset": job.corpus,
        "clips": clips,
        "wall_unix_ns": wall_ns(),
    }


def finished_record(job: Job, run_id: str, started_ns: int, outcome: RunOutcome) -> Record:
    """How it is recorded when it has ended."""
    return {
        "k": "run_finished",
        "t": now_ns(),
        "run_id": run_id,
        "schedule": job.schedule,
        "models": [job.model],
        "dataset": job.corpus,
        "sessions": outcome.sessions,
        "failures": outcome.failures,
        "complete": not outcome.unmeasured and not outcome.lost,
        "duration_s": (now_ns() - started_ns) / SECOND,
        "wall_unix_ns": wall_ns(),
    }


def outcome_of(
    measured: Sequence[Measurement], price_usd_per_1000_min: float | None, *, lost: int = 0
) -> Outcome:
    """What a run cost, and how the provider behaved towards us: the last word counts.

    ``lost``: how many of its sessions ended with the process that measured them.
    """
    faults: list[Fault] = []
    answered = False
    for one in measured:
        fault = one.reading.fault
        if one.reading.valid:
            faults, answered = [], True
        elif fault is not None and fault.whose is Whose.PROVIDER:
            faults.append(fault)
            answered = False
    cost = 0.0
    if price_usd_per_1000_min is not None:
        cost = cost_usd(sent_s(measured), price_usd_per_1000_min)
    return Outcome(cost, tuple(faults), answered, whole=not lost)


def sent_s(measured: Sequence[Measurement]) -> float:
    """How much audio was sent; one session may have made several measurements."""
    sessions: dict[str, float] = {}
    for one in measured:
        before = sessions.get(one.session_id, 0.0)
        sessions[one.session_id] = max(before, one.circumstances.sent_ms)
    return sum(sessions.values()) / 1000
