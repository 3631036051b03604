"""The way onto the network: frames leave at once, and what comes in is stamped by the kernel.

trio's own streams go through the scheduler before and after each send, and know nothing of the
kernel's stamps. A lane is a trio stream too, so trio-websocket can live on top of it, but whole
frames may overtake the scheduler:

    send_nowait(frame) ──> kernel            nothing waits: straight into the socket
           └── what it did not take ──> queue ──> keep_flushing()
    send_all(pong) ─────────────────────> queue or kernel, behind what is there

Both only ever hand over whole frames, and each frame is placed in one step; so frames never mix.
"""

import errno
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn, Protocol

import trio

from daemon.kernel_stamps import (
    ANCILLARY_BYTES,
    STAMP_THIS_SEND,
    Ancillary,
    Carrier,
    KernelStamps,
    MarkedSends,
    SentStamp,
    ask_for_stamps,
    received_wall_ns,
)
from daemon.tcp_info import TcpInfo, tcp_info, unacked_bytes, unsent_bytes

QUEUE_LIMIT_BYTES = 1 << 20
"""What may wait in a lane's own queue: half a minute of 16 kHz audio."""
READ_BYTES = 1 << 16
"""How much is read at once: what arrived together is read together and shares its stamp."""


class LaneFull(Exception):
    """The frame was not taken: the other side has not read for so long that the queue is full."""

    def __init__(self, queued_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"the provider has stopped reading: {queued_bytes} bytes wait to be sent, "
            f"at most {limit_bytes} may"
        )


class AnyLane(Protocol):
    """What is common to all lanes: plain, TLS, and the one of memory that tests use."""

    @property
    def arrived_ns(self) -> int | None:
        """When the newest bytes read so far arrived, by the kernel; None where it did not say."""

    @property
    def read_ns(self) -> int:
        """When our program had read them."""

    @property
    def kernel_stamps(self) -> KernelStamps: ...
    @property
    def sent_bytes(self) -> int:
        """How much was handed over, queued or sent; it names the send that came last."""

    @property
    def blocked(self) -> int:
        """How many sends the kernel did not take whole."""

    @property
    def blocked_bytes(self) -> int:
        """How much of them had to wait."""

    @property
    def unsent_bytes(self) -> int:
        """What has not left this host: our queue and the kernel's."""

    @property
    def unacked_bytes(self) -> int:
        """What the other side has not acknowledged: all unsent, and what is on its way."""

    def send_nowait(self, frame: bytes, *, stamp: bool = False) -> bool: ...
    def take_sent_stamps(self) -> list[SentStamp] | None: ...
    def tcp_info(self) -> TcpInfo | None: ...
    def close(self) -> None: ...
    async def keep_flushing(self) -> None: ...
    async def send_all(self, data: bytes | bytearray | memoryview) -> None: ...
    async def wait_send_all_might_not_block(self) -> None: ...
    async def receive_some(self, max_bytes: int | None = None) -> bytes: ...
    async def aclose(self) -> None: ...


