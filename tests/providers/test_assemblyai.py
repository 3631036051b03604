"""AssemblyAI's turns, one message at a time."""

import pytest

from measure.events import Event, Notice, StreamDone, StreamReady, Transcript, Unread
from measure.faults import FaultKind
from providers.assemblyai import AssemblyAI
from providers.codec import Options
from tests.providers.talk import AT_NS, KEY, heard, orders, refused, settings


def codec(model: str = "universal-streaming-english", **options: str) -> AssemblyAI:
    return AssemblyAI(Options(**options), model=model)


def turn(text: str, *words: str, order: int = 0, end: bool = False) -> dict[str, object]:
    return {
        "type": "Turn",
        "turn_order": order,
        "end_of_turn": end,
        "transcript": text,
        "words": [{"text": word, "word_is_final": False} for word in words],
    }


def final(text: str, segment: str = "0") -> Transcript:
    return Transcript(AT_NS, text, final=True, segment=segment)


def partial(text: str, segment: str = "0") -> Transcript:
    return Transcript(AT_NS, text, final=False, segment=segment)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"type": "Begin", "id": "x"}, StreamReady(AT_NS)),
        (turn("", "good", "da"), partial("good da")),
        (turn("good", "good", "day", order=2), partial("good day", "2")),
        (turn("good day"), partial("good day")),
        (turn("good day", end=True), final("good day")),
        (turn("", end=True), final("")),
        ({"type": "Termination"}, StreamDone(AT_NS)),
        ({"type": "SpeechStarted", "timestamp": 1}, Notice(AT_NS, "SpeechStarted")),
        ({"type": "Warning", "warning": "x", "error": None}, Notice(AT_NS, "Warning")),
        ({"type": "Novelty"}, Unread(AT_NS, "Novelty")),
    ],
)
def test_what_a_message_says(message: dict[str, object], said: Event) -> None:
    assert heard(codec(), message) == [said]


def test_a_turn_without_words_is_no_event_until_it_ends() -> None:
    assert heard(codec(), turn("")) == []


def test_a_turn_ends_once_whatever_is_said_of_it_again() -> None:
    stream = codec()
    said = heard(
        stream,
        turn("good day", end=True),
        turn("Good day.", end=True),
        turn("good day"),
        turn("and", order=1),
        turn("and now", order=1, end=True),
    )
    again = Notice(AT_NS, "Turn")
    assert said == [final("good day"), again, again, partial("and", "1"), final("and now", "1")]


def test_it_is_driven_so_that_only_our_force_or_a_long_silence_ends_a_turn() -> None:
    assert settings(codec()) == {
        "sample_rate": "16000",
        "encoding": "pcm_s16le",
        "speech_model": "universal-streaming-english",
        "format_turns": "false",
        "end_of_turn_confidence_threshold": "1.0",
        "min_turn_silence": "5000",
        "max_turn_silence": "10000",
    }
    assert orders(codec()) == [{"type": "ForceEndpoint"}, {"type": "Terminate"}]
    assert codec().open(KEY).headers == {"Authorization": KEY}


def test_a_piece_of_audio_is_never_shorter_than_it_accepts() -> None:
    audio = codec().facts.audio
    assert (audio.chunk_ms, audio.min_chunk_ms, audio.max_chunk_ms) == (60, 50, 1000)


def test_each_model_is_asked_for_by_its_name() -> None:
    assert settings(codec("u3-rt-pro", language="de"))["speech_model"] == "u3-rt-pro"
    with pytest.raises(ValueError, match=r"^AssemblyAI: universal-streaming-english understands"):
        codec(language="de")


def test_an_error_tells_what_it_is_by_its_words_before_its_code() -> None:
    words = "Unauthorized Connection: Too many concurrent sessions"
    fault = refused(codec(), {"type": "Error", "error_code": 1008, "error": words})
    assert fault.kind is FaultKind.RATE
    assert words in fault.detail
