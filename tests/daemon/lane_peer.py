"""The other side of a lane: sockets on loopback, and a websocket server that obeys the test."""

import socket
from collections.abc import Iterable
from contextlib import suppress

import trio
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Message,
    Request,
    TextMessage,
)

from daemon.clock import now_ns, wall_ns
from daemon.dial import WebsocketUrl
from daemon.lane import QUEUE_LIMIT_BYTES, Lane

URL = WebsocketUrl(tls=False, host="speech.test", port=80, resource="/")


def tcp_pair(*, small: bool = False) -> tuple[socket.socket, socket.socket]:
    """Two connected sockets; ``small``: with little room between them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        if small:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)  # less: it crawls
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
    if small:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    theirs.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ours, theirs


def lane_over(sock: socket.socket, *, queue_limit_bytes: int = QUEUE_LIMIT_BYTES) -> Lane:
    return Lane(sock, now_ns=now_ns, wall_ns=wall_ns, queue_limit_bytes=queue_limit_bytes)


def stream_over(sock: socket.socket) -> trio.SocketStream:
    return trio.SocketStream(trio.socket.from_stdlib_socket(sock))


def lane_and_stream(*, small: bool = False) -> tuple[Lane, trio.SocketStream]:
    """Our lane, and the other side's stream."""
    ours, theirs = tcp_pair(small=small)
    return lane_over(ours), stream_over(theirs)


class Provider:
    """A websocket server over ``stream`` that does what the test says, and nothing by itself."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.request: Request | None = None
        self.heard: list[Event] = []
        self._machine = WSConnection(ConnectionType.SERVER)

    async def accept(self, and_say: Iterable[Event] = (), subprotocol: str | None = None) -> None:
        """Take the upgrade; ``and_say`` leaves in one piece with the answer."""
        request = await self.hear()
        assert isinstance(request, Request)
        self.request = request
        answer = AcceptConnection(subprotocol=subprotocol)
        await self.stream.send_all(b"".join(map(self._machine.send, (answer, *and_say))))

    async def say(self, *events: Event) -> None:
        """Send ``events`` in one piece."""
        await self.stream.send_all(self.encoded(*events))

    def encoded(self, *events: Event) -> bytes:
        return b"".join(map(self._machine.send, events))

    async def hear(self) -> Event | None:
        """The next thing the client says; None where it has hung up."""
        while True:
            for event in self._machine.events():
                self.heard.append(event)
                return event
            with suppress(trio.BrokenResourceError):
                if piece := await self.stream.receive_some(4096):
                    self._machine.receive_data(bytes(piece))
                    continue
            return None

    async def hear_all(self) -> list[Event]:
        """Listen until the client hangs up or says Close; gives all it has ever said."""
        while (event := await self.hear()) is not None and not isinstance(event, CloseConnection):
            pass
        return self.heard


def text(data: str) -> TextMessage:
    return TextMessage(data=data)


def binary(data: bytes) -> BytesMessage:
    return BytesMessage(data=data)


def whole_messages(events: Iterable[Event]) -> list[str | bytes]:
    """The messages in ``events``, put together from their parts."""
    whole: list[str | bytes] = []
    parts: list[str] | list[bytes] = []
    for event in events:
        if isinstance(event, Message):
            parts.append(event.data)
            if event.message_finished:
                whole.append(type(event.data)().join(parts))
                parts = []
    return whole
