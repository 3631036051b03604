"""A fake that is called over gRPC: in memory, where time is the test's own, or through grpcio.

class Stream(Talker):
    def heard(self, message): …     one request; an empty one ends the caller's half

class FakeAcme(GrpcFake):
    def talk(self, request): …      the answer to a call: a Stream, or a refusal

The same conversation is held either way. A refusal's HTTP status becomes a status of gRPC.
"""

import math
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import cast
from urllib.parse import urlsplit

import trio

from daemon.clock import now_ns
from daemon.conformance.grpc_server import served
from daemon.conformance.opens_itself import OpensItself
from daemon.conformance.talker import TalkingFake
from daemon.fakes.conversation import Conversation
from daemon.fakes.script import Faults, Moment
from daemon.fakes.visit import Stamped, Visit
from daemon.fakes.wire import WebSocket
from daemon.grpc_link import closed_by, requested
from daemon.kernel_stamps import SentStamp
from daemon.order import Link, LinkFailed, Opener
from daemon.tcp_info import TcpInfo
from daemon.wire import Encoded, Received, WireClosed
from measure.events import Connected
from measure.faults import Fault, FaultKind, Whose
from providers.codec import Codec, HttpRequest, HttpResponse, Message, fault_of_status
from providers.families_grpc import LAST_STATUS, STATUS_CLOSE

NAMES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
"""The statuses of gRPC, in the order of their numbers."""
OF_HTTP = {400: 3, 401: 16, 403: 7, 404: 12, 429: 8, 503: 14, 504: 4}
"""Which status says what an HTTP status would; for others it is UNKNOWN."""
UNKNOWN, INTERNAL, UNAVAILABLE = 2, 13, 14
BROKEN_OFF = (UNAVAILABLE, "Socket closed")


def status_of(code: int) -> int:
    """The status that a Close of this code is."""
    if STATUS_CLOSE <= code <= STATUS_CLOSE + LAST_STATUS:
        return code - STATUS_CLOSE
    return 0 if code == 1000 else INTERNAL


class Call(trio.abc.AsyncResource):
    """One call as a conversation knows a websocket, and the connection below it."""

    def __init__(
        self, visit: Visit, said: Callable[[bytes], None], ended: Callable[[int, str], None]
    ) -> None:
        self._visit = visit
        self._said = said
        self._ended = ended
        self._come, self._requests = trio.open_memory_channel[bytes](math.inf)
        self._over = False

    def heard(self, message: bytes) -> None:
        """A request has come; an empty one is the end of the caller's half."""
        with suppress(trio.ClosedResourceError, trio.BrokenResourceError):
            self._come.send_nowait(message)

    def hung_up(self) -> None:
        """The caller is gone."""
        self._over = True
        self._come.close()

    def end(self, status: int, details: str = "") -> None:
        """The call ends, if it has not yet."""
        if not self._over:
            self._over = True
            self._visit.say("close", f"{status} {details}".rstrip().encode())
            self._ended(status, details)

    async def receive(self) -> Stamped:
        try:
            message = await self._requests.receive()
        except trio.EndOfChannel:
            self._visit.end()
        else:
            self._visit.hear("binary", message)
        return self._visit.heard[-1]

    async def send(
        self, *messages: Message, close: tuple[int, str] | None = None, raw: bool = False
    ) -> None:
        await trio.lowlevel.checkpoint()
        for message in () if self._over else messages:
            binary = message.encode() if isinstance(message, str) else message
            self._said(binary)
            self._visit.say("binary", binary)
        if close is not None:
            self.end(status_of(close[0]), close[1])

    async def close(self, code: int, reason: str = "") -> None:
        await self.send(close=(code, reason))

    async def answer_close(self) -> None:
        await trio.lowlevel.checkpoint()

    async def read_to_the_end(self) -> None:
        while (await self.receive()).kind != "end":
            pass

    async def aclose(self) -> None:
        """The connection below breaks off, also where this is cancelled."""
        self.end(*BROKEN_OFF)
        await trio.lowlevel.checkpoint()


