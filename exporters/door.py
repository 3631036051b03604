"""How a further process comes to hand over records: the main one asks, and the exporter lets it in.

    main process ── ["join", name] + one end of a new socket pair ──> exporter process
         └── the other end ──> the further process, which makes a hand-off of it

Each process has a hand-off of its own, so that for each it is known what is confirmed and lost.
"""

import socket
from collections.abc import Iterator

from exporters.packets import heard, said

_WORD_BYTES = 4096


class Door:
    """The main process's side."""

    def __init__(self, sock: socket.socket, kernel_bytes: int) -> None:
        """``sock`` is one of a pair of SOCK_SEQPACKET; it belongs to the door from now on."""
        self._sock = sock
        self._kernel_bytes = kernel_bytes

    def admit(self, name: str) -> socket.socket:
        """The socket for the hand-off of one further process; ``name`` stands in log and journal.

        Where the exporter is gone, so is its other end: the hand-off finds that out by itself.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._kernel_bytes)
        with theirs:
            try:
                self._sock.setblocking(False)
                socket.send_fds(self._sock, [said("join", name)], [theirs.fileno()])
            except OSError:
                pass  # nobody is there, or nobody has come to the door for long
        return ours

    def close(self) -> None:
        """Nobody else will come."""
        self._sock.close()


class Entrance:
    """The exporter's side."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.closed = False
        """Nobody will ever come again: the main process has closed its side, or is gone."""
        self._sock = sock

    def fileno(self) -> int:
        """For whoever waits for several."""
        return self._sock.fileno()

    def arrivals(self) -> Iterator[tuple[str, socket.socket]]:
        """Who has come since this was last asked: the name, and the socket of the hand-off."""
        while True:
            try:
                packet, fds, _, _ = socket.recv_fds(self._sock, _WORD_BYTES, 1)
            except BlockingIOError:
                return
            except ConnectionResetError:
                packet = b""
            if not packet:
                self.closed = True
                return
            _, (name,) = heard(packet)
            for fd in fds:
                yield str(name), socket.socket(fileno=fd)
