"""These tests run where they are asked for: ``make test-audio``, or ``pytest tests/audio``."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.audio.card import Card, card_in, missing


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """They take a sound server, which ``make test`` does not ask for."""
    asked = any("audio" in Path(arg.partition("::")[0]).parts for arg in config.args)
    return None if asked else True


@pytest.fixture(scope="session", autouse=True)
def _all_is_here() -> None:
    if missing():
        pytest.fail(f"apt-get install --no-install-recommends {' '.join(missing())}")


@pytest.fixture(scope="session")
def card(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Card]:
    """A card for all tests that leave it whole."""
    folder = tmp_path_factory.mktemp("card")
    with card_in(folder) as made:
        yield made
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def on_card(card: Card, monkeypatch: pytest.MonkeyPatch) -> Card:
    """The card, found by programs that this test starts."""
    for name, value in card.environment.items():
        monkeypatch.setenv(name, value)
    return card
