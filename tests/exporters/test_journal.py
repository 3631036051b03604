"""The journal being written: its segments, its syncs, full disks and kills."""

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exporters.export import session_rows
from exporters.journal import Clock, Journal, Limits
from exporters.open_segment import OpenSegment
from exporters.packing import pack
from exporters.recovery import recover_all
from exporters.segment import read, read_journal
from tests.exporters.records import ABOUT, Hand, S, Said, journal_in, journalled

ROOT = Path(__file__).parents[2]


def note(i: int) -> bytes:
    return pack({"k": "note", "i": i})


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_segment_begins_with_what_is_needed_to_read_it_alone(tmp_path: Path) -> None:
    hand = Hand()
    journal_in(tmp_path, hand).close()
    (header,) = read_journal(tmp_path)
    assert header == {
        "k": "segment",
        "t": 1000 * S,
        "schema": 1,
        "host": "host-1",
        "boot_id": "boot-1",
        "wall_ns": 1_700_001_000 * S,
        "mono_ns": 1000 * S,
        "version": "0.1.0",
        "config_sha256": "c0ffee",
    }


def test_a_segment_is_open_by_name_until_it_is_closed(tmp_path: Path) -> None:
    journal = journal_in(tmp_path, Hand())
    assert names(tmp_path) == ["20231114T223000.000000Z.sbj.open"]
    journal.close()
    assert names(tmp_path) == ["20231114T223000.000000Z.sbj"]


