"""Opens a stream to a provider, sends and receives.

Whatever the network or the provider does wrong on the way becomes a fault here: nobody above this
file sees a foreign exception.

    prepare (HTTP, where the provider wants it) ─> name ─> TCP ─> TLS ─> websocket ─> Link
"""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio
import trio_websocket

from daemon.ask import AnswerError, ask, http_url, without_key
from daemon.dial import Dialed, WebsocketUrl, connect, websocket_url
from daemon.kernel_stamps import SentStamp
from daemon.lane import AnyLane, LaneFull
from daemon.mask import masked
from daemon.order import Link, LinkFailed
from daemon.tcp_info import TcpInfo
from daemon.wire import Encoded, Received, Wire, open_wire
from measure.events import Connected
from measure.faults import Fault, FaultKind, Whose
from providers.codec import Codec, HttpRequest, HttpResponse, Message, ProviderError
from providers.codec import fault_of_status as http_fault

CLOSE_S = 0.4
"""How long a provider may take to answer our Close; after that we hang up."""
BODY_CHARS = 200
"""How much of a refusal's text is kept."""


@dataclass(frozen=True, slots=True)
class Way:
    """A connection that was made, before anything was said on it, and how long it took."""

    lane: AnyLane
    address: str
    dns_ns: int | None
    tcp_ns: int
    tls_ns: int | None


Dial = Callable[[WebsocketUrl], Awaitable[Way]]


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens links. ``dial`` makes the connection: TCP, or memory in tests."""

    dial: Dial
    now_ns: Callable[[], int]

    @asynccontextmanager
    async def __call__(self, codec: Codec, key: str, timeout_s: float) -> AsyncIterator[Link]:
        """An open stream. Raises LinkFailed if there is none within ``timeout_s``."""
        failed: Fault | None = None
        async with trio.open_nursery() as nursery:
            try:
                link = await self._opened(nursery, codec, key, timeout_s)
            except LinkFailed as failure:
                failed = failure.fault
            else:
                try:
                    yield link
                finally:
                    with trio.CancelScope(shield=True):
                        await link.close()
            nursery.cancel_scope.cancel()
        if failed is not None:
            raise LinkFailed(failed)

    async def _opened(
        self, nursery: trio.Nursery, codec: Codec, key: str, timeout_s: float
    ) -> "WireLink":
        stage = Stage()
        with trio.move_on_after(timeout_s):
            try:
                return await self._open(nursery, codec, key, stage)
            except Exception as error:
                raise LinkFailed(opening_fault(error, stage, key)) from error
        raise LinkFailed(Fault(stage.whose, FaultKind.TIMEOUT, stage.overdue(timeout_s)))

    async def _open(
        self, nursery: trio.Nursery, codec: Codec, key: str, stage: "Stage"
    ) -> "WireLink":
        started_ns = self.now_ns()
        request = codec.prepare(key)
        prepare_ns = None
        if request is not None:
            codec.prepared(await self._ask(request, key, stage))
            prepare_ns = self.now_ns() - started_ns
        wanted = codec.open(key)
        url = websocket_url(wanted.url)
        stage.at("the connection", url.host_header)
        way = await self.dial(url)
        stage.reached_provider = True
        stage.at("the websocket handshake", url.host_header)
        dialed_ns = self.now_ns()
        wire = await open_wire(
            nursery,
            way.lane,
            url,
            now_ns=self.now_ns,
            headers=wanted.headers,
            subprotocols=wanted.subprotocols,
        )
        upgrade_ns = self.now_ns() - dialed_ns
        connected = Connected(
            self.now_ns(), prepare_ns, way.dns_ns, way.tcp_ns, way.tls_ns, upgrade_ns, way.address
        )
        return WireLink(wire, connected)

    async def _ask(self, request: HttpRequest, key: str, stage: "Stage") -> HttpResponse:
        url = http_url(request.url)
        stage.at("the preparing request", url.host_header)
        way = await self.dial(url)
        try:
            answer = await ask(way.lane, request, url.host_header, url.resource)
        finally:
            way.lane.close()
        return without_key(answer, key)


@dataclass(frozen=True, slots=True)
class WireLink:
    """An open websocket with the faults translated."""

    wire: Wire
    connected: Connected

    @property
    def unsent_bytes(self) -> int:
        return self.wire.unsent_bytes

    @property
    def sent_bytes(self) -> int:
        return self.wire.sent_bytes

    def encode(self, message: Message) -> Encoded:
        return self.wire.encode(message)

    def send(self, message: Message | Encoded, *, stamp: bool = False) -> int:
        try:
            return self.wire.send_nowait(message, stamp=stamp)
        except LaneFull as full:
            raise LinkFailed(Fault(Whose.PROVIDER, FaultKind.TIMEOUT, str(full))) from full

    async def receive(self) -> Received:
        return await self.wire.receive()

    def take_sent_stamps(self) -> list[SentStamp] | None:
        return self.wire.take_sent_stamps()

    def tcp_info(self) -> TcpInfo | None:
        return self.wire.tcp_info()

    async def close(self) -> None:
        await self.wire.close(CLOSE_S)


class TcpDialer:
    """Makes TCP connections, with TLS where the address asks for it."""

    def __init__(self, now_ns: Callable[[], int], wall_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._wall_ns = wall_ns
        self._tls: ssl.SSLContext | None = None

    async def __call__(self, url: WebsocketUrl) -> Way:
        dialed: Dialed = await connect(
            url.host,
            url.port,
            ssl_context=self._context() if url.tls else None,
            now_ns=self._now_ns,
            wall_ns=self._wall_ns,
        )
        return Way(dialed.lane, dialed.address, dialed.dns_ns, dialed.tcp_ns, dialed.tls_ns)

    def _context(self) -> ssl.SSLContext:
        """Made once, when it is first needed: reading the system's certificates takes a while."""
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


