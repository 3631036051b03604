"""These tests run where they are asked for: ``make test-ops``, or ``pytest tests/ops``."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ops.world import World, measured, missing, world_in


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """They take programs that ``make test`` does not ask for."""
    asked = any("ops" in Path(arg.partition("::")[0]).parts for arg in config.args)
    return None if asked else True


@pytest.fixture(scope="session")
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Says how things go to whoever waits."""
    terminal = request.config.pluginmanager.get_plugin("terminalreporter")

    def say(line: str) -> None:
        if terminal is None:
            sys.stderr.write(f"{line}\n")
        else:
            terminal.ensure_newline()
            terminal.write_line(f"  {line}")

    return say


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, tell: Callable[[str], None]) -> Iterator[World]:
    """Everything runs, and every model was measured some times."""
    if missing():
        pytest.fail(f"needs {', '.join(missing())}: apt-get install {' '.join(missing())}")
    folder = tmp_path_factory.mktemp("world")
    with world_in(folder, tell) as made:
        measured(made, tell)
        yield made
    shutil.rmtree(folder, ignore_errors=True)
