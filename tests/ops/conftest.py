"""These tests run where they are asked for: ``make test-ops``, or ``pytest tests/ops``."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
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
    capture = request.config.pluginmanager.get_plugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            sys.stderr.write(f"\n  {line}")
            sys.stderr.flush()

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
