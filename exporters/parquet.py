"""Rows as a Parquet file, by arro3 (optional): columns with types, compressed with zstd."""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from exporters.export import Kind, Row

BATCH_ROWS = 8192
"""How many rows are held at once."""
GROUP_ROWS = 1 << 17
"""How many rows one row group of the file holds."""


class ParquetMissing(Exception):
    """The package that writes Parquet is not installed."""


def write_parquet(path: Path, columns: Mapping[str, Kind], rows: Iterable[Row]) -> None:
    """Write all rows into a new file. Raises ParquetMissing, OSError, and what ``rows`` raises."""
    core, io = _arro3()
    types = {
        Kind.INT: core.DataType.int64(),
        Kind.FLOAT: core.DataType.float64(),
        Kind.BOOL: core.DataType.bool(),
        Kind.TEXT: core.DataType.string(),
    }
    schema = core.Schema(
        [core.Field(name, types[columns[name]], nullable=True) for name in columns]
    )

    failed: list[BaseException] = []

    def batches() -> Iterator[Any]:
        left = iter(rows)
        try:
            while batch := list(islice(left, BATCH_ROWS)):
                arrays = [core.Array([row[n] for row in batch], types[columns[n]]) for n in columns]
                yield core.RecordBatch.from_arrays(arrays, schema=schema)
                sink.check()
        except BaseException as error:  # the writer would wrap it in words of its own
            failed.append(error)
            raise

    with path.open("xb") as file:
        sink = _Sink(file)
        try:
            io.write_parquet(
                core.RecordBatchReader.from_batches(schema, batches()),
                sink,
                compression="zstd(3)",
                max_row_group_size=GROUP_ROWS,
                created_by="speechbench",
            )
            sink.check()
        except Exception as error:
            raise (failed[0] if failed else error) from None


class _Sink:
    """A file that seems to take everything: the writer panics where a disk is full."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._error: OSError | None = None

    def write(self, piece: bytes) -> int:
        if self._error is None:
            try:
                self._file.write(piece)
            except OSError as error:
                self._error = error
        return len(piece)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        """Nothing: the file is flushed when it is closed."""

    def check(self) -> None:
        """Raises the OSError that the file has met, if any."""
        if self._error is not None:
            raise self._error


def _arro3() -> tuple[Any, Any]:
    try:
        return import_module("arro3.core"), import_module("arro3.io")
    except ImportError as error:
        raise ParquetMissing(str(error)) from error
