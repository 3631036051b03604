"""Speechmatics' words, one message at a time."""

import json

import pytest

from measure.events import (
    Event,
    ForceAcknowledged,
    Notice,
    StreamDone,
    StreamReady,
    Transcript,
    Unread,
)
from measure.records import Frame
from providers.codec import ForceContext, Options
from providers.speechmatics import Speechmatics
from tests.providers.talk import AT_NS, KEY, heard, orders, settings


def codec(model: str = "enhanced", **options: str) -> Speechmatics:
    return Speechmatics(Options(**options), model=model)


def transcript(name: str, text: str, **more: object) -> dict[str, object]:
    return {"message": name, "metadata": {"transcript": text}, "results": [], **more}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"message": "RecognitionStarted", "id": "x"}, StreamReady(AT_NS)),
        (transcript("AddPartialTranscript", "good "), Transcript(AT_NS, "good ", final=False)),
        (transcript("AddTranscript", "good "), Transcript(AT_NS, "good ", True, False)),
        (transcript("AddTranscript", "day", forced=True), Transcript(AT_NS, "day", True, True)),
        (transcript("AddTranscript", "", forced=True), Transcript(AT_NS, "", True, True)),
        ({"message": "EndOfUtterance", "forced": True}, ForceAcknowledged(AT_NS)),
        ({"message": "EndOfUtterance"}, Notice(AT_NS, "EndOfUtterance")),
        ({"message": "AudioAdded", "seq_no": 1}, Notice(AT_NS, "AudioAdded")),
        ({"message": "EndOfTranscript"}, StreamDone(AT_NS)),
        ({"message": "Novelty"}, Unread(AT_NS, "Novelty")),
    ],
)
def test_what_a_message_says(message: dict[str, object], said: Event) -> None:
    assert heard(codec(), message) == [said]


def test_a_partial_without_words_is_no_event() -> None:
    assert heard(codec(), transcript("AddPartialTranscript", "")) == []


def test_its_texts_carry_their_own_spaces() -> None:
    assert codec().facts.rule.joiner == ""


@pytest.mark.parametrize("model", ["enhanced", "standard"])
def test_it_is_started_without_an_endpoint_of_its_own(model: str) -> None:
    (said,) = codec(model, language="de-CH").hello()
    start = json.loads(said)
    assert start["message"] == "StartRecognition"
    assert start["transcription_config"] == {
        "language": "de",
        "model": model,
        "enable_partials": True,
        "max_delay": 4,
        "max_delay_mode": "flexible",
    }
    assert settings(codec()) == {}
    assert codec().open(KEY).headers == {"Authorization": f"Bearer {KEY}"}


def test_the_force_names_its_second_and_the_farewell_counts_the_audio() -> None:
    stream = codec()
    for index in range(3):
        assert stream.audio(Frame(index, b"\1\0", 20.0)) == b"\1\0"
    assert orders(stream, ForceContext(3620.0)) == [
        {"message": "ForceEndOfUtterance", "timestamp": 3.62},
        {"message": "EndOfStream", "last_seq_no": 3},
    ]
