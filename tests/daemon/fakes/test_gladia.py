"""The fake Gladia: the request, the session, what it says."""

import base64
import json

import pytest
import trio
from trio.testing import MockClock

from daemon.fakes import FakeGladia, Line, Script, spoken
from measure.events import Event, Notice, StreamDone, Transcript
from measure.records import Frame
from providers.codec import Options
from providers.gladia import Gladia
from tests.daemon.fakes.client import (
    FRAME,
    GLADIA_KEY,
    GLADIA_SETTINGS,
    ended,
    gladia,
    gladia_target,
    path_and_query,
    published,
    rejected,
    requested,
    said,
    served,
    shape,
    text_of,
)

SCRIPT = Script.for_pause("good day", end_ms=200, pause_ms=100)
CHUNK = FRAME * 5
STOP = '{"type": "stop_recording"}'


def chunk_of(pcm: bytes) -> str:
    chunk = base64.b64encode(pcm).decode()
    return json.dumps({"type": "audio_chunk", "data": {"chunk": chunk}})


@pytest.mark.parametrize(
    ("target", "headers", "settings", "status"),
    [
        ("/v2/live", {}, {}, 401),
        ("/v2/elsewhere", GLADIA_KEY, {}, 404),
        ("/v2/live", GLADIA_KEY, {"encoding": "mp3"}, 400),
        ("/v2/live", GLADIA_KEY, {"bit_depth": 24}, 400),
        ("/v2/live", GLADIA_KEY, {"sample_rate": 11_025}, 400),
        ("/v2/live", GLADIA_KEY, {"channels": 2}, 400),
        ("/v2/live", GLADIA_KEY, {"endpointing": 0.001}, 400),
        ("/v2/live", GLADIA_KEY, {"endpointing": "short"}, 400),
    ],
)
async def test_who_asks_wrongly_gets_no_session(
    target: str, headers: dict[str, str], settings: dict[str, object], status: int
) -> None:
    body = json.dumps({**GLADIA_SETTINGS, **settings}).encode()
    response = await requested(FakeGladia(), "POST", target, headers, body)
    assert response.status == status
    assert json.loads(response.body)["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 10_000])
async def test_a_body_that_is_no_json_object_gets_no_session(body: bytes) -> None:
    response = await requested(FakeGladia(), "POST", "/v2/live", GLADIA_KEY, body)
    assert response.status == 400


async def test_only_its_own_key_is_good_where_it_has_one() -> None:
    fake, body = FakeGladia(key="right"), json.dumps(GLADIA_SETTINGS).encode()
    for key, status in (("right", 201), ("wrong", 401), ("", 401)):
        response = await requested(fake, "POST", "/v2/live", {"X-Gladia-Key": key}, body)
        assert response.status == status


async def test_the_session_is_where_the_request_came_to() -> None:
    body = json.dumps(GLADIA_SETTINGS).encode()
    headers = {**GLADIA_KEY, "Host": "127.0.0.1:9000"}
    response = await requested(FakeGladia(), "POST", "/v2/live", headers, body)
    assert response.status == 201
    assert json.loads(response.body)["url"].startswith("ws://127.0.0.1:9000/v2/live?token=")


async def test_a_session_that_nobody_began_is_refused() -> None:
    assert (await rejected(FakeGladia(), "/v2/live?token=mine")).status_code == 401


async def test_a_session_opens_once_and_then_only_to_say_that_it_is_over(
    autojump_clock: MockClock,
) -> None:
    fake = FakeGladia()
    target = await gladia_target(fake)
    async with served(fake, target) as socket:
        await socket.send_message(STOP)
        assert (await ended(socket))[1] == 1000
    async with served(fake, target) as socket:
        assert await ended(socket) == ([], 4403)


async def test_a_pause_makes_a_final_and_the_next_words_have_another_name(
    autojump_clock: MockClock,
) -> None:
    second = (Line("once", 400), Line("once more", 500, final=True))
    fake = FakeGladia(Script((*SCRIPT.lines, *second)))
    async with gladia(fake) as socket:
        for _ in range(5):
            await socket.send_message(CHUNK)
        messages = [await said(socket) for _ in range(5)]
    data = [message["data"] for message in messages]
    assert [text_of(message) for message in messages] == [
        "good",
        "good day",
        "good day",
        "once",
        "once more",
    ]
    assert [one["is_final"] for one in data if isinstance(one, dict)] == [0, 0, 1, 0, 1]
    assert [one["id"] for one in data if isinstance(one, dict)] == [
        *["00_00000000"] * 3,
        *["00_00000001"] * 2,
    ]


@pytest.mark.parametrize("wrapped", [False, True])
async def test_audio_may_come_as_bytes_or_as_base64(
    autojump_clock: MockClock, wrapped: bool
) -> None:
    fake, pcm = FakeGladia(SCRIPT), b"\1\2" * 1600
    async with gladia(fake) as socket:
        await socket.send_message(chunk_of(pcm) if wrapped else pcm)
        assert text_of(await said(socket)) == "good"
    assert bytes(fake.visits[-1].audio) == pcm


@pytest.mark.parametrize("message", [b"", chunk_of(b"")])
async def test_audio_of_no_length_is_only_a_sign_of_life(
    autojump_clock: MockClock, message: str | bytes
) -> None:
    async with gladia(FakeGladia()) as socket:
        await socket.send_message(message)
        await socket.send_message(STOP)
        assert (await ended(socket))[1] == 1000


@pytest.mark.parametrize(
    "message", ["not JSON", "[]", '{"type": "novelty"}', chunk_of(b"\0"), b"\0",
                '{"type": "audio_chunk", "data": {"chunk": "%"}}']
)  # fmt: skip
async def test_what_it_does_not_understand_ends_the_session(
    autojump_clock: MockClock, message: str | bytes
) -> None:
    async with gladia(FakeGladia()) as socket:
        await socket.send_message(message)
        assert await ended(socket) == ([], 4400)


async def test_the_rate_of_the_session_is_the_rate_of_its_audio(
    autojump_clock: MockClock,
) -> None:
    async with gladia(FakeGladia(Script((Line("good", 100),))), sample_rate=8000) as socket:
        await socket.send_message(bytes(1600))
        assert text_of(await said(socket)) == "good"


async def test_only_what_was_asked_for_is_said(autojump_clock: MockClock) -> None:
    wishes = {"receive_speech_events": True, "receive_final_transcripts": False}
    fake = FakeGladia(SCRIPT)
    async with gladia(fake, messages_config=wishes) as socket:
        await socket.send_message(CHUNK * 5)
        await socket.send_message(STOP)
        messages, _ = await ended(socket)
    types = [json.loads(message)["type"] for message in messages]
    assert types == ["speech_start", "speech_end", "stop_recording", "end_recording", "end_session"]


async def test_finishing_says_what_is_left_and_ends_the_session(
    autojump_clock: MockClock,
) -> None:
    async with gladia(FakeGladia(Script(spoken("good day", 0, 100)))) as socket:
        await socket.send_message(CHUNK)
        await socket.send_message(STOP)
        messages, code = await ended(socket)
    told = [json.loads(message) for message in messages]
    assert [message["type"] for message in told[2:]] == [
        "stop_recording",
        "transcript",
        "end_recording",
        "end_session",
    ]
    assert text_of(told[3]) == "good day"
    assert told[3]["data"]["is_final"]
    assert code == 1000


async def test_its_messages_have_the_shape_of_the_published_ones(
    autojump_clock: MockClock,
) -> None:
    wishes = {
        "receive_partial_transcripts": True,
        "receive_final_transcripts": True,
        "receive_speech_events": True,
    }
    fake = FakeGladia(SCRIPT)
    async with served(fake, await gladia_target(fake, messages_config=wishes)) as socket:
        await socket.send_message(CHUNK * 5)
        await socket.send_message(STOP)
        ours = [json.loads(message) for message in (await ended(socket))[0]]
    theirs = {str(message["type"]): shape(message) for message in published("gladia")}
    assert {message["type"] for message in ours} == set(theirs)
    assert all(shape(message) == theirs[message["type"]] for message in ours)


async def test_our_codec_and_the_fake_understand_one_another(autojump_clock: MockClock) -> None:
    fake, codec = FakeGladia(SCRIPT), Gladia(Options())
    asked = codec.prepare("k")
    codec.prepared(await requested(fake, "POST", "/v2/live", dict(asked.headers), asked.body))
    events: list[Event] = []
    async with served(fake, path_and_query(codec.open("k").url)) as socket:
        for index in range(4):
            await socket.send_message(codec.audio(Frame(index, CHUNK, 100.0 * (index + 1))))
            await trio.sleep(0.1)
        for order in (*codec.keepalive(), *codec.finish()):
            await socket.send_message(order)
        for message in (await ended(socket))[0]:
            events += codec.decode(message, 7)
    assert [event for event in events if not isinstance(event, Notice)] == [
        Transcript(7, "good", final=False, segment="00_00000000"),
        Transcript(7, "good day", final=False, segment="00_00000000"),
        Transcript(7, "good day", final=True, segment="00_00000000"),
        StreamDone(7),
    ]
    assert [event.name for event in events if isinstance(event, Notice)] == [
        "start_session",
        "speech_start",
        "speech_end",
        "stop_recording",
        "end_recording",
    ]
    assert bytes(fake.visits[-1].audio) == CHUNK * 4
