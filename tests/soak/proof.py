"""What a soak proves, from the journal, the log and the samples; each gives a line, or raises."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from daemon.schedule import Every
from exporters.export import session_rows
from measure.measurement import rank
from measure.records import MS, SECOND
from measure.wire import Record, frames_of
from tests.soak.seen import Begun, Read, begun_runs, read_sessions
from tests.soak.world import Wrong

GROWTH = 1.10
FEW_FDS = 12
SLACK_NS = 30 * MS
"""A standstill that is so much shorter than it seems would be judged alike."""
NEAR_NS = 8 * SECOND
"""A session whose zero is so near a step of the clock may have met it."""
LOSING = frozenset({"exporter_is_killed", "disk_has_nothing_left"})
"""What is done to records, too: the journal does not know every run any more."""


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
    """Whatever the log has told of a session stands in the journal.

    But what it told with the word that the disk has refused it: the journal names that as lost.
    """
    kept = {record["s"] for record in records if record["k"] == "session_finished"}
    lines = [line for line in lines if line["event"] == "session_finished"]
    refused = {line["session_id"] for line in lines if line.get("journalled") is False}
    told = {line["session_id"] for line in lines} - refused
    if missing := told - kept:
        raise Unproven(f"{len(missing)} of {len(told)} sessions that were told are not journalled")
    if unnamed := refused - _refused(records):
        raise Unproven(f"{len(unnamed)} of {len(refused)} refused sessions are not named as lost")
    return (
        f"{len(told)} sessions were told, all of them are in the journal; "
        f"{len(refused)} were told as refused by the disk, all of them are named there"
    )


def losses_are_those_of_the_wrongs(
    records: Sequence[Record], lines: Iterable[Any], kills: int, fills: int
) -> str:
    """Nothing was lost but what a killed process had not read and a full disk did not take."""
    lost = {
        why: [int(str(one["count"])) for one in records if _is_loss(one, why)]
        for why in ("exporter_gone", "journal_full")
    }
    told = [record for record in records if record["k"] == "records_lost"]
    if len(told) != sum(map(len, lost.values())):
        raise Unproven(f"records were lost for another reason: {[one['why'] for one in told]}")
    for wrongs, why in ((kills, "exporter_gone"), (fills, "journal_full")):
        if len(lost[why]) != wrongs:
            raise Unproven(f"{wrongs} times {why} was done, {len(lost[why])} losses are told")
    resumed = [line["records_lost"] for line in lines if line["event"] == "journal_resumed"]
    logged = [count for count in resumed if count]
    if logged != lost["journal_full"]:
        raise Unproven(f"the log tells {logged} lost on a full disk, the journal {lost}")
    return (
        f"lost with {kills} killed exporter processes: {lost['exporter_gone']}; "
        f"on a disk without a byte left: {lost['journal_full']}; no other loss"
    )


def _is_loss(record: Record, why: str) -> bool:
    return record["k"] == "records_lost" and record["why"] == why


def _refused(records: Iterable[Record]) -> set[object]:
    """The sessions of which the disk has refused something, as the journal names them."""
    told = [record["sessions"] for record in records if _is_loss(record, "journal_full")]
    return {name for names in told if isinstance(names, list) for name in names}


def the_holed_are_marked(records: Sequence[Record], wrongs: Sequence[Wrong]) -> str:
    """A session of which something was lost says that it is not complete."""
    complete = {row["session_id"] for row in session_rows(records) if row["complete"]}
    kills = [wrong for wrong in wrongs if wrong.what == "exporter_is_killed"]
    sessions = read_sessions(records)
    holed = {
        one.name
        for one in sessions
        for kill in kills
        if one.started_ns < kill.from_ns and kill.to_ns < one.answered_ns
    }
    refused = _refused(records)
    lacking = {one.name for one in sessions if len(one.due_ns) < one.frames}
    if whole := complete & (holed | refused | lacking):
        raise Unproven(f"sessions {sorted(map(str, whole))[:3]} have a gap and do not say so")
    return (
        f"{len(holed)} sessions lost something with an exporter process, "
        f"{len(refused)} on a full disk, {len(lacking)} of them lack frames; all say so"
    )


def standstills_are_marked(records: Sequence[Record], wrongs: Sequence[Wrong]) -> str:
    """What METHOD.md says: a standstill from a second before zero to the answer spoils a reading.

    One that ends earlier does not, but the journal shows the frames that it has made late.
    """
    stalled, late = set(), set()
    stills = [wrong for wrong in wrongs if wrong.what == "stands_still"]
    for one in read_sessions(records):
        for still in stills:
            if one.started_ns > still.to_ns or still.from_ns + SLACK_NS > one.answered_ns:
                continue
            if still.to_ns > one.zero_ns - SECOND:
                stalled.add(one.name)
                if one.valid:
                    raise Unproven(f"session {one.name} stood still and counts")
            elif (wanted_ns := _late_ns(one, still)) > 0:
                late.add(one.name)
                if one.late_max_ns < wanted_ns:
                    raise Unproven(f"session {one.name} had late frames and does not show them")
    if stills and not stalled:
        raise Unproven("no session was on while the program stood still")
    return (
        f"{len(stalled)} sessions stood still while it mattered, none counts; "
        f"{len(late)} before it did, all show how late their frames were"
    )


def _late_ns(one: Read, still: Wrong) -> int:
    """How late a frame must have been that was due while the program stood still."""
    due_ns = [at for at in one.due_ns if still.from_ns + SLACK_NS < at < still.to_ns - SLACK_NS]
    return still.to_ns - min(due_ns) if due_ns else 0


def clock_steps_change_no_value(
    records: Sequence[Record], wrongs: Sequence[Wrong], step_ns: int
) -> str:
    """A session in which the wall clock stepped counts for nothing; others read as ever."""
    steps = [wrong for wrong in wrongs if wrong.what == "clock_steps"]
    if not steps:
        return "never: there is no C compiler here to make a clock that can be set"
    sessions = read_sessions(records)
    usual = {
        model: _middle([one.time_to_final_ns for one in sessions if one.model == model])
        for model in {one.model for one in sessions}
    }
    stepped = beside = 0
    for one in sessions:
        if any(one.started_ns < step.from_ns and step.to_ns < one.answered_ns for step in steps):
            stepped += 1
            if one.valid:
                raise Unproven(f"the clock stepped during session {one.name}, and it counts")
        elif one.valid and any(abs(one.zero_ns - step.to_ns) < NEAR_NS for step in steps):
            beside += 1
            if abs(one.time_to_final_ns - usual[one.model]) > step_ns // 2:
                raise Unproven(f"session {one.name} reads {one.time_to_final_ns} ns beside a step")
    if not stepped:
        raise Unproven("no session was on while the clock stepped")
    return (
        f"{len(steps)} steps during {stepped} sessions, none counts; "
        f"{beside} soon before or after read as ever"
    )


def _middle(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


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


def runs_follow_the_schedule(
    records: Sequence[Record], wrongs: Sequence[Wrong], every: Every, seed: int
) -> str:
    """Each moment was begun once, or is told as missed with a reason; or its record was lost."""
    holes = [wrong for wrong in wrongs if wrong.what in LOSING]
    missed = [record for record in records if record["k"] == "job_missed"]
    begun = unknown = 0
    for name, runs in begun_runs(records, every, seed).items():
        known = [run for run in runs if run is not None]
        if len(known) < len(runs):
            raise Unproven(f"a run of {name} began at no moment of its schedule")
        begun += len(known)
        if not name.startswith("first"):  # a reload takes away the others for a while
            continue
        counted = sum(int(str(one["count"])) for one in missed if one["schedule"] == name)
        gaps = _unbegun(name, known, every)
        lost = sum(any(hole.reaches(at_ns) for hole in holes) for at_ns in gaps)
        unknown += lost
        if len(gaps) - lost > counted:
            raise Unproven(f"{len(gaps) - lost - counted} moments of {name} are not accounted for")
    reasons = Counter[str]()
    for record in missed:
        reasons[str(record["why"])] += int(str(record["count"]))
    return (
        f"{begun} runs begun, each once, at a moment of its schedule; "
        f"missed: {dict(reasons) or 'none'}; {unknown} moments fell into a loss of records"
    )


def _unbegun(name: str, runs: Sequence[Begun], every: Every) -> list[int]:
    """When, on the journal's time line, the moments were that lie between runs and were not begun.

    A run may wait for a stream that is free, and a later one find it before.
    """
    at_ns = {run.slot: run.at_ns for run in sorted(runs, key=lambda run: run.slot)}
    if len(at_ns) < len(runs):
        raise Unproven(f"a moment of {name} was begun twice")
    return [
        at_ns[before] + nth * every.interval_ns
        for before, after in pairwise(at_ns)
        for nth in range(1, after - before)
    ]


def it_ended_in_order(records: Iterable[Record], code: int, plain: Sequence[str]) -> str:
    """It has said nothing but lines of the log, and at the end what the disk has refused.

    The count is that of the exporter process which there is at the end.
    """
    refused = 0
    for record in records:
        if record["k"] == "records_lost":
            refused = refused + int(str(record["count"])) if _is_loss(record, "journal_full") else 0
    wanted = (0, 0) if not refused else (3, 1)
    if (code, len(plain)) != wanted or not all(f" {refused} refused" in line for line in plain):
        raise Unproven(f"exit code {code}; it wrote: {list(plain[:5])}")
    said = f"; its last words: {plain[0]}" if plain else ""
    return f"exit code {code}, every line a line of the log{said}"


def start_ms(lines: Iterable[Any], started_ns: int) -> float:
    """From the start of the program to measuring."""
    ready = next(line for line in lines if line["event"] == "process_ready")
    return float((ready["mono_ns"] - started_ns) / MS)


def most_at_once(records: Sequence[Record]) -> int:
    """How many sessions went on at the same time; of those whose start and end are journalled."""
    begun = {one["s"]: int(str(one["t"])) for one in records if one["k"] == "session_started"}
    ended = {one["s"]: int(str(one["t"])) for one in records if one["k"] == "session_finished"}
    whole = begun.keys() & ended.keys()
    changes = [(begun[name], 1) for name in whole] + [(ended[name], -1) for name in whole]
    return max(accumulate(change for _, change in sorted(changes)), default=0)
