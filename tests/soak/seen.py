"""What the journal of a soak tells, as the proofs need it."""

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.schedule import Every, Job
from measure.records import MS
from measure.wire import Record, frames_of

BEGUN_WITHIN_NS = 2_500 * MS
"""A run that begins further from every moment of its schedule belongs to none."""


@dataclass(frozen=True, slots=True)
class Read:
    """A session with a reading: moments on CLOCK_MONOTONIC, the time line of the journal."""

    name: str
    model: str
    started_ns: int
    zero_ns: int
    answered_ns: int
    valid: bool
    late_max_ns: int
    frames: int
    """As it was told at its end."""
    due_ns: tuple[int, ...]
    """Of those that are journalled."""

    @property
    def time_to_final_ns(self) -> int:
        return self.answered_ns - self.zero_ns


def read_sessions(records: Sequence[Record]) -> list[Read]:
    """All sessions of which start, end and a reading are journalled, in the order of their ends."""
    begun: dict[object, int] = {}
    due: dict[object, list[int]] = {}
    found = []
    for record in records:
        name = record.get("s")
        if record["k"] == "session_started":
            begun[name] = _ns(record, "t")
        elif record["k"] == "frames":
            due.setdefault(name, []).extend(frame.due_ns for frame in frames_of(record))
        elif record["k"] == "session_finished" and name in begun and _has_reading(record):
            zero_ns = _ns(record, "zero_ns")
            found.append(
                Read(
                    str(name),
                    str(record["model"]),
                    begun[name],
                    zero_ns,
                    zero_ns + _ns(record, "time_to_final_ns"),
                    bool(record["valid"]),
                    _ns(record, "late_max_ns"),
                    _ns(record, "frames"),
                    tuple(due.get(name, ())),
                )
            )
    return found


def _has_reading(record: Record) -> bool:
    """It got as far as an answer: what failed before counts for nothing anyway."""
    wanted = ("zero_ns", "time_to_final_ns", "late_max_ns")
    return record.get("fault") is None and all(isinstance(record.get(one), int) for one in wanted)


@dataclass(frozen=True, slots=True)
class Begun:
    """A run, and the moment of its schedule at which it was due."""

    slot: int
    moment_ns: int
    """By the wall clock."""
    at_ns: int
    """When it began, on the time line of the journal."""


def begun_runs(records: Sequence[Record], every: Every, seed: int) -> dict[str, list[Begun | None]]:
    """The runs of each schedule, in the order in which they began; None: at none of its moments."""
    waiting: dict[object, Record] = {}
    found: dict[str, list[Begun | None]] = {}
    for record in records:
        if record["k"] == "job_begun":
            waiting[record["schedule"]] = record
        elif record["k"] == "run_started":
            before = waiting.pop(record["schedule"], None)
            if before is not None:  # else it was lost
                run = _begun(before, record, every, seed)
                found.setdefault(str(record["schedule"]), []).append(run)
    return found


def _begun(job: Record, run: Record, every: Every, seed: int) -> Begun | None:
    one = Job(str(job["schedule"]), str(job["model"]), str(job["dataset"]))
    at_ns = _ns(job, "t")
    due_ns = _ns(run, "wall_unix_ns") - (_ns(run, "t") - at_ns) - _ns(job, "waited_ns")
    near = every.slot_at(due_ns)
    slots = range(near - 1, near + 2)
    moment_ns, slot = min(
        ((every.moment(seed, one, slot), slot) for slot in slots),
        key=lambda found: abs(found[0] - due_ns),
    )
    return Begun(slot, moment_ns, at_ns) if abs(moment_ns - due_ns) < BEGUN_WITHIN_NS else None


def _ns(record: Record, name: str) -> int:
    return int(str(record[name]))
