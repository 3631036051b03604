"""The tables that the rules look things up in, read once from the files beside this one."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

TEXTS = (
    "aliases.toml", "compounds.toml", "money.toml", "not_compounds.txt", "spelling.tsv",
    "tags.toml", "technical.toml", "units.toml", "words.toml",
)  # fmt: skip

Words = Mapping[str, str]
"""What a word stands for; several words have spaces between them."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Everything that is a fact about words and not a rule."""

    fillers: frozenset[str]
    fillers_unless: frozenset[str]
    answers: Words
    contractions: Words
    endings: Words
    open_s: frozenset[str]
    open_s_named: frozenset[str]
    open_s_followers: frozenset[str]
    titles: Words
    titles_dotted: Words
    streets: Words
    spelling: Words
    spelling_either: Words
    sounds: frozenset[str]
    sound_words: frozenset[str]
    file_endings: frozenset[str]
    domain_endings: frozenset[str]
    units: Words
    """After a number."""
    units_anywhere: Words
    unit_readings: Words
    squared: Words
    degrees: Words
    singular: Words
    money_signs: Words
    money_codes: Words
    money_minor: Mapping[str, frozenset[str]]
    currencies: frozenset[str]
    """Every currency as it is said, in the plural and in the singular."""
    amounts: Mapping[str, int]
    always_amounts: frozenset[str]
    aliases: tuple[tuple[str, ...], ...]
    phrases: Mapping[str, frozenset[str]]
    function_words: frozenset[str]
    last_parts: frozenset[str]
    verb_beginnings: frozenset[str]
    verb_endings: tuple[str, ...]
    compounds_allowed: frozenset[str]
    compounds_refused: frozenset[str]
    hyphen_matters: frozenset[str]
    compound_letters: frozenset[str]
    sha256: str


@cache
def tables() -> Tables:
    """The tables of this version of the program."""
    texts = {name: (files(__name__) / name).read_text(encoding="utf-8") for name in TEXTS}
    digest = hashlib.sha256()
    for name, text in texts.items():
        digest.update(f"{name}\n{text}".encode())
    toml = {n: tomllib.loads(t) for n, t in texts.items() if n.endswith(".toml")}
    return Tables(
        **_words(toml["words.toml"], _rows(texts["spelling.tsv"])),
        **_tags_and_endings(toml["tags.toml"], toml["technical.toml"]),
        **_units(toml["units.toml"], toml["money.toml"]),
        **_money(toml["money.toml"]),
        **_compounds(toml["compounds.toml"], _rows(texts["not_compounds.txt"])),
        aliases=tuple(tuple(group) for group in toml["aliases.toml"]["groups"]),
        phrases={k: frozenset(v) for k, v in toml["aliases.toml"]["phrases"].items()},
        sha256=digest.hexdigest(),
    )


def _rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if line and line[0] != "#"]


def _words(toml: dict[str, Any], spelling: list[list[str]]) -> dict[str, Any]:
    answers = {form: said for said, forms in toml["answers"].items() for form in forms}
    return {
        "fillers": frozenset(toml["fillers"]["words"]),
        "fillers_unless": frozenset(toml["fillers"]["unless_capitals"]),
        "answers": answers,
        "contractions": toml["contractions"],
        "endings": toml["endings"],
        "open_s": frozenset(toml["open_s"]["words"]),
        "open_s_named": frozenset(toml["open_s"]["named"]),
        "open_s_followers": frozenset(toml["open_s"]["followers"]),
        "titles": toml["titles"],
        "titles_dotted": toml["titles_dotted"],
        "streets": toml["streets"],
        "spelling": {row[0]: row[1] for row in spelling if len(row) == 2} | toml["spelling"],
        "spelling_either": {row[0]: row[1] for row in spelling if len(row) == 3},
    }


def _tags_and_endings(tags: dict[str, Any], technical: dict[str, Any]) -> dict[str, Any]:
    sounds = frozenset(tags["sounds"])
    return {
        "sounds": sounds,
        "sound_words": sounds | frozenset(tags["with"]),
        "file_endings": frozenset(technical["files"]),
        "domain_endings": frozenset(technical["domains"]),
    }


def _units(toml: dict[str, Any], money: dict[str, Any]) -> dict[str, Any]:
    only_after_number = frozenset(toml["only_after_number"]["words"])
    anywhere = toml["anywhere"]
    return {
        "units": toml["lower_case"] | toml["after_number"] | anywhere,
        "units_anywhere": {k: v for k, v in anywhere.items() if k not in only_after_number},
        "unit_readings": {k: v for k, v in toml["lower_case"].items() if len(k) > 1}
        | toml["reading"],
        "squared": toml["squared"],
        "degrees": toml["degrees"],
        "singular": toml["singular"] | money["singular"],
    }


def _money(toml: dict[str, Any]) -> dict[str, Any]:
    names = {name for table in ("signs", "codes") for name in toml[table].values()}
    plural = {name.split()[-1] for name in names} | {"pence"}
    return {
        "money_signs": toml["signs"],
        "money_codes": toml["codes"],
        "money_minor": {word: frozenset(major) for word, major in toml["minor"].items()},
        "currencies": frozenset(plural | {toml["singular"].get(name, name) for name in plural}),
        "amounts": toml["amounts"],
        "always_amounts": frozenset(toml["always_amounts"]["words"]),
    }


def _compounds(toml: dict[str, Any], accidents: list[list[str]]) -> dict[str, Any]:
    return {
        "function_words": frozenset(toml["function_words"]),
        "last_parts": frozenset(toml["last_parts"]),
        "verb_beginnings": frozenset(toml["verb_beginnings"]),
        "verb_endings": tuple(toml["verb_endings"]),
        "compounds_allowed": frozenset(toml["allowed"]),
        "compounds_refused": frozenset(toml["different"]) | {row[0] for row in accidents},
        "hyphen_matters": frozenset(toml["hyphen_matters"]),
        "compound_letters": frozenset(toml["letters"]),
    }
