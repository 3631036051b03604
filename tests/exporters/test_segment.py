"""Reading the journal's files, whole, cut off, or damaged in any one bit."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporters.packing import MAX_RECORD_BYTES, pack
from exporters.segment import HEAD, MAGIC, SCHEMA, End, Segment, framed, read, read_journal
from measure.wire import Record

RECORDS: list[Record] = [{"k": "note", "i": i, "text": "y" * (i * 7 % 90)} for i in range(40)]


def segment_of(records: Sequence[Record]) -> bytes:
    return MAGIC + b"".join(framed(pack(record)) for record in records)


def test_the_format_is_the_one_that_earlier_journals_have(file: Path) -> None:
    """Every byte as version 1 wrote it; the checksum is over the length too."""
    frame = bytes.fromhex("0e000000b4db30f382a16ba7") + b"segment" + bytes.fromhex("a17401")
    content = bytes.fromhex("8953424a310d0a1a") + frame
    assert segment_of([{"k": "segment", "t": 1}]) == content
    file.write_bytes(content)
    assert told(file)[0] == [{"k": "segment", "t": 1}]


def ends_of(records: Sequence[Record]) -> list[int]:
    """Where the magic and then each frame ends."""
    ends = [len(MAGIC)]
    for record in records:
        ends.append(ends[-1] + len(framed(pack(record))))
    return ends


def told(path: Path) -> tuple[list[Record], End]:
    segment = read(path)
    records = list(segment)
    assert segment.end is not None
    return records, segment.end


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.sbj"


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(st.text(), st.integers(0, 9) | st.text() | st.binary())))
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record]
) -> None:
    path = tmp_path_factory.mktemp("law") / "a.sbj"
    path.write_bytes(segment_of(records))
    read_back, end = told(path)
    assert read_back == records
    assert end == End(path, len(records), path.stat().st_size, None)


def test_a_file_cut_at_any_byte_reads_up_to_the_last_whole_record(file: Path) -> None:
    whole, ends = segment_of(RECORDS), ends_of(RECORDS)
    for cut in range(len(MAGIC), len(whole) + 1):
        file.write_bytes(whole[:cut])
        records, end = told(file)
        expected = sum(after <= cut for after in ends) - 1
        assert records == RECORDS[:expected]
        assert end.offset == ends[expected]
        assert (end.damage is None) == (cut in ends)


def test_a_flipped_bit_stops_the_reading_exactly_at_its_record(file: Path) -> None:
    whole, ends = segment_of(RECORDS), ends_of(RECORDS)
    chance = random.Random(1)
    for _ in range(4000):
        place = chance.randrange(len(MAGIC), len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        records, end = told(file)
        expected = next(i for i, after in enumerate(ends) if place < after) - 1
        assert records == RECORDS[:expected], place
        assert end.offset == ends[expected]
        assert end.damage is not None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "empty file"),
        (b"RIFF0000WAVE", "not a journal"),
        (MAGIC[:5], "not a journal"),
        (MAGIC + b"\x01\x02\x03", "3 of the 8 bytes before a record"),
        (MAGIC + framed(pack({"a": 1}))[:-1], "2 of the 3 bytes|3 of the 4 bytes"),
        (MAGIC + HEAD.pack(0, 0), "impossible length: 0"),
        (MAGIC + HEAD.pack(2**32 - 1, 0) + b"x" * 100, "impossible length: 4294967295"),
        (MAGIC + HEAD.pack(MAX_RECORD_BYTES, 0) + b"x", "1 of the 16777216 bytes"),
        (MAGIC + framed(b"\x93\x01\x02\x03"), "not a record: no map"),
        (MAGIC + framed(pack({"k": "segment", "schema": SCHEMA + 1})), "schema 2: this program"),
    ],
)
def test_the_end_says_why_nothing_more_could_be_read(
    file: Path, content: bytes, complaint: str
) -> None:
    file.write_bytes(content)
    records, end = told(file)
    assert records == []
    assert end.damage is not None
    assert any(part in end.damage for part in complaint.split("|"))


def test_an_end_is_known_only_after_the_last_record(file: Path) -> None:
    file.write_bytes(segment_of(RECORDS))
    segment = Segment(file)
    assert next(iter(segment)) == RECORDS[0]
    assert segment.end is None


def test_a_live_file_can_be_read_again_when_it_has_grown(file: Path) -> None:
    whole, ends = segment_of(RECORDS), ends_of(RECORDS)
    file.write_bytes(whole[: ends[3] + 5])
    assert told(file)[0] == RECORDS[:3]
    file.write_bytes(whole)
    assert told(file)[0] == RECORDS


def test_a_record_of_the_largest_size_is_read(file: Path) -> None:
    filler = MAX_RECORD_BYTES - len(pack({"x": b"0" * 70_000})) + 70_000
    record: Record = {"x": b"0" * filler}
    assert len(pack(record)) == MAX_RECORD_BYTES
    file.write_bytes(segment_of([record]))
    assert told(file)[0] == [record]


def test_a_journal_is_its_segments_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name, i in (("2.sbj.open", 2), ("1.sbj", 1), ("3.sbj", 3), ("1.99.torn", 9)):
        (tmp_path / name).write_bytes(segment_of([{"i": i}]))
    (tmp_path / "notes.txt").write_text("not ours")
    journal = read_journal(tmp_path)
    assert [record["i"] for record in journal] == [1, 2, 3]
    assert [end.path.name for end in journal.ends] == ["1.sbj", "2.sbj.open", "3.sbj"]
    assert journal.damaged == []


def test_a_damaged_segment_does_not_hide_the_ones_after_it(tmp_path: Path) -> None:
    (tmp_path / "1.sbj").write_bytes(segment_of([{"i": 1}, {"i": 2}])[:-1])
    (tmp_path / "2.sbj").write_bytes(segment_of([{"i": 3}]))
    journal = read_journal(tmp_path)
    assert [record["i"] for record in journal] == [1, 3]
    assert [end.path.name for end in journal.damaged] == ["1.sbj"]


def test_one_file_or_a_list_of_files_is_a_journal_too(tmp_path: Path) -> None:
    paths = [tmp_path / "b.sbj", tmp_path / "a.sbj"]
    for i, path in enumerate(paths):
        path.write_bytes(segment_of([{"i": i}]))
    assert list(read_journal(paths[1])) == [{"i": 1}]
    assert list(read_journal(paths)) == [{"i": 0}, {"i": 1}]


def test_a_segment_that_was_closed_since_it_was_listed_is_found(tmp_path: Path) -> None:
    (tmp_path / "1.sbj").write_bytes(segment_of([{"i": 1}]))
    assert list(read(tmp_path / "1.sbj.open")) == [{"i": 1}]


def test_a_file_that_is_not_there_is_an_error_and_not_an_empty_journal(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read(tmp_path / "1.sbj"))


def test_unknown_kinds_and_keys_are_read_like_any_other(file: Path) -> None:
    strange: list[dict[str, Any]] = [{"k": "from 2030", "mood": ["calm"]}, {"no kind": 1}]
    file.write_bytes(segment_of(strange))
    assert told(file)[0] == strange
