"""One open websocket: messages leave at once, and come in with the moment each arrived.

trio-websocket does the talking: upgrade, pings, Close. Our messages go past it, as whole frames,
straight into the lane. Theirs come out of it in the order in which they end, and the stream it
reads through has noted the stamps of each in that same order; so the two meet again, however long
either has waited.

    send_nowait ───────────> encode_frame ───────────┐
                                                     v
    receive <── messages <── trio-websocket <──> StampedStream <──> lane
       ^                                             │
       └──────────── stamps, one per message <───────┘

Nothing of trio-websocket's inside is touched; it only has to hand over each message once, in order.
"""

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import trio
from trio_websocket import (
    ConnectionClosed,
    HandshakeError,
    WebSocketConnection,
    wrap_client_stream,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from daemon.dial import WebsocketUrl
from daemon.kernel_stamps import SentStamp
from daemon.lane import READ_BYTES, AnyLane
from daemon.stamped_stream import StampedStream
from daemon.tcp_info import TcpInfo
from daemon.websocket_frames import encode_frame

QUEUED_MESSAGES = 256
"""How many messages may wait to be fetched; then no more is read, and the provider has to wait."""
MAX_MESSAGE_BYTES = 1 << 24
"""A longer message is answered with Close 1009, and ends the websocket."""
_NO_CLOSE = 1006
"""How trio-websocket says that the connection ended without a Close."""


@dataclass(frozen=True, slots=True)
class Received:
    """One message, and the moment its last byte came."""

    message: str | bytes
    arrived_ns: int | None
    """When it came into this host, by the kernel; None where the kernel gave no stamp.

    What came in before our program got round to reading is read at once and shares the newest
    stamp. So this is late by the time our program took at most, and never early.
    """
    read_ns: int
    """When our program had read it."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One message as the frame that it will be on the wire."""

    frame: bytes = field(repr=False)


class Masks:
    """Four bytes nobody can foresee, again and again; the system is asked for many at once."""

    _MANY = 1024

    def __init__(self, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self._random_bytes = random_bytes
        self._left: Iterator[bytes] = iter(())

    def __call__(self) -> bytes:
        mask = next(self._left, None)
        if mask is None:
            many = self._random_bytes(4 * self._MANY)
            self._left = (many[at : at + 4] for at in range(0, len(many), 4))
            mask = next(self._left)
        return mask


class WireClosed(Exception):
    """The websocket is over. ``code`` is that of the provider's Close; None: there was none."""

    def __init__(self, code: int | None, reason: str) -> None:
        super().__init__(reason if code is None else f"Close {code}, {reason or 'no reason given'}")
        self.code = code
        self.reason = reason


Upgrade = Callable[[trio.Nursery, StampedStream], Awaitable[WebSocketConnection]]
"""Opens a websocket over a stream; its reader lives in the nursery."""


class Wire:
    """An open websocket. ``open_wire`` makes it; whoever has it must ``close`` it."""

    def __init__(
        self,
        lane: AnyLane,
        *,
        now_ns: Callable[[], int],
        masks: Callable[[], bytes],
    ) -> None:
        self._lane = lane
        self._stream = StampedStream(lane)
        self._now_ns = now_ns
        self._masks = masks
        self._life = trio.CancelScope()
        self._closing = trio.Event()
        self._over = trio.Event()
        self._connection: WebSocketConnection

    async def live(
        self, upgrade: Upgrade, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """The wire's whole life, for ``open_wire`` alone: open, be there, say goodbye.

        However it ends, the lane is closed. Once the websocket is open, no failure of the network
        or the provider is raised here: sending and receiving tell of it.
        """
        is_open = False
        try:
            with self._life:
                async with trio.open_nursery() as tasks:
                    tasks.start_soon(self._lane.keep_flushing)
                    self._connection = await upgrade(tasks, self._stream)
                    is_open = True
                    task_status.started()
                    await self._closing.wait()
                    await self._connection.aclose()
                    self._life.cancel()
        except BaseExceptionGroup as group:
            if not is_open:
                raise _why_not_opened(group) from None
            _, serious = group.split(LocalProtocolError)
            if serious is not None:  # the other: it answered a ping after it had said Close
                raise serious from None
        finally:
            self._lane.close()
            self._over.set()

    def encode(self, message: str | bytes) -> Encoded:
        """Make one message ready to be sent: half the work of sending it, for a quiet moment."""
        text = isinstance(message, str)
        payload = message.encode() if isinstance(message, str) else message
        return Encoded(encode_frame(payload, text=text, mask=self._masks()))

    def send_nowait(self, message: str | bytes | Encoded, *, stamp: bool = False) -> int:
        """Hand over one message, now; gives the moment at which the kernel or our queue had it.

        ``stamp`` asks for the kernel's own stamps, see ``take_sent_stamps``. Raises LaneFull, and
        WireClosed where nothing more can be sent; messages may still be there to be received then.
        """
        if self._connection.closed is not None or self._closing.is_set():
            raise self._closed()
        ready = message if isinstance(message, Encoded) else self.encode(message)
        try:
            self._lane.send_nowait(ready.frame, stamp=stamp)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise WireClosed(None, f"the connection broke off: {error}") from error
        return self._now_ns()

    async def receive(self) -> Received:
        """The next message. Raises WireClosed after the last one, and at once after ``close``."""
        try:
            message = await self._connection.get_message()
        except ConnectionClosed:
            raise self._closed() from None
        stamps = self._stream.stamps.popleft()
        return Received(message, stamps.arrived_ns, stamps.read_ns)

    def _closed(self) -> WireClosed:
        said = self._connection.closed
        if self._closing.is_set():
            return WireClosed(None, "it was closed here")
        if said is None or said.code == _NO_CLOSE:
            return WireClosed(None, self._stream.how_it_ended)
        return WireClosed(int(said.code), said.reason or "")

    async def close(self, timeout_s: float) -> None:
        """Say Close, wait for the answer, hang up; after ``timeout_s``, hang up without it.

        Cancelled, it hangs up at once; for an orderly end then, call it in a shielded scope.
        """
        self._closing.set()
        try:
            with trio.move_on_after(timeout_s):
                await self._over.wait()
        finally:
            self.hang_up()

    def hang_up(self) -> None:
        """End it at once, without a goodbye."""
        self._closing.set()
        self._lane.close()
        self._life.cancel()

    @property
    def subprotocol(self) -> str | None:
        """The one that the provider chose."""
        return self._connection.subprotocol

    @property
    def sent_bytes(self) -> int:
        """How much was handed over so far: right after a send, the name of that send."""
        return self._lane.sent_bytes

    @property
    def unsent_bytes(self) -> int:
        """What has not left this host."""
        return self._lane.unsent_bytes

    @property
    def unacked_bytes(self) -> int:
        """What the provider's host has not acknowledged: the unsent, and what is on its way."""
        return self._lane.unacked_bytes

    @property
    def blocked(self) -> int:
        """How many sends the kernel did not take whole."""
        return self._lane.blocked

    def take_sent_stamps(self) -> list[SentStamp] | None:
        """The stamps of marked sends that have come since the last call; None: there are never any.

        ``offset`` is what ``sent_bytes`` was right after the send.
        """
        return self._lane.take_sent_stamps()

    def tcp_info(self) -> TcpInfo | None:
        """What the kernel knows of the connection; None where there is nothing to know."""
        return self._lane.tcp_info()


async def open_wire(
    nursery: trio.Nursery,
    lane: AnyLane,
    url: WebsocketUrl,
    *,
    now_ns: Callable[[], int],
    headers: Mapping[str, str] | None = None,
    subprotocols: Sequence[str] = (),
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    masks: Callable[[], bytes] | None = None,
) -> Wire:
    """A websocket over ``lane``, which it owns from now on; its tasks live in ``nursery``.

    Raises trio-websocket's ConnectionRejected where the provider refuses with an HTTP status, its
    HandshakeError where the answer is wrong or does not come, and ValueError for a header that
    cannot be sent. How long it may take is the caller's cancel scope. The lane is closed then.
    """

    async def upgrade(tasks: trio.Nursery, stream: StampedStream) -> WebSocketConnection:
        return await wrap_client_stream(
            tasks,
            stream,  # type: ignore[arg-type]  # it asks for a socket stream and takes any
            url.host_header,
            url.resource,
            subprotocols=[_sendable("subprotocol", one) for one in subprotocols],
            extra_headers=[
                (name.encode(), _sendable(f"header {name}", value).encode())
                for name, value in (headers or {}).items()
            ],
            message_queue_size=QUEUED_MESSAGES,
            max_message_size=max_message_bytes,
            receive_buffer_size=READ_BYTES,
        )

    wire = Wire(lane, now_ns=now_ns, masks=masks or Masks())
    try:
        await nursery.start(wire.live, upgrade)
    except BaseException:
        wire.hang_up()
        raise
    return wire


def _sendable(name: str, value: str) -> str:
    """The same value. It may be a key, so the error does not repeat it."""
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise ValueError(f"{name}: has characters that HTTP does not allow there")
    return value


def _why_not_opened(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error in ``group``, in trio-websocket's terms where the answer was a wrong one."""
    errors = [error for error in _leaves(group) if not isinstance(error, trio.Cancelled)]
    if len(errors) != 1:
        return group
    # trio-websocket stumbles over its own complaint to the provider; what it complains of is below.
    below: BaseException | None = errors[0]
    while below is not None and not isinstance(below, RemoteProtocolError):
        below = below.__context__
    if below is None:
        return errors[0]
    return HandshakeError(f"the answer to the websocket upgrade is wrong: {below}")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
