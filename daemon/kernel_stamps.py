"""When bytes arrived, left and were acknowledged, as the kernel saw it.

A stamp of ours is taken when our program gets round to it; the kernel's is not late however busy
the program is. The kernel stamps with the wall clock, so each stamp is carried over to our clock by
the difference of the two at the moment it is read. Linux only: elsewhere, where the kernel
refuses, and where its wall clock is not the one that we are shown, there are no stamps and
``KernelStamps`` says so. Source: the kernel's networking
documentation, "Timestamping"; numbers from include/uapi/linux/net_tstamp.h and asm-generic.
"""

import errno
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Ancillary = Iterable[tuple[int, int, bytes]]
"""What comes beside the bytes of a message: level, type, content."""

_SO_TIMESTAMPNS = 35
_SO_TIMESTAMPING = 37
_TX_SOFTWARE, _SOFTWARE, _OPT_ID, _TX_ACK = 1 << 1, 1 << 4, 1 << 7, 1 << 9
_OPT_TSONLY, _OPT_ID_TCP = 1 << 11, 1 << 16
_TIMESPEC = struct.Struct("@ll")

_EXTENDED_ERROR = struct.Struct("@IBBBBII")
_EXTENDED_ERRORS = frozenset({(socket.IPPROTO_IP, 11), (socket.IPPROTO_IPV6, 25)})
_ORIGIN_TIMESTAMPING = 4

SentKind = Literal["sent", "acked"]
_KINDS: dict[int, SentKind] = {0: "sent", 2: "acked"}

ANCILLARY_BYTES = 256
"""Room for all that the kernel may put beside one message."""
STAMP_THIS_SEND = [
    (socket.SOL_SOCKET, _SO_TIMESTAMPING, struct.pack("=I", _TX_SOFTWARE | _TX_ACK)),
]
"""Put beside the bytes of one ``sendmsg``, this has the kernel stamp just that send."""
_AGREEMENT_NS = 1_000_000
"""By how much the kernel's wall clock may differ from ours; both are one, read twice."""
TRUSTED_AGE_NS = 10_000_000_000
"""A stamp older than this when it is read is not believed: a clock was set in between."""


@dataclass(frozen=True, slots=True)
class KernelStamps:
    """Which stamps the kernel of this host gives for a socket."""

    received: bool
    sent: bool


@dataclass(frozen=True, slots=True)
class SentStamp:
    """One moment in the life of a marked send, by the kernel, on our clock."""

    offset: int
    """How many bytes had been sent on this connection up to the end of that send: its name."""
    kind: SentKind
    """It left this host, or the other side's kernel acknowledged it."""
    at_ns: int


def ask_for_stamps(sock: socket.socket, wall_ns: Callable[[], int]) -> KernelStamps:
    """Ask the kernel for stamps on a connected socket that has not sent anything yet.

    Each receive is stamped from now on; sends are, where ``STAMP_THIS_SEND`` goes with them.
    Where ``wall_ns`` is another clock than the kernel's (a library shows a program another time)
    no stamp could be carried over, and none is asked for.
    """
    if not _one_wall_clock(wall_ns):
        return KernelStamps(received=False, sent=False)
    report = _SOFTWARE | _OPT_ID | _OPT_TSONLY
    return KernelStamps(
        received=_accepts(sock, _SO_TIMESTAMPNS, 1),
        # Before Linux 6.2 the last flag is unknown; while nothing was sent it changes nothing.
        sent=_accepts(sock, _SO_TIMESTAMPING, report | _OPT_ID_TCP)
        or _accepts(sock, _SO_TIMESTAMPING, report),
    )


def _one_wall_clock(wall_ns: Callable[[], int]) -> bool:
    """The kernel stamps with the wall clock that we see; False also where it does not stamp.

    A byte to ourselves is stamped between two looks at ours. It takes 15 microseconds.
    """
    if sys.platform != "linux":
        return False
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with ours, theirs:
            theirs.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            before_ns = wall_ns()
            ours.send(b"?")
            stamp_ns = received_wall_ns(theirs.recvmsg(1, ANCILLARY_BYTES)[1])
            after_ns = wall_ns()
    except OSError:
        return False
    if stamp_ns is None:
        return False
    return before_ns - _AGREEMENT_NS <= stamp_ns <= after_ns + _AGREEMENT_NS


def _accepts(sock: socket.socket, option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, option, value)
    except OSError:
        return False
    return True


def received_wall_ns(ancillary: Ancillary) -> int | None:
    """The wall clock's time at which the newest of the bytes just read arrived."""
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            return _wall_ns(content)
    return None


