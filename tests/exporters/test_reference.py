"""The pages about metrics and logs say what the code does."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from exporters.log_table import EVENTS
from exporters.logs import LINES
from exporters.reference import PAGES
from exporters.settings import LEVELS

ROOT = Path(__file__).parents[2]
NAMES = [event.name for event in EVENTS]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_as_the_table_makes_it(name: str) -> None:
    """``python -m exporters.reference docs`` brings it up to date."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == PAGES[name]()


def said_in_code() -> Iterator[tuple[str, str]]:
    """Level and name of each event that is logged anywhere: f(…, "warning", "some_event", …)."""
    for folder in ("daemon", "exporters"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.name == "log_table.py":
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                yield from _pairs(node)


def _pairs(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call):
        words = [arg.value if isinstance(arg, ast.Constant) else None for arg in node.args]
        for level, name in pairwise(words):
            if level in LEVELS and isinstance(name, str):
                yield str(level), name
    if isinstance(node, ast.Dict):
        pairs = {
            key.value: value.value
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)
        }
        if "event" in pairs and pairs.get("level") in LEVELS:
            yield str(pairs["level"]), str(pairs["event"])


def test_every_event_that_is_logged_is_in_the_table_with_its_level() -> None:
    table = {(event.level, event.name) for event in EVENTS}
    logged = set(said_in_code()) - {("info", "x")}
    assert logged - table == set()


def test_every_event_in_the_table_is_logged_somewhere() -> None:
    logged = {name for _, name in said_in_code()}
    told_by_records = set(LINES) | {"session_failed", "session_voided", "host_refused"}
    source = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("daemon", "exporters")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "log_table.py"
    )
    for name in NAMES:
        assert name in logged | told_by_records or f'"{name}"' in source, name


def test_no_event_is_there_twice_and_all_are_words() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for event in EVENTS:
        assert event.level in LEVELS
        assert event.name == event.name.lower()
        assert event.when.endswith(".")
