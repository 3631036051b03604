"""Inworld's words, one message at a time."""

import json

import pytest

from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Frame
from providers.codec import Options
from providers.inworld import Inworld


def transcription(text: str, **more: object) -> str:
    return json.dumps({"result": {"transcription": {"transcript": text, **more}}})


def understood(message: str, codec: Inworld | None = None) -> list[Event]:
    return list((codec or Inworld(Options())).decode(message, 7))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (transcription("good", isFinal=False), [Transcript(7, "good", final=False)]),
        (transcription("good"), [Transcript(7, "good", final=False)]),
        (transcription("", isFinal=False), []),
        (transcription("good day", isFinal=True), [Transcript(7, "good day", final=True)]),
        (transcription("", isFinal=True), [Transcript(7, "", final=True)]),
        ('{"result": {"speechStopped": {}}}', [Notice(7, "speechStopped")]),
        ('{"result": {"novelty": {}}}', [Unread(7, "novelty")]),
        ('{"result": {}}', [Unread(7, "an empty result")]),
    ],
)
def test_what_a_message_says(message: str, said: list[Event]) -> None:
    assert understood(message) == said


@pytest.mark.parametrize("usage", ['{"usage": {}}', '{"result": {"usage": {}}}'])
def test_usage_ends_the_stream_only_once_we_have_finished(usage: str) -> None:
    codec = Inworld(Options())
    assert understood(usage, codec) == [Notice(7, "usage")]
    list(codec.finish())
    assert understood(usage, codec) == [StreamDone(7)]


def test_the_next_final_is_taken_for_none_says_what_it_answers() -> None:
    rule = Inworld(Options()).facts.rule
    assert (rule.flow, rule.final_rule) == (Flow.FORCED, FinalRule.NEXT)


def test_the_key_goes_out_as_the_portal_gives_it() -> None:
    assert Inworld(Options()).open("aWQ6c2VjcmV0").headers == {
        "Authorization": "Basic aWQ6c2VjcmV0"
    }


@pytest.mark.parametrize(("asked", "said"), [("en", "en-US"), ("en-GB", "en-GB"), ("de", "de")])
def test_english_is_that_of_the_united_states_unless_another_is_asked_for(
    asked: str, said: str
) -> None:
    (hello,) = Inworld(Options(language=asked)).hello()
    assert json.loads(hello)["transcribeConfig"]["language"] == said


def test_audio_is_base64_within_json() -> None:
    message = Inworld(Options()).audio(Frame(0, b"\0\1\2\3", 20.0))
    assert json.loads(message) == {"audioChunk": {"content": "AAECAw=="}}


def test_a_close_without_a_code_says_that_our_first_message_was_wrong() -> None:
    fault = Inworld(Options()).closed(1005, "")
    assert fault is not None
    assert fault.kind is FaultKind.PROTOCOL


def test_its_limits_for_a_piece_of_audio_are_known() -> None:
    audio = Inworld(Options()).facts.audio
    assert (audio.min_chunk_ms, audio.max_chunk_ms) == (20, 1000)
