"""``speechbench providers``: a line for each model, and all that is known of one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.cli import main
from daemon.commands.providers import explained, table
from daemon.conformance.promise import Subject
from providers import CATALOG
from providers.codec import Forcing, Limits, Model, Price, Source
from providers.deepgram import Deepgram

DESCRIBED = Path(__file__).parents[2] / "docs" / "providers" / "acme.toml"


class Known(Deepgram):
    facts = replace(
        Deepgram.facts,
        forcing=Forcing(300, 100, None, 2.0, "an empty final"),
        limits=Limits(60, 10, 3),
        price=Price(4.3, Source("its price page", "2026-05")),
        sources=(Source("its guide", "2026-07"),),
        why="Because.",
        awaits=("The codes of Close.",),
        languages=("en", "fr"),
        prompt="keyterm",
    )


KNOWN = Subject("deepgram/nova-3", Model(Known, "Nova"))


def test_every_model_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["model", "flow", "final", "audio", "key"]
    assert [line.split()[0] for line in lines] == list(CATALOG)


def test_one_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "deepgram/nova-3"]) == 0
    said = capsys.readouterr().out
    assert "deepgram/nova-3: Deepgram Nova-3\n" in said
    assert "conversation on paper: deepgram_nova3\n" in said
    assert "awaits a live key" in said


def test_all_that_is_known_is_said() -> None:
    said = "\n".join(explained(KNOWN))
    for words in (
        "Because.",
        "at least 300 ms of audio since the last one",
        "100 ms of silence before it, which count in the latency",
        "at least 2 s from one to the next",
        "where nothing was heard: an empty final",
        "a stream lasts 60 s at most",
        "it ends after 10 s without audio or sign of life",
        "3 streams at a time",
        "en, fr",
        "keyterm",
        "its guide, 2026-07",
        "The codes of Close.",
    ):
        assert words in said


def test_a_price_is_that_of_its_date_and_not_of_today() -> None:
    (line,) = [line for line in explained(KNOWN) if line.startswith("  price")]
    assert line.split(None, 1)[1] == (
        "4.3 USD per 1,000 minutes (minute of audio) was listed in 2026-05 by its price page; "
        "not checked since"
    )


def test_what_is_not_known_is_not_said() -> None:
    subject = Subject("local/x", CATALOG["local/pocketsphinx"])
    said = "\n".join(explained(subject))
    for name in ("price", "prompt", "languages", "limits", "sources", "awaits"):
        assert f"\n  {name}" not in said


def test_as_json_it_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "--json"]) == 0
    documents = json.loads(capsys.readouterr().out)
    assert [one["model"] for one in documents] == list(CATALOG)
    assert documents[0]["rule"] == {"flow": "forced", "final_rule": "marker", "joiner": " "}


def test_described_providers_are_listed_with_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["providers", "--described", str(DESCRIBED)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[0] == "acme/fast-1"


def test_an_unknown_name_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "nobody"]) == 2
    assert "nobody: there is no such model or provider" in capsys.readouterr().err


def test_columns_stand_below_each_other() -> None:
    lines = list(table([KNOWN, Subject("a/b", CATALOG["local/pocketsphinx"])]))
    assert len({line.index(word) for line, word in zip(lines, ("flow", "forced", "forced"))}) == 1  # noqa: B905


def test_the_page_of_the_providers_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "--markdown"]) == 0
    page = Path(__file__).parents[2] / "docs" / "providers.md"
    made_by = "make it again: speechbench providers --markdown > docs/providers.md"
    assert page.read_text(encoding="utf-8") == capsys.readouterr().out, made_by
