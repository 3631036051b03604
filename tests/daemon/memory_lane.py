"""The lane whose network is memory, joined to an ordinary trio stream, for tests."""

from collections.abc import Callable

import trio
import trio.testing
from trio.testing import MemoryReceiveStream, MemorySendStream

from daemon.conformance.memory import MemoryLane

__all__ = ["MemoryLane", "Peer", "memory_lane_pair"]

Peer = trio.StapledStream[MemorySendStream, MemoryReceiveStream]
"""The other side's end: an ordinary trio stream."""


def memory_lane_pair(now_ns: Callable[[], int]) -> tuple[MemoryLane, Peer]:
    """Our lane and the other side's stream, joined."""
    to_us, incoming = trio.testing.memory_stream_one_way_pair()
    outgoing = MemoryReceiveStream()
    return MemoryLane(outgoing, incoming, now_ns), trio.StapledStream(to_us, outgoing)
