"""What is special in Mistral's realtime transcription; the rest is the conformance kit's."""

import base64
import json

import pytest

from daemon.conformance.talker import Reply
from daemon.fakes.dialect import Audio, Wrong
from daemon.fakes.mistral import MOST_BYTES, Stream
from measure.events import Event, Notice, StreamDone, Transcript
from providers.codec import ForceContext, Options, ProviderError
from providers.mistral import Mistral

FORCE = ForceContext(1000.0)


def codec(model: str = "voxtral-mini-transcribe-realtime-2602") -> Mistral:
    return Mistral(Options(), model=model)


def hear(spoken_to: Mistral, name: str, **more: object) -> list[Event]:
    return list(spoken_to.decode(json.dumps({"type": name, **more}), 7))


def done(spoken_to: Mistral, text: str) -> list[Event]:
    return hear(spoken_to, "transcription.done", text=text)


def test_the_answer_to_a_flush_is_not_the_end_even_behind_our_farewell() -> None:
    spoken_to = codec()
    list(spoken_to.force(FORCE))
    list(spoken_to.finish())
    assert done(spoken_to, "good day") == [Transcript(7, "good day", final=True)]
    assert done(spoken_to, "") == [Transcript(7, "", final=True), StreamDone(7)]


def test_an_utterance_begins_empty() -> None:
    spoken_to = codec()
    hear(spoken_to, "transcription.text.delta", text="good day")
    done(spoken_to, "good day")
    (partial,) = hear(spoken_to, "transcription.text.delta", text="and")
    assert partial == Transcript(7, "and", final=False)


def test_the_language_and_segments_are_notices() -> None:
    assert hear(codec(), "transcription.language", audio_language="en") == [
        Notice(7, "transcription.language")
    ]


@pytest.mark.parametrize("words", ["no such format", {"detail": "no such format"}])
def test_an_error_is_told_in_its_own_words_wherever_they_are(words: object) -> None:
    with pytest.raises(ProviderError, match="invalid_request no such format"):
        hear(codec(), "error", error={"code": "invalid_request", "message": words})


def test_only_a_price_that_is_known_is_told() -> None:
    assert codec().facts.price is None
    price = codec("voxtral-mini-transcribe-realtime-3-0").facts.price
    assert price is not None
    assert price.usd_per_1000_min == 8.0


def test_the_fake_takes_no_more_audio_at_once_than_mistral_does() -> None:
    stream = Stream("model")

    def append(size: int) -> object:
        audio = base64.b64encode(bytes(size)).decode()
        return stream.heard(json.dumps({"type": "input_audio.append", "audio": audio}))

    assert isinstance(append(MOST_BYTES), Audio)
    assert isinstance(append(MOST_BYTES + 2), Wrong)
    limit_ms = Mistral.facts.audio.max_chunk_ms
    assert limit_ms is not None
    assert limit_ms * 16 * 2 <= MOST_BYTES


def test_the_fake_lets_nobody_change_the_format_once_there_is_audio() -> None:
    stream, spoken_to = Stream("model"), codec()
    hear(spoken_to, "session.created")
    (update,) = spoken_to.replies()
    audio = {"type": "input_audio.append", "audio": base64.b64encode(b"\1\0").decode()}
    answers = [stream.heard(update), stream.heard(json.dumps(audio)), stream.heard(update)]
    said = [one.messages[0] for one in answers if isinstance(one, Reply)]
    assert [json.loads(message)["type"] for message in said] == ["session.updated", "error"]
