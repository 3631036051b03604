"""Opens a call to a provider over gRPC, sends and receives: the link that others have as websocket.

grpcio does the talking, in threads of its own. Each response is stamped in the thread that read it,
before anything waits for our event loop; what we send is stamped when the queue has it that
grpcio takes from, for it tells nothing of the socket. It is wanted only for such providers.

    send ──> queue ──> grpcio's thread ──> …… ──> our reading thread ──> stamp ──> loop ──> receive

A call ends with a status: OK is an ordinary Close, any other one the Close 4000 + status.
"""

import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import trio

from daemon.clock import host_now_ns
from daemon.kernel_stamps import SentStamp
from daemon.order import Link, LinkFailed
from daemon.tcp_info import TcpInfo
from daemon.wire import Encoded, Received, WireClosed
from measure.events import Connected
from measure.faults import Fault, FaultKind, Whose
from providers.codec import Codec, Message, OpenRequest, ProviderError
from providers.families_grpc import SCHEMES, STATUS_CLOSE

CLOSE_S = 0.4
"""How long a call may take to end; after that it is cancelled."""
HANDOVER_NS = 10_000_000
"""So long a thread of grpcio's may take to fetch a message, on a host with much to do."""
UNAVAILABLE = 14
BROKEN_OFF = ("Socket closed", "Connection reset", "Broken pipe", "Stream removed", "GOAWAY")
"""How grpcio says that a connection ended by itself; a provider's own words are others."""
OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),  # every stream has a connection of its own
    ("grpc.enable_http_proxy", 0),  # it would be what is measured
    ("grpc.enable_retries", 0),
    ("grpc.max_receive_message_length", 1 << 24),
)
PORTS = {"grpc": 80, "grpcs": 443}


def load_grpc() -> ModuleType:
    """The package grpcio. Raises LinkFailed where it is not installed."""
    try:
        import grpc
    except ImportError:
        said = "gRPC needs a package that is not installed: speechbench[grpc]"
        raise LinkFailed(Fault(Whose.HOST, FaultKind.CONNECT, said)) from None
    return grpc  # type: ignore[no-any-return]


def closed_by(status: int, name: str, details: str) -> WireClosed:
    """The end of a call as the end of a stream."""
    if status == 0:
        return WireClosed(1000, "")
    if status == UNAVAILABLE and any(one in details for one in BROKEN_OFF):
        return WireClosed(None, f"the connection broke off: {details}")
    return WireClosed(STATUS_CLOSE + status, f"{name}: {details}" if details else name)


@dataclass(frozen=True, slots=True)
class GrpcOpener:
    """Opens links over gRPC."""

    now_ns: Callable[[], int] = host_now_ns
    """Works in any thread."""

    @asynccontextmanager
    async def __call__(self, codec: Codec, key: str, timeout_s: float) -> AsyncIterator[Link]:
        """An open call. Raises LinkFailed if there is no connection within ``timeout_s``."""
        grpc = load_grpc()
        wanted = requested(codec, key)
        channel, address = _channel(grpc, wanted)
        try:
            started_ns = self.now_ns()
            await _connected(grpc, channel, address, timeout_s)
            ready_ns = self.now_ns()
            connected = Connected(ready_ns, None, None, ready_ns - started_ns, None, 0, address)
            link = GrpcLink(connected, self.now_ns)
            link.call(channel, wanted)
            try:
                yield link
            finally:
                with trio.CancelScope(shield=True):
                    await link.close()
        finally:
            channel.close()


def requested(codec: Codec, key: str) -> OpenRequest:
    """What the codec wants opened. Raises LinkFailed where key or address cannot be used."""
    try:
        wanted = codec.open(key)
        known = urlsplit(wanted.url).scheme in SCHEMES
    except ProviderError as error:
        raise LinkFailed(error.fault) from error
    if not known:
        said = "the address cannot be used: it must begin with grpc:// or grpcs://"
        raise LinkFailed(Fault(Whose.HOST, FaultKind.CONNECT, said))
    return wanted


def _channel(grpc: ModuleType, wanted: OpenRequest) -> tuple[Any, str]:
    """A channel that does not connect yet, and where it leads."""
    parts = urlsplit(wanted.url)
    name = parts.hostname or ""
    host = f"[{name}]" if ":" in name else name
    address = f"{host}:{parts.port or PORTS[parts.scheme]}"
    if parts.scheme == "grpc":
        return grpc.insecure_channel(address, OPTIONS), address
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(), OPTIONS), address


