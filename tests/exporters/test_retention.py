"""What is removed of a journal that may not grow for ever, and what never is."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.journal import Journal, Limits
from exporters.packing import pack
from exporters.retention import Keep, Kept, Surplus, prune, surplus
from tests.exporters.records import ABOUT, Hand, S, Said, journalled

DAY = 24 * 3600 * S


def kept(*files: tuple[int, int]) -> list[Kept]:
    """Files of so many bytes, written at these moments."""
    return [Kept(Path(f"{i}.sbj"), *file) for i, file in enumerate(files)]


def removed(
    files: list[Kept], keep: Keep, *, open_bytes: int = 0, now: int = 100
) -> list[tuple[str, str]]:
    found = surplus(files, keep, open_bytes=open_bytes, wall_ns=now)
    return [(one.file.path.name, one.why) for one in found]


def test_by_default_everything_is_kept() -> None:
    assert removed(kept((1 << 60, 0), (1 << 60, 0)), Keep()) == []


def test_what_is_older_than_allowed_goes_whatever_its_size() -> None:
    files = kept((5, 10), (5, 39), (5, 40), (5, 90))
    assert removed(files, Keep(age_ns=60)) == [("0.sbj", "age"), ("1.sbj", "age")]


def test_the_oldest_go_until_the_rest_is_small_enough() -> None:
    files = kept((5, 10), (6, 20), (7, 30))
    assert removed(files, Keep(size_bytes=18)) == []
    assert removed(files, Keep(size_bytes=17)) == [("0.sbj", "size")]
    assert removed(files, Keep(size_bytes=12)) == [("0.sbj", "size"), ("1.sbj", "size")]


def test_the_segment_being_written_counts_but_stays() -> None:
    files = kept((5, 10), (6, 20))
    assert removed(files, Keep(size_bytes=11), open_bytes=1) == [("0.sbj", "size")]
    assert removed(files, Keep(size_bytes=11), open_bytes=99) == [
        ("0.sbj", "size"),
        ("1.sbj", "size"),
    ]


def test_what_has_gone_for_its_age_makes_room() -> None:
    files = kept((5, 10), (6, 90), (7, 95))
    assert removed(files, Keep(age_ns=50, size_bytes=13)) == [("0.sbj", "age")]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 120)), max_size=12),
    st.none() | st.integers(0, 120),
    st.none() | st.integers(0, 120),
    st.integers(0, 30),
)
def test_after_it_the_journal_is_within_its_limits_and_no_more_is_taken_than_needed(
    files: list[tuple[int, int]], age_ns: int | None, size_bytes: int | None, open_bytes: int
) -> None:
    everything = kept(*files)
    keep = Keep(age_ns, size_bytes)
    gone = list(surplus(everything, keep, open_bytes=open_bytes, wall_ns=100))
    left = [file for file in everything if file not in [one.file for one in gone]]
    if age_ns is not None:
        assert all(100 - file.written_ns <= age_ns for file in left)
    if size_bytes is not None:
        assert left == [] or open_bytes + sum(file.size_bytes for file in left) <= size_bytes
    for one in gone:
        if one.why == "size":  # without it the rest had been too large, and it was the oldest
            assert size_bytes is not None
            younger = everything[everything.index(one.file) :]
            young = [file for file in younger if Surplus(file, "age") not in gone]
            assert open_bytes + sum(file.size_bytes for file in young) > size_bytes - sum(
                file.size_bytes for file in younger if Surplus(file, "age") in gone
            )
        else:
            assert age_ns is not None
            assert 100 - one.file.written_ns > age_ns


def write(path: Path, size: int, written_ns: int) -> None:
    path.write_bytes(b"x" * size)
    os.utime(path, ns=(written_ns, written_ns))


def test_removal_is_said_file_by_file(tmp_path: Path) -> None:
    write(tmp_path / "1.sbj", 10, 0)
    write(tmp_path / "2.sbj", 20, 50 * S)
    said = Said()
    prune(tmp_path, Keep(age_ns=60 * S), 100 * S, said)
    assert said.lines == [
        (
            "info",
            "journal_removed",
            {"path": str(tmp_path / "1.sbj"), "bytes": 10, "age_s": 100, "reason": "age"},
        )
    ]
    assert os.listdir(tmp_path) == ["2.sbj"]


def test_only_files_of_the_journal_that_nobody_writes_are_removed(tmp_path: Path) -> None:
    for name in ("1.sbj", "1.200.torn", "2.sbj.open", "notes.txt", "3.parquet"):
        write(tmp_path / name, 10, 0)
    prune(tmp_path, Keep(age_ns=1, size_bytes=0), 100 * S, Said())
    assert sorted(os.listdir(tmp_path)) == ["2.sbj.open", "3.parquet", "notes.txt"]


def test_what_cannot_be_removed_is_said_and_the_others_go(tmp_path: Path) -> None:
    (tmp_path / "1.sbj").mkdir()
    write(tmp_path / "2.sbj", 10, 0)
    said = Said()
    prune(tmp_path, Keep(size_bytes=0), 100 * S, said)
    assert said.events == ["journal_removal_failed", "journal_removed"]
    assert said.fields("journal_removal_failed")["path"] == str(tmp_path / "1.sbj")


def test_a_folder_that_has_gone_is_said(tmp_path: Path) -> None:
    said = Said()
    prune(tmp_path / "gone", Keep(size_bytes=0), 0, said)
    assert said.events == ["journal_removal_failed"]


def pruning(directory: Path, hand: Hand, keep: Keep, said: Said, segment_bytes: int) -> Journal:
    limits = Limits(segment_bytes=segment_bytes)
    journal = Journal(directory, ABOUT, hand.clock, said, limits=limits, keep=keep)
    journal.open()
    return journal


def test_a_journal_keeps_within_its_size_by_itself(tmp_path: Path) -> None:
    said = Said()
    journal = pruning(tmp_path, Hand(), Keep(size_bytes=5000), said, 1000)
    for i in range(400):
        assert journal.append(pack({"k": "note", "i": i}))
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 6100
    journal.close()
    notes = [record["i"] for record in journalled(tmp_path, "note")]
    assert notes == list(range(notes[0], 400))  # the newest, without a gap
    assert 0 < notes[0] < 399
    assert "journal_removed" in said.events


def test_what_grows_old_is_removed_within_an_hour(tmp_path: Path) -> None:
    hand, said = Hand(), Said()
    wall_ns = hand.clock.wall_ns()
    write(tmp_path / "1.sbj", 10, wall_ns - 3 * DAY)
    write(tmp_path / "2.sbj", 10, wall_ns - 2 * DAY + 1800 * S)
    journal = pruning(tmp_path, hand, Keep(age_ns=2 * DAY), said, 1 << 20)
    assert said.fields("journal_removed")["path"] == str(tmp_path / "1.sbj")
    for _ in range(3599):
        hand.turn(1)
        journal.tick()
    assert (tmp_path / "2.sbj").exists()
    hand.turn(1)
    journal.tick()
    assert not (tmp_path / "2.sbj").exists()
    journal.close()


@pytest.mark.parametrize("keep", [Keep(), Keep(age_ns=0), Keep(size_bytes=0)])
def test_the_segment_being_written_is_never_removed(tmp_path: Path, keep: Keep) -> None:
    hand = Hand()
    journal = pruning(tmp_path, hand, keep, Said(), 1 << 20)
    hand.turn(7200)
    journal.tick()
    assert journal.path is not None
    assert journal.path.exists()
    assert journal.append(pack({"k": "note"}))
    journal.close()
