"""The server's end of HTTP/1.1 and of one websocket, on any stream of bytes.

It does what it is told and nothing by itself except to answer a ping; so a fake can leave
undone what a well-behaved server would do. The only time it knows is trio's clock.
"""

import socket
import struct
from contextlib import suppress
from itertools import pairwise

import h11
import trio
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    TextMessage,
)

from daemon.fakes.script import Pieces
from daemon.fakes.visit import Stamped, Visit
from providers.codec import HttpRequest, HttpResponse

LINGER_S = 2.0
"""How long the other side is given to end its half of a connection that we have ended."""


class Http:
    """Requests and answers on one stream, until one of them opens a websocket."""

    def __init__(self, stream: trio.abc.Stream, visit: Visit) -> None:
        self._stream = stream
        self._visit = visit
        self._h11 = h11.Connection(h11.SERVER)

    async def request(self) -> HttpRequest | None:
        """The next request, complete; None where none will come. The one before is answered."""
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
        elif self._h11.our_state is not h11.IDLE:
            return None
        try:
            return await self._request()
        except h11.RemoteProtocolError as error:
            await self.answer(HttpResponse(400, {}, str(error).encode()))
            return None

    async def _request(self) -> HttpRequest | None:
        head, body = None, b""
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            match event:
                case h11.Request():
                    head = event
                case h11.Data():
                    body += event.data
                case _:  # the other side has gone
                    self._visit.end()
                    return None
        assert head is not None
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in head.headers}
        request = HttpRequest(head.method.decode(), head.target.decode("latin-1"), headers, body)
        self._visit.requests.append(request)
        self._visit.hear(request.method, body)
        return request

    async def _event(self) -> object:
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            self._h11.receive_data(bytes(await self._stream.receive_some()))
        return event

    async def answer(self, response: HttpResponse) -> None:
        """Answer the last request."""
        headers = [*response.headers.items(), ("Content-Length", str(len(response.body)))]
        head = h11.Response(status_code=response.status, headers=headers)
        events = (head, h11.Data(data=response.body), h11.EndOfMessage())
        await self._stream.send_all(b"".join(self._h11.send(event) or b"" for event in events))
        self._visit.say("http", response.body)

    async def upgrade(
        self, request: HttpRequest, subprotocol: str | None, pieces: Pieces
    ) -> "WebSocket":
        """The websocket that ``request``, the last one, asks for. Raises wsproto's errors."""
        trailing, _ = self._h11.trailing_data
        protocol = WSConnection(ConnectionType.SERVER)
        headers = [
            (name.encode(), value.encode("latin-1")) for name, value in request.headers.items()
        ]
        protocol.initiate_upgrade_connection(headers, request.url)
        list(protocol.events())
        await self._stream.send_all(protocol.send(AcceptConnection(subprotocol=subprotocol)))
        self._visit.say("http", b"101")
        protocol.receive_data(trailing)
        return WebSocket(self._stream, protocol, self._visit, pieces)


