"""Websocket frames, in both directions: ours encoded whole, theirs followed only to their ends.

Encoding is done here because it must be quick and must leave no choice open: one message is one
frame. Everything that has to be understood in the other direction is left to wsproto; here it is
only seen where a message ends, so that its arrival can be told. Source: RFC 6455, section 5.2.

    FIN RSV opcode | MASK length | length of 16 or 64 bits | mask | payload
          8        |      8      |          0, 16, 64      | 0, 32|
"""

import struct

import numpy as np

_TEXT, _BINARY = 0x81, 0x82
"""First byte of a frame that is a whole message: FIN and the opcode."""
_MASKED = 0x80
_MEDIUM = struct.Struct("!BBH4s")
_LONG = struct.Struct("!BBQ4s")
_WORD = np.dtype("<u4")


def encode_frame(payload: bytes, *, text: bool, mask: bytes) -> bytes:
    """One whole message as a client sends it; ``mask`` is four bytes nobody can foresee."""
    if len(mask) != 4:
        raise ValueError(f"mask: {len(mask)} bytes, must be 4")
    opcode = _TEXT if text else _BINARY
    size = len(payload)
    if size < 126:
        header = bytes((opcode, _MASKED | size)) + mask
    elif size < 65536:
        header = _MEDIUM.pack(opcode, _MASKED | 126, size, mask)
    else:
        header = _LONG.pack(opcode, _MASKED | 127, size, mask)
    return header + _masked(payload, mask)


def _masked(payload: bytes, mask: bytes) -> bytes:
    """Four bytes at a time in numpy: level with an integer XOR at 640 bytes, above it far ahead."""
    surplus = -len(payload) % 4
    words = np.frombuffer(payload + bytes(surplus) if surplus else payload, _WORD)
    masked = (words ^ int.from_bytes(mask, "little")).tobytes()
    return masked[: len(payload)] if surplus else masked


class MessageEnds:
    """Counts the messages that end in each piece of a stream of frames, however it is cut."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._payload_left = 0
        self._in_last_frame = False

    def feed(self, received: bytes) -> int:
        """How many data messages have their last byte in ``received``."""
        ended = at = 0
        while True:
            step = min(self._payload_left, len(received) - at)
            at += step
            self._payload_left -= step
            if self._payload_left:
                return ended
            ended += self._in_last_frame
            self._in_last_frame = False
            if at == len(received):
                return ended
            missing = self._header_bytes() - len(self._header)
            self._header += received[at : at + missing]
            at = min(at + missing, len(received))
            if len(self._header) == self._header_bytes():
                self._begin_frame()

    def _header_bytes(self) -> int:
        """How long this header is, as far as its bytes seen so far tell."""
        if len(self._header) < 2:
            return 2
        length = self._header[1] & 0x7F
        return 2 + {126: 2, 127: 8}.get(length, 0) + (4 if self._header[1] & _MASKED else 0)

    def _begin_frame(self) -> None:
        first, length = self._header[0], self._header[1] & 0x7F
        if length > 125:
            length = int.from_bytes(self._header[2 : 4 if length == 126 else 10], "big")
        self._payload_left = length
        is_control = first & 0x08
        self._in_last_frame = bool(first & 0x80) and not is_control
        self._header.clear()
