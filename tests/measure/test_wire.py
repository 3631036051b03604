"""Records of events: laws first, then small stories of damaged and foreign records."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, get_type_hints

import msgpack  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from measure.events import (
    EVENTS,
    Event,
    Failed,
    FrameSent,
    MessageReceived,
    SpeechEnd,
    StreamClosed,
    Tick,
    Transcript,
)
from measure.faults import Fault, FaultKind, Whose
from measure.wire import (
    Record,
    Recorder,
    events_of,
    frames_of,
    frames_record,
    from_record,
    to_record,
)

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no failure."""
INT64 = 2**63
moments = st.integers(0, INT64 - 1)
places = st.floats(allow_nan=False)
texts = st.text(st.characters(exclude_categories=())) | st.just("\ud800")
faults = st.builds(
    Fault,
    st.sampled_from(Whose),
    st.sampled_from(FaultKind),
    texts,
    st.none() | st.floats(allow_nan=False),
)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-INT64, INT64 - 1),
    float: places,
    float | None: st.none() | places,
    str: texts,
    bool: st.booleans(),
    int | None: st.none() | st.integers(-INT64, INT64 - 1),
    str | None: st.none() | texts,
    bool | None: st.none() | st.booleans(),
    str | bytes: texts | st.binary(),
    Fault: faults,
}


def any_of(event: type[Event]) -> st.SearchStrategy[Event]:
    """Any event of one kind, each field of its own type; a new field type fails loudly here."""
    hints = get_type_hints(event)
    return st.builds(event, **{field.name: VALUES[hints[field.name]] for field in fields(event)})


any_event = st.one_of([any_of(event) for event in EVENTS.values()])
# Differences of two of these stay inside 64 bits, as they do on any clock.
fillings = st.sampled_from([0.0, 0.0, 0.0, 13.0, 0.0625])
moments_of_frames = st.integers(0, 2**62)
frames = st.builds(FrameSent, moments_of_frames, moments_of_frames, places, st.booleans(), fillings)
captured = st.builds(
    FrameSent,
    moments_of_frames,
    moments_of_frames,
    places,
    st.booleans(),
    fillings,
    moments_of_frames,
)


def packed_and_unpacked(record: Record) -> Record:
    raw = msgpack.packb(record, unicode_errors="surrogatepass")
    read: Record = msgpack.unpackb(raw, unicode_errors="surrogatepass")
    return read


@calm
@given(any_event, texts)
def test_an_event_comes_back_from_its_record_as_it_was(event: Event, session_id: str) -> None:
    record = packed_and_unpacked(to_record(event, session_id))
    back = from_record(record)
    assert back == event
    assert type(back) is type(event)
    assert (record["k"], record["t"], record["s"]) == (event.kind, event.at_ns, session_id)


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda event: event.kind)
def test_every_kind_of_event_has_a_record(event: type[Event]) -> None:
    example = any_of(event)

    @calm
    @given(example)
    def law(happened: Event) -> None:
        assert from_record(to_record(happened, "s")) == happened

    law()


@calm
@given(st.lists(frames, min_size=1, max_size=70) | st.lists(captured, min_size=1, max_size=70))
def test_frames_come_back_from_one_record_as_they_were(sent: list[FrameSent]) -> None:
    assert frames_of(packed_and_unpacked(frames_record(sent, "s"))) == sent


def test_captured_and_other_frames_are_never_one_record() -> None:
    plain, live = FrameSent(1, 1, 20.0), FrameSent(2, 2, 40.0, captured_ns=1)
    with pytest.raises(ValueError, match="captured and other frames"):
        frames_record([plain, live], "s")
    records: list[Record] = []
    recorder = Recorder("s", records.append)
    story = [plain, plain, live, live, plain]
    for frame in story:
        recorder.note(frame)
    recorder.flush()
    assert [record["count"] for record in records] == [2, 2, 1]
    assert [frame for record in records for frame in frames_of(record)] == story


