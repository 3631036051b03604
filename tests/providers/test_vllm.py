"""What is special in vLLM's realtime transcription; the rest is the conformance kit's."""

import base64
import json

import pytest

from daemon.conformance.promise import subject_of
from daemon.conformance.stage import performed
from daemon.conformance.talker import Reply
from daemon.fakes.dialect import Alive, Audio, Force
from daemon.fakes.vllm import Stream
from measure.events import Event, StreamReady, Transcript
from measure.faults import FaultKind
from providers import CATALOG
from providers.codec import ForceContext, Options, ProviderError
from providers.vllm import Vllm

FORCE = ForceContext(1000.0)
BEGIN = '{"type":"input_audio_buffer.commit"}'


def codec(url: str | None = None) -> Vllm:
    return Vllm(Options(url=url), model="some/model")


def hear(spoken_to: Vllm, name: str, **more: object) -> list[Event]:
    return list(spoken_to.decode(json.dumps({"type": name, **more}), 7))


def test_the_model_is_named_and_the_utterance_begun_before_any_audio() -> None:
    spoken_to = codec()
    assert hear(spoken_to, "session.created") == [StreamReady(7)]
    assert list(spoken_to.replies()) == ['{"type":"session.update","model":"some/model"}', BEGIN]
    assert list(spoken_to.replies()) == []


def test_the_address_may_name_another_model() -> None:
    spoken_to = codec("ws://host:8000/v1/realtime?model=of/my-own")
    hear(spoken_to, "session.created")
    assert "of/my-own" in str(next(iter(spoken_to.replies())))


def test_the_next_utterance_begins_as_soon_as_one_is_done() -> None:
    spoken_to = codec()
    hear(spoken_to, "transcription.delta", delta="good")
    assert hear(spoken_to, "transcription.done", text="good day") == [
        Transcript(7, "good day", final=True)
    ]
    assert list(spoken_to.replies()) == [BEGIN]
    assert hear(spoken_to, "transcription.delta", delta=" and") == [
        Transcript(7, " and", final=False)
    ]


@pytest.mark.parametrize("name", ["transcription.delta", "transcription.done", "error"])
def test_half_a_message_makes_no_sense(name: str) -> None:
    with pytest.raises(ProviderError) as raised:
        hear(codec(), name)
    assert raised.value.fault.kind is FaultKind.PROTOCOL


def test_the_fake_throws_away_what_comes_between_the_last_commit_and_done() -> None:
    stream, spoken_to = Stream(), codec()
    audio = json.dumps(
        {"type": "input_audio_buffer.append", "audio": base64.b64encode(b"\1\0").decode()}
    )
    hear(spoken_to, "session.created")
    for message in spoken_to.replies():
        assert stream.heard(message) == Alive()
    assert stream.heard(audio) == Audio(b"\1\0")
    (force,) = spoken_to.force(FORCE)
    assert stream.heard(force) == Force()
    assert stream.heard(audio) == Alive()
    list(stream.said("good day", final=True, marked=True, audio_ms=0.0))
    assert stream.heard(force) == Alive(), "nothing has been begun"
    stream.heard(BEGIN)
    assert stream.heard(audio) == Audio(b"\1\0")


def test_the_fake_wants_the_model_first() -> None:
    answer = Stream().heard(BEGIN)
    assert isinstance(answer, Reply)
    with pytest.raises(ProviderError, match="model_not_validated"):
        list(codec().decode(answer.messages[0], 7))


def test_no_audio_is_sent_to_be_thrown_away() -> None:
    name = "vllm/voxtral-mini-4b-realtime"
    done = performed(subject_of(name, CATALOG[name], None))
    assert sum(len(piece.pcm) for piece in done.pieces) == len(done.visit.audio)
