"""The stream that trio-websocket reads through: it notes when each message came.

trio-websocket takes a piece of what was received, finds the messages in it and queues them; by the
time one is fetched, the lane may have read far more. So the stamps are noted here, as the piece
passes, once for each message that ends in it. Pieces are followed from the very first: the answer
to the upgrade, and then frames.
"""

import re
from collections import deque
from dataclasses import dataclass

import trio
from trio_websocket import ConnectionRejected, HandshakeError

from daemon.lane import AnyLane
from daemon.websocket_frames import MessageEnds

_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3})")
_SWITCHING = 101


@dataclass(frozen=True, slots=True)
class Stamps:
    """When the piece of data that completed a message came, by the kernel and by us."""

    arrived_ns: int | None
    read_ns: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """The head of the HTTP answer to the upgrade; status 0 where it is no such thing."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]

    def extension(self) -> str:
        """What the other side does to the frames; empty: nothing."""
        named = [value for name, value in self.headers if name == b"sec-websocket-extensions"]
        return b", ".join(named).decode("latin-1")


class StampedStream(trio.abc.Stream):
    """``lane``, as trio-websocket is to see it, and the stamps of each message it reads."""

    def __init__(self, lane: AnyLane) -> None:
        self._lane = lane
        self._head = b""
        self._answer: _Answer | None = None
        self._ends = MessageEnds()
        self.stamps: deque[Stamps] = deque()
        """Of the messages not yet fetched, in order; no longer than trio-websocket's own queue and
        what it holds in its hand."""
        self.how_it_ended = "the connection ended without a Close"

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """As the lane's; raises HandshakeError where there is no proper answer to the upgrade."""
        try:
            received = await self._lane.receive_some(max_bytes)
        except trio.BrokenResourceError as error:
            self._broke(error)
            self._require_answer()
            raise
        if not received:
            self._require_answer()
        self._note(received)
        return received

    def _note(self, received: bytes) -> None:
        frames = received if self._answer is not None else self._after_head(received)
        stamps = Stamps(self._lane.arrived_ns, self._lane.read_ns)
        self.stamps.extend(stamps for _ in range(self._ends.feed(frames)))

    def _after_head(self, received: bytes) -> bytes:
        """What follows the head of the answer, once that is complete."""
        self._head += received
        end = _HEAD_END.search(self._head)
        if end is None:
            return b""
        self._answer = _answer(self._head[: end.start()])
        extension = self._answer.extension()
        if extension and self._answer.status == _SWITCHING:
            raise HandshakeError(
                f"the provider turned on the websocket extension {extension!r}, "
                "which was not asked for; only plain frames are spoken here"
            )
        return self._head[end.end() :]

    def _require_answer(self) -> None:
        """Raise what the end of the connection means while the websocket is not open."""
        if self._answer is None:
            raise HandshakeError(f"no answer to the websocket upgrade; {self.how_it_ended}")
        if self._answer.status != _SWITCHING:  # the body was to end with the connection
            raise ConnectionRejected(self._answer.status, self._answer.headers, None)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send, and keep it to oneself where that fails.

        A connection that can no longer be written to may still hold the last messages, and the
        Close that says why; trio-websocket would stop reading. Reading on finds the end by itself.
        """
        try:
            await self._lane.send_all(data)
        except trio.BrokenResourceError as error:
            self._broke(error)
        except trio.ClosedResourceError:
            pass

    def _broke(self, error: trio.BrokenResourceError) -> None:
        self.how_it_ended = f"the connection broke off: {error}"

    async def wait_send_all_might_not_block(self) -> None:
        await self._lane.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._lane.aclose()


def _answer(head: bytes) -> _Answer:
    first, *lines = head.replace(b"\r\n", b"\n").split(b"\n")
    status = _STATUS_LINE.match(first)
    pairs = (line.partition(b":") for line in lines)
    headers = tuple((name.strip().lower(), value.strip()) for name, _, value in pairs)
    return _Answer(int(status[1]) if status else 0, headers)