@calm
@given(st.lists(st.one_of(frames, captured, any_event), max_size=30), st.integers(1, 5))
def test_a_recorder_keeps_every_event_in_the_order_in_which_it_was_told(
    story: list[Event], batch: int
) -> None:
    # Arbitrary events are no clock's: only moments that lie within 64 bits of each other are.
    told = [
        replace(event, at_ns=event.at_ns % 2**62, due_ns=event.due_ns % 2**62)
        if isinstance(event, FrameSent)
        else event
        for event in story
    ]
    records: list[Record] = []
    recorder = Recorder("s", records.append, frames_in_one_record=batch)
    for event in told:
        recorder.note(event)
    recorder.flush()
    assert list(events_of(records)) == told
    assert all(len(frames_of(r)) <= batch for r in records if r["k"] == "frames")


def test_silence_that_fills_a_frame_up_has_a_column_only_where_there_is_any() -> None:
    plain, filled = FrameSent(1, 1, 20.0), FrameSent(2, 2, 27.0, filled_ms=13.0)
    assert "filled_ms" not in frames_record([plain, plain], "s")
    record = frames_record([plain, filled], "s")
    assert frames_of(record) == [plain, filled]
    older = {name: value for name, value in record.items() if name != "filled_ms"}
    assert frames_of(older) == [plain, replace(filled, filled_ms=0.0)]
    with pytest.raises(ValueError, match="filled_ms has 8 bytes for 2 frames"):
        frames_of(record | {"filled_ms": bytes(8)})


def test_text_and_binary_messages_are_kept_apart() -> None:
    text, binary = MessageReceived(1, "hey"), MessageReceived(1, b"hey")
    assert from_record(packed_and_unpacked(to_record(text, "s"))) == text
    assert from_record(packed_and_unpacked(to_record(binary, "s"))) == binary
    assert text != binary


def test_a_fault_is_a_record_of_plain_words() -> None:
    fault = Fault(Whose.PROVIDER, FaultKind.RATE, "HTTP 429", 2.5)
    record = to_record(Failed(7, fault), "s")
    assert record["fault"] == {
        "whose": "provider",
        "kind": "rate",
        "detail": "HTTP 429",
        "retry_after_s": 2.5,
    }
    assert isinstance(record["fault"], dict)
    assert type(record["fault"]["kind"]) is str  # no enumeration crosses


def test_kinds_that_are_no_event_or_not_known_here_are_none() -> None:
    assert from_record({"k": "heartbeat", "t": 1}) is None
    assert from_record({"k": "frames", "t": 1}) is None
    assert from_record({"k": "heard_in_the_year_3000"}) is None


def test_keys_that_are_not_known_here_are_skipped() -> None:
    record = to_record(Tick(3), "s") | {"mood": "calm"}
    assert from_record(record) == Tick(3)


def test_a_key_that_an_older_version_did_not_write_has_its_default() -> None:
    record = to_record(SpeechEnd(3, 1000.0, 1100.0, at_eof=True), "s")
    del record["at_eof"]
    assert from_record(record) == SpeechEnd(3, 1000.0, 1100.0)


