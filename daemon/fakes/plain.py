"""What fakes have in common that speak on a plain connection, without HTTP or a websocket.

class Stream(Talker):
    def heard(self, message): …     one message, as bytes

class FakeAcme(PlainFake):
    def stream(self): …             the Stream of one connection
    def cut(self, come): …          how much at the beginning is one message
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import cast

import trio
import trio.testing

from daemon.clock import now_ns
from daemon.conformance.memory import MemoryLane
from daemon.conformance.opens_itself import OpensItself
from daemon.conformance.talker import Talker, TalkingFake
from daemon.dial import WebsocketUrl
from daemon.fakes.conversation import Conversation
from daemon.fakes.script import Faults, Pieces
from daemon.fakes.visit import Stamped, Visit
from daemon.fakes.wire import WebSocket, shut
from daemon.link import Way
from daemon.order import Opener
from daemon.tcp_link import TcpOpener
from providers.codec import HttpRequest, HttpResponse

Cut = Callable[[bytes], int | None]


class PlainSocket:
    """One connection, as a conversation knows its websocket: here an end of it is a Close."""

    def __init__(self, stream: trio.abc.Stream, cut: Cut, visit: Visit, pieces: Pieces) -> None:
        self._stream = stream
        self._cut = cut
        self._visit = visit
        self._leaving_in = pieces
        self._sending = trio.Lock()
        self._come = b""

    async def receive(self) -> Stamped:
        """The next whole message, or the end."""
        while not self._come or (size := self._cut(self._come)) is None:
            arrived = bytes(await self._stream.receive_some())
            if not arrived:
                return self._heard("close", b"")
            self._come += arrived
        message, self._come = self._come[:size], self._come[size:]
        return self._heard("binary", message)

    def _heard(self, kind: str, payload: bytes) -> Stamped:
        self._visit.hear(kind, payload)
        return self._visit.heard[-1]

    async def send(
        self, *messages: str | bytes, close: tuple[int, str] | None = None, raw: bool = False
    ) -> None:
        """Messages in one piece. There is no Close to say, and nothing that is not raw."""
        said = [one.encode() if isinstance(one, str) else one for one in messages]
        first, *others = self._leaving_in.cut(b"".join(said))
        async with self._sending:
            await self._stream.send_all(first)
            for segment in others:
                await trio.sleep(self._leaving_in.gap_s)
                await self._stream.send_all(segment)
        for message in said:
            self._visit.say("binary", message)

    async def close(self, code: int, reason: str = "") -> None:
        """The connection ends; nobody is told why."""
        await shut(self._stream)

    async def answer_close(self) -> None:
        """Nothing answers an end."""

    async def read_to_the_end(self) -> None:
        """Whatever still comes is read and forgotten."""
        while await self._stream.receive_some():
            pass
        self._visit.end()


class PlainFake(TalkingFake, OpensItself):
    """One provider that is spoken to without HTTP: the first byte is its own protocol's."""

    scheme = "tcp"

    @abstractmethod
    def stream(self) -> Talker:
        """What holds the conversation of one connection."""

    @abstractmethod
    def cut(self, come: bytes) -> int | None:
        """How much at the beginning is one message to it; None while it is not whole."""

    def opener(self, world: trio.Nursery) -> Opener:
        """Opens links to it in memory, where time may be the test's own; it lives in ``world``."""

        async def dial(url: WebsocketUrl) -> Way:
            await trio.lowlevel.checkpoint()
            if not self.faults.listening:
                raise ConnectionRefusedError(111, "refused")
            to_us, incoming = trio.testing.memory_stream_one_way_pair()
            outgoing = trio.testing.MemoryReceiveStream()
            world.start_soon(self.converse, trio.StapledStream(to_us, outgoing))
            return Way(MemoryLane(outgoing, incoming, now_ns), "memory", None, 0, None)

        return TcpOpener(dial, now_ns)

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        return self.stream()

    async def attend(self, stream: trio.abc.Stream, visit: Visit, faults: Faults) -> None:
        socket = cast("WebSocket", PlainSocket(stream, self.cut, visit, faults.pieces))
        await Conversation(self.script, faults, self.stream(), socket, stream, visit).hold()
