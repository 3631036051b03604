"""Opens a plain connection to a provider, sends and receives: a link without a websocket.

What is sent leaves as it is; what comes in is cut into messages by the codec. Each message has the
stamps of the read that completed it, by the kernel and by us.

    send ──────────────────────────────> lane
    receive <── cut <── bytes so far <── lane
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import trio

from daemon.dial import WebsocketUrl
from daemon.kernel_stamps import SentStamp
from daemon.lane import AnyLane, LaneFull
from daemon.link import CLOSE_S, Dial, Stage, opening_fault
from daemon.order import Link, LinkFailed
from daemon.tcp_info import TcpInfo
from daemon.wire import MAX_MESSAGE_BYTES, Encoded, Received, WireClosed
from measure.events import Connected
from measure.faults import Fault, FaultKind, Whose
from providers.codec import Codec, Message, ProviderError
from providers.families_tcp import SCHEMES

Cut = Callable[[bytes], int | None]
"""How much at the beginning is one message, see ``Codec.cut``."""


@dataclass(frozen=True, slots=True)
class TcpOpener:
    """Opens links on plain connections. ``dial`` makes them: TCP, or memory in tests."""

    dial: Dial
    now_ns: Callable[[], int]

    @asynccontextmanager
    async def __call__(self, codec: Codec, key: str, timeout_s: float) -> AsyncIterator[Link]:
        """An open connection. Raises LinkFailed if there is none within ``timeout_s``."""
        link = await self._opened(codec, key, timeout_s)
        try:
            async with trio.open_nursery() as tasks:
                tasks.start_soon(link.lane.keep_flushing)
                try:
                    yield link
                finally:
                    with trio.CancelScope(shield=True):
                        await link.close()
                tasks.cancel_scope.cancel()
        finally:
            link.lane.close()

    async def _opened(self, codec: Codec, key: str, timeout_s: float) -> "TcpLink":
        stage = Stage()
        with trio.move_on_after(timeout_s):
            try:
                url = tcp_url(codec.open(key).url)
                stage.at("the connection", url.host_header)
                way = await self.dial(url)
            except Exception as error:
                raise LinkFailed(opening_fault(error, stage, key)) from error
            connected = Connected(
                self.now_ns(), None, way.dns_ns, way.tcp_ns, way.tls_ns, 0, way.address
            )
            return TcpLink(way.lane, codec.cut, connected, self.now_ns)
        raise LinkFailed(Fault(stage.whose, FaultKind.TIMEOUT, stage.overdue(timeout_s)))


def tcp_url(url: str) -> WebsocketUrl:
    """Where ``url`` leads. Raises ValueError, in which nothing of it is repeated."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ValueError("address of a plain connection: must begin with tcp:// or tcps://")
    if not parts.hostname or not parts.port:
        raise ValueError("address of a plain connection: needs a host and a port")
    return WebsocketUrl(parts.scheme == "tcps", parts.hostname, parts.port, "")


class TcpLink:
    """An open connection with the faults translated."""

    def __init__(
        self, lane: AnyLane, cut: Cut, connected: Connected, now_ns: Callable[[], int]
    ) -> None:
        self.lane = lane
        self.connected = connected
        self._cut = cut
        self._now_ns = now_ns
        self._come = b""
        """What has arrived and was not fetched yet."""
        self._spoilt = False
        """What arrived can never become a message."""

    @property
    def unsent_bytes(self) -> int:
        return self.lane.unsent_bytes

    @property
    def sent_bytes(self) -> int:
        return self.lane.sent_bytes

    def encode(self, message: Message) -> Message:
        return message

    def send(self, message: Message | Encoded, *, stamp: bool = False) -> int:
        assert isinstance(message, bytes), "on a plain connection a message is bytes"
        try:
            self.lane.send_nowait(message, stamp=stamp)
        except LaneFull as full:
            raise LinkFailed(Fault(Whose.PROVIDER, FaultKind.TIMEOUT, str(full))) from full
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise WireClosed(None, f"the connection broke off: {error}") from error
        return self._now_ns()

    async def receive(self) -> Received:
        while (size := self._size()) is None:
            await self._read()
        message, self._come = self._come[:size], self._come[size:]
        return Received(message, self.lane.arrived_ns, self.lane.read_ns)

    def _size(self) -> int | None:
        """How long the next message is; None while it has not come whole.

        What can never become one is handed on as if it were: decoding it says what is wrong.
        """
        if not self._come:
            return None
        if self._spoilt:
            raise WireClosed(None, "what came before cannot be read")
        try:
            size = self._cut(self._come)
        except ProviderError:
            self._spoilt = True
            return len(self._come)
        if size is None and len(self._come) > MAX_MESSAGE_BYTES:
            raise WireClosed(None, f"a message of more than {MAX_MESSAGE_BYTES} bytes")
        return size

    async def _read(self) -> None:
        try:
            received = await self.lane.receive_some()
        except trio.BrokenResourceError as error:
            raise WireClosed(None, f"the connection broke off: {error}") from error
        except trio.ClosedResourceError:
            raise WireClosed(None, "it was closed here") from None
        if not received:
            where = "within a message" if self._come else "without a word"
            raise WireClosed(None, f"the connection ended {where}")
        self._come += received

    def take_sent_stamps(self) -> Sequence[SentStamp] | None:
        return self.lane.take_sent_stamps()

    def tcp_info(self) -> TcpInfo | None:
        return self.lane.tcp_info()

    async def close(self) -> None:
        """End our half and wait for the other's, but not for long; what still comes is dropped."""
        self._come = b""
        if isinstance(self.lane, trio.abc.HalfCloseableStream):
            with (
                trio.move_on_after(CLOSE_S),
                suppress(trio.BrokenResourceError, trio.ClosedResourceError),
            ):
                await self.lane.send_eof()
                while await self.lane.receive_some():
                    pass
        self.lane.close()
