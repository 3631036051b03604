"""A lane whose network is memory: bytes arrive as they are sent, and there is no kernel."""

from collections.abc import Callable

import trio
from trio.testing import MemoryReceiveStream

from daemon.kernel_stamps import KernelStamps, SentStamp
from daemon.tcp_info import TcpInfo


class MemoryLane(trio.abc.Stream):
    """Our end. Nothing ever waits to be sent."""

    kernel_stamps = KernelStamps(received=False, sent=False)
    arrived_ns = None
    blocked = blocked_bytes = unsent_bytes = unacked_bytes = 0

    def __init__(
        self,
        outgoing: MemoryReceiveStream,
        incoming: MemoryReceiveStream,
        now_ns: Callable[[], int],
    ) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._now_ns = now_ns
        self._closed = False
        self.read_ns = now_ns()
        self.sent_bytes = 0

    def send_nowait(self, frame: bytes, *, stamp: bool = False) -> bool:
        if self._closed:
            raise trio.ClosedResourceError
        self.sent_bytes += len(frame)
        try:
            self._outgoing.put_data(frame)
        except trio.ClosedResourceError:
            raise trio.BrokenResourceError("the other side has closed") from None
        return True

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        self.send_nowait(bytes(data))

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        received = bytes(await self._incoming.receive_some(max_bytes))
        if received:
            self.read_ns = self._now_ns()
        return received

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def keep_flushing(self) -> None:
        await trio.lowlevel.checkpoint()

    def take_sent_stamps(self) -> list[SentStamp] | None:
        return None

    def tcp_info(self) -> TcpInfo | None:
        return None

    def close(self) -> None:
        self._closed = True
        self._outgoing.put_eof()
        self._incoming.close()

    async def aclose(self) -> None:
        self.close()
        await trio.lowlevel.checkpoint()
