"""A Ctrl-C in the terminal is for the program, not for the processes that it has started."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STARTERS = {"Popen", "open_process", "run_process"}


def _starts(path: Path) -> list[ast.Call]:
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return [
        call
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in STARTERS
    ]


STARTING = [
    path
    for room in ("daemon", "exporters", "pacer", "vad")
    for path in sorted((ROOT / room).rglob("*.py"))
    if _starts(path)
]


def test_the_processes_are_found() -> None:
    assert {path.name for path in STARTING} >= {"sentinel.py", "process.py", "post.py"}


@pytest.mark.parametrize("path", STARTING, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_process_has_a_session_of_its_own(path: Path) -> None:
    for call in _starts(path):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        apart = given.get("start_new_session")
        assert isinstance(apart, ast.Constant), f"{path}:{call.lineno}"
        assert apart.value is True, f"{path}:{call.lineno}"
