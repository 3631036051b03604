"""A figure of ours beside those of others, what it should reach, and whether it does. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.clients import OURS

Curve = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Target:
    """A limit for our figure: so many times another one's, or, with no ``against``, a value."""

    limit: float
    against: str | None = None
    at_least: bool = False

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {self.limit:g}" + (f" x {self.against}" if self.against else "")


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that was measured, for each who was measured."""

    name: str
    unit: str
    values: Mapping[str, float]
    """By client; whoever could not be measured is missing."""
    targets: tuple[Target, ...] = ()
    note: str = ""
    """What one has to know to read it."""

    @property
    def ours(self) -> float | None:
        return self.values.get(OURS)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A figure held against one of its targets."""

    figure: Figure
    target: Target
    measured: float | None
    """The ratio, or our value where the target is one; None: it could not be told."""

    @property
    def met(self) -> bool | None:
        if self.measured is None:
            return None
        if self.target.at_least:
            return self.measured >= self.target.limit
        return self.measured <= self.target.limit

    @property
    def word(self) -> str:
        return {True: "met", False: "MISSED", None: "not measured"}[self.met]


def verdicts(figure: Figure) -> list[Verdict]:
    """One for each target."""
    return [Verdict(figure, target, _measured(figure, target)) for target in figure.targets]


def _measured(figure: Figure, target: Target) -> float | None:
    if figure.ours is None or target.against is None:
        return figure.ours
    theirs = figure.values.get(target.against)
    return figure.ours / theirs if theirs else None


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture: bars, or the share of all that lies at or below a value."""

    name: str
    title: str
    unit: str
    kind: Literal["bars", "curves"]
    bars: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Group -> client -> value."""
    curves: Mapping[str, Curve] = field(default_factory=dict)
    limit: float | None = None
    """A target that is a value of its own, to be drawn."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one part of the benchmarks found."""

    title: str
    says: str
    """How it was measured, in a few sentences."""
    figures: list[Figure]
    chart: Chart | None = None
