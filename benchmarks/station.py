"""The receiver: a process that takes what clients send and notes when the kernel had each frame.

``python -m benchmarks.station SETTINGS``; prints its port, works until its standard input ends, and
then writes what it noted. Nothing but epoll and sockets, so that it is cheap; the kernel's stamps
are right however late it comes to read them. It also talks, if asked: short messages at random
moments, of each of which it notes the moment just before it was handed to the socket.
"""

import gc
import heapq
import json
import random
import select
import socket
import ssl
import struct
import sys
import time
from array import array
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.host import STATION_PRIORITY, allow_many_sockets, set_up
from benchmarks.load import HOST
from benchmarks.mark import Mark
from benchmarks.server_frames import CLOSE_FRAME, FrameReader, answer, text_frame

_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@ll")
_READ_BYTES = 1 << 16
_ANCILLARY_BYTES = 64
_HEAD_END = b"\r\n\r\n"
_SAID = "the quick brown fox jumps over the lazy dog and then"
COLUMNS = 4
"""Stream, index, due and arrived: what is noted of each frame."""


@dataclass(frozen=True, slots=True)
class StationSettings:
    """How a receiver is to work."""

    core: int
    notes: str
    """Where to write what was noted of frames; what was said lies beside it."""
    certificate: str = ""
    """Certificate and key; empty: no TLS."""
    says_per_s: float = 0.0
    """How often it talks to each client."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Arrival:
    """One frame as the receiver saw it."""

    stream: int
    index: int
    due_ns: int
    arrived_ns: int

    @property
    def late_ns(self) -> int:
        return self.arrived_ns - self.due_ns


def said_beside(notes: str | Path) -> Path:
    """Where the moments lie at which the receiver talked."""
    return Path(f"{notes}.said")


def read_said(notes: Path) -> list[int]:
    """When each message was handed to the socket, by its number."""
    return list(array("q", said_beside(notes).read_bytes()))


def read_arrivals(notes: Path) -> list[Arrival]:
    """What a receiver has written."""
    numbers = array("q", notes.read_bytes())
    return [Arrival(*numbers[at : at + COLUMNS]) for at in range(0, len(numbers), COLUMNS)]


class Connection:
    """One client: HTTP first, then frames; under TLS if there is a ``context``."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext | None) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self.sock = sock
        self.open = False
        self._request = b""
        self._frames = FrameReader()
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = _tls(context, self._in, self._out)
        self._shaken = context is None

    def take(self, raw: bytes) -> list[Mark]:
        """The marks of the frames that end in what has just been read."""
        marks: list[Mark] = []
        for plain in self._plain(raw):
            marks += self._frames.feed(plain) if self.open else self._opened(plain)
        if self._frames.closing:
            self.send(CLOSE_FRAME)
        return marks

    def send(self, plain: bytes) -> int:
        """To the client, at once; gives the moment just before. What it does not take is lost."""
        if self._tls is not None:
            self._tls.write(plain)
            plain = self._out.read()
        now_ns = time.monotonic_ns()
        try:
            self.sock.send(plain)
        except OSError:  # the client has gone
            self.open = False
        return now_ns

    def _opened(self, plain: bytes) -> list[Mark]:
        self._request += plain
        head, end, rest = self._request.partition(_HEAD_END)
        if not end:
            return []
        self.send(answer(head))
        self.open = True
        return self._frames.feed(rest)

    def _plain(self, raw: bytes) -> Iterator[bytes]:
        if self._tls is None:
            yield raw
            return
        self._in.write(raw)
        if not self._shaken and not self._shake():
            return
        while True:
            try:
                plain = self._tls.read(_READ_BYTES)
            except ssl.SSLError:  # wants more, or has ended
                return
            if not plain:
                return
            yield plain

    def _shake(self) -> bool:
        assert self._tls is not None
        try:
            self._tls.do_handshake()
            self._shaken = True
        except ssl.SSLWantReadError:
            pass
        if self._out.pending:
            self.sock.send(self._out.read())
        return self._shaken


