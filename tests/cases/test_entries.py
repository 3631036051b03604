"""Every entry of the list of problems has its tests: A1 to A27."""

import re
from pathlib import Path

HERE = Path(__file__).parent
ENTRIES = 27


def test_no_entry_is_left_out() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    found = {int(number) for number in re.findall(r"def test_a(\d+)_", text)}
    assert found == set(range(1, ENTRIES + 1))
