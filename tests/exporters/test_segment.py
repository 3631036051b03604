"""Reading the journal's files, whole, cut off, or damaged in any one bit."""

import io
import os
import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from exporters.frame import HEAD, framed
from exporters.packing import MAX_RECORD_BYTES, pack
from exporters.segment import MAGIC, SCHEMA, UNREADABLE, Damage, End, Segment, read, read_journal
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
    """The good records of a file, and how the reading went."""
    segment = read(path)
    return good_of(segment, segment)


def good_of(segment: Segment, read_from_it: Iterable[Record]) -> tuple[list[Record], End]:
    records = list(read_from_it)
    end = segment.end
    assert end is not None
    marks = [record for record in records if record.get("k") == UNREADABLE]
    assert marks == [gap.record for gap in end.gaps if not (end.newer or end.unfinished)]
    return [record for record in records if record.get("k") != UNREADABLE], end


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
    size = path.stat().st_size
    assert end == End(path, len(records), size, None, (), size if records else 0)


def test_a_file_cut_at_any_byte_reads_up_to_the_last_whole_record(file: Path) -> None:
    whole, ends = segment_of(RECORDS), ends_of(RECORDS)
    for cut in range(len(MAGIC), len(whole) + 1):
        file.write_bytes(whole[:cut])
        records, end = told(file)
        expected = sum(after <= cut for after in ends) - 1
        assert records == RECORDS[:expected]
        assert end.offset == ends[expected]
        assert (end.damage is None) == (cut in ends)


