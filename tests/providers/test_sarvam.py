"""Sarvam's words, and when a speech of ours begins to it."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from measure.events import Event, Notice, StreamReady, Transcript, Unread
from providers.codec import ForceContext, Message, Options
from providers.sarvam import Sarvam

BEGIN = '{"event": "session.begin", "request_id": "r1"}'
START = '{"event":"speech_start"}'


def transcript(kind: str, text: str) -> str:
    return json.dumps({"event": f"transcript.{kind}", "text": text, "language": "en-IN"})


def heard(codec: Sarvam, message: str) -> tuple[list[Event], list[Message]]:
    """What it says to us, and what we say to that."""
    return list(codec.decode(message, 7)), list(codec.replies())


def settings(language: str) -> dict[str, str]:
    codec = Sarvam(Options(language=language))
    return dict(parse_qsl(urlsplit(codec.open("key").url).query))


def test_speech_begins_with_the_session_and_is_said_to_begin_once() -> None:
    codec = Sarvam(Options())
    assert heard(codec, BEGIN) == ([StreamReady(7)], [START])
    assert heard(codec, transcript("partial", "good")) == ([Transcript(7, "good", False)], [])


def test_the_next_speech_begins_when_the_final_of_the_last_is_there() -> None:
    codec = Sarvam(Options())
    heard(codec, BEGIN)
    assert list(codec.force(ForceContext(0))) == ['{"event":"speech_end"}']
    assert heard(codec, transcript("final", "Good day.")) == (
        [Transcript(7, "Good day.", True)],
        [START],
    )


def test_a_final_that_nobody_asked_for_begins_nothing() -> None:
    codec = Sarvam(Options())
    heard(codec, BEGIN)
    assert heard(codec, transcript("final", "Good day.")) == (
        [Transcript(7, "Good day.", True)],
        [],
    )


def test_nothing_begins_once_we_have_finished() -> None:
    codec = Sarvam(Options())
    heard(codec, BEGIN)
    list(codec.force(ForceContext(0)))
    list(codec.finish())
    assert heard(codec, transcript("final", "")) == ([Transcript(7, "", True)], [])


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (transcript("partial", " "), []),
        ('{"event": "pong"}', [Notice(7, "pong")]),
        ('{"event": "error", "code": "mild", "is_fatal": false}', [Notice(7, "error")]),
        ('{"event": "novelty"}', [Unread(7, "novelty")]),
    ],
)
def test_what_says_nothing_of_the_speech(message: str, said: list[Event]) -> None:
    assert heard(Sarvam(Options()), message) == (said, [])


@pytest.mark.parametrize(
    ("asked", "said"), [("en", "en-IN"), ("hi-IN", "hi-IN"), ("ta", "ta-IN"), ("multi", "auto")]
)
def test_a_language_is_that_of_india(asked: str, said: str) -> None:
    assert settings(asked)["language_code"] == said


def test_our_detector_alone_ends_the_speech() -> None:
    assert settings("en")["endpointing"] == "manual"
