"""A provider on loopback that anyone can run: real handshakes, scripted words, faults on demand.

    async with listening(FakeDeepgram(script, faults)) as address: …
    address = await nursery.start(serve, FakeDeepgram(script, faults))
    nursery.start_soon(fake.converse, theirs)      # one stream of any kind, in virtual time too

Whatever a fake was sent, and what it said, is in ``fake.visits``: one for each connection.
"""

import math
import os
import socket as stdlib_socket
import ssl
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import ClassVar
from urllib.parse import parse_qsl, urlsplit

import trio
import wsproto.utilities

from daemon.fakes.conversation import Conversation
from daemon.fakes.dialect import Dialect
from daemon.fakes.door import Door
from daemon.fakes.script import Faults, Moment, Refusal, Script
from daemon.fakes.visit import Tell, Visit
from daemon.fakes.wire import Http, reset, shut
from providers.codec import HttpRequest, HttpResponse

VISITS_KEPT = 64
"""A fake that runs for long forgets the oldest."""
SMALL_BUFFER_BYTES = 4096
"""What the kernel holds for a fake that stops reading, so that it is soon felt."""
JSON = {"Content-Type": "application/json"}

Gone = (trio.BrokenResourceError, trio.ClosedResourceError)


class Fake(ABC):
    """One provider. Every stream is served alike, with ``script`` and ``faults``."""

    has_force: ClassVar[bool] = True
    """Its final can be forced; where not, a script that speaks of forces means nothing."""

    scheme: ClassVar[str] = "ws"
    """How its address begins, without TLS."""

    def __init__(
        self, script: Script | None = None, faults: Faults | None = None, *, key: str | None = None
    ) -> None:
        self.script = script or Script()
        self.faults = faults or Faults()
        self.key = key
        """The only key that is good; None: any is."""
        self.visits: deque[Visit] = deque(maxlen=VISITS_KEPT)
        self.numbers = count(1)
        """For whatever a provider numbers: streams, sessions."""
        self.tell: Tell | None = None
        """Is told of all that is heard and said, as it happens."""
        self.keeps = True
        """Visits keep all of it; else only counts, for a fake that runs for long."""
        self._connections = count(1)

    @abstractmethod
    def asked(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Dialect:
        """The answer to one request; for a websocket the dialect that it will speak."""

    def is_good(self, key: str | None) -> bool:
        """There is a key and it is the right one."""
        return bool(key) and self.key in (None, key)

    async def converse(self, stream: trio.abc.Stream, *, tls: ssl.SSLContext | None = None) -> None:
        """Serve one connection to its end. No failure of the other side gets out of here."""
        visit, faults = self.next_visit()
        try:
            if tls is not None:
                await trio.sleep(faults.tls_s)
                stream = trio.SSLStream(stream, tls, server_side=True)
            if not await _spoilt_at_once(stream, faults):
                await self.attend(stream, visit, faults)
        except* Gone:
            pass  # the other side may leave whenever it likes
        finally:
            await trio.aclose_forcefully(stream)
            visit.end()

    def next_visit(self) -> tuple[Visit, Faults]:
        """One connection more: its visit, which is kept, and the faults that befall it."""
        visit = Visit(next(self._connections), self.tell, keeps=self.keeps)
        self.visits.append(visit)
        return visit, self.faults.befall(visit.number)

    async def attend(self, stream: trio.abc.Stream, visit: Visit, faults: Faults) -> None:
        """All that is said on one open connection: here requests, and then one websocket."""
        http = Http(stream, visit)
        secure = isinstance(stream, trio.SSLStream)
        while (request := await http.request()) is not None:
            answer = await self._answer(request, faults, secure=secure)
            if isinstance(answer, HttpResponse):
                await http.answer(answer)
                continue
            try:
                socket = await http.upgrade(request, answer.subprotocol, faults.pieces)
            except (wsproto.utilities.RemoteProtocolError, UnicodeError) as error:
                await http.answer(HttpResponse(400, {}, str(error).encode()))
                continue
            await Conversation(self.script, faults, answer, socket, stream, visit).hold()
            return
        await shut(stream)

    async def _answer(
        self, request: HttpRequest, faults: Faults, *, secure: bool
    ) -> HttpResponse | Dialect:
        websocket = request.headers.get("upgrade", "").lower() == "websocket"
        await trio.sleep(faults.handshake_s if websocket else faults.prepare_s)
        refusal = faults.refusal
        if refusal is not None and (websocket or not refusal.upgrade):
            return _refused(refusal)
        return self.asked(request, secure=secure)


async def _spoilt_at_once(stream: trio.abc.Stream, faults: Faults) -> bool:
    """What goes wrong before a word was read; True where that is all there will be."""
    for one in faults.interjections:
        if one.moment is Moment.CONNECTED:
            message = one.message
            raw = message.encode() if isinstance(message, str) else message
            await trio.sleep(one.after_s)
            await stream.send_all(raw * one.times)
    hang_up = faults.hang_up
    if hang_up is None or hang_up.moment is not Moment.CONNECTED:
        return False
    await trio.sleep(hang_up.after_s)
    await (reset if hang_up.reset else shut)(stream)
    return True


def _refused(refusal: Refusal) -> HttpResponse:
    after_s = refusal.retry_after_s
    headers = JSON if after_s is None else {**JSON, "Retry-After": str(after_s)}
    return HttpResponse(refusal.status, headers, b'{"message": "refused by the fake"}')


def path_of(request: HttpRequest) -> str:
    """The path that is asked for, without its settings."""
    return urlsplit(request.url).path


def query_of(request: HttpRequest) -> dict[str, str]:
    """The settings behind the path; of those with one name the last."""
    return dict(parse_qsl(urlsplit(request.url).query, keep_blank_values=True))


async def serve(
    fake: Fake,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Listen until cancelled; start with ``nursery.start`` to get the address."""
    family = trio.socket.AF_INET6 if ":" in host else trio.socket.AF_INET
    with trio.socket.socket(family) as socket:
        if port:
            socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_REUSEADDR, 1)
        if fake.faults.stops_reading_ms is not None:
            socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        await socket.bind((host, port))
        address = _address(fake, host, socket.getsockname()[1], secure=tls is not None)
        if not fake.faults.listening:
            task_status.started(address)
            await trio.sleep_forever()  # the port is ours, so that nobody else answers there
        slow_s = math.inf if fake.faults.black_hole else fake.faults.tcp_s
        socket.listen(0 if slow_s else 128)
        listener = _listener(socket, slow_s)
        task_status.started(address)
        await trio.serve_listeners(partial(fake.converse, tls=tls), [listener])


def _listener(
    socket: trio.socket.SocketType, slow_s: float
) -> trio.abc.Listener[trio.SocketStream]:
    if not slow_s:
        return trio.SocketListener(socket)
    return Door(stdlib_socket.socket(fileno=os.dup(socket.fileno())), slow_s)


def _address(fake: Fake, host: str, port: int, *, secure: bool) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{fake.scheme}{'s' if secure else ''}://{name}:{port}"


@asynccontextmanager
async def listening(
    fake: Fake, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """The address at which ``fake`` listens as long as this lasts."""
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve, fake, host=host, port=port, tls=tls))
        nursery.cancel_scope.cancel()
