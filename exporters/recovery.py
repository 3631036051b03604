"""Segments of the journal that a crash left open: claiming, cutting, closing them."""

import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from exporters.segment import CLOSED, OPEN, TORN, Damage, Segment


class Say(Protocol):
    """Tells people, through the log, what happened."""

    def __call__(self, level: str, event: str, **fields: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was found in a segment that nobody had closed, and what became of it."""

    path: Path | None
    """The closed segment; None where there was no good record."""
    torn: Path | None
    """Where the bytes lie that were cut off; None where there were none."""
    records: int
    good_bytes: int
    dropped_bytes: int
    damage: str | None
    """Why they were cut off; None where the file ends with its last record."""
    gaps: tuple[Damage, ...] = ()
    """Damage between good records; it stays where it is, and readers go past it."""


def recover(path: Path) -> Recovered | None:
    """Close an abandoned segment: cut after the last good record, keep what is cut as ``….torn``.

    None where the file is in use, or another process has just dealt with it. Raises OSError where
    the disk refuses; nothing is lost then, and the next start tries again.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return _recover(path, fd) if lock(fd, path) else None
    finally:
        os.close(fd)


def lock(fd: int, path: Path) -> bool:
    """Claim an open segment for this process, until ``fd`` is closed; False where another has."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return False


def close_as(path: Path, suffix: str) -> Path:
    """Give an open segment its last name, without ever replacing a file; gives the name."""
    stem = path.name.removesuffix(OPEN)
    name = path.with_name(stem + suffix)
    again = 1
    while name.exists():
        name = path.with_name(f"{stem}.{again}{suffix}")
        again += 1
    path.rename(name)
    sync_directory(path.parent)
    return name


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _recover(path: Path, fd: int) -> Recovered:
    end = Segment(path, any_schema=True).scan()
    tail = end.gaps[-1] if end.gaps and end.gaps[-1].tail else None
    torn = None
    if tail is not None and tail.size_bytes:
        torn = _keep_tail(path, fd, end.good_bytes)
        os.ftruncate(fd, end.good_bytes)
    os.fsync(fd)
    if end.records:
        closed = close_as(path, CLOSED)
    else:
        closed = None
        path.unlink()
        sync_directory(path.parent)
    return Recovered(
        closed,
        torn,
        end.records,
        end.good_bytes,
        0 if tail is None else tail.size_bytes,
        None if tail is None else tail.why,
        tuple(gap for gap in end.gaps if not gap.tail),
    )


def _keep_tail(path: Path, fd: int, offset: int) -> Path:
    """Copy everything from ``offset`` on into a file of its own. Raises OSError."""
    tail = path.with_name(path.name.removesuffix(OPEN) + f".{offset}{TORN}")
    into_fd = os.open(tail, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o640)
    with os.fdopen(into_fd, "wb") as into, os.fdopen(os.dup(fd), "rb") as source:
        source.seek(offset)
        shutil.copyfileobj(source, into)
        into.flush()
        os.fsync(into.fileno())
    return tail


def recover_all(directory: Path, say: Say) -> list[Recovered]:
    """Close every segment that a crash left open in this directory, and say what was cut."""
    found = []
    for path in sorted(directory.glob("*" + OPEN)):
        try:
            recovered = recover(path)
        except OSError as error:
            why = error.strerror or str(error)
            say("error", "journal_recovery_failed", path=str(path), error=why)
            continue
        if recovered is None:
            continue
        found.append(recovered)
        for gap in recovered.gaps:
            say(
                "error",
                "journal_damaged",
                path=str(recovered.path),
                offset=gap.offset,
                bytes=gap.size_bytes,
                reason=gap.why,
            )
        say(
            "warning" if recovered.damage else "info",
            "journal_tail_truncated" if recovered.damage else "journal_recovered",
            path=str(recovered.path or path),
            torn=None if recovered.torn is None else str(recovered.torn),
            records=recovered.records,
            good_bytes=recovered.good_bytes,
            dropped_bytes=recovered.dropped_bytes,
            reason=recovered.damage,
        )
    return found
