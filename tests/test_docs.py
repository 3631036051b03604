"""What the documents name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
NAMED = re.compile(
    r"`((?:daemon|docs|exporters|measure|pacer|providers|scoring|tests|vad)/[\w./-]*)`"
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_is_named_is_there(document: Path) -> None:
    named = NAMED.findall(document.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []
