"""What was spent survives; where it cannot be read or written, that is said."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from daemon.budget import Allowance
from daemon.errors import UserError
from daemon.treasury import NAME, Treasury, spending_record
from measure.records import SECOND

NOW = 1_796_083_200 * SECOND


@dataclass
class Said:
    lines: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, level: str, event: str, **fields: object) -> None:
        self.lines.append((level, event))


async def test_what_was_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    treasury = Treasury(tmp_path / "new" / "folder", Said())
    treasury.ledger.spend("deepgram", 0.25, NOW)
    await treasury.keep()
    again = Treasury(tmp_path / "new" / "folder", Said())
    assert again.ledger.spent_usd("deepgram", "day", NOW) == 0.25


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 99}', '{"version": 1}'])
def test_a_damaged_file_is_kept_and_said_and_counting_begins_anew(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / NAME).write_text(content)
    said = Said()
    treasury = Treasury(tmp_path, said)
    assert treasury.ledger.spent_usd(None, "month", NOW) == 0
    assert said.lines == [("error", "spending_unreadable")]
    assert (tmp_path / "spending.damaged").read_text() == content
    assert not (tmp_path / NAME).exists()


async def test_that_it_cannot_be_written_is_said_once_until_it_can_again(tmp_path: Path) -> None:
    said = Said()
    treasury = Treasury(tmp_path / "folder", said)
    (tmp_path / "folder").write_text("in the way")
    treasury.ledger.spend("deepgram", 1.0, NOW)
    for _ in range(3):
        await treasury.keep()
    assert said.lines == [("error", "spending_unwritten")]
    (tmp_path / "folder").unlink()
    await treasury.keep()
    assert json.loads(treasury.path.read_text()) == treasury.ledger.plain()
    (tmp_path / "folder" / NAME).unlink()
    (tmp_path / "folder").rmdir()
    (tmp_path / "folder").write_text("in the way again")
    await treasury.keep()
    assert len(said.lines) == 2


def test_only_budgets_that_there_are_are_told(tmp_path: Path) -> None:
    treasury = Treasury(tmp_path, Said())
    treasury.ledger.spend("deepgram", 0.25, NOW)
    treasury.ledger.spend("gladia", 0.5, NOW)
    record = spending_record(
        treasury.ledger,
        7,
        NOW,
        overall=Allowance(month_usd=10.0),
        own=[("deepgram", Allowance(day_usd=1.0)), ("gladia", Allowance())],
    )
    assert record == {
        "k": "spending",
        "t": 7,
        "budgets": [
            {"who": "all providers", "period": "month", "spent_usd": 0.75, "limit_usd": 10.0},
            {"who": "deepgram", "period": "day", "spent_usd": 0.25, "limit_usd": 1.0},
        ],
    }


def test_a_ledger_that_cannot_be_read_ends_the_program_and_is_not_written_over(
    tmp_path: Path,
) -> None:
    (tmp_path / NAME).mkdir()  # as good as one that this user may not read
    with pytest.raises(UserError, match="nobody knows what was spent"):
        Treasury(tmp_path, Said())
    assert (tmp_path / NAME).is_dir()


def test_a_damaged_one_that_cannot_be_set_aside_is_not_written_over_either(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("{")
    (tmp_path / "spending.damaged").mkdir()
    with pytest.raises(UserError, match="cannot be set aside"):
        Treasury(tmp_path, Said())
    assert (tmp_path / NAME).read_text() == "{"