def test_each_of_20_000_flipped_bits_is_caught_at_its_record_and_costs_no_other(
    file: Path,
) -> None:
    """The damaged record is named with its first byte; all before it and after it are intact."""
    written: list[Record] = [{"k": "segment", "schema": SCHEMA}, *RECORDS[:12]]
    whole, ends = segment_of(written), ends_of(written)
    starts = [0, *ends[:-1]]  # of the mark, and of each record
    chance = random.Random(1)
    for _ in range(20_000):
        bit = chance.randrange(8 * len(whole))
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        segment = Segment(file)
        records, end = good_of(segment, segment._records(io.BytesIO(damaged)))
        hit = next(i for i, after in enumerate(ends) if bit // 8 < after)
        assert records == (written if hit == 0 else written[: hit - 1] + written[hit:]), bit
        (gap,) = end.gaps
        assert (gap.offset, gap.size_bytes) == (starts[hit], ends[hit] - starts[hit]), bit
        assert gap.tail == (hit == len(written)), bit
        assert end.damaged
        assert (end.offset, end.damage) == (gap.offset, gap.why)


def test_reading_goes_on_after_every_stretch_of_damage(file: Path) -> None:
    whole, ends = bytearray(segment_of(RECORDS)), ends_of(RECORDS)
    whole[ends[2] : ends[4]] = bytes(ends[4] - ends[2])
    whole[ends[20] + 9] ^= 1
    file.write_bytes(whole + b"???")
    records, end = told(file)
    assert records == RECORDS[:2] + RECORDS[4:20] + RECORDS[21:]
    assert [(gap.offset, gap.size_bytes, gap.tail) for gap in end.gaps] == [
        (ends[2], ends[4] - ends[2], False),
        (ends[20], ends[21] - ends[20], False),
        (ends[-1], 3, True),
    ]
    assert end.good_bytes == ends[-1]
    assert str(end.gaps[0]).startswith(f"byte {ends[2]}: impossible length: 0 bytes")
    assert str(end.gaps[0]).endswith(f"bytes not readable, up to byte {ends[4]}")
    assert str(end.gaps[2]).endswith("3 bytes not readable, to the end")


def test_a_mark_of_damage_stands_among_the_records_in_its_place(file: Path) -> None:
    whole, ends = bytearray(segment_of(RECORDS)), ends_of(RECORDS)
    whole[ends[5] + 9] ^= 1
    file.write_bytes(whole)
    mark = list(read(file))[5]
    assert mark == {
        "k": "unreadable",
        "path": str(file),
        "offset": ends[5],
        "bytes": ends[6] - ends[5],
        "why": "checksum: the record is not what was written",
    }


@pytest.mark.parametrize("at", [65_519, 65_528, 65_535, 65_536, 65_537])
def test_a_good_record_is_found_wherever_it_begins(file: Path, at: int) -> None:
    """Also where it lies on the edge of two blocks of the search."""
    begin = segment_of(RECORDS[:1])
    file.write_bytes(begin + b"\xff" * at + segment_of(RECORDS[1:3])[len(MAGIC) :])
    records, end = told(file)
    assert records == RECORDS[:3]
    assert end.gaps[0].size_bytes == at


@pytest.mark.parametrize("keys", [*range(18), 70_000])
def test_a_good_record_is_found_however_many_keys_it_has(file: Path, keys: int) -> None:
    record: Record = {str(key): key for key in range(keys)}
    file.write_bytes(segment_of(RECORDS[:1]) + b"?" + framed(pack(record)))
    assert told(file)[0] == [RECORDS[0], record]


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_whatever_happens_to_a_file_every_untouched_record_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes overwritten in several places; what is not read is named to the byte."""
    whole, ends = bytearray(segment_of(RECORDS)), ends_of(RECORDS)
    hit: set[int] = set()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(whole) - 1) | st.sampled_from(ends[:-1]))
        noise = data.draw(st.binary(min_size=1, max_size=300))[: len(whole) - start]
        hit |= {start + i for i, byte in enumerate(noise) if whole[start + i] != byte}
        whole[start : start + len(noise)] = noise
    path = tmp_path_factory.mktemp("law") / "a.sbj"
    path.write_bytes(whole)
    records, end = told(path)
    spans = list(pairwise(ends))
    untouched = [
        record
        for record, (start, after) in zip(RECORDS, spans, strict=True)
        if not any(start <= place < after for place in hit)
    ]
    assume(whole[: len(MAGIC)][:4] != MAGIC[:4] or whole[4:8] == MAGIC[4:8])  # else a newer format
    assert records == untouched
    unread = {place for gap in end.gaps for place in range(gap.offset, gap.offset + gap.size_bytes)}
    assert hit <= unread
    assert len(unread) == sum(gap.size_bytes for gap in end.gaps)


def test_a_search_that_costs_too_much_is_given_up(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporters.frame.SEARCHED_BYTES", 50_000)
    trap = (HEAD.pack(1000, 1) + b"\x80") * 1000
    file.write_bytes(segment_of(RECORDS[:1]) + b"\xff" + trap + segment_of(RECORDS)[len(MAGIC) :])
    records, end = told(file)
    assert records == RECORDS[:1]
    assert end.gaps[0].tail


def test_a_file_whose_first_page_is_zeros_is_read_from_the_first_good_record_on(
    file: Path,
) -> None:
    """What a loss of power may leave."""
    whole, ends = bytearray(segment_of(RECORDS)), ends_of(RECORDS)
    whole[:1000] = bytes(1000)
    file.write_bytes(whole)
    records, end = told(file)
    first = next(i for i, after in enumerate(ends) if after >= 1000)
    assert records == RECORDS[first:]
    assert (end.offset, end.gaps[0].size_bytes) == (0, ends[first])


@pytest.mark.parametrize("name", ["a.sbj.open", "a.sbj"])
def test_only_a_file_left_open_may_end_in_the_middle_of_a_record(tmp_path: Path, name: str) -> None:
    whole = segment_of(RECORDS)
    path = tmp_path / name
    for content, records in ((whole[:-1], 39), (whole[:5], 0), (b"", 0)):
        path.write_bytes(content)
        end = read(path).scan()
        assert end.records == records
        assert end.unfinished is name.endswith(".open")
        assert end.damaged is not end.unfinished
        assert bool(read_journal(path).damaged) is False  # not read yet
        journal = read_journal(path)
        assert len(list(journal)) == records + end.damaged
        assert [end.path for end in journal.damaged] == [path] * end.damaged


class Growing(io.BytesIO):
    """A file that is written while it is read: it has grown whenever its end was met."""

    def __init__(self, content: bytes, steps: int) -> None:
        super().__init__()
        self.left = [content[i : i + steps] for i in range(0, len(content), steps)]

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(size)
        if self.left and size is not None and len(found) < size:
            here = self.tell()
            self.seek(0, os.SEEK_END)
            self.write(self.left.pop(0))
            self.seek(here)
        return found


@pytest.mark.parametrize("steps", [1, 3, 8, 50, 117, 1000])
def test_what_is_written_while_it_is_read_is_no_damage(tmp_path: Path, steps: int) -> None:
    segment = Segment(tmp_path / "1.sbj.open")
    whole = segment_of(RECORDS)
    file = Growing(whole, steps)
    records: list[Record] = []
    while len(records) < len(RECORDS):  # it may end between two records, as a live file does
        file.seek(0)
        records = list(segment._records(file))
        assert segment.end is not None
        assert not segment.end.damaged
        assert records == RECORDS[: len(records)]


def test_damage_in_a_file_left_open_is_damage(tmp_path: Path) -> None:
    whole = bytearray(segment_of(RECORDS))
    whole[-1] ^= 1
    path = tmp_path / "a.sbj.open"
    path.write_bytes(whole)
    end = read(path).scan()
    assert (end.damaged, end.unfinished) == (True, False)


def test_what_a_newer_program_wrote_is_refused_and_not_guessed_at(file: Path) -> None:
    header: Record = {"k": "segment", "schema": SCHEMA + 1}
    newer = segment_of([header, *RECORDS])
    file.write_bytes(newer)
    records, end = told(file)
    assert (records, end.newer) == ([], True)
    assert end.damage == "schema 2: this program reads up to 1"
    assert (end.gaps[0].size_bytes, end.gaps[0].tail) == (len(newer) - len(MAGIC), True)
    file.write_bytes(newer[:4] + b"2" + newer[5:])
    records, end = told(file)
    assert (records, end.newer) == ([], True)
    assert end.damage == "format '2': this program reads format '1'"


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
    assert end.gaps[-1] == Damage(
        file,
        end.offset,
        len(content) - end.offset,
        str(end.damage),
        tail=True,
        cut=end.gaps[-1].cut,
    )
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
    assert [record.get("i") for record in journal] == [1, None, 3]
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


def test_a_segment_that_was_removed_since_it_was_listed_is_said_and_the_rest_is_read(
    tmp_path: Path,
) -> None:
    for i in (1, 2):
        (tmp_path / f"{i}.sbj").write_bytes(segment_of([{"i": i}]))
    journal = read_journal(tmp_path)
    (tmp_path / "1.sbj").unlink()
    assert list(journal) == [{"i": 2}]
    assert [(end.path.name, end.damage) for end in journal.damaged] == [
        ("1.sbj", "it has been removed since it was found")
    ]
    with pytest.raises(FileNotFoundError):
        list(read_journal([tmp_path / "1.sbj"]))


def test_unknown_kinds_and_keys_are_read_like_any_other(file: Path) -> None:
    strange: list[dict[str, Any]] = [{"k": "from 2030", "mood": ["calm"]}, {"no kind": 1}]
    file.write_bytes(segment_of(strange))
    assert told(file)[0] == strange
