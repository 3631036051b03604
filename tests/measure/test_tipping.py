"""Small stories on the points where a reading tips over, each for a fault that could be planted."""

from dataclasses import replace

import pytest

from measure.choice import chosen
from measure.definitions.retelling import Retelling, told_of
from measure.events import (
    Event,
    ForceAcknowledged,
    FrameSent,
    LoopStalled,
    NetworkSampled,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    StreamDone,
    Tick,
)
from measure.heard import Heard
from measure.measurement import Circumstances, Measurement, Tally
from measure.records import SECOND, Answer, Endpoint, Flow, Frame, Remark, Rule, Verdict
from measure.turns import Turn, Turns
from measure.wire import from_record
from tests.measure.stories import (
    ACKED,
    FALLBACK,
    GRACE_OVER,
    MARKED,
    SURVEYED,
    ZERO,
    final,
    force,
    forced,
    forced_final,
    frame,
    partial,
    read,
    recorded,
    spoken,
)


@pytest.mark.parametrize("end", [StreamDone(ZERO + 9), StreamClosed(ZERO + 9, 1000)])
def test_where_nothing_is_asked_for_nothing_is_confirmed(end: StreamDone | StreamClosed) -> None:
    story = [*spoken(), final(ZERO + 1, "good"), end]
    assert read(FALLBACK, story).confirmed_ns is None
    assert read(FALLBACK, [*spoken(), end]).confirmed_ns is None


@pytest.mark.parametrize("code", [1000, None])
@pytest.mark.parametrize(
    ("rule", "confirmation"),
    [(MARKED, forced_final(ZERO + 1, "")), (ACKED, ForceAcknowledged(ZERO + 1))],
)
def test_a_stream_that_ends_after_a_confirmation_alone_is_lost(
    rule: Rule, confirmation: Event, code: int | None
) -> None:
    reading = read(rule, [*forced(), confirmation, StreamClosed(ZERO + 2, code)])
    assert (reading.verdict, reading.confirmed_ns) == (Verdict.CONNECTION_LOST, ZERO + 1)


def test_words_after_the_grace_make_nothing_that_was_final_already() -> None:
    heard = Heard(" ")
    heard.add((ZERO - 9, 1), final(ZERO - 9, "good"))
    heard.add((GRACE_OVER + 5, 3), final(GRACE_OVER + 5, "day"))
    choice = chosen(FALLBACK, heard, (ZERO, 2), GRACE_OVER + 9, confirmed=False, over=False)
    assert choice is not None
    assert (choice.verdict, choice.said.text) == (Verdict.ALREADY_FINAL, "good")


def test_the_last_partial_is_no_final_of_another_segment() -> None:
    said = [partial(ZERO - 9, "day", "b"), final(ZERO - 5, "good", segment="a")]
    reading = read(FALLBACK, [*spoken(*said), StreamClosed(ZERO + 1, 1000)])
    assert reading.verdict is Verdict.LAST_PARTIAL
    assert reading.final == Answer("day", ZERO - 9)


def test_the_first_of_several_turns_knows_where_its_speech_begins() -> None:
    turns = Turns(replace(MARKED, endpoint=Endpoint.EVERY))
    for event in (*SURVEYED, partial(0, "uh"), *forced()[2:]):
        turns.feed(event)
    assert turns.begun[0].reading().remarks == (Remark.PHANTOM_PARTIAL,)


def speech(number: int) -> list[Event]:
    """What the detector knows of a turn, the first of them number 0: two seconds of audio each."""
    at_ms = 2000.0 * number
    return [SpeechStart(0, at_ms, at_ms + 64), SpeechEnd(0, at_ms + 900, at_ms + 1000)]


def turns_of(rule: Rule, *story: Event) -> list[Turn]:
    turns = Turns(replace(rule, endpoint=Endpoint.EVERY))
    for event in (*speech(0), *speech(1), *speech(2), frame(ZERO, 1000.0), *story):
        turns.feed(event)
    return turns.begun