class WebSocket:
    """An open websocket. One task may receive while others send."""

    def __init__(
        self,
        stream: trio.abc.Stream,
        protocol: WSConnection,
        visit: Visit,
        pieces: Pieces,
    ) -> None:
        self._stream = stream
        self._protocol = protocol
        self._visit = visit
        self._leaving_in = pieces
        self._sending = trio.Lock()
        self._pieces = bytearray()
        """Of a message that is not yet whole."""

    async def receive(self) -> Stamped:
        """The next whole message, ping, pong, close, or the end. Pings have been answered."""
        while True:
            event = await self._event()
            match event:
                case TextMessage() | BytesMessage():
                    data = event.data
                    self._pieces += data.encode() if isinstance(data, str) else data
                    if event.message_finished:
                        whole, self._pieces = bytes(self._pieces), bytearray()
                        kind = "text" if isinstance(event, TextMessage) else "binary"
                        return self._heard(kind, whole)
                case Ping():
                    if self._protocol.state is ConnectionState.OPEN:
                        await self._send(self._protocol.send(event.response()))
                    return self._heard("ping", bytes(event.payload))
                case Pong():
                    return self._heard("pong", bytes(event.payload))
                case CloseConnection(code=code, reason=reason):
                    return self._heard("close", f"{int(code)} {reason or ''}".rstrip().encode())
                case None:
                    self._visit.end()
                    return self._visit.heard[-1]

    def _heard(self, kind: str, payload: bytes) -> Stamped:
        self._visit.hear(kind, payload)
        return self._visit.heard[-1]

    async def _event(self) -> Event | None:
        while (event := next(self._protocol.events(), None)) is None:
            arrived = await self._stream.receive_some()
            if not arrived:
                return None
            self._protocol.receive_data(bytes(arrived))
        return event

    async def send(
        self, *messages: str | bytes, close: tuple[int, str] | None = None, raw: bool = False
    ) -> None:
        """Messages, and a Close behind them, in one piece; ``raw``: bytes as they are.

        Nothing is said to who has said Close.
        """
        if self._protocol.state is not ConnectionState.OPEN or not (messages or close):
            return
        frames = self._leaving_in.frames
        wire = b"".join(_framed(self._protocol, message, raw, frames) for message in messages)
        if close is not None:
            wire += self._protocol.send(CloseConnection(*close))
        await self._send(wire)
        for message in messages:
            self._visit.say(*_kept(message))
        if close is not None:
            self._visit.say("close", f"{close[0]} {close[1]}".rstrip().encode())

    async def _send(self, wire: bytes) -> None:
        first, *others = self._leaving_in.cut(wire)
        async with self._sending:
            await self._stream.send_all(first)
            for segment in others:
                await trio.sleep(self._leaving_in.gap_s)
                await self._stream.send_all(segment)

    async def close(self, code: int, reason: str = "") -> None:
        """The websocket ends in good order: Close, the other's Close, then the connection."""
        with trio.move_on_after(LINGER_S):
            await self.send(close=(code, reason))
            while self._protocol.state is ConnectionState.LOCAL_CLOSING:
                if (await self.receive()).kind == "end":
                    break
        await shut(self._stream)

    async def answer_close(self) -> None:
        """Say Close as well, where the other side has said it."""
        if self._protocol.state is ConnectionState.REMOTE_CLOSING:
            await self._send(self._protocol.send(CloseConnection(1000)))
            self._visit.say("close", b"1000")

    async def read_to_the_end(self) -> None:
        """Whatever still comes is read and forgotten."""
        while await self._stream.receive_some():
            pass
        self._visit.end()


def _kept(message: str | bytes) -> tuple[str, bytes]:
    return ("text", message.encode()) if isinstance(message, str) else ("binary", message)


def _framed(protocol: WSConnection, message: str | bytes, raw: bool, frames: int) -> bytes:
    if raw:
        return _kept(message)[1]
    count = max(1, min(frames, len(message)))
    cuts = [nth * len(message) // count for nth in range(count + 1)]
    return b"".join(
        _frame(protocol, message[start:end], last=end == len(message))
        for start, end in pairwise(cuts)
    )


def _frame(protocol: WSConnection, piece: str | bytes, *, last: bool) -> bytes:
    """The next frame of a message."""
    if isinstance(piece, str):
        return protocol.send(TextMessage(piece, message_finished=last))
    return protocol.send(BytesMessage(bytearray(piece), message_finished=last))


async def shut(stream: trio.abc.Stream) -> None:
    """End the connection without a word: FIN, and never a reset by mistake.

    The kernel resets a connection that is closed while something lies unread in it; so what
    still comes is read until the other side has ended its half as well.
    """
    with trio.move_on_after(LINGER_S):
        if isinstance(stream, trio.abc.HalfCloseableStream):
            # Who is in the middle of sending or reading on it is broken off.
            with suppress(trio.BusyResourceError):
                await stream.send_eof()
                while await stream.receive_some():
                    pass
        await stream.aclose()
    await trio.aclose_forcefully(stream)


async def reset(stream: trio.abc.Stream) -> None:
    """Break the connection off: RST where there is a socket below, else just the end."""
    below = stream
    while isinstance(below, trio.SSLStream):
        below = below.transport_stream
    if isinstance(below, trio.SocketStream):
        at_once = struct.pack("ii", 1, 0)
        below.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    await trio.aclose_forcefully(below)
