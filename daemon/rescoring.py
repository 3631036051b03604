"""Recorded sessions under several definitions: values gathered by model, then summed up."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from exporters.definition_table import Figures, ModelFigures
from measure.definitions import DEFINITIONS, Missing, Unit
from measure.definitions.other_rule import retold_under
from measure.definitions.retelling import Replayed, retold
from measure.records import MS, Rule
from measure.replay import Recorded
from providers.word_times import WORD_TIMES
from scoring.weigh import quantile

FINISHED = ("turn_finished", "session_finished")
"""The kinds of record that hold a reading, one for each turn."""


@dataclass(slots=True)
class Gathered:
    """The values of one definition for one model."""

    values: list[int] = field(default_factory=list)
    missing: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Group:
    """The measurements of one model in one flow."""

    model: str
    flow: str
    signatures: dict[str, None] = field(default_factory=dict)
    measurements: int = 0
    gathered: dict[str, Gathered] = field(default_factory=dict)


class Rescoring:
    """Takes sessions one after the other and keeps nothing of them but their values."""

    def __init__(
        self, names: Sequence[str], changes: Mapping[str, Any], *, by_signature: bool = False
    ) -> None:
        """``changes`` to the rule of each session; none: as it was."""
        self.names = names
        self.sessions = 0
        self._changes = changes
        self._by_signature = by_signature
        self._groups: dict[tuple[str, ...], Group] = {}

    def add(self, recorded: Recorded) -> list[Replayed]:
        """One session; gives its turns.

        Raises ValueError where it is damaged, Inexact where no answer is exact.
        """
        turns = told_under(recorded, self._changes)
        values = [{name: DEFINITIONS[name].of(turn) for name in self.names} for turn in turns]
        group = self._group(recorded, turns[0].rule)
        self.sessions += 1
        for turn in values:
            group.measurements += 1
            for name, value in turn.items():
                gathered = group.gathered.setdefault(name, Gathered())
                if isinstance(value, Missing):
                    gathered.missing[value.reason] += 1
                else:
                    gathered.values.append(value.value)
        return turns

    def figures(self) -> list[ModelFigures]:
        """What it comes to, by model, in the order in which they came."""
        return [
            ModelFigures(
                model=group.model,
                flow=group.flow,
                measurements=group.measurements,
                signatures=tuple(group.signatures),
                figures={name: _figures(name, group.gathered[name]) for name in self.names},
            )
            for group in self._groups.values()
        ]

    def _group(self, recorded: Recorded, rule: Rule) -> Group:
        model = _text(recorded, "model")
        signature = _text(recorded, "signature")
        key = (model, rule.flow.value, signature if self._by_signature else "")
        group = self._groups.setdefault(key, Group(model, rule.flow.value))
        group.signatures[signature] = None
        return group


def told_under(recorded: Recorded, changes: Mapping[str, Any]) -> list[Replayed]:
    """The turns of a session under its own rule with these changes. Raises as ``add`` does."""
    read_words = WORD_TIMES.get(_text(recorded, "model").partition("/")[0])
    if not changes:
        return retold(recorded, read_words=read_words)
    return retold_under(recorded, replace(recorded.rule, **changes), read_words)


def differences(recorded: Recorded, turns: Sequence[Replayed]) -> list[str]:
    """Where a reading is not the one that was recorded when it was measured."""
    finished = [one for one in recorded.rest if one.get("k") in FINISHED]
    if not finished:
        return [f"session {recorded.session_id}: its end was not recorded; this is what there is"]
    if len(finished) != len(turns):
        counts = f"it had {len(finished)} turns, rescored it has {len(turns)}"
        return [f"session {recorded.session_id}: {counts}"]
    return [
        f"session {recorded.session_id}: {name} was {was[name]!r}, rescored it is {value!r}"
        for was, turn in zip(finished, turns, strict=True)
        for name, value in _compared(turn).items()
        if name in was and was[name] != value
    ]


def _compared(turn: Replayed) -> dict[str, object]:
    reading = turn.reading
    return {
        "verdict": reading.verdict.value,
        "time_to_final_ns": reading.time_to_final_ns,
        "time_to_first_partial_ns": reading.time_to_first_partial_ns,
    }


def _figures(name: str, gathered: Gathered) -> Figures:
    definition = DEFINITIONS[name]
    least, scale = definition.published_from, MS if definition.unit is Unit.NANOSECONDS else 1
    early = 0 if least is None else sum(value < least for value in gathered.values)
    values = sorted(value if least is None else max(value, least) for value in gathered.values)

    def at(share: float) -> float | None:
        found = quantile(values, share)
        return None if found is None else found / scale

    return Figures(
        unit="ms" if definition.unit is Unit.NANOSECONDS else "times",
        valid=len(values),
        early=early,
        p50=at(0.50),
        p90=at(0.90),
        p95=at(0.95),
        p99=at(0.99),
        mean=fmean(values) / scale if values else None,
        missing=dict(gathered.missing.most_common()),
    )


def _text(recorded: Recorded, key: str) -> str:
    value = recorded.started.get(key)
    if not isinstance(value, str):
        raise ValueError(f"session_started: {key} is missing or not a text")
    return value
