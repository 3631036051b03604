"""One stream as the known-delay server sees it: bytes in, bytes out, and what is to be said when.

Sans-I/O and cheap: audio is counted by its headers and never looked at, because a hundred streams
send five thousand messages a second. Only what a well-behaved client sends is understood.
"""

import base64
import hashlib
from dataclasses import dataclass

from daemon.selftest.codec import (
    FINAL,
    FORCE,
    MESSAGE_END_BYTES,
    PARTIAL,
    SENT,
    SENT_AFTER_NS,
    Delays,
    delays_of,
    message_end,
    message_start,
)

WORDS = ("one", "two", "three", "four")
"""What is heard: two words while audio comes, one in the partial after the force, one at last."""
EARLY_PARTIALS_US = (250_000, 500_000)
"""When the partials before the force come, from the first audio."""
_TEXT, _BINARY, _CLOSE = 1, 2, 8
_ACCEPT_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 4.2.2."""
_ANSWER = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: %b\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class Due:
    """A message that is to be sent at a moment."""

    at_ns: int
    kind: str
    start: bytes
    """All of its frame but the moment of sending."""

    def frame(self, sent_ns: int) -> bytes:
        """The whole of it."""
        return self.start + message_end(sent_ns)


class Conversation:
    """``feed`` what comes; then send ``reply``, and keep what is in ``due``."""

    def __init__(self) -> None:
        self.over = False
        """The client has said goodbye, or broken the rules."""
        self.due: list[Due] = []
        """What has to be said later; whoever takes it empties the list."""
        self._buffer = b""
        self._delays: Delays | None = None
        self._audio_seen = False
        self._left_ns: dict[str, int] = {}

    def feed(self, received: bytes, arrived_ns: int | None, read_ns: int) -> bytes:
        """Take what was read at once; gives what is to be sent at once.

        ``arrived_ns`` is when the last of it came in, by the kernel; ``read_ns`` is now.
        """
        self._buffer = self._buffer + received if self._buffer else received
        if self._delays is None:
            return self._upgrade()
        return self._frames(arrived_ns, read_ns)

    def was_sent(self, due: Due, left_ns: int | None) -> None:
        """What was due left this host then, by the kernel; None where it does not say."""
        if left_ns is not None:
            self._left_ns[due.kind] = left_ns
        if due.kind == FINAL:
            left = " ".join(f"{kind}={at_ns}" for kind, at_ns in self._left_ns.items())
            self._say_at(due.at_ns + SENT_AFTER_NS, SENT, left, None)

    def _upgrade(self) -> bytes:
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return b""
        self._buffer = rest
        request, *lines = head.split(b"\r\n")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in lines)
        }
        try:
            target = request.split(b" ")[1].decode("ascii")
            self._delays = delays_of(target.partition("?")[2])
            key = headers[b"sec-websocket-key"]
        except (IndexError, KeyError, ValueError):
            self.over = True
            return b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
        digest = hashlib.sha1(key + _ACCEPT_SUFFIX, usedforsecurity=False).digest()
        return _ANSWER % base64.b64encode(digest)

    def _frames(self, arrived_ns: int | None, read_ns: int) -> bytes:
        buffer, at = self._buffer, 0
        while (end := _frame_end(buffer, at)) is not None:
            opcode = buffer[at] & 15
            if opcode == _BINARY and not self._audio_seen:
                self._audio_seen = True
                self._plan_early_partials(read_ns)
            elif opcode == _TEXT and _unmasked(buffer, at, end) == FORCE.encode():
                # The kernel's stamp is that of the last byte read: it is the force's own only
                # where nothing was read behind it.
                alone = end == len(buffer)
                self._plan_answer(arrived_ns if alone else None, read_ns)
            elif opcode == _CLOSE:
                self.over = True
                code = _unmasked(buffer, at, end)[:2]
                return bytes((0x80 | _CLOSE, len(code))) + code
            at = end
        self._buffer = buffer[at:]
        return b""

    def _plan_early_partials(self, now_ns: int) -> None:
        for number, after_us in enumerate(EARLY_PARTIALS_US, start=1):
            self._say_at(now_ns + after_us * 1000, PARTIAL, " ".join(WORDS[:number]), None)

    def _plan_answer(self, heard_ns: int | None, read_ns: int) -> None:
        assert self._delays is not None, "frames come after the upgrade"
        base_ns = read_ns if heard_ns is None else heard_ns
        self._say_at(
            base_ns + self._delays.partial_us * 1000, PARTIAL, " ".join(WORDS[:3]), heard_ns
        )
        self._say_at(base_ns + self._delays.final_us * 1000, FINAL, " ".join(WORDS), heard_ns)

    def _say_at(self, at_ns: int, kind: str, text: str, heard_ns: int | None) -> None:
        payload = message_start(kind, text, heard_ns)
        size = len(payload) + MESSAGE_END_BYTES
        self.due.append(Due(at_ns, kind, _frame_head(size) + payload))


def _frame_head(size: int) -> bytes:
    """Of an unmasked text message, as a server sends it."""
    if size < 126:
        return bytes((0x80 | _TEXT, size))
    return bytes((0x80 | _TEXT, 126)) + size.to_bytes(2, "big")


def _frame_end(buffer: bytes, at: int) -> int | None:
    """Where the masked frame at ``at`` ends; None while it is not complete."""
    left = len(buffer) - at
    if left < 6:
        return None
    size = buffer[at + 1] & 127
    if size < 126:
        end = at + 6 + size
    elif size == 126:
        end = at + 8 + int.from_bytes(buffer[at + 2 : at + 4], "big")
    else:
        end = at + 14 + int.from_bytes(buffer[at + 2 : at + 10], "big")
    return end if end <= len(buffer) else None


def _unmasked(buffer: bytes, at: int, end: int) -> bytes:
    """The payload of a short frame."""
    mask, payload = buffer[at + 2 : at + 6], buffer[at + 6 : end]
    return bytes(byte ^ mask[index & 3] for index, byte in enumerate(payload))
