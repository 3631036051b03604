"""What a soak proves, from the journal, the log and the samples; each gives a line, or raises."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from exporters.export import session_rows
from measure.measurement import rank
from measure.records import MS
from measure.wire import Record, frames_of
from tests.soak.world import Wrong

GROWTH = 1.10
FEW_FDS = 12


@dataclass(frozen=True, slots=True)
class Sample:
    """How large the processes were at a moment."""

    at_ns: int
    rss_mb: float
    fds: int
    exporter_rss_mb: float
    exporter_fds: int


class Unproven(AssertionError):
    """One line: what does not hold."""


def nothing_acknowledged_is_lost(records: Sequence[Record], lines: Iterable[Any]) -> str:
    """Whatever the log has told of a session stands in the journal."""
    kept = {record["s"] for record in records if record["k"] == "session_finished"}
    told = {line["session_id"] for line in lines if line["event"] == "session_finished"}
    if missing := told - kept:
        raise Unproven(f"{len(missing)} of {len(told)} sessions that were told are not journalled")
    return f"{len(told)} sessions were told, all of them are in the journal"


def losses_are_those_of_killed_exporters(records: Sequence[Record], kills: int) -> str:
    """Nothing but what a killed exporter process had not read yet was lost, and that is told."""
    lost = [record for record in records if record["k"] == "records_lost"]
    others = [record for record in lost if record["why"] != "exporter_gone"]
    if others:
        raise Unproven(f"records were lost for another reason: {others[:3]}")
    if len(lost) != kills:
        raise Unproven(f"{kills} exporter processes were killed, {len(lost)} losses are told")
    counts = [int(str(record["count"])) for record in lost]
    return f"{kills} exporter processes killed, records lost with each: {counts}; no other loss"


def the_disturbed_are_marked(records: Sequence[Record], wrongs: Sequence[Wrong]) -> str:
    """A session that a standstill fell into counts for nothing; one with a gap says so."""
    rows = {row["session_id"]: row for row in session_rows(records)}
    begun = {r["s"]: int(str(r["t"])) for r in records if r["k"] == "session_started"}
    stalled = holed = 0
    for record in records:
        if record["k"] != "session_finished":
            continue
        began_ns, row = begun.get(record["s"]), rows[record["s"]]
        ended_ns = _read_ns(record)
        for wrong in wrongs:
            inside = began_ns is not None and began_ns < wrong.from_ns and wrong.to_ns < ended_ns
            if wrong.what == "stands_still" and inside and _was_measured(record):
                stalled += 1
                if record["valid"]:
                    raise Unproven(f"session {record['s']} stood still and counts")
            if wrong.what == "exporter_is_killed" and inside:
                holed += 1
                if row["complete"]:
                    raise Unproven(f"session {record['s']} has a gap and does not say so")
    return f"{stalled} sessions stood still, none counts; {holed} have a gap, all say so"


def _read_ns(record: Record) -> int:
    """When its reading was made; its end where there was none."""
    zero_ns, final_ns = record.get("zero_ns"), record.get("time_to_final_ns")
    if isinstance(zero_ns, int) and isinstance(final_ns, int):
        return zero_ns + final_ns
    return int(str(record["t"]))


def _was_measured(record: Record) -> bool:
    """It got as far as a reading: what failed before counts for nothing anyway."""
    return record.get("fault") is None


def memory_and_files_are_level(samples: Sequence[Sample]) -> str:
    """The last quarter is like the second one."""
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[3 * quarter :]
    said = []
    for name in ("rss_mb", "exporter_rss_mb"):
        before, after = _median(early, name), _median(late, name)
        said.append(f"{name} {before:.0f} -> {after:.0f}")
        if after > before * GROWTH:
            raise Unproven(f"{name} has grown from {before:.1f} to {after:.1f}")
    for name in ("fds", "exporter_fds"):
        before, after = _median(early, name), _median(late, name)
        said.append(f"{name} {before:.0f} -> {after:.0f}")
        if after > before + FEW_FDS:
            raise Unproven(f"{name} have grown from {before:.0f} to {after:.0f}")
    return ", ".join(said)


def _median(samples: Sequence[Sample], name: str) -> float:
    values = sorted(getattr(sample, name) for sample in samples if getattr(sample, name))
    return float(values[len(values) // 2])


def lateness_us(records: Iterable[Record], windows: Sequence[tuple[int, int]]) -> tuple[int, float]:
    """How many frames were due in these windows, and the p99 of their lateness."""
    late_ns = sorted(
        max(0, frame.at_ns - frame.due_ns)
        for record in records
        if record["k"] == "frames"
        for frame in frames_of(record)
        if any(begin <= frame.due_ns < end for begin, end in windows)
    )
    p99_ns = rank(late_ns, 0.99)
    return len(late_ns), (p99_ns or 0) / 1000


def runs_follow_the_schedule(records: Sequence[Record]) -> str:
    """Each run that was due was begun or is told as missed, with a reason."""
    begun = sum(record["k"] == "job_begun" for record in records)
    missed: dict[str, int] = {}
    for record in records:
        if record["k"] == "job_missed":
            why = str(record["why"])
            missed[why] = missed.get(why, 0) + int(str(record["count"]))
    return f"{begun} runs were begun; missed: {missed or 'none'}"


def start_ms(lines: Iterable[Any], started_ns: int) -> float:
    """From the start of the program to measuring."""
    ready = next(line for line in lines if line["event"] == "process_ready")
    return float((ready["mono_ns"] - started_ns) / MS)


def most_at_once(records: Sequence[Record]) -> int:
    """How many sessions went on at the same time."""
    moments = [
        (int(str(record["t"])), 1 if record["k"] == "session_started" else -1)
        for record in records
        if record["k"] in ("session_started", "session_finished")
    ]
    most = now = 0
    for _, change in sorted(moments):
        now = max(0, now + change)
        most = max(most, now)
    return most
