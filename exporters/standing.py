"""How each model stands, worked out of the sessions that are remembered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from exporters.reasons import ours

Fields = Mapping[str, Any]
Which = tuple[str, str]
"""A model, and the flow in which it is asked for its final."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One model, over some sessions. Of what there was none it says None."""

    model: str
    flow: str
    sessions: int
    failed: int
    """By the provider or the network."""
    spoiled: int
    """By this program or its host: they count neither for nor against the model."""
    final_ms: float | None
    """The median of the usable sessions; what had been final before zero is 0."""
    first_partial_ms: float | None
    word_errors: int
    words: int
    """In the references of the usable sessions."""


def standings(configured: Iterable[Which], sessions: Sequence[Fields]) -> list[Standing]:
    """Every model that is measured or was, the quickest first, those without a final last."""
    found: dict[Which, list[Fields]] = {which: [] for which in configured}
    for one in sessions:
        found.setdefault((str(one.get("model")), str(one.get("flow"))), []).append(one)
    made = [_standing(which, of_it) for which, of_it in found.items()]
    return sorted(made, key=lambda one: (one.final_ms is None, one.final_ms or 0.0, one.model))


def _standing(which: Which, sessions: Sequence[Fields]) -> Standing:
    usable = [one for one in sessions if one.get("valid")]
    spoiled = sum(ours(one["verdict"]) for one in sessions)
    failed = sum(one.get("reason") is not None for one in sessions) - spoiled
    scored = [one for one in usable if one.get("reference_words") is not None]
    return Standing(
        *which,
        len(sessions),
        failed,
        spoiled,
        _median_ms(usable, "time_to_final_ms"),
        _median_ms(usable, "time_to_first_partial_ms"),
        sum(one.get("word_errors") or 0 for one in scored),
        sum(one["reference_words"] for one in scored),
    )


def _median_ms(sessions: Iterable[Fields], name: str) -> float | None:
    values = [max(0.0, one[name]) for one in sessions if one.get(name) is not None]
    return median(values) if values else None
