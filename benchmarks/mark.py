"""What every audio message of a benchmark carries: which frame it is and when it was due.

    16 bytes of mark | 624 bytes that stand for audio        as they are, or in JSON as base64

So the receiver judges each frame by itself and needs to know nothing of the sender's schedule.
"""

import base64
import os
import struct
from dataclasses import dataclass

FRAME_BYTES = 640
"""20 ms of 16-bit audio at 16 kHz."""
_MARK = struct.Struct("<IIQ")
_MASK = struct.Struct("<I")
_PREFIX = b'{"payload":"'
_SUFFIX = '"}'
_BASE64_BYTES = 24
"""Base64 of 18 bytes: the mark, and two bytes more to make it come out even."""
_AUDIO = os.urandom(FRAME_BYTES - _MARK.size)


@dataclass(frozen=True, slots=True)
class Mark:
    """One frame: whose it is, its number, and when it should have left."""

    stream: int
    index: int
    due_ns: int


def binary_message(stream: int, index: int, due_ns: int) -> bytes:
    """A frame as it is."""
    return _MARK.pack(stream, index, due_ns) + _AUDIO


def json_message(stream: int, index: int, due_ns: int) -> str:
    """The same in JSON, as several providers want it."""
    audio = base64.b64encode(_MARK.pack(stream, index, due_ns) + _AUDIO).decode()
    return f'{{"payload":"{audio}"}}'


def mark_of(payload: bytes | memoryview, mask: bytes, *, text: bool) -> Mark:
    """The mark in a masked payload, of which only the beginning is looked at."""
    if text:
        return _json_mark(payload, mask)
    stream, index, due_ns = _MARK.unpack_from(payload)
    word = _MASK.unpack(mask)[0]
    return Mark(stream ^ word, index ^ word, due_ns ^ (word | word << 32))


def _json_mark(payload: bytes | memoryview, mask: bytes) -> Mark:
    end = len(_PREFIX) + _BASE64_BYTES
    masked = int.from_bytes(payload[:end], "little")
    plain = (masked ^ int.from_bytes(mask * (end // 4), "little")).to_bytes(end, "little")
    if not plain.startswith(_PREFIX):
        raise ValueError(f"a message that is none of ours: {plain!r}")
    return Mark(*_MARK.unpack_from(base64.b64decode(plain[len(_PREFIX) :])))
