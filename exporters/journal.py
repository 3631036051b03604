"""The journal being written: every record, in files that survive a crash.

    append ─> one write(2) ─> …Z.sbj.open ─ 64 MiB or 24 h ─> …Z.sbj
                  │ refused: cut back to the last good record, close, count what is lost
                  └─ room again: a new segment, which begins with how many were lost

Before the disk is full, at ``reserve_bytes`` of free space, it says that it is: what has begun can
then still be written, and nothing new should begin.

See exporters/segment.py for what is in a file and how it is read.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from exporters.frame import framed
from exporters.open_segment import OpenSegment
from exporters.packing import pack, unpack
from exporters.recovery import Say
from exporters.retention import Keep, prune
from exporters.segment import SCHEMA
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
    """When a segment is full, how often it is made durable, when a disk is full and has room."""

    segment_bytes: int = 64 << 20
    segment_ns: int = 24 * 3600 * SECOND
    sync_ns: int = SECOND
    retry_ns: int = SECOND
    reserve_bytes: int = 0
    """With less than this free the journal says that it is full, and goes on as long as it can."""
    room_bytes: int = 16 << 20
    """What must be free beyond the reserve before a full journal goes on."""
    prune_ns: int = 3600 * SECOND
    """How often it is seen to what need not be kept; also whenever a segment begins."""


_MOST_NAMED = 10_000
"""How many sessions that lost records are told by name at once."""


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
        keep: Keep | None = None,
        synced: Callable[[int], None] = lambda _ns: None,
    ) -> None:
        """``synced`` is told how many nanoseconds each flush to the disk took."""
        self.records = 0
        """Written, over all segments; headers too."""
        self.written_bytes = 0
        self.lost = 0
        """Refused by the disk, over all time."""
        self.sessions_partial = 0
        """Sessions of which at least one record was refused, over all time."""
        self._directory = directory
        self._about = about
        self._clock = clock
        self._say = say
        self._limits = limits or Limits()
        self._keep = keep or Keep()
        self._synced = synced
        self._segment: OpenSegment | None = None
        self._named_ns = 0
        self._untold = 0
        self._partial: set[str] = set()
        self._low = False
        self._prune_due_ns = 0
        self.dirty = False
        """Something is written that is not yet durable."""
        self._sync_due_ns = 0
        self._retry_due_ns = 0
        self._retry_ns = self._limits.retry_ns // 2

    @property
    def full(self) -> bool:
        """Nothing new should begin: records are refused, or soon will be.

        The disk is full, nearly full, or broken, or the journal is closed.
        """
        return self.refusing or self._low

    @property
    def refusing(self) -> bool:
        """Records are being refused now."""
        return self._segment is None

    @property
    def untold(self) -> int:
        """Records refused of which no segment tells yet."""
        return self._untold

    @property
    def path(self) -> Path | None:
        """The segment that is being written."""
        return None if self._segment is None else self._segment.path

    def open(self) -> None:
        """Begin the first segment. Raises OSError where that is not possible."""
        self._begin()
        self._see_to_room()
        self._prune()

    def append(self, payload: bytes) -> bool:
        """Write one packed record; False where it was lost. It is durable after the next sync."""
        if self._segment is None:
            self._lose(payload)
            return False
        frame = framed(payload)
        try:
            self._segment.write(frame)
        except OSError as error:
            self._lose(payload)
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
        """Do what is due by now: sync, begin a new segment, look for room, remove what is old."""
        now_ns = self._clock.mono_ns()
        self._see_to_room()
        if now_ns >= self._prune_due_ns:
            self._prune()
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
        segment = OpenSegment.create(
            self._directory,
            began_ns=self._clock.mono_ns(),
            wall_ns=self._clock.wall_ns(),
            after_ns=self._named_ns,
        )
        self._named_ns = segment.named_ns
        try:
            segment.write(framed(pack(self._header(segment))))
            if self._untold:
                segment.write(framed(pack(self._told_loss(segment))))
        except OSError:
            segment.remove()
            raise
        self._segment, self._untold, self._partial = segment, 0, set()
        self._count(segment.records, segment.size)
        self._say("info", "journal_opened", path=str(segment.path))

    def _count(self, records: int, size: int) -> None:
        self.records += records
        self.written_bytes += size
        if not self.dirty:
            self.dirty = True
            self._sync_due_ns = self._clock.mono_ns() + self._limits.sync_ns

    def _header(self, segment: OpenSegment) -> Record:
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

    def _told_loss(self, segment: OpenSegment) -> Record:
        return {
            "k": "records_lost",
            "t": segment.began_ns,
            "count": self._untold,
            "why": "journal_full",
            "sessions": sorted(self._partial),
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
        self._prune()

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

    def _lose(self, payload: bytes) -> None:
        self.lost += 1
        self._untold += 1
        session_id = unpack(payload).get("s")
        if isinstance(session_id, str) and len(self._partial) < _MOST_NAMED:
            self.sessions_partial += session_id not in self._partial
            self._partial.add(session_id)

    def _resume(self) -> None:
        """Begin a new segment if there is room; stay quiet if there is not, it has been said."""
        self._retry_due_ns = self._clock.mono_ns() + self._retry_ns
        free = _free_bytes(self._directory)
        if free is not None and free < self._limits.reserve_bytes + self._limits.room_bytes:
            return
        lost, partial = self._untold, len(self._partial)
        try:
            self._begin()
        except OSError:
            return
        self._say(
            "warning",
            "journal_resumed",
            path=str(self.path),
            records_lost=lost,
            sessions_partial=partial,
        )

    def _see_to_room(self) -> None:
        """Notice that the disk is nearly full, and that it no longer is."""
        reserve = self._limits.reserve_bytes
        free = _free_bytes(self._directory) if reserve else None
        if free is None:
            return
        if not self._low and free < reserve:
            self._low = True
            self._say("error", "journal_disk_low", free_bytes=free, reserve_bytes=reserve)
        elif self._low and free >= reserve + self._limits.room_bytes:
            self._low = False
            self._say("warning", "journal_disk_has_room", free_bytes=free, reserve_bytes=reserve)

    def _prune(self) -> None:
        self._prune_due_ns = self._clock.mono_ns() + self._limits.prune_ns
        prune(self._directory, self._keep, self._clock.wall_ns(), self._say)


def _free_bytes(directory: Path) -> int | None:
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return None
