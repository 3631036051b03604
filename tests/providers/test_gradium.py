"""Gradium's words: a stream of them, made final by the acknowledgement of a flush."""

import json

import pytest

from daemon.conformance.promise import subject_of
from daemon.conformance.stage import SPEECH, Performance, performed
from daemon.fakes.script import Faults, Line, Script, spoken
from measure.events import Event, ForceAcknowledged, Notice, Transcript
from measure.records import Remark, Verdict
from providers import CATALOG
from providers.codec import ForceContext, Options
from providers.gradium import Gradium

FLUSHED = '{"type": "flushed", "flush_id": "1"}'


def text(words: str, start_s: float | None = 1.0) -> str:
    more = {} if start_s is None else {"start_s": start_s}
    return json.dumps({"type": "text", "text": words, "stream_id": 0, **more})


def understood(codec: Gradium, *messages: str) -> list[Event]:
    return [event for message in messages for event in codec.decode(message, 7)]


def forced(audio_ms: float = 2000.0) -> Gradium:
    codec = Gradium(Options())
    list(codec.force(ForceContext(audio_ms)))
    return codec


def measured(script: Script, faults: Faults | None = None) -> Performance:
    return performed(
        subject_of("gradium/default", CATALOG["gradium/default"], None), script, faults
    )


def test_words_add_up_to_partials_of_all_that_was_said() -> None:
    assert understood(Gradium(Options()), text("good day"), text("to you")) == [
        Transcript(7, "good day", final=False),
        Transcript(7, "good day to you", final=False),
    ]


def test_the_acknowledgement_makes_all_words_so_far_final() -> None:
    said = understood(forced(), text("good day"), FLUSHED)
    assert said[1:] == [Transcript(7, "good day", final=True, forced=True), ForceAcknowledged(7)]


def test_an_acknowledgement_without_words_is_no_final() -> None:
    assert understood(forced(), FLUSHED) == [ForceAcknowledged(7)]


@pytest.mark.parametrize("start_s", [1.9, None])
def test_words_of_before_the_flush_that_come_after_it_are_a_further_final(
    start_s: float | None,
) -> None:
    said = understood(
        forced(2000.0), text("good"), FLUSHED, text("day", start_s), text("you", 1.95)
    )
    assert said[3:] == [
        Transcript(7, "day", final=True, forced=True),
        Transcript(7, "you", final=True, forced=True),
    ]


def test_words_of_the_next_speech_are_partials_again() -> None:
    said = understood(forced(2000.0), text("good"), FLUSHED, text("day", 2.4), text("you", 2.6))
    assert said[3:] == [
        Transcript(7, "day", final=False),
        Transcript(7, "day you", final=False),
    ]


def test_each_flush_has_its_own_name() -> None:
    codec = Gradium(Options())
    orders = [*codec.force(ForceContext(0.0, number=1)), *codec.force(ForceContext(9.0, number=2))]
    assert [json.loads(order)["flush_id"] for order in orders] == ["1", "2"]


def test_steps_and_ends_of_words_are_known_and_say_nothing() -> None:
    said = understood(Gradium(Options()), '{"type": "step", "vad": []}', '{"type": "end_text"}')
    assert said == [Notice(7, "step"), Notice(7, "end_text")]


def test_late_words_are_in_the_transcript_and_the_time_is_that_of_the_flush() -> None:
    """As seen at Gradium: the last word comes 50 ms after the acknowledgement."""
    answer = (
        Line("the blue kettle", after_s=0.15, final=True, marked=True),
        Line("shelf", after_s=0.2, final=True, marked=False),
    )
    heard = spoken("the blue kettle", SPEECH.start_ms, SPEECH.end_ms)
    reading = measured(Script(heard, (answer,))).reading
    assert (reading.verdict, reading.transcript) == (Verdict.FORCED_FINAL, "the blue kettle shelf")
    assert reading.time_to_final_ns == pytest.approx(150e6, abs=1e6)
    assert reading.zero_ns is not None
    assert reading.last_final is not None
    assert reading.last_final.at_ns - reading.zero_ns == pytest.approx(200e6, abs=1e6)
    assert Remark.LATE_TEXT_AFTER_FINAL in reading.remarks


def test_words_that_were_all_there_before_the_flush_are_final_only_with_its_answer() -> None:
    heard = spoken("the blue kettle", SPEECH.start_ms, 450.0)
    answer = (Line("", after_s=0.15, final=True),)
    reading = measured(Script(heard, (answer,))).reading
    assert (reading.verdict, reading.transcript) == (Verdict.FORCED_FINAL, "the blue kettle")
    assert reading.time_to_final_ns == pytest.approx(150e6, abs=1e6)


def test_audio_waits_for_a_stream_that_is_ready() -> None:
    done = measured(Script())
    first, second = (json.loads(one.payload) for one in done.visit.heard[1:3])
    assert first["type"] == "setup"
    assert first["json_config"] == {"language": "en", "delay_in_frames": 12}
    assert second["type"] == "audio"
