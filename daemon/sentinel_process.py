"""The sentinel: a tiny process that sleeps to a grid of 1 ms and notes how late it wakes.

It does nothing else and shares nothing with the measuring process but the processors, so when it
wakes late the host itself stood still. Started by daemon/sentinel.py with the number of a
SOCK_SEQPACKET socket; it ends when nobody listens there any more. Standard library only, and as
little of it as possible: it has to start in a few milliseconds.

    b"L" + uint64[n]                         how late the wakes of the last second were, nanoseconds
    b"S" + uint64 ended_ns, uint64 stalled_ns   one wake was late by more than 2 ms; told at once
"""

import gc
import os
import socket
import struct
import sys
import time
from array import array
from contextlib import suppress

GRID_NS = 1_000_000
TOLD_ABOVE_NS = 2_000_000
"""A later wake is told at once."""
WAKES_IN_ONE_PACKET = 1000


def main(fd: int, priority: int) -> None:
    """Watch until nobody listens."""
    _take_precedence(priority)
    gc.freeze()
    gc.disable()  # nothing here makes cycles
    with socket.socket(fileno=fd) as told:
        told.setblocking(False)
        try:
            _watch(told)
        except (BrokenPipeError, ConnectionResetError):
            return


def _watch(told: socket.socket) -> None:
    late_ns = array("Q")
    due_ns = time.monotonic_ns() + GRID_NS
    while True:
        wait_ns = due_ns - time.monotonic_ns()
        if wait_ns > 0:
            time.sleep(wait_ns / 1e9)
        now_ns = time.monotonic_ns()
        late_ns.append(max(0, now_ns - due_ns))  # it never wakes early but for a rounding
        if now_ns - due_ns > TOLD_ABOVE_NS:
            _tell(told, b"S" + struct.pack("=QQ", now_ns, now_ns - due_ns))
        if len(late_ns) >= WAKES_IN_ONE_PACKET:
            _tell(told, b"L" + late_ns.tobytes())
            late_ns = array("Q")
        due_ns += GRID_NS * (max(0, now_ns - due_ns) // GRID_NS + 1)


def _tell(told: socket.socket, packet: bytes) -> None:
    with suppress(BlockingIOError):  # the measuring process stands still: it knows by itself
        told.send(packet)


def _take_precedence(priority: int) -> None:
    with suppress(AttributeError, OSError):  # where that is forbidden, it is forbidden us as well
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
