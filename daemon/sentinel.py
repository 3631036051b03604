"""Our side of the sentinel: starts it, and knows when the host itself stood still.

Where a frame was late or our program did not run, the sentinel tells whether anything could have:
if it was late as well, the host is to blame, and neither this program nor the provider.
"""

import os
import socket
import subprocess
import sys
from array import array
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

import trio

from daemon.host_setup import REAL_TIME_PRIORITY
from exporters.process import child_environment
from measure.measurement import rank

_PROGRAM = Path(__file__).with_name("sentinel_process.py")
_STALL = Struct("=QQ")
_PACKET_BYTES = 1 << 14
_KEPT = 600_000
"""Ten minutes of wakes, where nobody asks for them."""


@dataclass(frozen=True, slots=True)
class SentinelReport:
    """How late the sentinel woke, over ``n`` wakes; None of none."""

    late_p50_ns: int | None
    late_p99_ns: int | None
    late_max_ns: int | None
    n: int


class Sentinel:
    """What the sentinel has told so far."""

    def __init__(self, pid: int | None = None) -> None:
        self.pid = pid
        """Of its process."""
        self.alive = True
        """False once its process has ended, which it never does by itself."""
        self.told: Callable[[int, int], None] | None = None
        """Called with ``ended_ns, stalled_ns`` of each stall as it is told."""
        self._late_ns = array("Q")

    def take(self) -> SentinelReport:
        """How late it woke since this was last asked."""
        late_ns, self._late_ns = sorted(self._late_ns), array("Q")
        return SentinelReport(
            rank(late_ns, 0.50), rank(late_ns, 0.99), rank(late_ns, 1.0), len(late_ns)
        )

    def hear(self, packet: bytes) -> None:
        """Take one packet of the process. Raises ValueError for what is none."""
        kind, content = packet[:1], packet[1:]
        if kind == b"L" and len(content) % 8 == 0:
            self._late_ns.frombytes(content)
            del self._late_ns[:-_KEPT]
        elif kind == b"S" and len(content) == _STALL.size:
            if self.told is not None:
                self.told(*_STALL.unpack(content))
        else:
            raise ValueError(f"the sentinel said something of {len(packet)} bytes that is unknown")


@asynccontextmanager
async def sentinel() -> AsyncIterator[Sentinel]:
    """A sentinel, which runs as long as this lasts."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = _start(theirs)
    watch = Sentinel(process.pid)
    try:
        with trio.socket.from_stdlib_socket(ours) as heard:
            async with trio.open_nursery() as background:
                background.start_soon(_listen, heard, watch)
                yield watch
                background.cancel_scope.cancel()
    finally:
        process.kill()
        process.wait()


def _start(theirs: socket.socket) -> "subprocess.Popen[bytes]":
    fd = theirs.fileno()
    command = [sys.executable, "-I", "-S", str(_PROGRAM), str(fd), str(REAL_TIME_PRIORITY + 1)]
    return subprocess.Popen(
        command,
        pass_fds=(fd,),
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # a Ctrl-C in the terminal is for us; we end it
        env=child_environment(os.environ),  # no keys: it needs none
    )


async def _listen(heard: trio.socket.SocketType, watch: Sentinel) -> None:
    while True:
        try:
            packet = await heard.recv(_PACKET_BYTES)
        except OSError:
            packet = b""
        if not packet:
            watch.alive = False
            return
        watch.hear(packet)