class Stage:
    """How far opening has come: what is waited for, and from whom."""

    def __init__(self) -> None:
        self._what = "the connection"
        self._host = ""
        self.reached_provider = False

    def at(self, what: str, host: str) -> None:
        self._what, self._host = what, host

    @property
    def host(self) -> str:
        return self._host

    @property
    def whose(self) -> Whose:
        return Whose.PROVIDER if self.reached_provider else Whose.NETWORK

    def overdue(self, timeout_s: float) -> str:
        return f"{self._what} to {self._host} was not done within {timeout_s:g} s"


def opening_fault(error: Exception, stage: Stage, key: str) -> Fault:
    """Whose fault it is that there is no stream, and which."""
    match error:
        case ProviderError():
            return error.fault
        case trio_websocket.ConnectionRejected():
            headers = {
                name.decode("latin-1"): value.decode("latin-1")
                for name, value in error.headers or ()
            }
            text = _one_line((error.body or b"").decode("utf-8", "replace"), key)
            return http_fault(error.status_code, headers, text)
        case trio_websocket.HandshakeError():
            said = f"{stage.host} answered the websocket handshake wrongly or not at all"
            return Fault(Whose.PROVIDER, FaultKind.HANDSHAKE, said)
        case ssl.SSLError():
            said = f"TLS with {stage.host}: {error.reason or type(error).__name__}"
            return Fault(Whose.NETWORK, FaultKind.TLS, said)
        case socket.gaierror():
            said = f"{stage.host}: no such host, or no name server answers"
            return Fault(Whose.NETWORK, FaultKind.CONNECT, said)
        case OSError():
            why = os.strerror(error.errno) if error.errno else type(error).__name__
            return Fault(Whose.NETWORK, FaultKind.CONNECT, f"{stage.host}: {why}")
        case AnswerError():
            said = f"{stage.host}, to the preparing request: {error}"
            return Fault(Whose.PROVIDER, FaultKind.HANDSHAKE, said)
        case trio.BrokenResourceError() | trio.ClosedResourceError():
            said = f"{stage.host} hung up before the stream was open"
            return Fault(stage.whose, FaultKind.HANDSHAKE, said)
        case ValueError():
            return Fault(Whose.HOST, FaultKind.CONNECT, f"the address cannot be used: {error}")
    raise error


def _one_line(text: str, key: str) -> str:
    """Its beginning; the key goes first, or a part of it could be left at the end."""
    return " ".join(masked(text, key).split())[:BODY_CHARS]
