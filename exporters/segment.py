"""The files of the journal: their format, and reading one or all of them.

    file = magic (8 bytes), frame, frame, …      a frame holds one record; see exporters/frame.py

A segment is named ``….sbj.open`` while it is written and ``….sbj`` afterwards. Its first record has
the kind ``segment`` and says what is needed to read it alone: schema, host, clocks, version.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from exporters.frame import BadFrame, next_good, read_frame
from measure.wire import Record

MAGIC = b"\x89SBJ1\r\n\x1a"
SCHEMA = 1
"""Rises only where an older program could no longer read what is written."""
CLOSED, OPEN, TORN = ".sbj", ".sbj.open", ".torn"
UNREADABLE = "unreadable"
"""The kind of the record that a reader is given in the place of what is damaged; never written."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes of a segment that cannot be read."""

    path: Path
    offset: int
    size_bytes: int
    """Up to the next good record, or to the end of the file."""
    why: str
    tail: bool
    """No good record follows."""
    cut: bool = False
    """The file ends in the middle of a record: it is being written, or its writer was killed."""

    @property
    def record(self) -> Record:
        """As it stands among the records that can be read."""
        return {
            "k": UNREADABLE,
            "path": str(self.path),
            "offset": self.offset,
            "bytes": self.size_bytes,
            "why": self.why,
        }

    def __str__(self) -> str:
        after = "to the end" if self.tail else f"up to byte {self.offset + self.size_bytes}"
        return f"byte {self.offset}: {self.why}; {self.size_bytes} bytes not readable, {after}"


@dataclass(frozen=True, slots=True)
class End:
    """How the reading of a segment went."""

    path: Path
    records: int
    offset: int
    """The first byte that was not read as part of a good record."""
    damage: str | None
    """Why; None where the file ends with its last record."""
    gaps: tuple[Damage, ...] = ()
    """Every stretch that could not be read, in the order of the file."""
    good_bytes: int = 0
    """Where the last good record ends."""
    newer: bool = False
    """A newer program has written it, in a way that this one does not read."""

    @property
    def unfinished(self) -> bool:
        """Nothing is wrong but the last record, which is not whole yet in a file left open."""
        return self.path.name.endswith(OPEN) and len(self.gaps) == 1 and self.gaps[0].cut

    @property
    def damaged(self) -> bool:
        """Something that was written once cannot be read."""
        return self.damage is not None and not self.unfinished


class Segment:
    """One segment to be read: iterate over its records, then ask for its ``end``.

    Never raises for what is in the file. In the place of damage comes a record of the kind
    ``unreadable``, and reading goes on at the next good record; ``end`` says where and why.
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
        gaps: list[Damage] = []
        count = offset = good_bytes = 0
        newer = False
        while True:
            try:
                if offset == 0:
                    offset = _read_magic(file)
                if (found := read_frame(file)) is None:
                    break
                if not self._any_schema:
                    _refuse_newer(found[0])
            except BadFrame as error:
                if error.cut and _has_grown(file):
                    file.seek(offset)
                    continue
                newer = isinstance(error, _Newer)
                gap = self._gap(file, offset, error)
                gaps.append(gap)
                if not (newer or self._may_be_growing(gap)):
                    yield gap.record
                if gap.tail:
                    break
                offset += gap.size_bytes
                continue
            record, size = found
            count += 1
            offset = good_bytes = offset + size
            yield record
        first = gaps[0] if gaps else None
        self.end = End(
            self.path,
            count,
            offset if first is None else first.offset,
            None if first is None else first.why,
            tuple(gaps),
            good_bytes,
            newer,
        )

    def _gap(self, file: BinaryIO, offset: int, error: BadFrame) -> Damage:
        """What cannot be read from ``offset`` on; leaves the file at the next good record."""
        end = file.seek(0, os.SEEK_END)
        good = None if isinstance(error, _Newer) else next_good(file, offset + 1, end)
        if good is None:
            return Damage(self.path, offset, end - offset, str(error), tail=True, cut=error.cut)
        file.seek(good)
        return Damage(self.path, offset, good - offset, str(error), tail=False)

    def _may_be_growing(self, gap: Damage) -> bool:
        return gap.cut and self.path.name.endswith(OPEN)


def read(path: Path) -> Segment:
    """The records of one file, damaged or live as it may be; see Segment."""
    return Segment(path)


class Journals:
    """Many segments read as one, oldest first; after that ``ends`` says how each of them ended."""

    def __init__(self, paths: Iterable[Path], *, listed: bool = False) -> None:
        """``listed``: as found in a folder; one that has been removed since does not end it."""
        self.paths = list(paths)
        self._listed = listed
        self.ends: list[End] = []

    def __iter__(self) -> Iterator[Record]:
        """All their records, with one of the kind ``unreadable`` in the place of damage."""
        self.ends = []
        for path in self.paths:
            segment = Segment(path)
            try:
                yield from segment
            except FileNotFoundError:
                if not self._listed:
                    raise
                segment.end = End(path, 0, 0, "it has been removed since it was found")
            if segment.end is not None:
                self.ends.append(segment.end)

    @property
    def damaged(self) -> list[End]:
        """The segments of which something cannot be read; a live one's last record is none."""
        return [end for end in self.ends if end.damaged]


def read_journal(source: Path | Iterable[Path]) -> Journals:
    """The journal in a directory, in one file, or in these files in this order."""
    if not isinstance(source, Path):
        return Journals(source)
    if not source.is_dir():
        return Journals([source])
    found = [*source.glob("*" + CLOSED), *source.glob("*" + OPEN)]
    return Journals(sorted(found, key=lambda path: path.name), listed=True)


def refusal(path: Path) -> str | None:
    """Why nothing is read of a file that a newer program has written; None for any other.

    Raises OSError where the file cannot be read.
    """
    with _opened(path) as file:
        try:
            _read_magic(file)
            if (found := read_frame(file)) is not None:
                _refuse_newer(found[0])
        except _Newer as error:
            return str(error)
        except BadFrame:
            return None
    return None


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


def _has_grown(file: BinaryIO) -> bool:
    """More has been written since the end of the file was met."""
    met = file.tell()
    return file.seek(0, os.SEEK_END) > met


class _Newer(BadFrame):
    """A newer program has written this."""


def _read_magic(file: BinaryIO) -> int:
    """Go past the mark at the beginning; gives its size. Raises BadFrame where it is another."""
    found = file.read(len(MAGIC))
    if found == MAGIC:
        return len(MAGIC)
    if MAGIC.startswith(found):
        why = "not a journal: its mark is cut off" if found else "empty file"
        raise BadFrame(why, cut=True)
    if found[:4] + MAGIC[4:5] + found[5:] == MAGIC and not _header_is_ours(file):
        raise _Newer(f"format {chr(found[4])!r}: this program reads format {chr(MAGIC[4])!r}")
    raise BadFrame("not a journal: the first 8 bytes are not its mark")


def _header_is_ours(file: BinaryIO) -> bool:
    """The record after the mark is a segment's first, of a schema that is read here."""
    try:
        found = read_frame(file)
        if found is None or found[0].get("k") != "segment":
            return False
        _refuse_newer(found[0])
    except BadFrame:
        return False
    return True


def _refuse_newer(record: Record) -> None:
    if record.get("k") != "segment":
        return
    schema = record.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise _Newer(f"schema {schema}: this program reads up to {SCHEMA}")
