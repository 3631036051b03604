"""Rows of Parquet files, by arro3 (optional): what they say, and the audio of one of them."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from importlib import import_module
from os import SEEK_END
from pathlib import Path
from typing import Any

from pacer.clips import ClipError
from scoring.corpora.rows import Row

AUDIO = "audio"
BATCH_ROWS = 32
"""How many rows are held in memory at once, with their audio."""
MAGIC = b"PAR1"
PANIC = "PanicException"
MISSING = (
    "reading Parquet needs the package arro3-io, which is not installed; install speechbench "
    "with its extra `parquet`"
)


class ParquetMissing(Exception):
    """The package that reads Parquet is not installed, or cannot read the file."""


def rows_of(root: Path, names: Sequence[str]) -> Iterator[tuple[str, int, Row]]:
    """File, number and columns of each row, without the audio. Raises ParquetMissing."""
    for name in names:
        first = 0
        for batch in _batches(root / name):
            columns = {
                column: batch.column(column).to_pylist()
                for column in batch.column_names
                if column != AUDIO
            }
            if AUDIO in batch.column_names:
                columns["audio_path"] = _paths(batch.column(AUDIO))
            for row in range(batch.num_rows):
                said = {column: _plain(values[row]) for column, values in columns.items()}
                yield name, first + row, said
            first += batch.num_rows


class AudioRows:
    """The audio that is kept in rows. Reads on from the row before, so ask for them in order."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._batches: Iterator[Any] = iter(())
        self._batch: Any = None
        self._first = 0

    def audio(self, path: Path, row: int) -> bytes:
        """The audio file in one row, as it was put there. Raises ClipError."""
        try:
            self._go_to(path, row)
            held = self._batch.slice(row - self._first, 1).column(AUDIO).to_pylist()[0]
        except (ParquetMissing, KeyError) as error:
            raise ClipError(str(error)) from error
        except StopIteration as error:
            raise ClipError("there is no such row") from error
        content = held.get("bytes") if isinstance(held, dict) else held
        if not isinstance(content, bytes) or not content:
            raise ClipError(f"its column {AUDIO!r} holds no bytes")
        return content

    def _go_to(self, path: Path, row: int) -> None:
        if path != self._path or row < self._first:
            self._path, self._batches, self._first = path, _batches(path), 0
            self._batch = next(self._batches)
        while row >= self._first + self._batch.num_rows:
            self._first += self._batch.num_rows
            self._batch = next(self._batches)


def _batches(path: Path) -> Iterator[Any]:
    try:
        io = import_module("arro3.io")
    except ImportError as error:
        raise ParquetMissing(MISSING) from error
    if not _looks_whole(path):
        raise ParquetMissing(f"{path.name}: is no Parquet file, or not all of one")
    try:
        yield from io.read_parquet(path, batch_size=BATCH_ROWS)
    except BaseException as error:  # where it gives up, it raises a class that is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        said = " ".join(str(error).split())[:200]
        raise ParquetMissing(f"{path.name}: cannot be read: {said}") from error


def _looks_whole(path: Path) -> bool:
    """It begins and ends as such files do, and there is room for what its end announces."""
    size = path.stat().st_size
    if size < 12:
        return False
    with path.open("rb") as file:
        begin = file.read(4)
        file.seek(-8, SEEK_END)
        end = file.read(8)
    return begin == end[4:] == MAGIC and int.from_bytes(end[:4], "little") <= size - 12


def _paths(audio: Any) -> list[str | None]:  # noqa: ANN401
    core = import_module("arro3.core")
    fields = [field.name for field in getattr(audio.type, "fields", [])]
    if "path" not in fields:
        return [None] * len(audio)
    found: list[str | None] = core.struct_field(audio, [fields.index("path")]).to_pylist()
    return found


def _plain(value: object) -> object:
    return Decimal(repr(value)) if isinstance(value, float) else value
