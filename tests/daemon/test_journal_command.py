"""``speechbench journal``: shown, verified and exported, damaged, live or whole."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from daemon import journals
from daemon.cli import main
from exporters.export import TABLES, Row
from exporters.frame import framed
from exporters.packing import pack
from exporters.segment import MAGIC, read_journal
from measure.wire import Record
from tests.exporters.records import Hand, finished, journal_in, started

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests" / "exporters" / "journals" / "v1.sbj"
HEADER: Record = {"k": "segment", "t": 1, "schema": 1, "host": "host-1", "version": "0.1.0"}
RECORDS: list[Record] = [HEADER, started(), finished(), started("s-2"), finished("s-2")]


def written(path: Path, records: Sequence[Record] = RECORDS) -> list[int]:
    """Where the records of a new file begin, and its size."""
    content = MAGIC
    places = [len(content)]
    for record in records:
        content += framed(pack(record))
        places.append(len(content))
    path.write_bytes(content)
    return places


def damaged(path: Path) -> str:
    """A file whose third record, the first session's end, is damaged; how that is said."""
    places = written(path)
    content = bytearray(path.read_bytes())
    content[places[2] + 9] ^= 1
    path.write_bytes(content)
    size = places[3] - places[2]
    return (
        f"{path}: byte {places[2]}: checksum: the record is not what was written; "
        f"{size} bytes not readable, up to byte {places[3]}"
    )


class Ran:
    """What a command gave."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: object) -> None:
        self.code = main(["journal", *map(str, arguments)])
        self.out, self.err = capsys.readouterr()

    @property
    def rows(self) -> list[Row]:
        return [json.loads(line) for line in self.out.splitlines()]


def test_a_whole_journal_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "1.sbj")
    ran = Ran(capsys, "verify", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{tmp_path / '1.sbj'}: 5 records, whole\n"


def test_damage_is_named_file_by_file_with_its_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = damaged(tmp_path / "1.sbj")
    written(tmp_path / "2.sbj")
    ran = Ran(capsys, "verify", tmp_path)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        f"{tmp_path / '1.sbj'}: 4 records, damaged",
        line,
        f"{tmp_path / '2.sbj'}: 5 records, whole",
    ]


def test_the_torn_tail_of_a_live_file_is_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "1.sbj.open"
    places = written(path)
    os.truncate(path, places[-1] - 5)
    tail = places[-1] - 5 - places[-2]
    ran = Ran(capsys, "verify", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"{path}: 4 records, whole so far; after it {tail} bytes of an unfinished record\n"
    )
    shown = Ran(capsys, "show", tmp_path)
    assert (shown.code, shown.err, len(shown.rows)) == (0, "", 4)
    exported = Ran(capsys, "export", tmp_path)
    assert (exported.code, exported.err) == (0, "")
    assert [(row["session_id"], row["complete"]) for row in exported.rows] == [
        ("s-1", True),
        ("s-2", False),
    ]


def test_all_three_work_while_a_journal_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = journal_in(tmp_path, Hand())
    for record in (started(), finished()):
        journal.append(pack(record))
        for action in ("verify", "show", "export"):
            ran = Ran(capsys, action, tmp_path)
            assert (ran.code, ran.err) == (0, "")
    assert journal.append(pack(started("s-2")))
    journal.close()
    assert Ran(capsys, "verify", tmp_path).out.endswith(": 4 records, whole\n")


def test_losses_that_the_journal_tells_of_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost: Record = {"k": "records_lost", "t": 1, "count": 7, "why": "journal_full"}
    written(tmp_path / "1.sbj", [HEADER, lost])
    ran = Ran(capsys, "verify", tmp_path)
    assert ran.code == 0
    assert ran.out.endswith("2 records, whole; 7 more were lost before they could be written\n")


def test_show_marks_the_place_of_damage_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = damaged(tmp_path / "1.sbj")
    ran = Ran(capsys, "show", tmp_path / "1.sbj")
    assert (ran.code, ran.err) == (1, f"speechbench: {line}\n")
    assert [row["k"] for row in ran.rows] == [
        *("segment", "session_started", "unreadable", "session_started", "session_finished")
    ]


def test_a_file_that_retention_takes_meanwhile_is_said_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    written(tmp_path / "1.sbj")
    written(tmp_path / "2.sbj")
    found = journals.opened([tmp_path])
    (tmp_path / "1.sbj").unlink()
    assert len(list(found)) == len(RECORDS)
    assert journals.damage_lines(found) == [
        f"{tmp_path / '1.sbj'}: it has been removed since it was found"
    ]


def test_show_can_be_asked_for_one_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "1.sbj")
    ran = Ran(capsys, "show", tmp_path, "--session", "s-2")
    assert [(row["k"], row["s"]) for row in ran.rows] == [
        ("session_started", "s-2"),
        ("session_finished", "s-2"),
    ]


def test_a_session_that_damage_has_touched_is_exported_as_not_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged(tmp_path / "1.sbj")
    ran = Ran(capsys, "export", tmp_path)
    assert ran.code == 1
    assert [(row["session_id"], row["complete"]) for row in ran.rows] == [
        ("s-2", True),
        ("s-1", False),
    ]


NEWER: list[Record] = [{**HEADER, "schema": 2}, started()]
REFUSAL = "schema 2: this program reads up to 1; use the version that wrote it, or a newer one"


@pytest.mark.parametrize("action", ["show", "export"])
def test_a_journal_of_a_newer_version_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    written(tmp_path / "1.sbj", NEWER)
    ran = Ran(capsys, action, tmp_path)
    assert ran.code == 2
    assert (ran.out, ran.err) == ("", f"speechbench: {tmp_path / '1.sbj'}: {REFUSAL}\n")
    assert Ran(capsys, "verify", tmp_path).out == f"{tmp_path / '1.sbj'}: {REFUSAL}\n"


def test_beside_older_files_a_newer_one_is_said_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "1.sbj")
    written(tmp_path / "2.sbj", NEWER)
    ran = Ran(capsys, "export", tmp_path)
    assert (ran.code, len(ran.rows)) == (1, 2)
    assert ran.err == f"speechbench: {tmp_path / '2.sbj'}: {REFUSAL}\n"


@pytest.mark.parametrize("table", [*TABLES])
def test_a_table_is_written_to_a_file_as_it_is_to_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], table: str
) -> None:
    output = tmp_path / "out.jsonl"
    to_file = Ran(capsys, "export", STORED, "--table", table, "--output", output)
    assert (to_file.code, to_file.out, to_file.err) == (0, "", "")
    shown = Ran(capsys, "export", STORED, "--table", table)
    assert output.read_text() == shown.out
    assert shown.rows == list(TABLES[table].rows(read_journal(STORED)))
    assert os.listdir(tmp_path) == ["out.jsonl"]


def test_parquet_holds_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    io = pytest.importorskip("arro3.io", reason="the extra `parquet` is not installed")
    output = tmp_path / "out.parquet"
    ran = Ran(capsys, "export", STORED, "--format", "parquet", "--output", output)
    assert (ran.code, ran.err) == (0, "")
    table = io.read_parquet(output).read_all()
    rows = Ran(capsys, "export", STORED).rows
    for name in TABLES["sessions"].columns:
        assert table.column(name).to_pylist() == [row[name] for row in rows]


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a command is refused with."""
    ran = Ran(capsys, *arguments)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    return line.removeprefix("speechbench: ")


