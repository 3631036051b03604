"""One segment of the journal while it is written: an append-only file, claimed by this process."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from exporters.recovery import close_as, lock, sync_directory
from exporters.segment import CLOSED, MAGIC, OPEN


class OpenSegment:
    """A segment being written. For one thread."""

    def __init__(self, fd: int, path: Path, began_ns: int, wall_ns: int, named_ns: int) -> None:
        self.fd = fd
        self.path = path
        self.began_ns = began_ns
        self.wall_ns = wall_ns
        self.named_ns = named_ns
        """The moment in its name."""
        self.records = 0
        self.size = 0

    @classmethod
    def create(
        cls, directory: Path, *, began_ns: int, wall_ns: int, after_ns: int
    ) -> "OpenSegment":
        """A new segment, named after the moment. Raises OSError.

        Names sort as segments were written, also where the wall clock has stepped back: the name
        is of a moment later than ``after_ns``.
        """
        first_ns = max(wall_ns, after_ns + 1000)
        for named_ns in range(first_ns, first_ns + 1_000_000, 1000):
            path = directory / (_stamp(named_ns) + OPEN)
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
            segment = cls(fd, path, began_ns, wall_ns, named_ns)
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


def _stamp(wall_ns: int) -> str:
    """A moment as a file name; names sort as their moments do."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=wall_ns // 1000)
    return f"{moment:%Y%m%dT%H%M%S.%f}Z"
