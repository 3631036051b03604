"""Kyutai's words: a stream of them, made final by a marker that comes back."""

import msgpack  # type: ignore[import-untyped, unused-ignore]
import pytest

from daemon.conformance.promise import subject_of
from daemon.conformance.stage import SPEECH, Performance, performed
from daemon.fakes.script import Line, Script, spoken
from measure.events import (
    Event,
    ForceAcknowledged,
    Notice,
    StreamReady,
    Transcript,
    Unread,
)
from measure.faults import FaultKind
from measure.records import Frame, Remark, Verdict
from providers import CATALOG
from providers.codec import ForceContext, Options
from providers.kyutai import Kyutai
from tests.providers.talk import refused


def message(kind: str, **more: object) -> bytes:
    raw: bytes = msgpack.packb({"type": kind, **more})
    return raw


def word(text: str, start_s: float = 1.0) -> bytes:
    return message("Word", text=text, start_time=start_s)


def understood(codec: Kyutai, *messages: bytes) -> list[Event]:
    return [event for one in messages for event in codec.decode(one, 7)]


def forced(audio_ms: float = 2000.0, number: int = 1) -> Kyutai:
    codec = Kyutai(Options())
    (marker,) = codec.force(ForceContext(audio_ms, number=number))
    assert msgpack.unpackb(marker) == {"type": "Marker", "id": number}
    return codec


def measured(script: Script) -> Performance:
    name = "kyutai/stt-1b-en-fr"
    return performed(subject_of(name, CATALOG[name], None), script)


def test_words_add_up_to_partials_of_all_that_was_said() -> None:
    assert understood(Kyutai(Options()), word(" good"), word("day")) == [
        Transcript(7, "good", final=False),
        Transcript(7, "good day", final=False),
    ]


def test_the_marker_makes_all_words_so_far_final() -> None:
    said = understood(forced(), word("good"), word("day"), message("Marker", id=1))
    assert said[2:] == [Transcript(7, "good day", final=True, forced=True), ForceAcknowledged(7)]


def test_a_marker_without_words_is_no_final() -> None:
    assert understood(forced(), message("Marker", id=1)) == [ForceAcknowledged(7)]


def test_only_a_marker_of_ours_acknowledges_and_only_once() -> None:
    codec = forced(number=2)
    said = understood(codec, *(message("Marker", id=number) for number in (1, 2, 2)))
    assert said == [
        Notice(7, "another's marker"),
        ForceAcknowledged(7),
        Notice(7, "another's marker"),
    ]


def test_a_word_of_before_the_marker_that_comes_after_it_is_a_further_final() -> None:
    said = understood(
        forced(2000.0), word("good"), message("Marker", id=1), word("day", 1.9), word("you", 2.0)
    )
    assert said[3:] == [
        Transcript(7, "day", final=True, forced=True),
        Transcript(7, "you", final=False),
    ]


@pytest.mark.parametrize(
    ("said", "events"),
    [
        (message("Ready"), [StreamReady(7)]),
        (message("Step", step_idx=1, prs=[0.1], buffered_pcm=0), [Notice(7, "Step")]),
        (message("EndWord", stop_time=1.0), [Notice(7, "EndWord")]),
        (message("Novelty"), [Unread(7, "Novelty")]),
        (word(" "), []),
    ],
)
def test_what_else_it_may_say(said: bytes, events: list[Event]) -> None:
    assert understood(Kyutai(Options()), said) == events


def test_a_full_server_is_called_so() -> None:
    fault = refused(Kyutai(Options()), message("Error", message="no free channels"))
    assert fault.kind is FaultKind.RATE


def test_without_a_key_the_server_is_told_the_one_of_its_examples() -> None:
    codec = Kyutai(Options())
    assert codec.open("").headers == {"kyutai-api-key": "public_token"}
    assert codec.open("s3cret").headers == {"kyutai-api-key": "s3cret"}


def test_audio_is_a_list_of_floats() -> None:
    raw = Kyutai(Options()).audio(Frame(0, b"\x00\x40\x00\x80", 1.0))
    assert msgpack.unpackb(raw) == {"type": "Audio", "pcm": [0.5, -1.0]}


def test_late_words_are_in_the_transcript_and_the_time_is_that_of_the_marker() -> None:
    answer = (
        Line("the blue kettle", after_s=0.15, final=True, marked=True),
        Line("shelf", after_s=0.2, final=True, marked=False),
    )
    heard = spoken("the blue kettle", SPEECH.start_ms, SPEECH.end_ms)
    reading = measured(Script(heard, (answer,))).reading
    assert (reading.verdict, reading.transcript) == (Verdict.FORCED_FINAL, "the blue kettle shelf")
    assert reading.time_to_final_ns == pytest.approx(150e6, abs=1e6)
    assert Remark.LATE_TEXT_AFTER_FINAL in reading.remarks


def test_silence_goes_on_behind_the_marker() -> None:
    """The server only steps on audio: without it no marker would ever come back."""
    answer = (Line("good", after_s=1.0, final=True),)
    done = measured(Script(spoken("good", SPEECH.start_ms, SPEECH.end_ms), (answer,)))
    kinds = [
        msgpack.unpackb(one.payload)["type"]
        for one in done.visit.heard
        if one.payload[:1] == b"\x82"
    ]
    assert kinds[kinds.index("Marker") + 1 :].count("Audio") >= 12
    assert done.reading.time_to_final_ns == pytest.approx(1000e6, abs=1e6)