def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there, none = tmp_path / "there", tmp_path / "none"
    there.write_text("mine")
    none.mkdir()
    to = ("export", STORED, "--output")
    assert refused(capsys, *to, there) == (f"--output {there}: it exists already; name a new file")
    assert refused(capsys, *to, tmp_path / "no" / "x") == (
        f"--output {tmp_path / 'no' / 'x'}: cannot be written: No such file or directory"
    )
    assert refused(capsys, "export", STORED, "--format", "parquet") == (
        "--format parquet: it needs --output FILE"
    )
    assert refused(capsys, "export", none).endswith(
        "there is no journal in this folder (no *.sbj file)"
    )
    assert refused(capsys, "verify", tmp_path / "gone").endswith("there is no such file or folder")
    assert there.read_text() == "mine"


def test_without_the_extra_parquet_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "arro3.core", None)
    output = tmp_path / "x.parquet"
    assert refused(capsys, "export", STORED, "--format", "parquet", "--output", output) == (
        "--format parquet: the package arro3-io is not installed; install speechbench with its "
        "extra: pip install 'speechbench[parquet]'"
    )
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_no_half_of_an_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    output = tmp_path / "x.jsonl"
    line = refused(capsys, "export", STORED, "--output", output)
    assert line == f"--output {output}: cannot be written: No space left on device"
    assert os.listdir(tmp_path) == []


def test_whoever_stops_reading_meets_no_traceback() -> None:
    command = [sys.executable, "-m", "daemon.cli", "journal", "export", str(STORED)]
    with subprocess.Popen(
        [*command, "--table", "events"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == b""
