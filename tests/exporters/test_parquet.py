"""Rows as Parquet; these tests need the extra that writes it, all but the first."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporters.export import TABLES, Kind, Row
from exporters.parquet import ParquetMissing, write_parquet
from exporters.segment import read_journal

COLUMNS = {"i": Kind.INT, "f": Kind.FLOAT, "b": Kind.BOOL, "t": Kind.TEXT}
STORED = Path(__file__).with_name("journals") / "v1.sbj"


def rows(count: int) -> Iterator[Row]:
    for i in range(count):
        yield {"i": i if i % 3 else None, "f": i / 2, "b": None, "t": f"ü{i}" if i % 2 else None}


def read_back(path: Path) -> list[dict[str, Any]]:
    io = pytest.importorskip("arro3.io", reason="the extra `parquet` is not installed")
    table = io.read_parquet(path).read_all()
    columns = {name: table.column(name).to_pylist() for name in table.schema.names}
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


@pytest.fixture
def writer() -> None:
    pytest.importorskip("arro3.io", reason="the extra `parquet` is not installed")


def test_without_the_extra_it_is_said_and_no_file_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "arro3.core", None)
    with pytest.raises(ParquetMissing):
        write_parquet(tmp_path / "a.parquet", COLUMNS, rows(1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("count", [0, 1, 20_000])
def test_what_is_read_is_what_was_written(tmp_path: Path, count: int) -> None:
    write_parquet(tmp_path / "a.parquet", COLUMNS, rows(count))
    assert read_back(tmp_path / "a.parquet") == list(rows(count))


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("table", [*TABLES])
def test_the_tables_of_a_journal_come_back_as_they_are(tmp_path: Path, table: str) -> None:
    found = TABLES[table]
    write_parquet(tmp_path / "a.parquet", found.columns, found.rows(read_journal(STORED)))
    assert read_back(tmp_path / "a.parquet") == list(found.rows(read_journal(STORED)))


@pytest.mark.usefixtures("writer")
def test_a_file_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("mine")
    with pytest.raises(FileExistsError):
        write_parquet(tmp_path / "a.parquet", COLUMNS, rows(1))
    assert (tmp_path / "a.parquet").read_text() == "mine"


@pytest.mark.usefixtures("writer")
def test_what_goes_wrong_with_the_rows_is_told_as_it_is(tmp_path: Path) -> None:
    def broken() -> Iterator[Row]:
        yield from rows(10_000)
        raise FileNotFoundError(2, "gone", "x.sbj")

    with pytest.raises(FileNotFoundError, match=r"x\.sbj"):
        write_parquet(tmp_path / "a.parquet", COLUMNS, broken())


@pytest.mark.usefixtures("writer")
def test_a_full_disk_is_an_error_and_no_panic(capfd: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")

    class Full(type(Path())):  # type: ignore[misc]
        def open(self, *_: object, **__: object) -> Any:  # noqa: ANN401
            return open("/dev/full", "wb", buffering=0)

    with pytest.raises(OSError, match="No space left"):
        write_parquet(Full("x"), COLUMNS, rows(10_000))
    assert capfd.readouterr().err == ""
