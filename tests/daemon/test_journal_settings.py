"""How the journal is kept: what a user may set, and what is refused in one line."""

import tomllib
from pathlib import Path

import pytest

from daemon.config import JournalSection, Settings, settings_of
from daemon.errors import UserError

EXAMPLE = Path(__file__).parents[2] / "docs" / "speechbench.example.toml"


def journal(**settings: object) -> JournalSection:
    return settings_of({"journal": settings}, Path("bench.toml")).journal


def refusal(**settings: object) -> str:
    with pytest.raises(UserError) as error:
        journal(**settings)
    return str(error.value)


def test_by_default_all_is_kept_and_a_reserve_is_left() -> None:
    default = Settings().journal
    assert (default.max_age_days, default.max_bytes) == (None, None)
    assert default.reserve_bytes == 64 << 20
    assert (default.segment_bytes, default.segment_hours) == (64 << 20, 24.0)


def test_the_example_states_these_defaults() -> None:
    stated = tomllib.loads(EXAMPLE.read_text())["journal"]
    default = Settings().journal.model_dump()
    assert {name: stated[name] for name in stated if name != "directory"} == {
        name: default[name] for name in stated if name != "directory"
    }


def test_age_and_size_may_be_limited() -> None:
    limited = journal(max_age_days=30, max_bytes=1 << 30, reserve_bytes=0)
    assert (limited.max_age_days, limited.max_bytes, limited.reserve_bytes) == (30.0, 1 << 30, 0)


def test_a_limit_that_would_remove_what_was_just_closed_is_refused() -> None:
    assert journal(max_bytes=4 << 20, segment_bytes=2 << 20).max_bytes == 4 << 20
    assert refusal(max_bytes=(4 << 20) - 1, segment_bytes=2 << 20) == (
        "bench.toml: journal: max_bytes is 4194303, it must be at least twice segment_bytes, "
        "which is 2097152"
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"max_age_days": 0},
        {"max_age_days": -1},
        {"max_bytes": 0},
        {"segment_bytes": 1000},
        {"segment_hours": 0},
        {"reserve_bytes": -1},
        {"reserve_bytes": "much"},
    ],
)
def test_what_makes_no_sense_is_refused_by_name(settings: dict[str, object]) -> None:
    (name,) = settings
    assert refusal(**settings).startswith(f"bench.toml: journal.{name}: ")
