"""The exporter's end of one hand-off: whole records, and words."""

import select
import socket
from collections.abc import Iterator

from exporters.packets import RECEIVE_BYTES, heard, is_record

_LAST_WORD_MS = 2000


class Inbox:
    """The exporter's end of the socket: whole records, and words."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.ended = False
        """Nothing will ever come again: the process at the other end is gone."""
        self._sock = sock
        self._parts: list[bytes] = []

    def fileno(self) -> int:
        """For whoever waits for several."""
        return self._sock.fileno()

    def wait(self, timeout_ms: float) -> None:
        """Block until something comes, or for so long at most."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        poll.poll(timeout_ms)

    def take(self, at_most: int) -> Iterator[bytes | str]:
        """What has come: packed records as bytes, words as str."""
        for _ in range(at_most):
            try:
                packet = self._sock.recv(RECEIVE_BYTES)
            except BlockingIOError:
                return
            except ConnectionResetError:  # it left with reports unread; its last records follow
                continue
            if not packet:
                self.ended = True
                return
            if is_record(packet):
                yield packet
                continue
            word, what = heard(packet)
            if word != "part":
                yield word
            elif (record := self._joined(*what)) is not None:
                yield record

    def say(self, packet: bytes) -> bool:
        """Send one packet; False where there is no room for it now, or nobody there."""
        try:
            self._sock.send(packet)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            return False
        return True

    def say_last(self, packet: bytes) -> None:
        """Send the last packet, waiting a little for room where nobody has read the others yet."""
        if not self.say(packet) and not self.ended:
            poll = select.poll()
            poll.register(self._sock, select.POLLOUT)
            poll.poll(_LAST_WORD_MS)
            self.say(packet)

    def close(self) -> None:
        """Let go of the socket."""
        self._sock.close()

    def _joined(self, last: bool, part: bytes) -> bytes | None:
        self._parts.append(part)
        if not last:
            return None
        record, self._parts = b"".join(self._parts), []
        return record
