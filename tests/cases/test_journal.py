"""What a crash leaves behind: A24."""

import subprocess
import sys
from pathlib import Path

import pytest

from exporters.packing import pack
from exporters.recovery import recover_all
from exporters.segment import CLOSED, OPEN, read_journal
from tests.exporters.records import Hand, Said, journal_in, journalled

ROOT = Path(__file__).parents[2]
KILLED_AFTER = 200
"""So many records had been said to be written when the writer was killed."""
LATER = 50


def killed_in(directory: Path) -> Path:
    """A segment whose writer was killed, with SIGKILL, while it was writing."""
    command = [sys.executable, "-m", "tests.exporters.acknowledging_writer", str(directory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.read(8 * KILLED_AFTER)
        writer.kill()
    (path,) = directory.glob("*" + OPEN)
    return path


@pytest.mark.parametrize("cut_bytes", [1, 4, 10])
def test_a24_after_a_kill_the_tail_is_cut_and_what_is_appended_can_be_read(
    cut_bytes: int, tmp_path: Path
) -> None:
    path = killed_in(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut_bytes])  # the last write had only got so far
    before = len(whole)
    said = Said()

    (recovered,) = recover_all(tmp_path, said)
    assert recovered.path is not None
    assert recovered.torn is not None
    assert recovered.records >= KILLED_AFTER
    assert recovered.good_bytes + recovered.dropped_bytes == before - cut_bytes
    assert recovered.torn.stat().st_size == recovered.dropped_bytes > 0
    told = said.fields("journal_tail_truncated")
    assert told["dropped_bytes"] == recovered.dropped_bytes

    hand = Hand()
    hand.turn(3600)
    journal = journal_in(tmp_path, hand, said)
    for nth in range(LATER):
        assert journal.append(pack({"k": "later", "i": nth}))
    journal.close()

    reading = read_journal(tmp_path)
    kinds = [record["k"] for record in reading]
    assert reading.damaged == []
    assert kinds.count("later") == LATER
    notes = [record["i"] for record in journalled(tmp_path, "note")]
    assert notes == list(range(recovered.records - 1))
    assert sorted(one.suffix for one in tmp_path.iterdir()) == [CLOSED, CLOSED, ".torn"]


def test_a24_nothing_is_appended_to_a_segment_with_a_torn_tail(tmp_path: Path) -> None:
    path = killed_in(tmp_path)
    path.write_bytes(path.read_bytes()[:-10])
    torn = path.read_bytes()
    journal = journal_in(tmp_path, Hand())
    journal.append(pack({"k": "later", "i": 0}))
    journal.close()
    assert path.read_bytes() == torn  # it begins a segment of its own instead
    assert [record["k"] for record in journalled(tmp_path)].count("later") == 1