def test_a_whole_number_will_do_for_a_place_in_the_clip() -> None:
    record = to_record(SpeechEnd(3, 1000.0, 1100.0), "s") | {"audio_ms": 1000}
    event = from_record(record)
    assert isinstance(event, SpeechEnd)
    assert isinstance(event.audio_ms, float)


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({}, "without a kind: k is missing"),
        ({"k": 5, "t": 1}, "without a kind: k is a int"),
        ({"k": "tick"}, "tick: t is missing, it must be int"),
        ({"k": "tick", "t": True}, "tick: t is a bool, it must be int"),
        ({"k": "tick", "t": "1"}, "tick: t is a str, it must be int"),
        ({"k": "notice", "t": 1}, "notice: name is missing"),
        ({"k": "stream_closed", "t": 1, "code": "x"}, "code is a str, it must be int or None"),
        ({"k": "speech_start", "t": 1, "audio_ms": 10**400, "known_ms": 0.0}, "audio_ms is too"),
        ({"k": "transcript", "t": 1, "text": b"a", "final": True}, "text is a bytes"),
        ({"k": "transcript", "t": 1, "text": {}, "final": True}, "text is a dict"),
        ({"k": "speech_start", "t": 1, "audio_ms": "1", "known_ms": 0.0}, "audio_ms is a str"),
        ({"k": "speech_start", "t": 1, "audio_ms": True, "known_ms": 0.0}, "audio_ms is a bool"),
        (
            {"k": "failed", "t": 1, "fault": {"whose": "nobody", "kind": "tls"}},
            "'nobody' is not a valid Whose",
        ),
        ({"k": "failed", "t": 1, "fault": {"whose": "host", "kind": "x"}}, "not a valid FaultKind"),
        ({"k": "failed", "t": 1, "fault": "broken"}, "fault is a str, it must be Fault"),
        (
            {"k": "failed", "t": 1, "fault": {"whose": "host", "kind": "tls", "detail": 3}},
            "fault.detail is a int",
        ),
    ],
)
def test_a_damaged_record_is_named(record: Record, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        from_record(record)


GOOD = frames_record([FrameSent(1, 1, 20.0), FrameSent(2, 2, 40.0, padding=True)], "s")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"count": 3}, "at_ns has 16 bytes for 3 frames"),
        ({"count": -1}, "at_ns has 16 bytes for -1 frames"),
        ({"count": 10**18}, "at_ns has 16 bytes"),
        ({"at_ns": b"x" * 15}, "at_ns has 15 bytes for 2 frames"),
        ({"due_ns": None}, "due_ns is missing"),
        ({"audio_ms": "x" * 16}, "audio_ms is a str, it must be bytes"),
        ({"padding": b""}, "padding has 0 bytes for 2 frames"),
        ({"t": None}, "t is missing"),
    ],
)
def test_a_damaged_record_of_frames_is_named(change: Record, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        frames_of(GOOD | change)


def test_frames_too_far_apart_to_be_real_are_refused() -> None:
    with pytest.raises(ValueError, match="292 years"):
        frames_record([FrameSent(0, 2**64, 20.0)], "s")


def test_a_record_of_no_frames_is_refused() -> None:
    with pytest.raises(ValueError, match="no frames"):
        frames_record([], "s")


def test_a_second_of_frames_is_small() -> None:
    second = [FrameSent(i * 20_000_000, i * 20_000_000, i * 20.0) for i in range(50)]
    assert len(msgpack.packb(frames_record(second, "a" * 26))) < 1400


def test_frames_are_handed_over_before_the_event_that_ends_their_batch() -> None:
    told: list[Record] = []
    recorder = Recorder("s", told.append)
    story: Iterable[Event] = (FrameSent(1, 1, 20.0), Transcript(1, "a", final=False))
    for event in story:
        recorder.note(event)
    recorder.note(StreamClosed(2, None))
    assert [record["k"] for record in told] == ["frames", "transcript", "stream_closed"]


def in_turn(count: int) -> list[FrameSent]:
    return [FrameSent(100 + n, 90 + n, 20.0 * n, padding=n == count) for n in range(1, count + 1)]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 17])
def test_any_number_of_frames_comes_back(count: int) -> None:
    record = frames_record(in_turn(count), "s")
    assert frames_of(record) == in_turn(count)
    assert len(record["padding"]) == -(-count // 8)  # type: ignore[arg-type]


def test_a_record_of_frames_is_columns_of_little_endian_numbers() -> None:
    assert frames_record(in_turn(2), "s") == {
        "k": "frames",
        "t": 101,
        "s": "s",
        "count": 2,
        "at_ns": (0).to_bytes(8, "little") + (1).to_bytes(8, "little"),
        "due_ns": (-10).to_bytes(8, "little", signed=True)
        + (-9).to_bytes(8, "little", signed=True),
        "audio_ms": bytes.fromhex("00000000000034400000000000004440"),
        "padding": b"\x02",
    }


def test_a_batch_is_handed_over_as_soon_as_it_is_full() -> None:
    told: list[Record] = []
    recorder = Recorder("s", told.append, 2)
    for sent in in_turn(3):
        recorder.note(sent)
    assert [record["count"] for record in told] == [2]
    recorder.flush()
    recorder.flush()
    assert [record["count"] for record in told] == [2, 1]
    assert list(events_of(told)) == in_turn(3)


def test_a_batch_is_a_second_of_audio() -> None:
    told: list[Record] = []
    recorder = Recorder("s", told.append)
    for sent in in_turn(50):
        assert told == []
        recorder.note(sent)
    assert [record["count"] for record in told] == [50]
