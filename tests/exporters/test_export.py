"""A journal as two tables: nothing is left out, rounded or guessed."""

from typing import Any

import pytest

from exporters.export import TABLES, Kind, Row
from measure.events import EVENTS, Connected, Failed, FrameSent, MessageReceived, Transcript
from measure.faults import Fault, FaultKind, Whose
from measure.measurement import Circumstances
from measure.wire import Record, frames_record, to_record
from tests.exporters.records import finished, started

PYTHON = {Kind.INT: int, Kind.FLOAT: float, Kind.BOOL: bool, Kind.TEXT: str}
HEADER: Record = {"k": "segment", "t": 0, "schema": 1, "host": "host-1", "version": "0.1.0"}


def sessions(*records: Record) -> list[Row]:
    return rows("sessions", *records)


def rows(table: str, *records: Record) -> list[Row]:
    """The rows, each checked against the columns."""
    found = list(TABLES[table].rows(records))
    for row in found:
        assert list(row) == list(TABLES[table].columns)
        for name, value in row.items():
            assert value is None or type(value) is PYTHON[TABLES[table].columns[name]], name
    return found


def one(*records: Record) -> Row:
    (row,) = sessions(*records)
    return row


def test_a_session_is_a_row_with_what_was_said_at_its_start_and_at_its_end() -> None:
    row = one(HEADER, started(), finished())
    assert row["session_id"] == "s-1"
    assert (row["host"], row["version"]) == ("host-1", "0.1.0")
    assert row["clip_sha256"] == "0" * 64
    assert row["started_unix_ns"] == 1_700_000_007_000_000_000
    assert (row["verdict"], row["valid"], row["time_to_final_ns"]) == (
        "forced_final",
        True,
        312_500_000,
    )
    assert (row["frames"], row["frames_late"], row["late_p99_ns"]) == (250, 1, 1_500_000)
    assert (row["signature"], row["cost_usd"]) == ("sig", 0.0005)
    assert (row["score_substitutions"], row["first_partial_score_deletions"]) == (1, 4)
    assert row["complete"]


def test_every_circumstance_has_a_column() -> None:
    assert set(Circumstances.__dataclass_fields__) <= set(TABLES["sessions"].columns)


def test_what_has_no_column_is_kept_as_json() -> None:
    row = one(started(), finished(mood=["calm"], other={"a": 1}))
    assert row["more"] == '{"mood": ["calm"], "other": {"a": 1}}'
    assert one(started(), finished())["more"] is None


def test_what_does_not_fit_its_column_is_kept_beside_it() -> None:
    row = one(started(), finished(frames="many", zero_ns=1 << 63, rtt_ns=True))
    assert (row["frames"], row["zero_ns"], row["rtt_ns"]) == (None, None, None)
    assert row["more"] == '{"zero_ns": 9223372036854775808, "frames": "many", "rtt_ns": true}'


def test_signed_values_stay_signed_and_missing_ones_missing() -> None:
    row = one(started(), finished(time_to_final_ns=-5, time_to_first_partial_ns=None))
    assert (row["time_to_final_ns"], row["time_to_first_partial_ns"]) == (-5, None)


def test_a_fault_and_remarks_have_columns() -> None:
    fault = {"whose": "provider", "kind": "rate", "detail": "429", "retry_after_s": 9}
    row = one(started(), finished(fault=fault, remarks=["late_partial", "vad_at_eof"]))
    assert row["fault_whose"] == "provider"
    assert (row["fault_kind"], row["fault_detail"]) == ("rate", "429")
    assert row["fault_retry_after_s"] == 9.0
    assert row["remarks"] == "late_partial,vad_at_eof"


def test_half_a_surrogate_pair_can_be_exported() -> None:
    assert one(started(), finished(transcript="a\ud800"))["transcript"] == "a\\ud800"


def test_a_session_without_an_end_comes_last_and_is_not_complete() -> None:
    found = sessions(started("a"), started("b"), finished("b"))
    assert [(row["session_id"], row["complete"], row["verdict"]) for row in found] == [
        ("b", True, "forced_final"),
        ("a", False, None),
    ]