async def _connected(grpc: ModuleType, channel: Any, address: str, timeout_s: float) -> None:  # noqa: ANN401
    """Wait for the connection, TLS included. Raises LinkFailed."""
    states = grpc.ChannelConnectivity
    loop = trio.lowlevel.current_trio_token()
    decided = trio.Event()
    seen: list[object] = []

    def tell(state: object) -> None:
        """Called in a thread of grpcio's, with each state."""
        if state in (states.READY, states.TRANSIENT_FAILURE, states.SHUTDOWN) and not seen:
            seen.append(state)
            with suppress(trio.RunFinishedError):
                loop.run_sync_soon(decided.set)

    channel.subscribe(tell, try_to_connect=True)
    with trio.move_on_after(timeout_s):
        await decided.wait()
    channel.unsubscribe(tell)
    if not seen:
        said = f"the connection to {address} was not made within {timeout_s:g} s"
        raise LinkFailed(Fault(Whose.NETWORK, FaultKind.TIMEOUT, said))
    if seen[0] is not states.READY:
        said = f"{address}: no connection, or none that TLS accepts"
        raise LinkFailed(Fault(Whose.NETWORK, FaultKind.CONNECT, said))


class _Outgoing:
    """What is to be sent, one after the other: taken by grpcio in a thread of its own."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._waiting: deque[tuple[int, int]] = deque()
        """When each message was put that may not have been taken, and how much it holds."""
        self._taken = 0
        self._known_taken = 0
        self.put_bytes = 0

    def put(self, message: bytes) -> int:
        """Now; an empty one ends our half of the call."""
        self._queue.put(message or None)
        now_ns = self._now_ns()
        self.put_bytes += len(message)
        self._waiting.append((now_ns, len(message)))
        return now_ns

    @property
    def late_bytes(self) -> int:
        """What has not been taken although there was time for that."""
        while self._waiting and self._known_taken < self._taken:
            self._waiting.popleft()
            self._known_taken += 1
        late_ns = self._now_ns() - HANDOVER_NS
        return sum(size for put_ns, size in self._waiting if put_ns < late_ns)

    def __iter__(self) -> Iterator[bytes]:
        while (message := self._queue.get()) is not None:
            self._taken += 1
            yield message


class GrpcLink:
    """One open call."""

    def __init__(self, connected: Connected, now_ns: Callable[[], int]) -> None:
        self.connected = connected
        self._now_ns = now_ns
        self._outgoing = _Outgoing(now_ns)
        self._loop = trio.lowlevel.current_trio_token()
        self._come, self._incoming = trio.open_memory_channel[Received](math.inf)
        self._over = trio.Event()
        self._end: WireClosed | None = None
        self._finished = False
        self._call: Any = None

    def call(self, channel: Any, wanted: OpenRequest) -> None:  # noqa: ANN401
        """Begin the call, and a thread that reads its responses."""
        method = channel.stream_stream(urlsplit(wanted.url).path)
        metadata = [(name.lower(), value) for name, value in wanted.headers.items()]
        self._call = method(iter(self._outgoing), metadata=metadata)
        Thread(target=self._read, name="grpc responses", daemon=True).start()

    def _read(self) -> None:
        """In a thread of its own: every response with the moment at which it had been read."""
        try:
            for response in self._call:
                received = Received(response, None, self._now_ns())
                self._loop.run_sync_soon(self._come.send_nowait, received)
        except trio.RunFinishedError:
            return
        except Exception:  # the call's own end, of which the call tells below
            pass
        status, details = self._call.code(), self._call.details()
        end = closed_by(status.value[0], status.name, details or "")
        with suppress(trio.RunFinishedError):
            self._loop.run_sync_soon(self._has_ended, end)

    def _has_ended(self, end: WireClosed) -> None:
        self._end = end
        self._come.close()
        self._over.set()

    @property
    def unsent_bytes(self) -> int:
        """What grpcio should have taken by now; of what it keeps itself it does not tell."""
        return self._outgoing.late_bytes

    @property
    def sent_bytes(self) -> int:
        return self._outgoing.put_bytes

    def encode(self, message: Message) -> Message:
        return message

    def send(self, message: Message | Encoded, *, stamp: bool = False) -> int:
        if self._end is not None:
            raise self._end
        if self._finished:
            raise WireClosed(None, "our half of the call has ended")
        assert isinstance(message, bytes), "a message of protobuf"
        self._finished = not message
        return self._outgoing.put(message)

    async def receive(self) -> Received:
        try:
            return await self._incoming.receive()
        except trio.EndOfChannel:
            raise self._end or WireClosed(None, "it was closed here") from None

    def take_sent_stamps(self) -> Sequence[SentStamp] | None:
        return None

    def tcp_info(self) -> TcpInfo | None:
        return None

    async def close(self) -> None:
        """Wait for the end where our half has ended, but not for long; else cancel the call."""
        if self._finished:
            with trio.move_on_after(CLOSE_S):
                await self._over.wait()
        self._outgoing.put(b"")
        self._call.cancel()
        with trio.move_on_after(CLOSE_S):
            await self._over.wait()