def test_a_turn_without_a_force_does_not_keep_the_one_before_it_waiting() -> None:
    begun = [frame(ZERO + SECOND, 2064.0), frame(ZERO + 2 * SECOND, 4064.0)]
    one, two, three = turns_of(MARKED, force(), *begun)
    assert (one.unclear, two.unclear, three.unclear) == (True, False, False)


def test_a_turn_that_is_done_is_told_no_more_when_the_next_begins() -> None:
    story = [force(), forced_final(ZERO + 1, "good"), Tick(ZERO + SECOND)]
    story += [frame(ZERO + 2 * SECOND, 2064.0), LoopStalled(ZERO + 2 * SECOND, SECOND)]
    one, two = turns_of(MARKED, *story)
    stalls_ns = [turn.tally.circumstances().loop_stall_max_ns for turn in (one, two)]
    assert stalls_ns == [0, SECOND]


@pytest.mark.parametrize(
    ("ago_ns", "expected"),
    [(SECOND, Verdict.HARNESS_LATE), (SECOND + 1, Verdict.NATURAL_FINAL)],
)
def test_a_turn_that_begins_with_its_zero_knows_the_second_before(
    ago_ns: int, expected: Verdict
) -> None:
    zero_ns = ZERO + 5 * SECOND
    story = [final(ZERO + 1, "good"), frame(zero_ns - ago_ns, 1900.0, late_ns=SECOND)]
    story += [frame(zero_ns, 3000.0), final(zero_ns + 1, "day")]
    assert turns_of(FALLBACK, *story)[1].reading().verdict is expected


def test_of_a_session_without_frames_nothing_was_sent() -> None:
    counted = Tally().circumstances()
    assert (counted.sent_ms, counted.frames, counted.loop_stall_max_ns) == (0.0, 0, 0)


def test_where_several_frames_reach_the_endpoint_the_first_of_them_is_zero() -> None:
    places_ms = [900.0, 1000.0, 1000.0, 1000.0]
    frames = [frame(ZERO + n, place_ms) for n, place_ms in enumerate(places_ms)]
    records = recorded(FALLBACK, [*SURVEYED, *frames]).rest
    assert Retelling(FALLBACK, told_of(records)).watch.zero_ns == ZERO + 1


def test_what_an_older_record_does_not_say_was_not_so() -> None:
    """A frame of the clip, nothing filled up; sampled at zero, not at the end."""
    sent = from_record({"k": "frame_sent", "t": 1, "due_ns": 1, "audio_ms": 20.0})
    assert sent == FrameSent(1, 1, 20.0, padding=False, filled_ms=0.0)
    sampled = {"k": "network_sampled", "t": 1, "rtt_ns": 1, "min_rtt_ns": 1, "retransmits": 0}
    assert from_record(sampled) == NetworkSampled(1, 1, 1, 0, over=False)
    ended = from_record({"k": "speech_end", "t": 1, "audio_ms": 1.0, "known_ms": 2.0})
    assert ended == SpeechEnd(1, 1.0, 2.0, at_eof=False)


def test_what_is_not_counted_is_nothing() -> None:
    counted = Circumstances()
    assert (counted.frames, counted.frames_late, counted.partials, counted.finals) == (0, 0, 0, 0)
    assert (counted.user_stamps, counted.sent_ms) == (0, 0.0)
    assert (counted.loop_stall_max_ns, counted.host_stall_max_ns) == (0, 0)


def test_a_frame_is_of_the_clip_and_filled_up_with_nothing() -> None:
    assert Frame(0, b"", 20.0) == Frame(0, b"", 20.0, padding=False, filled_ms=0.0)


def test_a_measurement_is_of_the_first_turn_where_there_is_no_other() -> None:
    (turn,) = turns_of(MARKED)[:1]
    reading, counted = turn.reading(), turn.tally.circumstances()
    of_clip = Measurement(
        *("s", "r", "a/b", "files", "day", 1000.0, Flow.FORCED, reading, counted, 1, 1, "all")
    )
    assert (of_clip.turn, of_clip.reference, of_clip.provider) == (1, None, "a")
