"""The pairs of texts that the normaliser is judged on."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from scoring.normalize import NORMALIZERS, Normalizer
from scoring.words import WordErrors, score

CASES = Path(__file__).parents[1] / "cases"
SPEECHBENCH = NORMALIZERS["speechbench"]


@cache
def rows(name: str) -> tuple[dict[str, Any], ...]:
    """The lines of one file of cases."""
    lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


def scored_cases(name: str) -> list[dict[str, Any]]:
    """Its lines without the contested ones."""
    return [row for row in rows(name) if not row.get("contested")]


def normalizer_of(row: dict[str, Any]) -> Normalizer:
    aliases = row.get("aliases")
    return SPEECHBENCH.with_aliases(aliases) if aliases else SPEECHBENCH


def errors_of(row: dict[str, Any]) -> WordErrors:
    return score(row["ref"], row["hyp"], normalizer_of(row))


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How many cases come out as they should, each way."""

    equal: float
    unequal: float
    wrong: tuple[str, ...]


def judged(cases: Iterable[dict[str, Any]]) -> Verdicts:
    right: dict[bool, list[bool]] = {True: [], False: []}
    wrong = []
    for row in cases:
        same = errors_of(row).errors == 0
        right[row["equal"]].append(same == row["equal"])
        if same != row["equal"]:
            wrong.append(f"{row['ref']} | {row['hyp']}")
    shares = {way: sum(found) / len(found) for way, found in right.items() if found}
    return Verdicts(shares.get(True, 1.0), shares.get(False, 1.0), tuple(wrong))


def texts(*names: str) -> list[str]:
    """Every text of these files, once."""
    return sorted({row[side] for name in names for row in rows(name) for side in ("ref", "hyp")})