def test_a_session_without_a_beginning_is_not_complete() -> None:
    assert not one(finished())["complete"]


UNREADABLE: Record = {"k": "unreadable", "path": "x", "offset": 8, "bytes": 9, "why": "checksum"}


@pytest.mark.parametrize(
    ("between", "complete"),
    [
        (UNREADABLE, {"a": False, "b": True, "c": True}),
        ({"k": "records_lost", "count": 1}, {"a": False, "b": True, "c": True}),
        ({"k": "records_lost", "count": 1, "sessions": []}, {"a": False, "b": True, "c": True}),
        ({"k": "records_lost", "count": 1, "sessions": ["c"]}, {"a": True, "b": True, "c": False}),
        ({"k": "log", "t": 1}, {"a": True, "b": True, "c": True}),
    ],
)
def test_only_sessions_that_may_have_lost_something_are_not_complete(
    between: Record, complete: dict[str, bool]
) -> None:
    """One that runs at the time, unless it is known whose records were lost."""
    found = sessions(
        *(started("b"), finished("b"), started("a"), between, finished("a")),
        *(started("c"), finished("c")),
    )
    assert {row["session_id"]: row["complete"] for row in found} == complete


def test_each_event_is_a_row_in_the_order_of_its_session() -> None:
    frames = [FrameSent(2_000_000_000 + i, 2_000_000_000, 20.0 * i, i == 2) for i in range(3)]
    said = Transcript(2_000_000_009, "good", final=True, forced=None, segment="1")
    found = rows(
        "events",
        HEADER,
        started("a"),
        frames_record(frames, "a"),
        to_record(said, "b"),
        to_record(said, "a"),
        {"k": "heartbeat", "t": 3},
        finished("a"),
    )
    assert [(row["session_id"], row["number"], row["kind"]) for row in found] == [
        ("a", 1, "frame_sent"),
        ("a", 2, "frame_sent"),
        ("a", 3, "frame_sent"),
        ("b", 1, "transcript"),
        ("a", 4, "transcript"),
    ]
    assert (found[2]["audio_ms"], found[2]["padding"], found[2]["due_ns"]) == (
        40.0,
        True,
        2 * 10**9,
    )
    assert (found[4]["text"], found[4]["final"], found[4]["forced"]) == ("good", True, None)
    assert found[4]["since_start_ns"] == 1_000_000_009
    assert found[3]["since_start_ns"] is None  # its beginning is not there


def test_raw_bytes_and_faults_have_columns_of_their_own() -> None:
    fault = Fault(Whose.HOST, FaultKind.HARNESS, "x", 1.5)
    events = (MessageReceived(1, b"\xff\x00"), MessageReceived(2, "{}"), Failed(3, fault))
    found = rows("events", *(to_record(event, "a") for event in events))
    assert [(row["raw"], row["raw_base64"]) for row in found[:2]] == [(None, "/wA="), ("{}", None)]
    assert (found[2]["fault_whose"], found[2]["fault_retry_after_s"]) == ("host", 1.5)


def test_an_event_that_cannot_be_read_is_a_row_that_says_why() -> None:
    (row,) = rows("events", {"k": "transcript", "t": 5, "s": "a", "text": 7, "final": True})
    assert (row["kind"], row["at_ns"], row["text"]) == ("transcript", 5, None)
    assert row["problem"] == "transcript: text is a int, it must be str"


def test_a_number_that_no_column_holds_is_a_problem_and_no_end() -> None:
    huge: dict[str, Any] = to_record(Connected(1, None, None, 1 << 63, None, 1, "x"), "a")
    (row,) = rows("events", huge)
    assert row["problem"] == "a number too large for its column"


def test_one_name_means_one_type_in_all_events() -> None:
    """Otherwise two of them could not share a column."""
    kinds: dict[str, set[str]] = {}
    for event in EVENTS.values():
        for name, field in event.__dataclass_fields__.items():
            kinds.setdefault(name, set()).add(str(field.type).replace(" | None", ""))
    assert {name: types for name, types in kinds.items() if len(types) > 1} == {}
