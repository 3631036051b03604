"""The known-delay server: ``python -m daemon.selftest.server``, started by the self-test alone.

It listens on a free port of 127.0.0.1, says which on standard output, and ends when its standard
input does; so it never outlives whoever started it. One thread, one epoll, no library in between:
its slowness is part of the truth, but it must not take the processor from who is being tested.
"""

import gc
import heapq
import os
import select
import socket
import sys
import time
from contextlib import suppress

from daemon.kernel_stamps import (
    ANCILLARY_BYTES,
    STAMP_THIS_SEND,
    Ancillary,
    MarkedSends,
    ask_for_stamps,
    carried,
    received_wall_ns,
)
from daemon.selftest.conversation import Conversation, Due

READ_BYTES = 1 << 16
STDIN = 0
REAL_TIME_PRIORITY = 1
"""Above everything ordinary, so that its stamps are true; below who is being tested."""


class Stream:
    """One connection."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.conversation = Conversation()
        self._sock = sock
        self._stamps = ask_for_stamps(sock, time.time_ns)
        self._marked = MarkedSends(sock, time.monotonic_ns, time.time_ns)
        self._sent_bytes = 0

    def read(self) -> bool:
        """Take what has come; False at its end."""
        self._marked.collect()
        try:
            received, ancillary, _, _ = self._sock.recvmsg(READ_BYTES, ANCILLARY_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not received:
            return False
        read_ns = time.monotonic_ns()
        reply = self.conversation.feed(received, _arrived_ns(ancillary, read_ns), read_ns)
        if reply:
            self._send(reply, [])
        return not self.conversation.over

    def say(self, due: Due) -> None:
        """Send what is due; the moment of sending is read as the last thing before it."""
        if not self._stamps.sent:
            self._send(due.frame(time.monotonic_ns()), [])
            self.conversation.was_sent(due, None)
            return
        self._send(due.frame(time.monotonic_ns()), STAMP_THIS_SEND)
        self._marked.mark(self._sent_bytes)
        self._marked.collect()  # over loopback it has left when the send is done
        left_ns = [stamp.at_ns for stamp in self._marked.take() if stamp.kind == "sent"]
        self.conversation.was_sent(due, left_ns[0] if left_ns else None)

    def close(self) -> None:
        self._sock.close()

    def _send(self, frame: bytes, ancillary: list[tuple[int, int, bytes]]) -> None:
        with suppress(OSError):  # whoever has gone needs no answer
            self._sent_bytes += self._sock.sendmsg((frame,), ancillary)


class Server:
    """Serves until standard input ends."""

    def __init__(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._epoll = select.epoll()
        self._epoll.register(listener.fileno(), select.EPOLLIN)
        self._epoll.register(STDIN, select.EPOLLIN)
        self._streams: dict[int, Stream] = {}
        self._due: list[tuple[int, int, int, Due]] = []
        self._count = 0

    def run(self) -> None:
        """Serve."""
        while True:
            for fd, _ in self._epoll.poll(self._timeout_s()):
                if fd == STDIN:
                    return
                if fd == self._listener.fileno():
                    self._accept()
                elif fd in self._streams:
                    self._read(fd)
            self._speak()

    def _timeout_s(self) -> float:
        """Until the next message is due; for ever where none is."""
        if not self._due:
            return -1
        return max(0.0, (self._due[0][0] - time.monotonic_ns()) / 1e9)

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                sock, _ = self._listener.accept()
                self._streams[sock.fileno()] = Stream(sock)
                self._epoll.register(sock.fileno(), select.EPOLLIN)

    def _read(self, fd: int) -> None:
        stream = self._streams[fd]
        goes_on = stream.read()
        self._plan(fd, stream)
        if not goes_on:
            self._hang_up(fd)

    def _plan(self, fd: int, stream: Stream) -> None:
        for due in stream.conversation.due:
            self._count += 1
            heapq.heappush(self._due, (due.at_ns, self._count, fd, due))
        stream.conversation.due.clear()

    def _speak(self) -> None:
        while self._due and self._due[0][0] <= time.monotonic_ns():
            _, _, fd, due = heapq.heappop(self._due)
            self._streams[fd].say(due)
            self._plan(fd, self._streams[fd])

    def _hang_up(self, fd: int) -> None:
        self._due = [due for due in self._due if due[2] != fd]
        heapq.heapify(self._due)
        self._epoll.unregister(fd)
        self._streams.pop(fd).close()


def _arrived_ns(ancillary: Ancillary, read_ns: int) -> int | None:
    """When the last of what was just read had come in; None where the kernel does not say."""
    wall_ns = received_wall_ns(ancillary)
    if wall_ns is None:
        return None
    return carried(read_ns, time.monotonic_ns, time.time_ns).believed_ns(wall_ns)


def main() -> int:
    """Listen, say where, serve."""
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    gc.collect()
    gc.freeze()
    gc.disable()  # nothing here makes cycles
    Server(listener).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
