"""What a soak proves can fail: each proof is given a journal in which it must."""

from collections.abc import Sequence
from typing import Any

import pytest

from daemon.schedule import Every, Job
from measure.events import FrameSent
from measure.records import MS, SECOND
from measure.wire import Record, Recorder
from tests.soak import proof
from tests.soak.proof import Unproven
from tests.soak.world import STEP_NS, Wrong

ANSWER_NS = 200 * MS
STILL = Wrong("stands_still", 10 * SECOND, 12 * SECOND)
EVERY = Every(5 * SECOND)
JOB = Job("first-0", "deepgram/nova-3", "files")


def session(
    name: str,
    started_ns: int,
    zero_ns: int,
    *,
    valid: bool = True,
    final_ns: int = ANSWER_NS,
    due_ns: Sequence[int] = (),
    late_max_ns: int = 0,
    frames: int | None = None,
) -> list[Record]:
    """A session as the journal tells it."""
    common = {"s": name, "model": JOB.model, "run_id": "r"}
    records: list[Record] = [{"k": "session_started", "t": started_ns, **common}]
    recorder = Recorder(name, records.append)
    for nth, due in enumerate(due_ns):
        recorder.note(FrameSent(due, due, 20.0 * nth))
    recorder.flush()
    answered = {
        "zero_ns": zero_ns,
        "time_to_final_ns": final_ns,
        "late_max_ns": late_max_ns,
        "frames": len(due_ns) if frames is None else frames,
    }
    records.append(
        {
            "k": "session_finished",
            "t": zero_ns + final_ns + SECOND,
            **common,
            **answered,
            "valid": valid,
            "fault": None,
        }
    )
    return records


def stalled() -> list[Record]:
    """One that stood still, and says so."""
    return session("stalled", 9 * SECOND, 12 * SECOND, valid=False)


# Standstills


@pytest.mark.parametrize(
    ("started_ns", "zero_ns", "final_ns"),
    [
        (8 * SECOND, 12 * SECOND + 900 * MS, ANSWER_NS),  # in the last second before zero
        (8 * SECOND, 11 * SECOND, ANSWER_NS),  # all of it
        (8 * SECOND, 9 * SECOND + 900 * MS, 3 * SECOND),  # while the answer was awaited
        (8 * SECOND, 9 * SECOND + 900 * MS, ANSWER_NS),  # the answer came meanwhile
    ],
)
def test_a_standstill_that_reaches_into_what_is_timed_must_spoil_it(
    started_ns: int, zero_ns: int, final_ns: int
) -> None:
    counts = session("counts", started_ns, zero_ns, final_ns=final_ns)
    with pytest.raises(Unproven, match="session counts stood still and counts"):
        proof.standstills_are_marked([*stalled(), *counts], [STILL])
    marked = session("marked", started_ns, zero_ns, final_ns=final_ns, valid=False)
    assert proof.standstills_are_marked(marked, [STILL]).startswith("1 sessions stood still")


@pytest.mark.parametrize(
    ("started_ns", "zero_ns"),
    [
        (9 * SECOND, 14 * SECOND),  # opened before it, audio only after it
        (5 * SECOND, 9 * SECOND),  # answered before it
        (12 * SECOND + 1, 12 * SECOND + 500 * MS),  # opened after it
    ],
)
def test_a_standstill_beside_what_is_timed_may_leave_it_valid(
    started_ns: int, zero_ns: int
) -> None:
    proof.standstills_are_marked([*stalled(), *session("a", started_ns, zero_ns)], [STILL])


