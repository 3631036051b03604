"""What is special in Azure's speech to text: messages with headers, the WAV head, its statuses."""

import json
import wave
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.fakes.azure import FakeAzure, Stream
from daemon.fakes.dialect import Audio, Finish, Wrong
from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.records import Frame
from providers.azure import HEAD, Azure, split
from providers.codec import HttpRequest, HttpResponse, Options, ProviderError
from tests.providers.talk import settings

PIECE = b"\1\0" * 1600
WALL_UNIX_S = 1_767_225_600.25


def message(path: str, said: object) -> str:
    return f"X-RequestId:A\r\nPath:{path}\r\n\r\n{json.dumps(said)}"


def heard(path: str, said: object) -> list[Event]:
    return list(Azure(Options()).decode(message(path, said), 7))


def opened() -> tuple[Azure, list[str]]:
    codec = Azure(Options())
    codec.dated(WALL_UNIX_S)
    said = list(codec.hello())
    assert all(isinstance(one, str) for one in said)
    return codec, [str(one) for one in said]


def test_a_phrase_is_told_as_hypotheses_and_then_once() -> None:
    assert heard("speech.hypothesis", {"Text": "the blue"}) == [Transcript(7, "the blue", False)]
    best = {"Display": "The blue.", "Lexical": "the blue"}
    phrase = {"RecognitionStatus": "Success", "NBest": [best, {"Display": "other"}]}
    assert heard("speech.phrase", phrase) == [Transcript(7, "The blue.", True)]
    plain = {"RecognitionStatus": "Success", "DisplayText": "The blue."}
    assert heard("speech.phrase", plain) == [Transcript(7, "The blue.", True)]


@pytest.mark.parametrize("status", ["NoMatch", "InitialSilenceTimeout", "EndOfDictation"])
def test_a_phrase_in_which_nothing_was_heard_is_no_final(status: str) -> None:
    assert heard("speech.phrase", {"RecognitionStatus": status}) == [Notice(7, status)]


def test_the_end_of_the_turn_is_the_end() -> None:
    assert heard("turn.end", {}) == [StreamDone(7)]
    assert heard("turn.start", {}) == [Notice(7, "turn.start")]
    assert heard("speech.keyword", {}) == [Unread(7, "speech.keyword")]


@given(st.text(max_size=60), st.sampled_from(["speech.phrase", "speech.hypothesis", "turn.end"]))
def test_whatever_comes_raises_no_other_error(body: str, path: str) -> None:
    for said in (body, f"Path:{path}\r\n\r\n{body}"):
        with suppress(ProviderError):
            list(Azure(Options()).decode(said, 7))


def test_the_first_audio_begins_as_a_wav_file_does() -> None:
    codec, _ = opened()
    first, second = (codec.audio(Frame(n, PIECE, (n + 1) * 100.0)) for n in range(2))
    assert isinstance(first, bytes)
    assert isinstance(second, bytes)
    size = int.from_bytes(first[:2], "big")
    assert first[2 + size :] == HEAD + PIECE
    assert second.endswith(b"\r\n" + PIECE)
    with BytesIO() as file:
        with wave.open(file, "wb") as ours:
            ours.setparams((1, 2, 16_000, 0, "NONE", ""))
        assert file.getvalue()[12:36] == HEAD[12:36]


def test_headers_tell_the_moment_and_the_name_of_the_stream() -> None:
    codec, (config, context) = opened()
    name = codec.open("key").headers["X-ConnectionId"]
    assert len(name) == 32
    assert f"X-RequestId:{name}\r\n" in config
    assert "X-Timestamp:2026-01-01T00:00:00.250Z\r\n" in context
    later = codec.audio(Frame(0, PIECE, 1500.0))
    assert isinstance(later, bytes)
    assert b"X-Timestamp:2026-01-01T00:00:01.750Z\r\n" in later
    assert split(config)[0] == "speech.config"
    silence = json.loads(split(context)[1])["phraseDetection"]["conversation"]["segmentation"]
    assert silence == {"mode": "Custom", "segmentationSilenceTimeoutMs": 500}


def test_two_streams_have_two_names() -> None:
    names = set()
    for wall_unix_s in (1.8e9, 1.8e9 + 1e-6):
        codec = Azure(Options())
        codec.dated(wall_unix_s)
        names.add(codec.open("key").headers["X-ConnectionId"])
    assert len(names) == 2


def test_a_language_gets_its_region() -> None:
    assert settings(Azure(Options(language="de")))["language"] == "de-DE"
    assert settings(Azure(Options(language="fr-CA")))["language"] == "fr-CA"


def test_the_fake_wants_the_opening_and_the_wav_head() -> None:
    codec, (config, _) = opened()
    first = codec.audio(Frame(0, PIECE, 100.0))
    second = codec.audio(Frame(1, PIECE, 200.0))
    assert isinstance(Stream().heard(first), Wrong)
    headless = Stream()
    headless.heard(config)
    assert isinstance(headless.heard(second), Wrong)
    right = Stream()
    right.heard(config)
    assert not isinstance(right.heard(first), Wrong)
    assert right.heard(second) == Audio(PIECE)
    assert right.heard(next(iter(codec.finish()))) == Finish()
    assert isinstance(right.heard(codec.audio(Frame(2, b"\0" * 8194, 300.0))), Wrong)


@pytest.mark.parametrize("broken", ["no language", "no name"])
def test_the_fake_refuses_what_is_missing(broken: str) -> None:
    opening = Azure(Options()).open("key")
    headers = {name.lower(): value for name, value in opening.headers.items()}
    target = "/" + opening.url.split("/", 3)[3]
    if broken == "no language":
        target = target.partition("?")[0]
    else:
        del headers["x-connectionid"]
    answer = FakeAzure().talk(HttpRequest("GET", target, headers), secure=False)
    assert isinstance(answer, HttpResponse)
    assert answer.status == 400
