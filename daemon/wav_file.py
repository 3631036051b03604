"""What a microphone heard, as a WAV file that is written beside the measuring.

A thread writes it: a slow disk makes no frame late. Its header is brought up to date each second,
so that the file can be read whatever becomes of this program.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import SEEK_END, FileIO
from pathlib import Path
from struct import pack
from types import TracebackType
from typing import Self

from daemon.errors import UserError

RATE_HZ = 16_000
_HEADER_BYTES = 44
_MOST_BYTES = (1 << 32) - _HEADER_BYTES
"""Of samples; the format cannot count more, 37 hours of them."""
_FULL = 3_000
"""Pieces that may wait, a minute of them; what comes then is not in the file, and that is said."""
_SECOND = 50
"""Pieces from one header to the next."""
_END_S = 10.0
"""How long the disk may take for what still waits at the end."""


def _new_file(path: Path) -> FileIO:
    """What is written to it is out of this program at once.

    Raises OSError, and ValueError for a name that cannot be one.
    """
    return path.open("xb", buffering=0)


class WavFile:
    """A file to ``write`` 16-bit mono samples to; none where ``path`` is None.

    Whatever goes wrong, it holds the audio from the beginning to some moment, without a gap.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        new_file: Callable[[Path], FileIO] = _new_file,
        end_s: float = _END_S,
    ) -> None:
        self._path = path
        self._new_file = new_file
        self._end_s = end_s
        self._pieces: queue.Queue[bytes | None] = queue.Queue(_FULL)
        self._thread: threading.Thread | None = None
        self.trouble: str | None = None
        """Why it is not whole, in one line; None where it is."""

    def write(self, pcm: bytes) -> None:
        """Never waits, never raises."""
        if self._thread is None or self.trouble is not None:
            return
        try:
            self._pieces.put_nowait(pcm)
        except queue.Full:
            self._not_whole("the disk took nothing for a minute")

    def __enter__(self) -> Self:
        """Raises UserError where it cannot be written."""
        if self._path is None:
            return self
        try:
            file = self._new_file(self._path)
        except FileExistsError:
            raise UserError(
                f"--record {self._path}: it is there already; name another file"
            ) from None
        except (OSError, ValueError) as error:
            raise UserError(f"--record {self._path}: it cannot be written: {_why(error)}") from None
        self._thread = threading.Thread(
            target=self._work, args=(file,), name="recording", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._thread is None:
            return
        with suppress(queue.Full):  # then it hangs, as is seen below
            self._pieces.put(None, timeout=self._end_s)
        self._thread.join(self._end_s)
        if self._thread.is_alive():
            self._not_whole("the disk does not take what still waits")

    def _work(self, file: FileIO) -> None:
        pieces = iter(self._pieces.get, None)
        try:
            _write(file, pieces)
        except OSError as error:
            self._not_whole(_why(error))
            with suppress(OSError), file:
                _bring_up_to_date(file)
            for _ in pieces:
                pass  # whoever ends must not wait

    def _not_whole(self, why: str) -> None:
        if self.trouble is None:
            self.trouble = f"{self._path} is not whole: {why}"


def _write(file: FileIO, pieces: Iterator[bytes]) -> None:
    """All of them. Raises OSError, also where the format has no more room."""
    _put(file, _header(0))
    size = 0
    for count, piece in enumerate(pieces, 1):
        size += len(piece)
        if size > _MOST_BYTES:
            raise OSError("a WAV file cannot be longer")
        _put(file, piece)
        if count % _SECOND == 0:
            _bring_up_to_date(file)
    _bring_up_to_date(file)
    file.close()


def _put(file: FileIO, content: bytes) -> None:
    """All of it; the last piece before a disk is full is taken in part."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def _bring_up_to_date(file: FileIO) -> None:
    """Let the header count the whole samples that are there."""
    size = max(0, file.seek(0, SEEK_END) - _HEADER_BYTES)
    file.seek(0)
    _put(file, _header(size // 2 * 2))
    file.seek(0, SEEK_END)


def _header(size: int) -> bytes:
    """Of a file with so many bytes of samples."""
    form = pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE_HZ, RATE_HZ * 2, 2, 16)
    return pack("<4sI4s", b"RIFF", 36 + size, b"WAVE") + form + pack("<4sI", b"data", size)


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
