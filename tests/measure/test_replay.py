"""Records read again: sessions, their rules, and a journal of an earlier version."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from measure.events import (
    Event,
    ForceSent,
    FrameSent,
    HostStalled,
    MessageReceived,
    SpeechEnd,
    SpeechStart,
)
from measure.measurement import Measurement
from measure.records import SECOND, Endpoint, FinalRule, Flow, ForceAt, Rule, Verdict
from measure.replay import (
    Recorded,
    Session,
    measurement_of,
    measurements_of,
    reading_of,
    recorded_of,
    rule_of,
    sessions_of,
    turns_of,
)
from measure.wire import Record, Recorder, to_record
from tests.measure.stories import (
    KNOWN_MS,
    MARKED,
    NEXT,
    ZERO,
    force,
    forced,
    forced_final,
    frame,
    read,
    rules,
    stories,
)

JOURNALS = Path(__file__).with_name("journals")


def plain(rule: Rule) -> dict[str, object]:
    return {name: getattr(value, "value", value) for name, value in asdict(rule).items()}


def started(session_id: str = "s", **more: object) -> Record:
    return {
        "k": "session_started",
        "t": 0,
        "s": session_id,
        "run_id": "r",
        "model": "deepgram/nova-3",
        "dataset": "files",
        "clip": "day",
        "audio_ms": 1000.0,
        "flow": "forced",
        "reference": "good day",
        "rule": plain(MARKED),
        "wall_unix_ns": 10**18,
        "signature": "speechbench test",
        **more,
    }


def finished(session_id: str = "s", **more: object) -> Record:
    return {"k": "session_finished", "t": 9, "s": session_id, "wall_ms": 2.5, **more}


def recorded(story: list[Event], session_id: str = "s") -> list[Record]:
    records: list[Record] = []
    recorder = Recorder(session_id, records.append)
    for event in story:
        recorder.note(event)
    recorder.flush()
    return records


ANSWER = forced_final(ZERO + 5, "good day")
STORY = [*forced(), ANSWER]


# Sessions.


def test_live_audio_which_has_no_length_when_it_begins_is_as_long_as_what_was_sent() -> None:
    records = [started(audio_ms=0.0, live=True), *recorded(STORY), finished()]
    (session,) = sessions_of(records)
    assert measurement_of(session).audio_ms == KNOWN_MS


def test_records_that_are_mixed_are_sorted_by_session() -> None:
    one, two = recorded(STORY, "one"), recorded(STORY[:-1], "two")
    mixed = [record for pair in zip(one[:-1], two, strict=True) for record in pair]
    records = [started("one"), started("two"), *mixed, one[-1], finished("two"), finished("one")]
    sessions = list(sessions_of(records))
    assert [session.started["s"] for session in sessions] == ["one", "two"]
    assert [session.events for session in sessions] == [tuple(STORY), tuple(STORY[:-1])]
    assert all(session.finished is not None for session in sessions)


def test_a_session_without_its_beginning_is_left_out() -> None:
    assert list(sessions_of([*recorded(STORY), finished()])) == []
    assert list(recorded_of([*recorded(STORY), finished()])) == []


def test_a_session_without_its_end_has_none() -> None:
    (session,) = sessions_of([started(), *recorded(STORY)])
    assert (session.finished, session.events) == (None, tuple(STORY))


def test_sessions_come_as_soon_as_they_have_ended_and_those_that_have_not_come_last() -> None:
    records = [started("one"), started("two"), finished("two"), started("three"), finished("three")]
    found = list(recorded_of(records))
    assert [one.session_id for one in found] == ["two", "three", "one"]


def test_the_first_end_of_a_session_counts() -> None:
    records = [started(), *recorded(STORY), finished(), finished(wall_ms=99.0)]
    (session,) = sessions_of(records)
    assert session.finished == finished()
    assert Recorded(records[0], tuple(records[1:])).session == session


def test_a_session_that_has_not_ended_has_all_that_was_recorded() -> None:
    (one,) = recorded_of([started(), *recorded(STORY)])
    assert (one.started, one.rest) == (started(), tuple(recorded(STORY)))


def test_what_is_recorded_is_the_session() -> None:
    records = [started(), *recorded(STORY), finished()]
    (one,), (session,) = recorded_of(records), sessions_of(records)
    assert one.session == session
    assert one.rule == session.rule == MARKED
    assert one.rest == tuple(records[1:])
    (open_one,) = recorded_of(records[:-1])
    assert open_one.session.finished is None


def test_a_session_without_its_rule_is_not_read() -> None:
    (session,) = sessions_of([started("x", rule=None)])
    with pytest.raises(ValueError, match="session x: its record has no rule"):
        assert session.rule
    with pytest.raises(ValueError, match="session x"):
        assert Recorded(started("x", rule=3), ()).rule


# Rules.


@given(rules)
def test_a_rule_is_read_as_it_was_written(rule: Rule) -> None:
    written = replace(rule, endpoint=Endpoint.EVERY)
    assert rule_of(json.loads(json.dumps(plain(written)))) == written


def test_what_was_no_setting_then_has_its_default_and_what_is_none_now_is_left_out() -> None:
    assert rule_of({"flow": "forced", "colour": "red"}) == Rule(Flow.FORCED)


def test_words_of_a_rule_are_its_own_kinds() -> None:
    rule = rule_of({"flow": "close", "force_at": "speech_end", "final_rule": "none"})
    assert isinstance(rule.flow, Flow)
    assert isinstance(rule.force_at, ForceAt)
    assert isinstance(rule.final_rule, FinalRule)


# Measurements.


def session_of(story: list[Event], end: Record | None = None, **more: object) -> Session:
    (session,) = sessions_of([started() | more, *recorded(story), *([end] if end else [])])
    return session


def test_a_measurement_is_made_again() -> None:
    session = session_of(STORY, finished())
    measurement = measurement_of(session)
    assert measurement == Measurement(
        session_id="s",
        run_id="r",
        model="deepgram/nova-3",
        corpus="files",
        clip="day",
        audio_ms=1000.0,
        flow=Flow.FORCED,
        reading=read(MARKED, STORY),
        circumstances=measurement.circumstances,
        started_wall_ns=10**18,
        wall_ns=2_500_000,
        signature="speechbench test",
        reference="good day",
        turn=1,
    )
    assert (measurement.circumstances.frames, measurement.circumstances.finals) == (2, 1)


def test_a_measurement_that_was_broken_off_took_no_known_time() -> None:
    assert measurement_of(session_of(STORY)).wall_ns == 0
    assert measurement_of(session_of(STORY, {"k": "session_finished", "s": "s"})).wall_ns == 0


def test_a_clip_may_have_no_reference() -> None:
    assert measurement_of(session_of(STORY, reference=None)).reference is None


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("run_id", "session_started: run_id is missing or not a text"),
        ("audio_ms", "session_started: audio_ms is missing or not a number"),
        ("wall_unix_ns", "session_started: wall_unix_ns is missing or not a number"),
    ],
)
def test_a_record_that_lacks_something_is_named(field: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        measurement_of(session_of(STORY, **{field: None}))


def test_another_rule_gives_another_reading() -> None:
    session = session_of([*forced(), replace(ANSWER, forced=None)])
    assert reading_of(session).confirmed_ns is None
    assert reading_of(session, NEXT).confirmed_ns == ZERO + 5
    assert measurement_of(session, NEXT).reading.confirmed_ns == ZERO + 5
    assert turns_of(session, NEXT)[0].reading() == reading_of(session, NEXT)


def test_each_turn_is_a_measurement_and_the_last_one_stands_for_the_session() -> None:
    far = 4 * SECOND
    story = [
        *forced()[:2],
        SpeechStart(0, 2000.0, 2064.0),
        SpeechEnd(0, 2900.0, 3000.0),
        *STORY[2:],
        frame(ZERO + 3 * SECOND, 2100.0),
        frame(ZERO + far, 3000.0),
        force(ZERO + far),
        forced_final(ZERO + far + 7, "indeed"),
    ]
    session = session_of(story, rule=plain(replace(MARKED, endpoint=Endpoint.EVERY)))
    one, two = measurements_of(session)
    assert (one.turn, two.turn) == (1, 2)
    assert (one.reading.time_to_final_ns, two.reading.time_to_final_ns) == (5, 7)
    assert (one.reference, two.reference) == (None, None)
    assert measurement_of(session) == two
    assert reading_of(session) == two.reading
    assert two.circumstances.frames == 1


@given(rules, stories())
def test_a_session_is_read_from_its_records_as_it_was_live(rule: Rule, story: list[Event]) -> None:
    assert reading_of(session_of(story, rule=plain(rule))) == read(rule, story)


# A journal of an earlier version.


def unpacked(value: object) -> object:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) and "hex" in value else value


def stored(name: str) -> list[Record]:
    lines: list[dict[str, Any]] = json.loads((JOURNALS / name).read_text(encoding="utf-8"))
    return [{key: unpacked(value) for key, value in record.items()} for record in lines]


@pytest.mark.parametrize("path", sorted(JOURNALS.glob("*.json")), ids=lambda path: path.stem)
def test_a_stored_journal_reads_as_it_did_then(path: Path) -> None:
    sessions = {str(one.started["s"]): one for one in sessions_of(stored(path.name))}
    assert list(sessions) == ["forced", "natural", "lost"]
    for session in sessions.values():
        end = session.finished
        assert end is not None
        measurement = measurement_of(session)
        reading = measurement.reading
        assert reading.verdict == end["verdict"]
        assert reading.zero_ns == end["zero_ns"]
        assert reading.time_to_final_ns == end["time_to_final_ns"]
        assert reading.time_to_first_partial_ns == end["time_to_first_partial_ns"]
        assert reading.confirmed_ns == end["confirmed_ns"]
        assert reading.transcript == end["transcript"]
        assert [remark.value for remark in reading.remarks] == end["remarks"]
        assert measurement.circumstances.frames == end["frames"]
        assert session.rule.endpoint is Endpoint.LAST
    assert reading_of(sessions["forced"]).verdict is Verdict.FORCED_FINAL
    assert reading_of(sessions["natural"]).verdict is Verdict.NATURAL_FINAL
    assert reading_of(sessions["lost"]).verdict is Verdict.CONNECTION_LOST


def test_every_event_of_a_stored_journal_is_written_as_it_was() -> None:
    kept = [record for record in stored("0_1_0.json") if record["k"] != "frames"]
    (session, *_) = sessions_of(kept)
    written = [to_record(event, "forced") for event in session.events]
    then = [record for record in kept if record["s"] == "forced"][1:-1]
    assert all(record.items() <= now.items() for record, now in zip(then, written, strict=True))
    assert not any(isinstance(event, HostStalled) for event in session.events)
    assert any(isinstance(event, MessageReceived | ForceSent) for event in session.events)
    assert not any(isinstance(event, FrameSent) for event in session.events)
