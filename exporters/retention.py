"""Which files of a journal are removed when it may not grow for ever: the oldest closed ones.

By default nothing is. A segment that is being written, or that waits to be recovered, never is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporters.recovery import Say
from exporters.segment import CLOSED, OPEN, TORN
from measure.records import SECOND


@dataclass(frozen=True, slots=True)
class Keep:
    """How much of a journal is kept; None: all of it."""

    age_ns: int | None = None
    """For how long after the last record of a segment."""
    size_bytes: int | None = None
    """All files together, the one being written too."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that nobody writes any more."""

    path: Path
    size_bytes: int
    written_ns: int
    """When its last record was written, by the wall clock."""


@dataclass(frozen=True, slots=True)
class Surplus:
    """A file to be removed, and why: ``age`` or ``size``."""

    file: Kept
    why: str


def surplus(
    files: Sequence[Kept], keep: Keep, *, open_bytes: int, wall_ns: int
) -> Iterator[Surplus]:
    """What is to be removed of ``files``, which come oldest first."""
    left = open_bytes + sum(file.size_bytes for file in files)
    for file in files:
        if keep.age_ns is not None and wall_ns - file.written_ns > keep.age_ns:
            why = "age"
        elif keep.size_bytes is not None and left > keep.size_bytes:
            why = "size"
        else:
            continue
        left -= file.size_bytes
        yield Surplus(file, why)


def prune(directory: Path, keep: Keep, wall_ns: int, say: Say) -> None:
    """Remove what is not to be kept, and say so of each file."""
    if keep == Keep():
        return
    try:
        files = _files(directory, CLOSED, TORN)
        open_bytes = sum(file.size_bytes for file in _files(directory, OPEN))
    except OSError as error:
        say("error", "journal_removal_failed", path=str(directory), error=error.strerror)
        return
    for one in surplus(files, keep, open_bytes=open_bytes, wall_ns=wall_ns):
        path = one.file.path
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            say("error", "journal_removal_failed", path=str(path), error=why)
            continue
        say(
            "info",
            "journal_removed",
            path=str(path),
            bytes=one.file.size_bytes,
            age_s=(wall_ns - one.file.written_ns) // SECOND,
            reason=one.why,
        )


def _files(directory: Path, *suffixes: str) -> list[Kept]:
    """Those with one of these endings, oldest first: names sort as their moments do."""
    found = []
    for path in sorted(directory.iterdir()):
        if not path.name.endswith(suffixes):
            continue
        try:
            seen = path.stat()
        except FileNotFoundError:
            continue  # another process has just removed it, or given it its last name
        found.append(Kept(path, seen.st_size, seen.st_mtime_ns))
    return found
