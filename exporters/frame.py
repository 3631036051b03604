"""One record in a segment's file: putting a frame around it, reading it, and finding the next.

    frame = length (u32), CRC-32C of length and payload (u32), payload: one record; little-endian

After damage, the next good frame is searched byte by byte: a place counts only where the length is
possible, the checksum is right and the payload is a record.
"""

import re
import struct
from typing import BinaryIO

import google_crc32c

from exporters.packing import MAX_RECORD_BYTES, unpack
from measure.wire import Record

HEAD = struct.Struct("<II")
SEARCHED_BYTES = 256 << 20
"""How many bytes one search puts through the checksum at most before it gives up."""
_BLOCK_BYTES = 1 << 16
_MAYBE = re.compile(rb"(?=[\x00-\xff]{3}[\x00\x01][\x00-\xff]{4}[\x80-\x8f\xde\xdf])")
"""A length of at most 16 MiB, any checksum, and the first byte of a packed map."""


class BadFrame(ValueError):
    """What is wrong here; ``cut`` where the file ends before the frame does."""

    def __init__(self, why: str, *, cut: bool = False) -> None:
        super().__init__(why)
        self.cut = cut


def framed(payload: bytes) -> bytes:
    """One frame around a packed record."""
    length = len(payload).to_bytes(4, "little")
    return length + checksum(length, payload).to_bytes(4, "little") + payload


def read_frame(file: BinaryIO) -> tuple[Record, int] | None:
    """The next record and the size of its frame; None at the end of the file. Raises BadFrame."""
    head = file.read(HEAD.size)
    if not head:
        return None
    if len(head) < HEAD.size:
        raise BadFrame(f"cut off: {len(head)} of the {HEAD.size} bytes before a record", cut=True)
    length, expected = HEAD.unpack(head)
    if not 0 < length <= MAX_RECORD_BYTES:
        raise BadFrame(f"impossible length: {length} bytes, at most {MAX_RECORD_BYTES} are allowed")
    payload = file.read(length)
    if len(payload) < length:
        raise BadFrame(f"cut off: {len(payload)} of the {length} bytes of a record", cut=True)
    if checksum(head[:4], payload) != expected:
        raise BadFrame("checksum: the record is not what was written")
    try:
        return unpack(payload), HEAD.size + length
    except ValueError as error:
        raise BadFrame(str(error)) from error


def next_good(file: BinaryIO, start: int, end: int) -> int | None:
    """Where between ``start`` and ``end`` the first good frame begins; None where there is none."""
    left = SEARCHED_BYTES
    for block_start in range(start, end, _BLOCK_BYTES):
        file.seek(block_start)
        block = file.read(_BLOCK_BYTES + HEAD.size)
        for found in _MAYBE.finditer(block):
            place = block_start + found.start()
            (length, _) = HEAD.unpack_from(block, found.start())
            if place + HEAD.size + length > end:
                continue
            left -= length
            if left < 0:
                return None
            if _is_good(file, place):
                return place
    return None


def checksum(length: bytes, payload: bytes) -> int:
    """CRC-32C over the length as written and the payload."""
    value: int = google_crc32c.extend(google_crc32c.value(length), payload)
    return value


def _is_good(file: BinaryIO, place: int) -> bool:
    file.seek(place)
    try:
        return read_frame(file) is not None
    except BadFrame:
        return False
