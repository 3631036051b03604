"""Amazon's event stream: one message of headers and a payload, with two checksums.

    total length · length of the headers · checksum of these two · headers · payload · checksum

All numbers are big-endian. A header is its name, the kind of its value, and the value.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import pack, unpack_from
from zlib import crc32

from providers.families import no_sense

PRELUDE_BYTES = 12
FRAME_BYTES = PRELUDE_BYTES + 4
"""What a message has besides headers and payload."""
TEXT = 7
SIZED = (6, TEXT)
"""Bytes and text: two bytes of length come first."""
SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""How long a value of each other kind is."""


@dataclass(frozen=True, slots=True)
class EventMessage:
    """One message."""

    headers: Mapping[str, str]
    """Those whose value is text."""
    payload: bytes = field(default=b"", repr=False)


def encoded(message: EventMessage) -> bytes:
    """The message on the wire."""
    headers = b"".join(_header(name, value) for name, value in message.headers.items())
    total = len(headers) + len(message.payload) + FRAME_BYTES
    lengths = pack(">II", total, len(headers))
    whole = lengths + pack(">I", crc32(lengths)) + headers + message.payload
    return whole + pack(">I", crc32(whole))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return pack(">B", len(key)) + key + pack(">BH", TEXT, len(text)) + text


def decoded(wire: bytes) -> EventMessage:
    """The message that these bytes are. Raises ProviderError where they are none."""
    if len(wire) < FRAME_BYTES:
        raise no_sense("an event that is cut off")
    total, headers_bytes, lengths_sum = unpack_from(">III", wire)
    if total != len(wire) or headers_bytes > total - FRAME_BYTES:
        raise no_sense("an event whose lengths do not fit")
    (whole_sum,) = unpack_from(">I", wire, total - 4)
    if (lengths_sum, whole_sum) != (crc32(wire[:8]), crc32(wire[:-4])):
        raise no_sense("an event whose checksum is wrong")
    start = PRELUDE_BYTES + headers_bytes
    try:
        headers = _headers(wire[PRELUDE_BYTES:start])
    except (struct.error, UnicodeDecodeError, LookupError) as error:
        raise no_sense("an event whose headers cannot be read") from error
    return EventMessage(headers, wire[start:-4])


def _headers(wire: bytes) -> dict[str, str]:
    headers, at = {}, 0
    while at < len(wire):
        name, at = _taken(wire, at + 1, wire[at])
        kind, at = wire[at], at + 1
        if kind in SIZED:
            (size,), at = unpack_from(">H", wire, at), at + 2
        else:
            size = SIZES[kind]
        value, at = _taken(wire, at, size)
        if kind == TEXT:
            headers[name.decode()] = value.decode()
    return headers


def _taken(wire: bytes, at: int, size: int) -> tuple[bytes, int]:
    """``size`` bytes from ``at`` on, and where they end. Raises struct's error."""
    return unpack_from(f"{size}s", wire, at)[0], at + size
