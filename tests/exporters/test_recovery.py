"""Segments that a crash left open."""

import fcntl
import os
from pathlib import Path

import pytest

from exporters.frame import framed
from exporters.packing import pack
from exporters.recovery import close_as, lock, recover, recover_all
from exporters.segment import CLOSED, MAGIC, read
from measure.wire import Record
from tests.exporters.records import Hand, Said, journal_in, journalled
from tests.exporters.test_segment import RECORDS, ends_of, segment_of


@pytest.fixture
def abandoned(tmp_path: Path) -> Path:
    path = tmp_path / "1.sbj.open"
    path.write_bytes(segment_of(RECORDS))
    return path


def test_a_whole_segment_is_closed_as_it_is(abandoned: Path) -> None:
    recovered = recover(abandoned)
    assert recovered is not None
    assert recovered.path == abandoned.with_name("1.sbj")
    assert (recovered.records, recovered.dropped_bytes, recovered.torn) == (40, 0, None)
    assert list(read(abandoned.with_name("1.sbj"))) == RECORDS
    assert os.listdir(abandoned.parent) == ["1.sbj"]


def test_a_torn_tail_is_cut_off_and_kept(abandoned: Path) -> None:
    whole, ends = segment_of(RECORDS), ends_of(RECORDS)
    abandoned.write_bytes(whole[: ends[7] + 11])
    recovered = recover(abandoned)
    assert recovered is not None
    assert (recovered.records, recovered.good_bytes, recovered.dropped_bytes) == (7, ends[7], 11)
    assert recovered.torn == abandoned.with_name(f"1.{ends[7]}.torn")
    assert recovered.torn.read_bytes() == whole[ends[7] :][:11]
    assert recovered.torn.stat().st_mode & 0o137 == 0
    assert recovered.path is not None
    assert read(recovered.path).scan().damage is None


def test_damage_between_good_records_costs_none_of_those_behind_it(abandoned: Path) -> None:
    whole, ends = bytearray(segment_of(RECORDS)), ends_of(RECORDS)
    whole[ends[7] + 9] ^= 1
    abandoned.write_bytes(whole + b"tail")
    recovered = recover(abandoned)
    assert recovered is not None
    assert (recovered.records, recovered.good_bytes, recovered.dropped_bytes) == (39, ends[-1], 4)
    assert [(gap.offset, gap.size_bytes) for gap in recovered.gaps] == [
        (ends[7], ends[8] - ends[7])
    ]
    assert recovered.path is not None
    assert recovered.path.read_bytes() == whole
    records = [record for record in read(recovered.path) if record["k"] == "note"]
    assert records == RECORDS[:7] + RECORDS[8:]


def test_damage_that_stays_is_said(abandoned: Path) -> None:
    whole, ends = bytearray(segment_of(RECORDS)), ends_of(RECORDS)
    whole[ends[7] + 9] ^= 1
    abandoned.write_bytes(whole)
    said = Said()
    recover_all(abandoned.parent, said)
    assert said.events == ["journal_damaged", "journal_recovered"]
    assert said.fields("journal_damaged") == {
        "path": str(abandoned.with_name("1.sbj")),
        "offset": ends[7],
        "bytes": ends[8] - ends[7],
        "reason": "checksum: the record is not what was written",
    }


def test_whatever_is_cut_off_no_byte_is_lost(abandoned: Path) -> None:
    whole = segment_of(RECORDS[:4])
    for cut in range(1, len(whole)):
        abandoned.write_bytes(whole[:cut])
        recovered = recover(abandoned)
        assert recovered is not None
        kept = [path.read_bytes() for path in (recovered.path, recovered.torn) if path is not None]
        assert b"".join(kept) == (b"" if whole[:cut] == MAGIC else whole[:cut])
        for path in abandoned.parent.iterdir():
            path.unlink()


def test_a_segment_of_nothing_leaves_nothing(abandoned: Path) -> None:
    for content in (b"", MAGIC):
        abandoned.write_bytes(content)
        recovered = recover(abandoned)
        assert recovered is not None
        assert (recovered.path, recovered.torn, recovered.records) == (None, None, 0)
        assert os.listdir(abandoned.parent) == []


def test_a_newer_version_s_segment_is_closed_and_not_torn(abandoned: Path) -> None:
    records: list[Record] = [{"k": "segment", "schema": 99}, {"k": "news"}]
    abandoned.write_bytes(segment_of(records))
    recovered = recover(abandoned)
    assert recovered is not None
    assert (recovered.records, recovered.damage) == (2, None)


def test_a_segment_in_use_is_left_alone(abandoned: Path) -> None:
    with abandoned.open("rb") as user:
        fcntl.flock(user, fcntl.LOCK_EX)
        assert recover(abandoned) is None
    assert abandoned.exists()


def test_a_file_that_has_taken_the_name_of_a_claimed_one_is_not_claimed(abandoned: Path) -> None:
    fd = os.open(abandoned, os.O_RDONLY)
    try:
        assert lock(fd, abandoned)
        abandoned.rename(abandoned.with_name("1.sbj"))
        assert not lock(fd, abandoned)
        abandoned.touch()
        assert not lock(fd, abandoned)
    finally:
        os.close(fd)


def test_the_segment_of_a_running_journal_is_left_alone(tmp_path: Path) -> None:
    said = Said()
    journal = journal_in(tmp_path, Hand())
    assert recover_all(tmp_path, said) == []
    assert journal.append(pack({"k": "note"}))
    journal.close()
    assert journalled(tmp_path) == [{"k": "note"}]
    assert said.lines == []


def test_a_segment_that_has_just_gone_is_no_trouble(tmp_path: Path) -> None:
    assert recover(tmp_path / "1.sbj.open") is None


def test_no_file_is_ever_replaced(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / "1.sbj.open").write_bytes(segment_of([{"i": i}]))
        close_as(tmp_path / "1.sbj.open", CLOSED)
    assert sorted(os.listdir(tmp_path)) == ["1.1.sbj", "1.2.sbj", "1.sbj"]


def test_what_was_cut_is_said_with_counts(tmp_path: Path) -> None:
    (tmp_path / "1.sbj.open").write_bytes(segment_of(RECORDS[:2]))
    (tmp_path / "2.sbj.open").write_bytes(segment_of(RECORDS[:3]) + framed(b"\x80")[:-1])
    said = Said()
    assert [found.records for found in recover_all(tmp_path, said)] == [2, 3]
    assert said.events == ["journal_recovered", "journal_tail_truncated"]
    fields = said.fields("journal_tail_truncated")
    assert (fields["records"], fields["dropped_bytes"]) == (3, 8)
    assert fields["good_bytes"] == len(segment_of(RECORDS[:3]))
    assert fields["path"] == str(tmp_path / "2.sbj")
    assert fields["reason"] == "cut off: 0 of the 1 bytes of a record"


def test_a_segment_that_cannot_be_mended_is_said_and_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "1.sbj.open").mkdir()
    (tmp_path / "2.sbj.open").write_bytes(segment_of(RECORDS[:2]))
    said = Said()
    assert len(recover_all(tmp_path, said)) == 1
    assert said.events == ["journal_recovery_failed", "journal_recovered"]
    assert said.fields("journal_recovery_failed")["error"] == "Is a directory"
