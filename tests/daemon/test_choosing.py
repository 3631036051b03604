"""What the command line names overrules the configuration, and nothing beside it."""

import argparse
from pathlib import Path

import pytest

from daemon.commands.choosing import chosen, model_arguments, output_arguments
from daemon.config import Settings, settings_of
from daemon.errors import UserError

TABLE = {
    "model": [
        {"name": "deepgram/nova-3", "language": "de"},
        {"name": "gladia/solaria-1", "price_usd_per_1000_min": 3.0},
    ],
    "journal": {"segment_hours": 2.0, "max_bytes": 5_000_000_000},
}


def changed(*arguments: str) -> Settings:
    """The settings of the table as these arguments leave them."""
    parser = argparse.ArgumentParser()
    model_arguments(parser)
    output_arguments(parser)
    settings = settings_of(TABLE, Path("bench.toml"))
    changes = chosen(parser.parse_args(arguments), settings)
    return settings_of({**settings.model_dump(), **changes}, Path("command line"))


def test_another_folder_for_the_journal_keeps_how_it_is_written() -> None:
    before, after = changed().journal, changed("--journal", "/elsewhere").journal
    assert after.directory == Path("/elsewhere")
    assert after == before.model_copy(update={"directory": Path("/elsewhere")})
    assert (after.segment_hours, after.max_bytes) == (2.0, 5_000_000_000)


def test_another_address_for_metrics_changes_nothing_else() -> None:
    before, after = changed().web, changed("--listen", "127.0.0.1:9999").web
    assert after == before.model_copy(update={"listen": "127.0.0.1:9999"})


def test_a_model_that_is_named_keeps_what_is_configured_of_it() -> None:
    (nova,) = changed("--model", "deepgram/nova-3", "--url", "ws://127.0.0.1:1").model
    assert (nova.language, nova.url) == ("de", "ws://127.0.0.1:1")


def test_a_language_is_that_of_every_model() -> None:
    assert [one.language for one in changed("--language", "fr").model] == ["fr", "fr"]


def test_one_address_is_no_address_of_two_models() -> None:
    with pytest.raises(UserError, match="there are 2"):
        changed("--url", "ws://127.0.0.1:1")