class Lane(trio.abc.HalfCloseableStream):
    """A lane over a connected TCP socket, which it owns. See ``AnyLane`` for what it tells."""

    def __init__(
        self,
        sock: socket.socket,
        *,
        now_ns: Callable[[], int],
        wall_ns: Callable[[], int],
        queue_limit_bytes: int = QUEUE_LIMIT_BYTES,
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.kernel_stamps = ask_for_stamps(sock, wall_ns)
        self.arrived_ns: int | None = None
        self.read_ns = now_ns()
        self.sent_bytes = 0
        self.blocked = 0
        self.blocked_bytes = 0
        self._sock = sock
        self._now_ns = now_ns
        self._carrier = Carrier(now_ns, wall_ns)
        self._queue_limit_bytes = queue_limit_bytes
        self._queue: deque[tuple[memoryview, bool]] = deque()
        """What the kernel has not taken, and whether to have it stamped."""
        self._queued_bytes = 0
        self._something_queued = trio.Event()
        self._flushing = trio.Lock()
        self._marked = MarkedSends(sock, now_ns, wall_ns)
        self._broken: OSError | None = None
        self._closed = False

    # Sending

    def send_nowait(self, frame: bytes, *, stamp: bool = False) -> bool:
        """Hand over one whole frame; True if the kernel took all of it, else the rest is queued.

        ``stamp`` asks for the kernel's stamps of this send, see ``take_sent_stamps``. Raises
        LaneFull, and trio's BrokenResourceError or ClosedResourceError.
        """
        if self._queue:
            self.require_room(len(frame))
        return self.put(frame, stamp=stamp)

    def require_room(self, size: int) -> None:
        """Raise LaneFull if the queue cannot take ``size`` more bytes; also if nothing goes."""
        self._require_usable()
        if self._queue and self._queued_bytes + size > self._queue_limit_bytes:
            raise LaneFull(self._queued_bytes, self._queue_limit_bytes)

    def put(self, piece: bytes, *, stamp: bool = False) -> bool:
        """``send_nowait`` for what cannot be left out: no limit."""
        self._require_usable()
        self.sent_bytes += len(piece)
        if stamp and self.kernel_stamps.sent:
            self._marked.mark(self.sent_bytes)
        taken = 0 if self._queue else self._offer(piece, stamp)
        if taken == len(piece):
            return True
        self._queue.append((memoryview(piece)[taken:], stamp))
        self._queued_bytes += len(piece) - taken
        self.blocked += 1
        self.blocked_bytes += len(piece) - taken
        self._something_queued.set()
        return False

    def _offer(self, piece: bytes | memoryview, stamp: bool) -> int:
        """How much of ``piece`` the kernel took."""
        try:
            if stamp and self.kernel_stamps.sent:
                return self._sock.sendmsg((piece,), STAMP_THIS_SEND)
            return self._sock.send(piece)
        except BlockingIOError:
            return 0
        except OSError as error:
            if stamp and self.kernel_stamps.sent and error.errno == errno.EINVAL:
                self.kernel_stamps = replace(self.kernel_stamps, sent=False)
                return self._offer(piece, stamp=False)
            self._break(error)

    async def keep_flushing(self) -> None:
        """Send what is queued whenever something is; ends when the lane is closed or broken.

        One task has to run this for as long as the lane is in use.
        """
        while not self._closed and self._broken is None:
            await self._something_queued.wait()
            self._something_queued = trio.Event()
            try:
                await self.flush()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return  # whoever sends or receives next is told

    async def flush(self) -> None:
        """Wait until the kernel has taken all that is queued."""
        async with self._flushing:  # only one task at a time can wait for a socket
            self._require_usable()
            while self._queue:
                await trio.lowlevel.wait_writable(self._sock)
                self._require_usable()
                self._marked.collect()
                self._send_queued()

    def _send_queued(self) -> None:
        while self._queue:
            piece, stamp = self._queue[0]
            taken = self._offer(piece, stamp)
            self._queued_bytes -= taken
            if taken < len(piece):
                self._queue[0] = (piece[taken:], stamp)
                return
            self._queue.popleft()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send behind all that was handed over before, and wait until the kernel has taken it."""
        await trio.lowlevel.checkpoint()
        if not self.put(bytes(data)):
            await self.flush()

    async def wait_send_all_might_not_block(self) -> None:
        await self.flush()
        async with self._flushing:
            self._require_usable()
            await trio.lowlevel.wait_writable(self._sock)

    async def send_eof(self) -> None:
        """Say that nothing more will be sent; what is queued goes first."""
        await self.flush()
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._break(error)

    # Receiving

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """What has arrived, with its stamps in ``arrived_ns`` and ``read_ns``; empty at the end."""
        await trio.lowlevel.checkpoint_if_cancelled()
        waited = False
        while True:
            if self._closed:
                raise trio.ClosedResourceError("this lane was closed")
            try:
                received, ancillary, _, _ = self._sock.recvmsg(
                    max_bytes or READ_BYTES, ANCILLARY_BYTES
                )
            except BlockingIOError:
                self._marked.collect()
                await trio.lowlevel.wait_readable(self._sock)
                waited = True
                continue
            except OSError as error:
                raise trio.BrokenResourceError(str(error)) from error
            if received:
                self._note_arrival(ancillary)
            if not waited:
                await trio.lowlevel.cancel_shielded_checkpoint()
            return received

    def _note_arrival(self, ancillary: Ancillary) -> None:
        self.read_ns = self._now_ns()
        arrived_wall_ns = received_wall_ns(ancillary)
        if arrived_wall_ns is None:
            self.arrived_ns = None
            return
        clocks = self._carrier.look(self.read_ns)
        self.arrived_ns = None if clocks is None else clocks.believed_ns(arrived_wall_ns)

    # What the kernel knows

    def take_sent_stamps(self) -> list[SentStamp] | None:
        """The stamps of marked sends that have come since the last call; None: there are never any.

        ``offset`` is what ``sent_bytes`` was right after that send. Each send has two stamps, which
        come as they happen; one that had to be sent again has more, and where the kernel merges two
        sends, those of the earlier one are lost.
        """
        if not self.kernel_stamps.sent:
            return None
        if not self._closed:
            self._marked.collect()
        return self._marked.take()

    def tcp_info(self) -> TcpInfo | None:
        """A look at the connection; None where there is none to be had."""
        return None if self._closed else tcp_info(self._sock)

    @property
    def unsent_bytes(self) -> int:
        return self._queued_bytes + unsent_bytes(self._sock)

    @property
    def unacked_bytes(self) -> int:
        return self._queued_bytes + unacked_bytes(self._sock)

    # The end

    def close(self) -> None:
        """Close at once, without waiting for anything; what is still queued is dropped."""
        if self._closed:
            return
        self._closed = True
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()
        self._drop_queue()

    async def aclose(self) -> None:
        self.close()
        await trio.lowlevel.checkpoint()

    def _require_usable(self) -> None:
        if self._closed:
            raise trio.ClosedResourceError("this lane was closed")
        if self._broken is not None:
            raise trio.BrokenResourceError(str(self._broken)) from self._broken

    def _break(self, error: OSError) -> NoReturn:
        self._broken = error
        self._drop_queue()
        raise trio.BrokenResourceError(str(error)) from error

    def _drop_queue(self) -> None:
        self._queue.clear()
        self._queued_bytes = 0
        self._something_queued.set()