def test_a_segment_is_no_business_of_strangers(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        journal = journal_in(tmp_path, Hand())
    finally:
        os.umask(before)
    assert journal.path is not None
    assert journal.path.stat().st_mode & 0o777 == 0o640
    journal.close()


def test_a_record_can_be_read_as_soon_as_append_has_returned(tmp_path: Path) -> None:
    journal = journal_in(tmp_path, Hand())
    for i in range(3):
        assert journal.append(note(i))
        assert [record["i"] for record in journalled(tmp_path)] == list(range(i + 1))
    journal.close()


def test_written_records_are_durable_after_a_second_or_when_asked(tmp_path: Path) -> None:
    hand, took = Hand(), list[int]()
    journal = Journal(tmp_path, ABOUT, hand.clock, Said(), synced=took.append)
    journal.open()
    hand.turn(0.999)
    journal.tick()
    assert (len(took), journal.dirty) == (0, True)
    hand.turn(0.001)
    journal.tick()
    assert (len(took), journal.dirty) == (1, False)
    hand.turn(10)
    journal.tick()
    assert len(took) == 1  # nothing new, nothing to do
    journal.append(note(1))
    journal.sync()
    assert (len(took), journal.dirty) == (2, False)
    journal.close()


def test_a_new_segment_begins_when_one_is_large_enough(tmp_path: Path) -> None:
    said = Said()
    journal = journal_in(tmp_path, Hand(), said, Limits(segment_bytes=1000))
    for i in range(100):
        assert journal.append(note(i))
    journal.close()
    assert [record["i"] for record in journalled(tmp_path)] == list(range(100))
    files = sorted(tmp_path.glob("*.sbj"))
    assert len(files) > 2
    assert all(next(iter(read(file)))["k"] == "segment" for file in files)
    assert all(file.stat().st_size < 1100 for file in files)
    rotated = said.fields("journal_rotated")
    assert rotated["bytes"] == Path(rotated["path"]).stat().st_size


def test_a_new_segment_begins_when_one_is_old_enough(tmp_path: Path) -> None:
    hand = Hand()
    journal = journal_in(tmp_path, hand)
    hand.turn(24 * 3600 - 0.001)
    journal.tick()
    assert len(names(tmp_path)) == 1
    hand.turn(0.001)
    journal.tick()
    journal.close()
    assert names(tmp_path) == ["20231114T223000.000000Z.sbj", "20231115T223000.000000Z.sbj"]


def test_segments_stay_in_order_when_the_wall_clock_steps_back(tmp_path: Path) -> None:
    hand = Hand()
    wall_ns = [1_700_000_000 * S]
    clock = Clock(hand.clock.mono_ns, lambda: wall_ns[0])
    journal = Journal(tmp_path, ABOUT, clock, Said(), limits=Limits(segment_bytes=500))
    journal.open()
    for i in range(100):
        wall_ns[0] -= S
        assert journal.append(note(i))
    journal.close()
    assert [record["i"] for record in journalled(tmp_path, "note")] == list(range(100))
    walls = [record["wall_ns"] for record in journalled(tmp_path, "segment")]
    assert walls == sorted(walls, reverse=True)  # what the clock said is kept as it was


def test_two_journals_in_one_directory_do_not_meet(tmp_path: Path) -> None:
    hand = Hand()
    one, two = journal_in(tmp_path, hand), journal_in(tmp_path, hand)
    one.append(note(1))
    two.append(note(2))
    one.close()
    two.close()
    assert len(names(tmp_path)) == 2
    assert [record["i"] for record in journalled(tmp_path)] == [1, 2]


def test_the_counts_are_what_lies_in_the_files(tmp_path: Path) -> None:
    journal = journal_in(tmp_path, Hand(), limits=Limits(segment_bytes=500))
    for i in range(50):
        journal.append(note(i))
    journal.close()
    assert journal.records == len(list(read_journal(tmp_path)))
    assert journal.written_bytes == sum(file.stat().st_size for file in tmp_path.iterdir())


def test_a_directory_that_cannot_be_written_in_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        journal_in(tmp_path / "file", Hand())


def test_records_before_the_beginning_and_after_the_end_are_lost_and_counted(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path, ABOUT, Hand().clock, Said())
    assert not journal.append(note(1))
    journal.open()
    journal.close()
    assert not journal.append(note(2))
    assert journal.lost == 2


def full_disk(directory: Path, how: str, *before: str) -> dict[str, Any]:
    script = [sys.executable, "-m", "tests.exporters.full_disk", str(directory), how]
    done = subprocess.run([*before, *script], cwd=ROOT, capture_output=True, check=True)
    happened: dict[str, Any] = json.loads(done.stdout)
    return happened


def check_full_disk(directory: Path, happened: dict[str, Any]) -> None:
    journal = read_journal(directory)
    records: list[dict[str, Any]] = [record for record in journal if record["k"] != "segment"]
    assert journal.damaged == []
    lost = [record["count"] for record in records if record["k"] == "records_lost"]
    notes = [record["i"] for record in records if record["k"] == "note"]
    assert sum(lost) == happened["lost"] == 10
    assert len(notes) + happened["lost"] == happened["put"]
    assert notes == [*range(happened["put"] - 11), happened["put"] - 1]
    assert records[-2]["k"] == "records_lost"  # in the gap, where it belongs
    assert records[-2]["why"] == "journal_full"
    assert happened["events"][:2] == ["journal_opened", "journal_write_failed"]
    assert happened["events"][-2:] == ["journal_opened", "journal_resumed"]


def test_a_write_cut_short_is_undone_and_what_is_lost_is_counted(tmp_path: Path) -> None:
    happened = full_disk(tmp_path, "limit")
    assert happened["error"] == "File too large"
    assert max(path.stat().st_size for path in tmp_path.iterdir()) <= 20_000
    # A new file has room under this limit, so the journal goes on at the first try.
    assert not happened["still_full"]
    check_full_disk(tmp_path, happened)


def test_a_disk_that_is_full_again_at_once_is_tried_less_and_less_often(tmp_path: Path) -> None:
    happened = full_disk(tmp_path, "again")
    assert happened["waited_s"] == [1, 2, 4, 8, 16, 32, 60, 60]
    told = [record["count"] for record in journalled(tmp_path, "records_lost")]
    assert sum(told) == happened["lost"] == len(told) == 8  # each loss is told once


def small_disk(directory: Path, how: str, size: str) -> tuple[dict[str, Any], Path]:
    """What happened on a real small disk, in a mount namespace of its own; and what it held."""
    small, kept = directory / "small", directory / "kept"
    small.mkdir()
    mount = f"mount -t tmpfs -o size={size} none {small}"
    unshare = shutil.which("unshare") or "unshare"
    for space in ([unshare, "--mount"], [unshare, "--user", "--map-root-user", "--mount"]):
        try:
            tried = subprocess.run([*space, "sh", "-c", mount], capture_output=True, check=False)
        except FileNotFoundError:
            break
        if not tried.returncode:
            script = f'{mount} && "$@" && cp -r {small} {kept}'
            return full_disk(small, how, *space, "sh", "-c", script, "sh"), kept
    pytest.skip("no right to mount a small disk here")


def test_a_full_disk_stops_the_journal_and_room_lets_it_go_on(tmp_path: Path) -> None:
    happened, kept = small_disk(tmp_path, "tmpfs", "256k")
    assert happened["error"] == "No space left on device"
    assert happened["still_full"]
    check_full_disk(kept, happened)


def test_at_the_reserve_it_is_full_and_all_that_has_begun_is_still_written(tmp_path: Path) -> None:
    """On a disk of 1 MiB: nothing is lost but what goes on until the disk is really full."""
    happened, kept = small_disk(tmp_path, "reserve", "1m")
    assert happened["begun"] > 50
    assert (happened["lost_at_the_reserve"], happened["refusing_at_the_reserve"]) == (0, False)
    assert happened["low"]["free_bytes"] < happened["low"]["reserve_bytes"] == 60_000
    assert (happened["still_full"], happened["full_with_room"]) == (True, False)
    assert (happened["lost"], happened["partial"]) == (5, 1)
    assert happened["resumed"]["records_lost"] == 5
    assert happened["resumed"]["sessions_partial"] == 1
    assert happened["events"] == [
        *("journal_opened", "journal_disk_low", "journal_write_failed"),
        *("journal_disk_has_room", "journal_opened", "journal_resumed"),
    ]
    journal = read_journal(kept)
    rows = {row["session_id"]: row["complete"] for row in session_rows(journal)}
    assert journal.damaged == []
    assert rows == {
        "endless": False,
        "after": True,
        **{f"s-{i}": True for i in range(happened["begun"])},
    }


def test_without_a_reserve_the_free_space_is_no_matter(tmp_path: Path) -> None:
    journal = journal_in(tmp_path, Hand())
    journal.tick()
    assert not journal.full
    journal.close()


def test_a_disk_below_the_reserve_is_said_at_once_and_once(tmp_path: Path) -> None:
    hand, said = Hand(), Said()
    journal = journal_in(tmp_path, hand, said, Limits(reserve_bytes=1 << 62))
    assert (journal.full, journal.refusing) == (True, False)
    for _ in range(5):
        hand.turn(1)
        journal.tick()
    assert journal.append(note(1))
    journal.close()
    assert said.events == ["journal_opened", "journal_disk_low"]
    assert [record["i"] for record in journalled(tmp_path)] == [1]


def test_it_is_full_until_there_is_clearly_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two limits it stays as it was: measuring does not flicker."""
    free = [100]
    monkeypatch.setattr("exporters.journal._free_bytes", lambda _directory: free[0])
    journal = journal_in(tmp_path, Hand(), limits=Limits(reserve_bytes=60, room_bytes=100))
    seen = []
    for free[0] in (160, 60, 59, 60, 159, 160, 60, 59):
        journal.tick()
        seen.append(journal.full)
    journal.close()
    assert seen == [False, False, True, True, True, False, False, True]


def test_a_refusing_journal_goes_on_only_with_the_reserve_and_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, hand = [1000], Hand()
    monkeypatch.setattr("exporters.journal._free_bytes", lambda _directory: free[0])
    journal = journal_in(tmp_path, hand, limits=Limits(reserve_bytes=60, room_bytes=100))
    monkeypatch.setattr(OpenSegment, "write", _no_room)
    assert not journal.append(note(1))
    monkeypatch.undo()
    monkeypatch.setattr("exporters.journal._free_bytes", lambda _directory: free[0])
    seen = []
    for free[0] in (59, 159, 160):
        hand.turn(100)
        journal.tick()
        seen.append(journal.refusing)
    journal.close()
    assert seen == [True, True, False]


def _no_room(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_which_sessions_lost_records_is_told_with_the_loss(tmp_path: Path) -> None:
    journal = Journal(tmp_path, ABOUT, Hand().clock, Said())
    for session_id in ("b", "a", "b"):
        journal.append(pack({"k": "note", "s": session_id}))
    journal.append(note(1))
    journal.open()
    journal.close()
    (told,) = journalled(tmp_path)
    assert (told["count"], told["sessions"], journal.sessions_partial) == (4, ["a", "b"], 2)


def test_a_killed_writer_loses_no_record_for_which_append_had_returned(tmp_path: Path) -> None:
    for kills, acknowledged_at_least in enumerate((1, 37, 500, 2500)):
        directory = tmp_path / str(kills)
        directory.mkdir()
        command = [sys.executable, "-m", "tests.exporters.acknowledging_writer", str(directory)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            said = writer.stdout.read(8 * acknowledged_at_least)
            writer.kill()
            said += writer.stdout.read()
        whole = len(said) // 8 * 8
        (acknowledged,) = struct.unpack("<Q", said[whole - 8 : whole])
        recover_all(directory, Said())
        indices = [record["i"] for record in journalled(directory)]
        assert indices == list(range(len(indices)))
        assert len(indices) >= acknowledged >= acknowledged_at_least
        assert read_journal(directory).damaged == []
