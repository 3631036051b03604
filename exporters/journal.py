"""The journal being written: every record, in files that survive a crash.

    append ─> one write(2) ─> …Z.sbj.open ─ 64 MiB or 24 h ─> …Z.sbj
                  │ refused: cut back to the last good record, close, count what is lost
                  └─ room again: a new segment, which begins with how many were lost

See exporters/segment.py for what is in a file and how it is read.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from exporters.packing import pack
from exporters.recovery import Say, close_as, lock, sync_directory
from exporters.segment import CLOSED, MAGIC, OPEN, SCHEMA, framed
from measure.records import SECOND
from measure.wire import Record


@dataclass(frozen=True, slots=True)
class Clock:
    """The two clocks of this host: monotonic for moments, wall for the calendar."""

    mono_ns: Callable[[], int]
    wall_ns: Callable[[], int]


@dataclass(frozen=True, slots=True)
class About:
    """What each segment says of where it comes from."""

    host: str
    boot_id: str | None
    version: str
    config_sha256: str


@dataclass(frozen=True, slots=True)
class Limits:
    """When a segment is full, how often it is made durable, when a full disk has room again."""

    segment_bytes: int = 64 << 20
    segment_ns: int = 24 * 3600 * SECOND
    sync_ns: int = SECOND
    retry_ns: int = SECOND
    room_bytes: int = 16 << 20


class Journal:
    """The journal being written. One process, one thread; call ``tick`` at least once a second."""

    def __init__(
        self,
        directory: Path,
        about: About,
        clock: Clock,
        say: Say,
        *,
        limits: Limits | None = None,
        synced: Callable[[int], None] = lambda _ns: None,
    ) -> None:
        """``synced`` is told how many nanoseconds each flush to the disk took."""
        self.records = 0
        """Written, over all segments; headers too."""
        self.written_bytes = 0
        self.lost = 0
        """Refused by the disk, over all time."""
        self._directory = directory
        self._about = about
        self._clock = clock
        self._say = say
        self._limits = limits or Limits()
        self._synced = synced
        self._segment: _Writing | None = None
        self._untold = 0
        self.dirty = False
        """Something is written that is not yet durable."""
        self._sync_due_ns = 0
        self._retry_due_ns = 0
        self._retry_ns = self._limits.retry_ns // 2

    @property
    def full(self) -> bool:
        """Records are being refused: the disk is full or broken, or the journal is closed."""
        return self._segment is None

    @property
    def path(self) -> Path | None:
        """The segment that is being written."""
        return None if self._segment is None else self._segment.path

    def open(self) -> None:
        """Begin the first segment. Raises OSError where that is not possible."""
        self._begin()

    def append(self, payload: bytes) -> bool:
        """Write one packed record; False where it was lost. It is durable after the next sync."""
        if self._segment is None:
            self._lose()
            return False
        frame = framed(payload)
        try:
            self._segment.write(frame)
        except OSError as error:
            self._lose()
            self._fail(error)
            return False
        self._count(1, len(frame))
        if self._segment.size >= self._limits.segment_bytes:
            self._rotate()
        return True

    def sync(self) -> None:
        """Make everything written durable."""
        if self._segment is None or not self.dirty:
            return
        started_ns = self._clock.mono_ns()
        try:
            os.fdatasync(self._segment.fd)
        except OSError as error:
            self._fail(error)
            return
        self.dirty = False
        ended_ns = self._clock.mono_ns()
        self._sync_due_ns = ended_ns + self._limits.sync_ns
        self._synced(ended_ns - started_ns)

    def tick(self) -> None:
        """Do what is due by now: sync, begin a new segment, try a full disk again."""
        now_ns = self._clock.mono_ns()
        if self._segment is None:
            if now_ns >= self._retry_due_ns:
                self._resume()
        elif now_ns - self._segment.began_ns >= self._limits.segment_ns:
            self._rotate()
        elif now_ns >= self._sync_due_ns:
            self.sync()

    def close(self) -> None:
        """Make everything durable and give the segment its last name."""
        if self._segment is None and self._untold:
            self._resume()
        self.sync()
        self._end()

    def _begin(self) -> None:
        segment = _Writing.create(self._directory, self._clock)
        try:
            segment.write(framed(pack(self._header(segment))))
            if self._untold:
                segment.write(framed(pack(self._told_loss(segment))))
        except OSError:
            segment.remove()
            raise
        self._segment, self._untold = segment, 0
        self._count(segment.records, segment.size)
        self._say("info", "journal_opened", path=str(segment.path))

    def _count(self, records: int, size: int) -> None:
        self.records += records
        self.written_bytes += size
        if not self.dirty:
            self.dirty = True
            self._sync_due_ns = self._clock.mono_ns() + self._limits.sync_ns

    def _header(self, segment: "_Writing") -> Record:
        return {
            "k": "segment",
            "t": segment.began_ns,
            "schema": SCHEMA,
            "host": self._about.host,
            "boot_id": self._about.boot_id,
            "wall_ns": segment.wall_ns,
            "mono_ns": segment.began_ns,
            "version": self._about.version,
            "config_sha256": self._about.config_sha256,
        }

    def _told_loss(self, segment: "_Writing") -> Record:
        return {
            "k": "records_lost",
            "t": segment.began_ns,
            "count": self._untold,
            "why": "journal_full",
        }

    def _end(self) -> Path | None:
        """Close the segment whatever the disk says; gives its last name."""
        segment, self._segment, self.dirty = self._segment, None, False
        if segment is None:
            return None
        try:
            return segment.close()
        except OSError as error:  # the file keeps its open name and is recovered at the next start
            self._say(
                "error",
                "journal_close_failed",
                path=str(segment.path),
                error=error.strerror or str(error),
            )
            return None

    def _rotate(self) -> None:
        self.sync()
        if (segment := self._segment) is None:
            return  # the sync has failed, and said so
        closed = self._end()
        self._say(
            "info",
            "journal_rotated",
            path=str(closed or segment.path),
            records=segment.records,
            bytes=segment.size,
        )
        try:
            self._begin()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        path = self.path or self._directory
        now_ns = self._clock.mono_ns()
        longest_ns = 60 * self._limits.retry_ns
        soon = self._segment is None or now_ns - self._segment.began_ns < longest_ns
        self._retry_ns = min(2 * self._retry_ns, longest_ns) if soon else self._limits.retry_ns
        self._retry_due_ns = now_ns + self._retry_ns
        self._end()
        self._say(
            "error",
            "journal_write_failed",
            path=str(path),
            error=error.strerror or str(error),
            free_bytes=_free_bytes(self._directory),
        )

    def _lose(self) -> None:
        self.lost += 1
        self._untold += 1

    def _resume(self) -> None:
        """Begin a new segment if there is room; stay quiet if there is not, it has been said."""
        self._retry_due_ns = self._clock.mono_ns() + self._retry_ns
        free = _free_bytes(self._directory)
        if free is not None and free < self._limits.room_bytes:
            return
        lost = self._untold
        try:
            self._begin()
        except OSError:
            return
        self._say("warning", "journal_resumed", path=str(self.path), records_lost=lost)


class _Writing:
    """A segment being written: an append-only file, claimed by this process."""

    def __init__(self, fd: int, path: Path, began_ns: int, wall_ns: int) -> None:
        self.fd = fd
        self.path = path
        self.began_ns = began_ns
        self.wall_ns = wall_ns
        self.records = 0
        self.size = 0

    @classmethod
    def create(cls, directory: Path, clock: Clock) -> "_Writing":
        """A new segment, named after the moment. Raises OSError."""
        began_ns, wall_ns = clock.mono_ns(), clock.wall_ns()
        for later_us in range(1000):
            path = directory / (_stamp(wall_ns, later_us) + OPEN)
            if path.with_name(path.name.removesuffix(OPEN) + CLOSED).exists():
                continue
            try:
                fd = os.open(
                    path,
                    os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC,
                    0o640,
                )
            except FileExistsError:
                continue
            segment = cls(fd, path, began_ns, wall_ns)
            if not lock(fd, path):  # another process took the new file for an abandoned one
                os.close(fd)
                continue
            try:
                segment.write_raw(MAGIC)
                sync_directory(directory)
            except OSError:
                segment.remove()
                raise
            return segment
        raise FileExistsError(f"{directory}: every name for a new segment is taken")

    def write(self, frame: bytes) -> None:
        """All of a frame or nothing. Raises OSError."""
        self.write_raw(frame)
        self.records += 1

    def write_raw(self, piece: bytes) -> None:
        left = memoryview(piece)
        try:
            while left:  # once, unless the disk is nearly full: then the second write says why
                left = left[os.write(self.fd, left) :]
        except OSError:
            os.ftruncate(self.fd, self.size)
            raise
        self.size += len(piece)

    def close(self) -> Path:
        """Make it durable and give it its last name. Raises OSError; closes it in any case."""
        try:
            os.fsync(self.fd)
            return close_as(self.path, CLOSED)
        finally:
            os.close(self.fd)

    def remove(self) -> None:
        """Undo a segment that could not even be begun."""
        self.path.unlink()
        os.close(self.fd)


def _stamp(wall_ns: int, later_us: int) -> str:
    """A moment as a file name; names sort as their moments do."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=wall_ns // 1000 + later_us)
    return f"{moment:%Y%m%dT%H%M%S.%f}Z"


def _free_bytes(directory: Path) -> int | None:
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return None