def _tls(
    context: ssl.SSLContext | None, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO
) -> ssl.SSLObject | None:
    return context.wrap_bio(incoming, outgoing, server_side=True) if context is not None else None


class Station:
    """All clients of one process. ``run`` returns when standard input ends."""

    def __init__(self, settings: StationSettings) -> None:
        self._says_per_s = settings.says_per_s
        self._context = _context(settings.certificate)
        self._listener = socket.create_server((HOST, 0), backlog=4096)
        self._listener.setblocking(False)
        self._poll = select.epoll()
        self._poll.register(self._listener, select.EPOLLIN)
        self._poll.register(sys.stdin, select.EPOLLIN)
        self._connections: dict[int, Connection] = {}
        self._to_say: list[tuple[int, int]] = []
        self._random = random.Random(1)
        self.noted = array("q")
        self.said = array("q")

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def run(self) -> None:
        ending = False
        while True:
            events = self._poll.poll(0 if ending else self._patience_s())
            wall_minus_ours_ns = time.time_ns() - time.monotonic_ns()
            for number, _ in events:
                if number == self._listener.fileno():
                    self._accept()
                elif number in self._connections:
                    self._read(number, wall_minus_ours_ns)
                else:
                    ending = True
            self._talk()
            if ending and all(number not in self._connections for number, _ in events):
                return  # everything that had come was read

    def _patience_s(self) -> float | None:
        if not self._to_say:
            return None
        return max(0.0, (self._to_say[0][0] - time.monotonic_ns()) / 1e9)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except BlockingIOError:
                return
            self._connections[sock.fileno()] = Connection(sock, self._context)
            self._poll.register(sock, select.EPOLLIN)
            if self._says_per_s:
                self._say_later(sock.fileno())

    def _read(self, number: int, wall_minus_ours_ns: int) -> None:
        connection = self._connections[number]
        try:
            raw, ancillary, _, _ = connection.sock.recvmsg(_READ_BYTES, _ANCILLARY_BYTES)
            marks = connection.take(raw) if raw else []
        except OSError:
            raw, marks = b"", []
        if marks:
            arrived_ns = _kernel_ns(ancillary, wall_minus_ours_ns)
            for mark in marks:
                self.noted.extend((mark.stream, mark.index, mark.due_ns, arrived_ns))
        if not raw:
            self._poll.unregister(number)
            self._connections.pop(number).sock.close()

    def _say_later(self, number: int) -> None:
        wait_ns = int(self._random.expovariate(self._says_per_s) * 1e9)
        heapq.heappush(self._to_say, (time.monotonic_ns() + wait_ns, number))

    def _talk(self) -> None:
        while self._to_say and self._to_say[0][0] <= time.monotonic_ns():
            _, number = heapq.heappop(self._to_say)
            connection = self._connections.get(number)
            if connection is None:
                continue
            if connection.open:
                message = {"type": "partial", "number": len(self.said), "text": _SAID}
                self.said.append(connection.send(text_frame(json.dumps(message).encode())))
            self._say_later(number)


def _kernel_ns(ancillary: list[tuple[int, int, bytes]], wall_minus_ours_ns: int) -> int:
    """When the newest bytes came, on our clock: by the kernel, else now."""
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESPEC.unpack_from(content)
            return int(seconds * 1_000_000_000 + nanoseconds) - wall_minus_ours_ns
    return time.monotonic_ns()


def _context(certificate: str) -> ssl.SSLContext | None:
    if not certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def main(text: str) -> None:
    """Work as ``text`` says."""
    settings = StationSettings(**json.loads(text))
    allow_many_sockets()
    station = Station(settings)
    gc.collect()
    gc.disable()
    set_up(settings.core, STATION_PRIORITY)
    print(station.port, flush=True)
    station.run()
    Path(settings.notes).write_bytes(station.noted.tobytes())
    said_beside(settings.notes).write_bytes(station.said.tobytes())


if __name__ == "__main__":
    main(sys.argv[1])