@dataclass(frozen=True, slots=True)
class Carried:
    """Carries stamps of the wall clock over to our clock; right at the moment it was made."""

    read_ns: int
    wall_minus_ours_ns: int

    def believed_ns(self, wall_ns: int) -> int | None:
        """That moment on our clock; None where it cannot be true: in the future, or long ago."""
        at_ns = wall_ns - self.wall_minus_ours_ns
        return at_ns if self.read_ns - TRUSTED_AGE_NS <= at_ns <= self.read_ns else None


def carried(read_ns: int, now_ns: Callable[[], int], wall_ns: Callable[[], int]) -> Carried:
    """How to carry over stamps that were read at ``read_ns``, a moment ago.

    Our clock is read between two looks at the wall clock. Where they are far apart the program was
    held up between them, and the same is tried again.
    """
    for _ in range(4):
        before, now, after = wall_ns(), now_ns(), wall_ns()
        if 0 <= after - before < 20_000:
            break
    return Carried(read_ns, (before + after) // 2 - now)


class Carrier:
    """Carries the stamps of one connection over to our clock, as long as that can be trusted.

    Where the clocks have moved against each other since the stamps before, nobody knows whether a
    stamp is from before or after that: it is not believed. Later ones are, if the kernel has
    stepped as well.
    """

    def __init__(self, now_ns: Callable[[], int], wall_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._wall_ns = wall_ns
        self._one_clock = True
        self._minus_ns = carried(0, now_ns, wall_ns).wall_minus_ours_ns

    def look(self, read_ns: int) -> Carried | None:
        """For stamps that were read at ``read_ns``, a moment ago; None: they are not believed."""
        clocks = carried(read_ns, self._now_ns, self._wall_ns)
        moved_ns = clocks.wall_minus_ours_ns - self._minus_ns
        self._minus_ns = clocks.wall_minus_ours_ns
        if abs(moved_ns) > _AGREEMENT_NS:
            self._one_clock = _one_wall_clock(self._wall_ns)
            return None
        return clocks if self._one_clock else None


class MarkedSends:
    """The sends that were to be stamped, by where they end, and the stamps that came for them."""

    def __init__(
        self, sock: socket.socket, now_ns: Callable[[], int], wall_ns: Callable[[], int]
    ) -> None:
        self._sock = sock
        self._now_ns = now_ns
        self._carrier = Carrier(now_ns, wall_ns)
        self._offsets: dict[int, int] = {}
        """Marked and not yet acknowledged: the kernel's number of the last byte -> our offset."""
        self._stamps: list[SentStamp] = []
        self._any = False

    def mark(self, offset: int) -> None:
        """The send that ends at ``offset`` goes out with ``STAMP_THIS_SEND``."""
        self._offsets[(offset - 1) & 0xFFFFFFFF] = offset
        self._any = True

    def collect(self) -> None:
        """Fetch what the kernel has ready.

        While a stamp waits to be fetched the socket counts as readable, so who waits for it would
        be woken again and again.
        """
        if not self._any:
            return
        waiting = list(_waiting_reports(self._sock))
        clocks = self._carrier.look(self._now_ns()) if waiting else None
        for key, kind, stamp_wall_ns in waiting:
            offset = self._offsets.get(key)
            if offset is None:  # the first part of a send that the kernel took in two
                continue
            if kind == "acked":
                del self._offsets[key]
            at_ns = None if clocks is None else clocks.believed_ns(stamp_wall_ns)
            if at_ns is not None:
                self._stamps.append(SentStamp(offset, kind, at_ns))

    def take(self) -> list[SentStamp]:
        """What has come since the last call."""
        taken, self._stamps = self._stamps, []
        return taken


def _waiting_reports(sock: socket.socket) -> Iterator[tuple[int, SentKind, int]]:
    """Number of the last byte (32 bits), kind, and wall clock's time of each waiting stamp."""
    while True:
        try:
            ancillary = sock.recvmsg(1, ANCILLARY_BYTES, socket.MSG_ERRQUEUE)[1]
        except BlockingIOError:
            return
        report = _report(ancillary)
        if report is not None:
            yield report


def _report(ancillary: Ancillary) -> tuple[int, SentKind, int] | None:
    key = wall_ns = kind = None
    for level, number, content in ancillary:
        if level == socket.SOL_SOCKET and number == _SO_TIMESTAMPING:
            wall_ns = _wall_ns(content)
        elif (level, number) in _EXTENDED_ERRORS:
            code, origin, _, _, _, happened, key = _EXTENDED_ERROR.unpack_from(content)
            if (code, origin) == (errno.ENOMSG, _ORIGIN_TIMESTAMPING):
                kind = _KINDS.get(happened)
    if key is None or wall_ns is None or kind is None:
        return None
    return key, kind, wall_ns


def _wall_ns(content: bytes) -> int:
    seconds, nanoseconds = _TIMESPEC.unpack_from(content)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
