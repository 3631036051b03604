"""The stored result: whole or not there, and a damaged one says so."""

from pathlib import Path

import pytest

from daemon.errors import UserError
from daemon.selftest.known import KnownError
from daemon.selftest.result import STALE_NS
from daemon.selftest.state import MOST_BYTES, NAME, Stored, load, save
from tests.daemon.selftest.levels import HOST, WALL_NS, error, level, result


def known_in(directory: Path, streams: int = 1, wall_ns: int = WALL_NS) -> KnownError:
    return KnownError(directory, streams, HOST, lambda: wall_ns)


def test_what_was_saved_is_loaded_and_nothing_else_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    path = save(result(), folder)
    assert load(folder) == Stored(result())
    assert [found.name for found in folder.iterdir()] == [path.name]


def test_a_new_result_replaces_the_old_one(tmp_path: Path) -> None:
    save(result(level(8)), tmp_path)
    save(result(level(32)), tmp_path)
    assert load(tmp_path).result == result(level(32))


def test_where_there_is_none_there_is_none(tmp_path: Path) -> None:
    assert load(tmp_path) == Stored()
    assert load(tmp_path / "nowhere") == Stored()


@pytest.mark.parametrize("content", [b"", b"{]", b"\xff\xfe", b"x" * (MOST_BYTES + 1)])
def test_a_damaged_file_is_no_result_and_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    stored = load(tmp_path)
    assert stored.result is None
    assert stored.trouble is not None
    assert str(tmp_path / NAME) in stored.trouble
    assert "\n" not in stored.trouble


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    assert "cannot be read" in str(load(tmp_path).trouble)


def test_a_folder_that_cannot_be_written_is_one_line_for_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        save(result(), tmp_path / "file")


def test_a_name_that_is_taken_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(UserError):
        save(result(), tmp_path)
    assert [found.name for found in tmp_path.iterdir()] == [NAME]


def test_signatures_follow_the_file(tmp_path: Path) -> None:
    known = known_in(tmp_path)
    assert known.part() == "unknown"
    save(result(), tmp_path)
    assert known.part() == "0.08/0.41ms@8 fit"
    save(result(level(8, final_error=error(0.1, 0.2))), tmp_path)
    assert known.part() == "0.10/0.20ms@8 fit"
    (tmp_path / NAME).unlink()
    assert known.part() == "unknown"


def test_a_stale_result_is_unknown_and_people_are_told_why(tmp_path: Path) -> None:
    save(result(), tmp_path)
    known = known_in(tmp_path, wall_ns=WALL_NS + STALE_NS + 1)
    assert known.part() == "unknown"
    assert "7 days" in str(known.trouble())


def test_people_are_told_of_a_damaged_file_and_of_none(tmp_path: Path) -> None:
    known = known_in(tmp_path)
    assert "speechbench selftest measures it" in str(known.trouble())
    (tmp_path / NAME).write_bytes(b"{")
    assert known.part() == "unknown"
    assert "is no self-test's result" in str(known.trouble())


def test_a_result_that_counts_is_no_trouble(tmp_path: Path) -> None:
    save(result(), tmp_path)
    assert known_in(tmp_path).trouble() is None
