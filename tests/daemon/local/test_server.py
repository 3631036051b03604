"""The server on a real socket, with an engine whose answers can be foretold."""

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

import pytest
import trio
from trio_websocket import (
    ConnectionClosed,
    WebSocketConnection,
    wrap_client_stream,
)

from daemon.errors import UserError
from daemon.local.engines.shape import Samples
from daemon.local.server import Server, ServerSettings, address_of, listen
from daemon.local.worker import Worker
from tests.daemon.local.scripted import LoudIsSpeech, ScriptedEngine, fails_at, pcm, spoken

PATIENCE_S = 20
"""Far more than anything here takes; only a fault lets it pass."""
HANDSHAKE = (
    b"GET /v1/listen HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
FORCE = '{"type": "force"}'
CLOSE = '{"type": "close"}'


@dataclass
class Running:
    """A server, and what it complained of."""

    url: str = ""
    complaints: list[str] = field(default_factory=list)
    complained: trio.Event = field(default_factory=trio.Event)
    life: trio.CancelScope = field(default_factory=trio.CancelScope)

    def complain(self, line: str) -> None:
        self.complaints.append(line)
        self.complained.set()


@contextmanager
def workers_of(*engines: ScriptedEngine) -> Iterator[list[Worker]]:
    """Their workers, ended when the server is no more."""
    ours = [Worker(engine, LoudIsSpeech, lambda: 0) for engine in engines]  # no partial is ever due
    try:
        yield ours
    finally:
        ended = [worker.stop(PATIENCE_S) for worker in ours]
    assert all(ended)


@asynccontextmanager
async def running(
    *engines: ScriptedEngine, settings: ServerSettings | None = None
) -> AsyncIterator[Running]:
    """A server with these engines, or with a plain one."""
    ours = Running()
    with workers_of(*(engines or (ScriptedEngine(),))) as workers:
        listener = await listen("127.0.0.1", 0)
        ours.url = address_of(listener)
        server = Server(workers, settings or ServerSettings(), ours.complain)

        async def live() -> None:
            with ours.life:
                await server.serve(listener)

        with trio.fail_after(PATIENCE_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(live)
                yield ours
                nursery.cancel_scope.cancel()


@asynccontextmanager
async def line_to(server: Running) -> AsyncIterator[trio.SocketStream]:
    """A bare connection. The websocket library leaves it open where the server closed first."""
    host, _, port = server.url.removeprefix("ws://").rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as line:
        yield line


@asynccontextmanager
async def stream(
    server: Running, query: str = "", *, messages_ahead: int = 256
) -> AsyncIterator[WebSocketConnection]:
    async with line_to(server) as line, trio.open_nursery() as nursery:
        socket = await wrap_client_stream(
            nursery,
            line,
            "localhost",
            f"/v1/listen{query}",
            message_queue_size=messages_ahead,
            max_message_size=2**23,
        )
        yield socket
        await socket.aclose()


async def told(socket: WebSocketConnection) -> dict[str, object]:
    """The next message."""
    said: dict[str, object] = json.loads(await socket.get_message())
    return said


async def told_up_to_the_close(
    socket: WebSocketConnection,
) -> tuple[list[dict[str, object]], int]:
    """All that is left, and the code of the Close."""
    said = []
    while True:
        try:
            said.append(await told(socket))
        except ConnectionClosed as closed:
            return said, closed.reason.code if closed.reason else 0


def final(segment: int, text: str, *, forced: bool) -> dict[str, object]:
    return {"type": "final", "segment": segment, "text": text, "forced": forced}


READY = {"type": "ready", "model": "scripted", "version": 1, "rate": 16000}


async def test_a_stream_from_its_greeting_to_its_close() -> None:
    async with running() as server, stream(server) as socket:
        assert await told(socket) == READY
        await socket.send_message(pcm((7, 320)))
        await socket.send_message(FORCE)
        assert await told(socket) == final(0, "w7", forced=True)
        await socket.send_message(pcm((0, 100), (8, 320)))
        await socket.send_message(CLOSE)
        assert await told_up_to_the_close(socket) == (
            [final(1, "w8", forced=False), {"type": "closed", "audio_ms": 740.0}],
            1000,
        )


async def test_a_force_without_speech_is_answered_too() -> None:
    async with running() as server, stream(server) as socket:
        await socket.send_message(FORCE)
        assert [await told(socket), await told(socket)] == [READY, final(0, "", forced=True)]


async def test_natural_endpointing_is_there_for_those_who_ask() -> None:
    async with running() as server, stream(server, "?endpoint_ms=300") as socket:
        await socket.send_message(pcm((7, 320), (0, 640)))
        assert [await told(socket), await told(socket)] == [READY, final(0, "w7", forced=False)]


@pytest.mark.parametrize("workers", [1, 3])
async def test_many_streams_at_once_each_get_their_own_words(workers: int) -> None:
    async def speak(server: Running, first: int, heard: dict[int, list[object]]) -> None:
        async with stream(server) as socket:
            await told(socket)
            for turn in range(3):
                for step in range(5):
                    await socket.send_message(pcm((first + 5 * turn + step, 20)))
                await socket.send_message(FORCE)
                heard.setdefault(first, []).append((await told(socket))["text"])

    heard: dict[int, list[object]] = {}
    firsts = (4, 20, 36, 48)
    engines = [ScriptedEngine() for _ in range(workers)]
    async with running(*engines) as server, trio.open_nursery() as nursery:
        for first in firsts:
            nursery.start_soon(speak, server, first, heard)
    assert heard == {
        first: [" ".join(f"w{first + 5 * turn + step}" for step in range(5)) for turn in range(3)]
        for first in firsts
    }


async def test_streams_are_shared_out_among_the_workers() -> None:
    engines = [ScriptedEngine(), ScriptedEngine()]
    async with running(*engines) as server, stream(server) as one, stream(server) as other:
        assert [await told(one), await told(other)] == [READY, READY]
    assert [len(engine.streams) for engine in engines] == [1, 1]


# What goes wrong: one error message, then the Close, and everybody else is served on.


@pytest.mark.parametrize(
    ("said", "code", "close_code"),
    [
        (["hello"], "not_json", 1008),
        (["[]"], "no_type", 1008),
        (['{"type": "sing"}'], "unknown_type", 1008),
        ([b"\x00"], "odd_bytes", 1008),
        ([bytes(64_002)], "too_long", 1009),
        ([CLOSE, bytes(640)], "after_close", 1008),
        ([CLOSE, CLOSE], "after_close", 1008),
    ],
)
async def test_a_broken_rule_ends_the_stream_with_an_error(
    said: list[str | bytes], code: str, close_code: int
) -> None:
    blocked = threading.Event()  # so that no answer to the first message overtakes the second
    async with running(ScriptedEngine(after(blocked))) as server:
        async with stream(server) as socket:
            assert await told(socket) == READY
            await socket.send_message(pcm((7, 320)))
            for message in said:
                await socket.send_message(message)
            error, closed = await told_up_to_the_close(socket)
        blocked.set()
        assert [message["code"] for message in error] == [code]
        assert closed == close_code
        assert server.complaints == [f"a stream failed: {code}: {error[0]['message']}"]
        async with stream(server) as socket:
            assert await told(socket) == READY


@pytest.mark.parametrize(
    ("query", "code"),
    [("?rate=8000", "rate"), ("?model=other", "model"), ("?endpoint_ms=x", "query")],
)
async def test_a_wish_that_cannot_be_granted_is_refused(query: str, code: str) -> None:
    async with running() as server, stream(server, query) as socket:
        (error,), closed = await told_up_to_the_close(socket)
        assert (error["type"], error["code"], closed) == ("error", code, 1008)


async def test_another_path_is_no_stream() -> None:
    async with running() as server, line_to(server) as line:
        await line.send_all(HANDSHAKE.replace(b"/v1/", b"/v2/"))
        head, _, body = b"".join([piece async for piece in line]).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 404 ")
        assert json.loads(body)["code"] == "path"


async def test_one_stream_more_than_allowed_is_told_to_come_again() -> None:
    only_one = ServerSettings(max_streams=1)
    async with running(settings=only_one) as server, stream(server) as first:
        assert await told(first) == READY
        async with stream(server) as second:
            (error,), closed = await told_up_to_the_close(second)
            assert (error["code"], closed) == ("busy", 1013)
        await first.send_message(CLOSE)
        await told_up_to_the_close(first)


@pytest.mark.parametrize(
    "settings",
    [ServerSettings(max_waiting_ms=1000), ServerSettings(max_waiting_orders=10)],
    ids=["audio", "messages"],
)
async def test_more_than_the_model_can_keep_up_with_is_refused(settings: ServerSettings) -> None:
    blocked = threading.Event()
    async with running(ScriptedEngine(after(blocked)), settings=settings) as server:
        async with stream(server) as socket:
            assert await told(socket) == READY
            await socket.send_message(pcm((7, 320)))
            await socket.send_message(FORCE)
            with suppress(ConnectionClosed):
                for _ in range(11):
                    await socket.send_message(pcm((7, 100)))
            (error,), closed = await told_up_to_the_close(socket)
        blocked.set()
        assert (error["code"], closed) == ("too_fast", 1008)


async def test_a_client_that_does_not_read_is_cut_off() -> None:
    engine = ScriptedEngine(lambda segment: "word " * 200_000)  # a few of these fill every buffer
    impatient = ServerSettings(max_unsent=2)
    async with (
        running(engine, settings=impatient) as server,
        stream(server, messages_ahead=1) as socket,
    ):
        with suppress(ConnectionClosed):
            for _ in range(40):
                await socket.send_message(pcm((7, 320)))
                await socket.send_message(FORCE)
        await server.complained.wait()
        assert server.complaints == ["a stream failed: slow_reader: 2 messages were left unread"]
        said, _ = await told_up_to_the_close(socket)
        assert len(said) < 40


async def test_an_engine_that_fails_is_the_servers_error() -> None:
    async with running(ScriptedEngine(fails_at("w9"))) as server:
        async with stream(server) as socket:
            await socket.send_message(pcm((9, 320)))
            await socket.send_message(FORCE)
            said, closed = await told_up_to_the_close(socket)
            assert said == [READY, {"type": "error", "code": "engine", "message": "cannot hear w9"}]
            assert closed == 1011
        async with stream(server) as socket:
            assert await told(socket) == READY


async def test_a_mistake_of_ours_ends_the_server() -> None:
    def mistake(segment: Samples) -> str:
        raise ZeroDivisionError

    with pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True):
        async with running(ScriptedEngine(mistake)) as server, stream(server) as socket:
            await socket.send_message(pcm((7, 320)))
            await socket.send_message(FORCE)
            await trio.sleep_forever()


@pytest.mark.parametrize(
    "knock",
    [
        b"",
        b"\x16\x03\x01\x02\x00",
        b"GET /v1/listen HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        HANDSHAKE.replace(b"localhost", b"\xff"),  # at this the websocket library itself fails
    ],
)
async def test_a_client_that_speaks_something_else_harms_nobody(knock: bytes) -> None:
    async with running() as server:
        async with line_to(server) as line:
            await line.send_all(knock)
            async with stream(server) as socket:
                assert await told(socket) == READY
        async with stream(server) as socket:
            assert await told(socket) == READY


@pytest.mark.parametrize(
    "frame",
    [
        b"\xff\xff\xff\xff",  # no such kind of frame
        b"\x82\x02\x01\x02",  # not masked
        b"\x81\x81\x00\x00\x00\x00\xff",  # text that is not UTF-8
        b"\x88\x81\x00\x00\x00\x00\x01",  # half a Close code
    ],
)
async def test_a_client_that_breaks_the_websocket_itself_harms_nobody(frame: bytes) -> None:
    async with running() as server:
        async with line_to(server) as line, trio.open_nursery() as nursery:
            socket = await wrap_client_stream(nursery, line, "localhost", "/v1/listen")
            assert await told(socket) == READY
            await line.send_all(frame)
            said, _ = await told_up_to_the_close(socket)
            assert said == []
        async with stream(server) as another:
            assert await told(another) == READY


async def test_a_client_that_vanishes_leaves_its_place_to_others() -> None:
    async with running(settings=ServerSettings(max_streams=1)) as server:
        async with line_to(server) as line, trio.open_nursery() as nursery:
            socket = await wrap_client_stream(nursery, line, "localhost", "/v1/listen")
            assert await told(socket) == READY
            await trio.aclose_forcefully(line)
        answer: dict[str, object] = {}
        while answer != READY:  # the server has yet to see it
            async with stream(server) as another:
                answer = await told(another)
        assert not [line for line in server.complaints if "busy" not in line]


async def test_a_server_that_ends_says_so() -> None:
    async with running() as server, stream(server) as socket:
        assert await told(socket) == READY
        server.life.cancel()
        assert await told_up_to_the_close(socket) == ([], 1001)


async def test_a_place_that_is_taken_is_one_clear_line() -> None:
    async with running() as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(UserError, match=f"127.0.0.1 port {port}: Address already in use"):
            await listen("127.0.0.1", port)


async def test_the_address_of_a_server_can_be_dialled_as_it_is() -> None:
    listener = await listen("::1", 0)
    async with listener:
        assert address_of(listener).startswith("ws://[::1]:")


def after(released: threading.Event) -> Callable[[Samples], str]:
    """A rule that understands nothing before it is released."""

    def understand(segment: Samples) -> str:
        assert released.wait(PATIENCE_S)
        return spoken(segment)

    return understand
