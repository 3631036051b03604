"""The receiver's side of a websocket, as little of it as a benchmark needs. Pure.

Source: RFC 6455. A client's frames are masked; ours are not.
"""

import base64
import hashlib

from benchmarks.mark import Mark, mark_of

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _BINARY, _CLOSE = 1, 2, 8
CLOSE_FRAME = b"\x88\x00"


def answer(request: bytes) -> bytes:
    """What to say to a request for a websocket. Raises ValueError where it is none."""
    for line in request.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"sec-websocket-key":
            accept = base64.b64encode(hashlib.sha1(value.strip() + _MAGIC).digest())
            return (
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"
            )
    raise ValueError("a request without a websocket key")


def text_frame(payload: bytes) -> bytes:
    """A whole text message from the server, below 64 KiB."""
    if len(payload) < 126:
        return bytes((0x81, len(payload))) + payload
    return bytes((0x81, 126)) + len(payload).to_bytes(2, "big") + payload


class FrameReader:
    """Finds the marks of audio messages in what comes in, however it is cut."""

    def __init__(self) -> None:
        self._rest = b""
        self.closing = False
        """The client has said Close."""

    def feed(self, received: bytes) -> list[Mark]:
        """The marks of the messages that end in ``received``."""
        buffer = self._rest + received if self._rest else received
        marks: list[Mark] = []
        at = 0
        while (found := _header(buffer, at)) is not None:
            start, end = found
            if end > len(buffer):
                break
            self._take(buffer[at] & 0x0F, buffer[start - 4 : start], buffer[start:end], marks)
            at = end
        self._rest = buffer[at:]
        return marks

    def _take(self, opcode: int, mask: bytes, payload: bytes, marks: list[Mark]) -> None:
        if opcode in (_TEXT, _BINARY):
            marks.append(mark_of(payload, mask, text=opcode == _TEXT))
        elif opcode == _CLOSE:
            self.closing = True


def _header(buffer: bytes, at: int) -> tuple[int, int] | None:
    """Where the payload of the frame at ``at`` starts and ends; None: not yet known."""
    have = len(buffer) - at
    if have < 6:
        return None
    length = buffer[at + 1] & 0x7F
    if not buffer[at + 1] & 0x80:
        raise ValueError("a frame without a mask: clients must mask")
    if length < 126:
        return at + 6, at + 6 + length
    size = 2 if length == 126 else 8
    if have < 6 + size:
        return None
    length = int.from_bytes(buffer[at + 2 : at + 2 + size], "big")
    start = at + 6 + size
    return start, start + length