class MemoryLink:
    """Our end of a call in memory."""

    sent_bytes = unsent_bytes = 0

    def __init__(self, connected: Connected, visit: Visit) -> None:
        self.connected = connected
        self._come, self._responses = trio.open_memory_channel[Received](math.inf)
        self._end: WireClosed | None = None
        self.call = Call(visit, self._said, self._has_ended)

    def _said(self, message: bytes) -> None:
        self._come.send_nowait(Received(message, None, now_ns()))

    def _has_ended(self, status: int, details: str) -> None:
        self._end = closed_by(status, NAMES[status], details)
        self._come.close()

    def encode(self, message: Message) -> Message:
        return message

    def send(self, message: Message | Encoded, *, stamp: bool = False) -> int:
        if self._end is not None:
            raise self._end
        assert isinstance(message, bytes), "a message of protobuf"
        self.call.heard(message)
        return now_ns()

    async def receive(self) -> Received:
        try:
            return await self._responses.receive()
        except trio.EndOfChannel:
            raise self._end or WireClosed(None, "it was closed here") from None

    def take_sent_stamps(self) -> list[SentStamp] | None:
        return None

    def tcp_info(self) -> TcpInfo | None:
        return None


class GrpcFake(TalkingFake, OpensItself):
    """One provider that is called over gRPC."""

    scheme = "grpc"

    def opener(self, world: trio.Nursery) -> Opener:
        return partial(self._opened, world)

    @asynccontextmanager
    async def _opened(
        self, world: trio.Nursery, codec: Codec, key: str, timeout_s: float
    ) -> AsyncIterator[Link]:
        visit, faults = self.next_visit()
        wanted = requested(codec, key)
        await trio.sleep(faults.handshake_s)
        _let_in(faults)
        link = MemoryLink(Connected(now_ns(), None, None, 0, None, 0, "memory"), visit)
        headers = {name.lower(): value for name, value in wanted.headers.items()}
        request = HttpRequest("POST", urlsplit(wanted.url).path, headers)
        begun = partial(self._begin, request, link.call, link.call, visit, faults)
        begun(world, secure=False)
        try:
            yield link
        finally:
            link.call.hung_up()

    def _begin(
        self,
        request: HttpRequest,
        call: Call,
        below: trio.abc.AsyncResource,
        visit: Visit,
        faults: Faults,
        world: trio.Nursery,
        *,
        secure: bool,
    ) -> None:
        """A call has come: hold its conversation in ``world``, or refuse it."""
        visit.requests.append(request)
        answer = self.asked(request, secure=secure)
        if isinstance(answer, HttpResponse):
            call.end(OF_HTTP.get(answer.status, UNKNOWN), answer.body.decode())
            return
        socket, stream = cast("WebSocket", call), cast("trio.abc.Stream", below)
        talk = Conversation(self.script, faults, answer, socket, stream, visit)
        world.start_soon(talk.hold)

    async def attend(self, stream: trio.abc.Stream, visit: Visit, faults: Faults) -> None:
        """One real connection: its bytes go to a server of grpcio's, made for it alone."""
        secure = isinstance(stream, trio.SSLStream)
        async with trio.open_nursery() as world:

            def begin(
                request: HttpRequest,
                said: Callable[[bytes], None],
                ended: Callable[[int, str], None],
            ) -> Call:
                call = Call(visit, said, ended)
                refusal = faults.refusal
                if refusal is not None:
                    call.end(OF_HTTP.get(refusal.status, UNKNOWN), "refused by the fake")
                else:
                    self._begin(request, call, stream, visit, faults, world, secure=secure)
                return call

            try:
                async with served(begin) as behind:
                    await _both_ways(stream, behind)
            except LinkFailed as failed:
                sys.stderr.write(f"speechbench: {failed.fault.detail}\n")
            world.cancel_scope.cancel()


def _let_in(faults: Faults) -> None:
    """What goes wrong before a call. Raises LinkFailed."""
    hang_up, refusal = faults.hang_up, faults.refusal
    if not faults.listening:
        raise LinkFailed(Fault(Whose.NETWORK, FaultKind.CONNECT, "memory: nobody listens"))
    if hang_up is not None and hang_up.moment is Moment.CONNECTED:
        raise LinkFailed(Fault(Whose.NETWORK, FaultKind.CLOSED, "memory: the connection broke off"))
    if refusal is not None:
        after_s = refusal.retry_after_s
        headers = {} if after_s is None else {"Retry-After": str(after_s)}
        raise LinkFailed(fault_of_status(refusal.status, headers))


async def _both_ways(one: trio.abc.Stream, other: trio.SocketStream) -> None:
    """Pass bytes on until either side has ended."""
    async with trio.open_nursery() as nursery:

        async def pass_on(source: trio.abc.Stream, sink: trio.abc.Stream) -> None:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                while piece := await source.receive_some():
                    await sink.send_all(piece)
            nursery.cancel_scope.cancel()

        nursery.start_soon(pass_on, one, other)
        nursery.start_soon(pass_on, other, one)
