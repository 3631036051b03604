"""Rescored figures as people and programs read them: a table, CSV, and plain values.

Pure: figures come in as values, ready to be shown.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

NOTHING = "-"
SHARES = ("p50", "p90", "p95", "p99")
ENOUGH = {"p50": 2, "p90": 10, "p95": 20, "p99": 100}
"""With fewer values than this a quantile is little else than the largest of them."""
FEW = "~"
HEAD = ("model", "flow", "signatures", "definition", "measurements")
COLUMNS = ("unit", "valid", "early", *SHARES, "mean")


@dataclass(frozen=True, slots=True)
class Figures:
    """One model under one definition. None: there is no value; it is never shown as 0."""

    unit: str
    valid: int
    """Measurements with a value."""
    early: int
    """Of them, those with a value below what is published; published as that, counted apart."""
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    missing: Mapping[str, int]
    """Why the others have none, and how many."""


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """One model, in one flow, under every definition that was asked for."""

    model: str
    flow: str
    measurements: int
    signatures: tuple[str, ...]
    figures: Mapping[str, Figures]
    """By definition, in the order in which they were asked for."""


def table_of(models: Sequence[ModelFigures], names: Sequence[str]) -> Table:
    """The definitions side by side, a few lines for each model."""
    table = Table(title="Rescored", title_justify="left", title_style="bold")
    table.add_column("model", overflow="fold", min_width=16)
    table.add_column("", no_wrap=True)
    for name in names:
        units = {model.figures[name].unit for model in models}
        heading = "\n".join([*name.split("_"), *sorted(units)])
        table.add_column(heading, justify="right", no_wrap=True)
    for model in models:
        name_cell = f"{model.model}, {model.flow}"
        for statistic, cells in _lines(model, names):
            table.add_row(Text(name_cell), statistic, *map(Text, cells))
            name_cell = ""
        table.add_section()
    return table


def notes_of(models: Sequence[ModelFigures], names: Sequence[str]) -> Iterator[str]:
    """What has to be said below the table."""
    for model in models:
        for name in names:
            figures = model.figures[name]
            if figures.early:
                yield f"{model.model}, {name}: {figures.early} answered before zero, published as 0"
            if figures.missing:
                reasons = ", ".join(f"{count} {why}" for why, count in figures.missing.items())
                yield f"{model.model}, {name}: no value for {reasons}"
        if len(model.signatures) > 1:
            yield f"{model.model}: {len(model.signatures)} signatures together; see --by-signature"
    if any(_few(figures) for model in models for figures in model.figures.values()):
        yield f"{FEW} too few values for this quantile: it is little else than the largest"


def plain_of(models: Sequence[ModelFigures]) -> list[dict[str, Any]]:
    """The same for JSON."""
    return [asdict(model) for model in models]


def write_csv(out: TextIO, models: Sequence[ModelFigures]) -> None:
    """A row for each model and definition."""
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(
        ("model", "flow", "signatures", "definition", "measurements", *COLUMNS, "missing")
    )
    for model in models:
        signatures = "; ".join(model.signatures)
        for name, figures in model.figures.items():
            missing = "; ".join(f"{count} {why}" for why, count in figures.missing.items())
            values = [_plain(getattr(figures, column)) for column in COLUMNS]
            head = (model.model, model.flow, signatures, name, model.measurements)
            rows.writerow((*head, *values, missing))


def _lines(model: ModelFigures, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    figures = [model.figures[name] for name in names]
    yield "n", [str(model.measurements)] * len(figures)
    yield "valid", [str(one.valid) for one in figures]
    for share in SHARES:
        yield share, [_quantile(one, share) for one in figures]
    yield "mean", [_shown(one.mean, one.unit) for one in figures]


def _quantile(figures: Figures, share: str) -> str:
    few = FEW if share in _few(figures) else ""
    return few + _shown(getattr(figures, share), figures.unit)


def _few(figures: Figures) -> list[str]:
    return [share for share, enough in ENOUGH.items() if 0 < figures.valid < enough]


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return NOTHING
    return f"{value:.1f}" if unit == "ms" else f"{value:.2f}"


def _plain(value: float | str | None) -> float | str:
    return "" if value is None else value
