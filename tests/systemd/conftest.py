"""These tests run where they are asked for: ``make test-systemd``, or ``pytest tests/systemd``."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systemd.box import Box, box, is_possible


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """They boot a container, which ``make test`` does not ask for."""
    asked = any("systemd" in Path(arg.partition("::")[0]).parts for arg in config.args)
    return None if asked else True


@pytest.fixture(scope="session")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A container with the program installed, for all tests."""
    why = is_possible()
    if why is not None:
        pytest.fail(why)
    with box(tmp_path_factory.mktemp("box")) as made:
        yield made
