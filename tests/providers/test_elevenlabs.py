"""Scribe's words, one message at a time."""

import base64
import json

import pytest

from measure.events import Event, ForceRejected, Notice, StreamReady, Transcript, Unread
from measure.records import Frame
from providers.codec import ForceContext, Options
from providers.elevenlabs import ElevenLabs
from tests.providers.talk import AT_NS, KEY, heard, settings

TWIN = "committed_transcript_with_timestamps"


def codec(**options: str) -> ElevenLabs:
    return ElevenLabs(Options(**options))


def said(name: str, text: str | None = None, **more: object) -> dict[str, object]:
    return {"message_type": name, **({} if text is None else {"text": text}), **more}


def partial(text: str) -> Transcript:
    return Transcript(AT_NS, text, final=False)


@pytest.mark.parametrize(
    ("message", "event"),
    [
        (said("session_started", config={}), StreamReady(AT_NS)),
        (said("partial_transcript", "good"), partial("good")),
        (said("committed_transcript", "good"), Transcript(AT_NS, "good", final=True)),
        (said("committed_transcript", ""), Transcript(AT_NS, "", final=True)),
        (said(TWIN, "good", words=[]), Notice(AT_NS, TWIN)),
        (said("commit_throttled", error="x"), ForceRejected(AT_NS, "commit_throttled")),
        (said("novelty"), Unread(AT_NS, "novelty")),
    ],
)
def test_what_a_message_says(message: dict[str, object], event: Event) -> None:
    assert heard(codec(), message) == [event]


def test_a_partial_without_words_is_no_event() -> None:
    assert heard(codec(), said("partial_transcript", "")) == []


def test_a_partial_that_repeats_what_was_committed_says_nothing_new() -> None:
    stream = codec()
    good, committed = said("partial_transcript", "good"), said("committed_transcript", "good")
    repeated = Notice(AT_NS, "repeated")
    assert heard(stream, good, committed, good, good)[2:] == [repeated, repeated]
    # once something else was said, the same words are new ones
    assert heard(stream, said("partial_transcript", "go"), good) == [partial("go"), partial("good")]


def test_audio_and_orders_are_one_kind_of_message() -> None:
    stream = codec()
    pcm = b"\1\0\2\0"
    audio = json.loads(stream.audio(Frame(0, pcm, 0.125)))
    assert base64.b64decode(audio.pop("audio_base_64")) == pcm
    same = {"message_type": "input_audio_chunk", "sample_rate": 16_000}
    assert audio == same | {"commit": False}
    (force,), (alive,) = stream.force(ForceContext(0)), stream.keepalive()
    assert json.loads(force) == same | {"audio_base_64": "", "commit": True}
    assert json.loads(alive) == same | {"audio_base_64": "", "commit": False}
    assert list(stream.finish()) == []


def test_it_is_driven_so_that_only_our_commit_settles_a_segment() -> None:
    assert settings(codec(language="de-CH")) == {
        "model_id": "scribe_v2_realtime",
        "audio_format": "pcm_16000",
        "commit_strategy": "manual",
        "language_code": "de",
        "include_timestamps": "false",
        "include_language_detection": "false",
    }
    assert "language_code" not in settings(codec(language="multi"))
    assert codec().open(KEY).headers == {"xi-api-key": KEY}
    assert codec().facts.forcing.min_buffered_ms == 300
