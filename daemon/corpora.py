"""Corpora on disk: finds out how one is laid out, and reads what its manifest says."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from daemon.errors import UserError
from daemon.parquet_rows import ParquetMissing, rows_of
from scoring.corpora import KINDS, LAYOUTS, PARQUET, Manifest, UnreadableError, kinds_of, shown
from scoring.corpora.parquet import read_rows

MAX_TEXT_BYTES = 512 << 20
"""A larger manifest is refused unread."""


class DiskFolder:
    """The files below a folder, or beside one file."""

    def __init__(self, path: Path, calls: Path | None = None) -> None:
        self.root = path if path.is_dir() else path.parent
        self.chosen = None if path.is_dir() else path.name
        self._calls = calls

    @cached_property
    def names(self) -> Sequence[str]:
        """All of them; hidden ones are left out, and links to folders are not followed."""
        found: list[str] = []
        for home, folders, files in os.walk(self.root, onerror=_unreadable):
            folders[:] = [name for name in folders if not name.startswith(".")]
            seen = (Path(home, name) for name in files if not name.startswith("."))
            found.extend(path.relative_to(self.root).as_posix() for path in seen)
        return sorted(found)

    @cached_property
    def calls(self) -> str | None:
        return None if self._calls is None else _text(self._calls)

    def text(self, name: str) -> str:
        return _text(self.root / name)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus of which the manifest has been read."""

    path: Path
    folder: DiskFolder
    kind: str
    manifest: Manifest
    channels: str = "mix"

    @property
    def root(self) -> Path:
        return self.folder.root

    @property
    def usual_name(self) -> str:
        """What it is called where nobody gives it a name: as its folder."""
        return shown(self.root.resolve().name) or "corpus"


def opened(
    path: Path, *, kind: str | None = None, calls: Path | None = None, channels: str = "mix"
) -> Corpus:
    """The corpus at ``path``: a folder, or its manifest. ``kind``: one of KINDS; None: look.

    Raises UserError where there is none.
    """
    try:
        path.stat()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: there is no such file or folder that can be read") from error
    folder = DiskFolder(path, calls)
    try:
        kind = kind or _kind(path, folder)
        if kind == PARQUET:
            names = _parquet_names(folder)
            if not names:
                raise UserError(f"{path}: nothing in it is laid out as {kind}")
            manifest = read_rows(rows_of(folder.root, names))
        else:
            _refuse_other(path, kind, folder)
            manifest = LAYOUTS[kind].read(folder)
    except (UnreadableError, ParquetMissing) as error:
        raise UserError(f"{path}: {error}") from error
    return Corpus(path, folder, kind, manifest, channels)


def _kind(path: Path, folder: DiskFolder) -> str:
    found = kinds_of(folder)
    if len(found) == 1:
        return found[0]
    allowed = ", ".join(KINDS)
    if not found:
        raise UserError(f"{path}: nobody knows how it is laid out; known kinds: {allowed}")
    raise UserError(f"{path}: it could be {' or '.join(found)}; name the kind")


def _refuse_other(path: Path, kind: str, folder: DiskFolder) -> None:
    if not LAYOUTS[kind].found(folder):
        raise UserError(f"{path}: nothing in it is laid out as {kind}")


def _parquet_names(folder: DiskFolder) -> list[str]:
    names = [folder.chosen] if folder.chosen is not None else folder.names
    return [name for name in names if name.endswith(".parquet")]


def _unreadable(error: OSError) -> None:
    raise UnreadableError(f"{error.filename}: {(error.strerror or 'cannot be read').lower()}")


def _text(path: Path) -> str:
    """What is in a text file. Raises UnreadableError."""
    try:
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise UnreadableError(f"{path.name}: larger than {MAX_TEXT_BYTES >> 20} MiB")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        said = (error.strerror or "it cannot be read").lower()
        raise UnreadableError(f"{path.name}: {said}") from error
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{path.name}: is not UTF-8 text (byte {error.start})") from error