def test_frames_that_a_standstill_has_made_late_must_be_shown() -> None:
    due_ns = (9 * SECOND, 11 * SECOND, 13 * SECOND)
    story = {"started_ns": 8 * SECOND, "zero_ns": 14 * SECOND, "due_ns": due_ns}
    hidden = session("hidden", late_max_ns=SECOND // 2, **story)  # type: ignore[arg-type]
    with pytest.raises(Unproven, match="session hidden had late frames"):
        proof.standstills_are_marked([*stalled(), *hidden], [STILL])
    shown = session("shown", late_max_ns=SECOND, **story)  # type: ignore[arg-type]
    assert "1 before it did" in proof.standstills_are_marked([*stalled(), *shown], [STILL])


def test_standstills_that_met_nobody_prove_nothing() -> None:
    with pytest.raises(Unproven, match="no session was on"):
        proof.standstills_are_marked(session("a", 13 * SECOND, 15 * SECOND), [STILL])


# The wall clock

STEP = Wrong("clock_steps", 20 * SECOND, 20 * SECOND + MS)


def stepped(*, valid: bool = False) -> list[Record]:
    return session("stepped", 19 * SECOND, 21 * SECOND, valid=valid)


def usual() -> list[Record]:
    return [one for nth in range(5) for one in session(f"u{nth}", nth * SECOND, (nth + 2) * SECOND)]


def test_a_session_in_which_the_clock_stepped_must_not_count() -> None:
    assert "1 sessions, none counts" in proof.clock_steps_change_no_value(
        [*usual(), *stepped()], [STEP], STEP_NS
    )
    with pytest.raises(Unproven, match="the clock stepped during session stepped"):
        proof.clock_steps_change_no_value([*usual(), *stepped(valid=True)], [STEP], STEP_NS)


@pytest.mark.parametrize("off_ns", [STEP_NS, -STEP_NS])
def test_a_reading_beside_a_step_that_is_off_by_the_step_is_found(off_ns: int) -> None:
    beside = session("beside", 20 * SECOND + 2 * MS, 23 * SECOND, final_ns=ANSWER_NS + off_ns)
    with pytest.raises(Unproven, match="session beside reads"):
        proof.clock_steps_change_no_value([*usual(), *stepped(), *beside], [STEP], STEP_NS)


def test_steps_that_met_nobody_prove_nothing() -> None:
    with pytest.raises(Unproven, match="no session was on"):
        proof.clock_steps_change_no_value(usual(), [STEP], STEP_NS)


# What was lost


def loss(why: str, count: int = 3, sessions: Sequence[str] = ()) -> Record:
    return {"k": "records_lost", "t": 0, "count": count, "why": why, "sessions": list(sessions)}


def resumed(lost: int) -> dict[str, Any]:
    return {"event": "journal_resumed", "records_lost": lost}


def test_losses_must_be_those_that_were_done_and_told_alike_in_journal_and_log() -> None:
    told = [loss("exporter_gone"), loss("journal_full", 7)]
    proof.losses_are_those_of_the_wrongs(told, [resumed(0), resumed(7)], 1, 1)
    for records, lines, kills, fills in (
        (told, [resumed(7)], 2, 1),
        (told, [resumed(7)], 1, 2),
        (told, [resumed(6)], 1, 1),
        (told, [], 1, 1),
        ([*told, loss("handoff_full")], [resumed(7)], 1, 1),
    ):
        with pytest.raises(Unproven):
            proof.losses_are_those_of_the_wrongs(records, lines, kills, fills)


def test_a_told_session_must_be_kept_unless_it_is_told_as_refused_and_named_as_lost() -> None:
    lines: list[dict[str, object]] = [{"event": "session_finished", "session_id": "a"}]
    named = [loss("journal_full", sessions=["a"])]
    proof.nothing_acknowledged_is_lost(session("a", 0, SECOND), lines)
    with pytest.raises(Unproven, match="1 of 1 sessions"):
        proof.nothing_acknowledged_is_lost(named, lines)
    lines[0]["journalled"] = False
    proof.nothing_acknowledged_is_lost(named, lines)
    with pytest.raises(Unproven, match="1 of 1 refused sessions"):
        proof.nothing_acknowledged_is_lost([loss("journal_full", sessions=["b"])], lines)


def test_a_session_that_lost_something_must_not_be_complete() -> None:
    kill = Wrong("exporter_is_killed", SECOND, 2 * SECOND)
    whole = session("a", 0, 3 * SECOND)
    with pytest.raises(Unproven, match="have a gap"):
        proof.the_holed_are_marked(whole, [kill])
    marked = [whole[0], loss("journal_full", sessions=["a"]), whole[-1]]
    assert "1 on a full disk" in proof.the_holed_are_marked(marked, [])
    due_ns = (0, 20 * MS)
    proof.the_holed_are_marked(session("a", 0, SECOND, due_ns=due_ns), [])
    lacking = session("a", 0, SECOND, due_ns=due_ns, frames=3)
    with pytest.raises(Unproven, match="have a gap"):
        proof.the_holed_are_marked(lacking, [])


@pytest.mark.parametrize(
    ("records", "code", "plain", "good"),
    [
        ([], 0, [], True),
        ([], 3, ["… 7 refused by the disk"], False),
        ([loss("journal_full", 7)], 3, ["… 7 refused by the disk"], True),
        ([loss("journal_full", 7)], 3, ["… 8 refused by the disk"], False),
        ([loss("journal_full", 7)], 0, [], False),
        ([loss("journal_full", 7), loss("exporter_gone")], 0, [], True),
        ([], 0, ["Traceback"], False),
        ([], 1, [], False),
    ],
)
def test_it_must_end_with_what_the_disk_has_refused_and_nothing_else(
    records: list[Record], code: int, plain: list[str], good: bool
) -> None:
    if good:
        proof.it_ended_in_order(records, code, plain)
    else:
        with pytest.raises(Unproven):
            proof.it_ended_in_order(records, code, plain)


def test_a_session_whose_end_was_lost_is_not_taken_for_one_that_goes_on() -> None:
    lost = session("a", 0, SECOND)[:-1]
    assert proof.most_at_once([*lost, *session("b", 9, SECOND), *session("c", 9, SECOND)]) == 2
    assert proof.most_at_once([]) == 0


# The schedule


def run(slot: int) -> list[Record]:
    """A run that begins at its moment; the journal's time line is the wall clock's here."""
    at_ns = EVERY.moment(0, JOB, slot)
    job = {"schedule": JOB.schedule, "model": JOB.model, "dataset": JOB.corpus}
    return [
        {"k": "job_begun", "t": at_ns, **job, "waited_ns": 0},
        {"k": "run_started", "t": at_ns + MS, **job, "wall_unix_ns": at_ns + MS},
    ]


def missed(slot: int) -> Record:
    at_ns, name = EVERY.moment(0, JOB, slot), JOB.schedule
    return {"k": "job_missed", "t": at_ns, "schedule": name, "why": "journal_full", "count": 1}


def follows(records: Sequence[Record], *wrongs: Wrong) -> str:
    return proof.runs_follow_the_schedule(records, wrongs, EVERY, 0)


def test_each_moment_must_be_begun_once_or_told_as_missed() -> None:
    assert "3 runs begun" in follows([*run(100), *run(101), *run(102)])
    assert "2 runs begun" in follows([*run(100), missed(101), *run(102)])
    with pytest.raises(Unproven, match="1 moments of first-0"):
        follows([*run(100), *run(102)])
    with pytest.raises(Unproven, match="begun twice"):
        follows([*run(100), *run(101), *run(101)])


def test_a_moment_may_be_unknown_only_where_records_were_lost() -> None:
    at_ns = EVERY.moment(0, JOB, 101)
    kill = Wrong("exporter_is_killed", at_ns - SECOND, at_ns + SECOND)
    assert "1 moments fell" in follows([*run(100), *run(102)], kill)
    still = Wrong("stands_still", at_ns - SECOND, at_ns + SECOND)
    with pytest.raises(Unproven):
        follows([*run(100), *run(102)], still)


def test_a_later_run_may_find_room_before_an_earlier_one() -> None:
    late, early = run(102), run(101)
    assert "3 runs begun" in follows([*run(100), *late, *early])


def test_a_run_must_begin_at_a_moment_of_its_schedule() -> None:
    begun, started = run(100)
    moved = {**started, "wall_unix_ns": int(str(started["wall_unix_ns"])) + 12 * SECOND // 5}
    follows([begun, moved])
    # Halfway between two moments is as far as a run of every five seconds can be from both.
    wide = Every(60 * SECOND)
    with pytest.raises(Unproven, match="at no moment"):
        proof.runs_follow_the_schedule([begun, moved], [], wide, 1)
