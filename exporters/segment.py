"""The files of the journal: their format, and reading one or all of them.

    file  = magic (8 bytes), frame, frame, …
    frame = length (u32), CRC-32C of length and payload (u32), payload: one record; little-endian

A segment is named ``….sbj.open`` while it is written and ``….sbj`` afterwards. Its first record has
the kind ``segment`` and says what is needed to read it alone: schema, host, clocks, version.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import google_crc32c

from exporters.packing import MAX_RECORD_BYTES, unpack
from measure.wire import Record

MAGIC = b"\x89SBJ1\r\n\x1a"
HEAD = struct.Struct("<II")
SCHEMA = 1
"""Rises only where an older program could no longer read what is written."""
CLOSED, OPEN, TORN = ".sbj", ".sbj.open", ".torn"


def framed(payload: bytes) -> bytes:
    """One frame around a packed record."""
    length = len(payload).to_bytes(4, "little")
    return length + _checksum(length, payload).to_bytes(4, "little") + payload


@dataclass(frozen=True, slots=True)
class End:
    """Where and why the reading of a segment ended."""

    path: Path
    records: int
    offset: int
    """The first byte that was not read as part of a good record."""
    damage: str | None
    """None where the file ends with its last record."""


class Segment:
    """One segment to be read: iterate over its records, then ask for its ``end``.

    Never raises for what is in the file: it stops at the first damaged byte and ``end`` says so.
    A file that is still being written reads up to its last whole record.
    """

    def __init__(self, path: Path, *, any_schema: bool = False) -> None:
        """``any_schema``: also what a newer version may mean otherwise; its frames are the same."""
        self.path = path
        self.end: End | None = None
        """None until the last record has been read."""
        self._any_schema = any_schema

    def __iter__(self) -> Iterator[Record]:
        """Its records from the beginning. Raises OSError where the file cannot be read."""
        self.end = None
        with _opened(self.path) as file:
            yield from self._records(file)

    def scan(self) -> End:
        """Read it to its end, for the end alone."""
        for _ in self:
            pass
        if self.end is None:
            raise AssertionError("a segment that was read through has an end")
        return self.end

    def _records(self, file: BinaryIO) -> Iterator[Record]:
        count, offset = 0, 0
        damage = _wrong_magic(file.read(len(MAGIC)))
        while damage is None:
            offset = file.tell()
            payload, damage = _payload(file)
            if payload is None:
                break
            try:
                record = unpack(payload)
            except ValueError as error:
                damage = str(error)
                break
            if not self._any_schema and (damage := _from_the_future(record)) is not None:
                break
            count += 1
            yield record
        self.end = End(self.path, count, offset, damage)


def read(path: Path) -> Segment:
    """The records of one file, damaged or live as it may be; see Segment."""
    return Segment(path)


class Journals:
    """Many segments read as one, oldest first; after that ``ends`` says how each of them ended."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = list(paths)
        self.ends: list[End] = []

    def __iter__(self) -> Iterator[Record]:
        """All their records. A damaged segment ends where the damage is; the next one goes on."""
        self.ends = []
        for path in self.paths:
            segment = Segment(path)
            yield from segment
            if segment.end is not None:
                self.ends.append(segment.end)

    @property
    def damaged(self) -> list[End]:
        """The segments that did not end with their last record."""
        return [end for end in self.ends if end.damage is not None]


def read_journal(source: Path | Iterable[Path]) -> Journals:
    """The journal in a directory, in one file, or in these files in this order."""
    if not isinstance(source, Path):
        return Journals(source)
    if not source.is_dir():
        return Journals([source])
    found = [*source.glob("*" + CLOSED), *source.glob("*" + OPEN)]
    return Journals(sorted(found, key=lambda path: path.name))


def closed_name(path: str) -> str:
    """What a segment is called once it has been closed, if it has been."""
    closed = path.removesuffix(OPEN) + CLOSED
    return closed if path.endswith(OPEN) and Path(closed).exists() else path


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:  # it may have been closed, and renamed, since it was listed
        if not path.name.endswith(OPEN):
            raise
        return path.with_name(path.name.removesuffix(OPEN) + CLOSED).open("rb")


def _payload(file: BinaryIO) -> tuple[bytes | None, str | None]:
    """The next payload, or None and what is wrong; None and None at the end of the file."""
    head = file.read(HEAD.size)
    if not head:
        return None, None
    if len(head) < HEAD.size:
        return None, f"cut off: {len(head)} of the {HEAD.size} bytes before a record"
    length, checksum = HEAD.unpack(head)
    if not 0 < length <= MAX_RECORD_BYTES:
        return None, f"impossible length: {length} bytes, at most {MAX_RECORD_BYTES} are allowed"
    payload = file.read(length)
    if len(payload) < length:
        return None, f"cut off: {len(payload)} of the {length} bytes of a record"
    if _checksum(head[:4], payload) != checksum:
        return None, "checksum: the record is not what was written"
    return payload, None


def _checksum(length: bytes, payload: bytes) -> int:
    checksum: int = google_crc32c.extend(google_crc32c.value(length), payload)
    return checksum


def _wrong_magic(found: bytes) -> str | None:
    if found == MAGIC:
        return None
    return "empty file" if not found else "not a journal: the first 8 bytes are not its mark"


def _from_the_future(header: Record) -> str | None:
    schema = header.get("schema")
    if header.get("k") == "segment" and isinstance(schema, int) and schema > SCHEMA:
        return f"schema {schema}: this program reads up to {SCHEMA}"
    return None
