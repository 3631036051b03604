"""The table a buyer reads: models by rows, as text, Markdown, CSV and plain values.

Pure: figures come in as values, ready to be shown. Durations are in milliseconds, rates are ratios.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

from exporters.definition_table import ENOUGH, FEW

NOTHING = "n/a"
SHARES = ("p50", "p90", "p95", "p99")
SORTS = ("wer", "time", "first_partial", "success", "price")
"""What a table can be sorted by, the best first."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, where it lies with 95 % confidence, and of how many. None: there is none."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """One latency of one model."""

    mean: Estimate
    """The published figure: each sample counts once."""
    quantiles: Mapping[str, Estimate] = field(default_factory=dict)
    """By name, as in SHARES; none where corpora are put together."""


@dataclass(frozen=True, slots=True)
class PriceTag:
    """What 1,000 minutes cost, and how far that can be trusted."""

    usd: float | None
    date: str = ""
    """When it was read."""
    source: str = ""
    shipped: bool = False
    provenance: str = ""
    missing: str = ""
    """Why there is none."""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One model, as it was measured in one way."""

    model: str
    variant: int
    """Which of several ways of measuring it, from 1; 0 where there is only one."""
    flow: str
    wer: Estimate
    first_partial_wer: Estimate
    time: Latency
    first_partial: Latency
    success: Estimate
    answered: int
    failed: int
    """By the provider's or the network's fault."""
    voided: int
    """By our own fault, or for want of speech: not counted."""
    early: int
    """Answered before zero: published as 0, counted apart."""
    price: PriceTag
    signature: str
    harness_error: str
    """What this harness adds to a time on its host, as the signature says it."""
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.model} ({self.variant})" if self.variant else self.model


@dataclass(frozen=True, slots=True)
class Chapter:
    """One table: a corpus, or all corpora of a version of the method."""

    title: str
    corpus: str | None
    """None where it is over several."""
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is shown."""

    window: str
    profile: str
    definition: str
    """Of the time that is shown first."""
    sort: str
    chapters: tuple[Chapter, ...]
    notes: tuple[str, ...] = ()


def ranked(lines: Sequence[Line], by: str) -> list[Line]:
    """The best first; those that have no figure behind all that have; last, who never answered."""

    def place(line: Line) -> tuple[bool, list[tuple[bool, float]], str, int]:
        keys = [_key(line, name) for name in (by, "wer", "time")]
        return line.answered == 0, keys, line.model, line.variant

    return sorted(lines, key=place)


def _key(line: Line, by: str) -> tuple[bool, float]:
    values: Mapping[str, float | None] = {
        "wer": line.wer.value,
        "time": line.time.mean.value,
        "first_partial": line.first_partial.mean.value,
        "success": None if line.success.value is None else -line.success.value,
        "price": line.price.usd,
    }
    value = values[by]
    return (True, 0.0) if value is None else (False, value)


def _percent(ratio: float) -> str:
    return f"{ratio * 100:.1f}"


def _ms(value: float) -> str:
    return f"{value:.0f}"


def figure(estimate: Estimate, shown: Callable[[float], str]) -> str:
    """The figure alone."""
    return NOTHING if estimate.value is None else shown(estimate.value)


def trust(estimate: Estimate, shown: Callable[[float], str]) -> str:
    """Its interval and how many it is of."""
    if estimate.low is None or estimate.high is None:
        return f"n {estimate.n}"
    return f"{shown(estimate.low)} to {shown(estimate.high)}, n {estimate.n}"


def quantile(latency: Latency, share: str) -> str:
    """One quantile; marked where there are too few values for it."""
    found = latency.quantiles.get(share)
    if found is None or found.value is None:
        return NOTHING
    return (FEW if found.n < ENOUGH[share] else "") + _ms(found.value)


def price(tag: PriceTag) -> str:
    """Never without the day on which it was read."""
    if tag.usd is None:
        return NOTHING
    return f"{tag.usd:.2f} ({tag.date}{', shipped' if tag.shipped else ''})"


def headings(definition: str) -> tuple[str, ...]:
    """Of the columns, in their order."""
    time = "time to final" if definition == "method" else definition
    return (
        "model",
        "WER %",
        "WER % first partial",
        f"{time} ms",
        "p50",
        "p95",
        "first partial ms",
        "success %",
        "USD per 1,000 min",
    )


def cells(line: Line) -> list[tuple[str, str]]:
    """What stands in each column but the first: the figure, and how far it can be trusted."""
    spread = [(line.wer, _percent), (line.first_partial_wer, _percent), (line.time.mean, _ms)]
    first = [(figure(one, shown), trust(one, shown)) for one, shown in spread]
    return [
        *first,
        (quantile(line.time, "p50"), ""),
        (quantile(line.time, "p95"), ""),
        (figure(line.first_partial.mean, _ms), trust(line.first_partial.mean, _ms)),
        (figure(line.success, _percent), trust(line.success, _percent)),
        (price(line.price), ""),
    ]


def notes_of(report: Report, chapter: Chapter) -> Iterator[str]:
    """What has to be said below one table."""
    yield from chapter.notes
    for line in chapter.lines:
        yield from _counts(line)
        yield from (f"{line.label}: {note}" for note in line.notes)
    for label, tag in _once({line.model: line.price for line in chapter.lines}):
        yield f"{label}: {tag}"
    if any(_few(line) for line in chapter.lines):
        yield f"{FEW} too few values for this quantile: it is little else than the largest"
    for error, labels in _errors(chapter.lines).items():
        yield f"{', '.join(labels)}: what this harness adds to a time: {error or 'not recorded'}"
    for line in chapter.lines:
        yield f"{line.label} | {line.signature}"


def _errors(lines: Sequence[Line]) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = {}
    for line in lines:
        errors.setdefault(line.harness_error, []).append(line.label)
    return errors


def _counts(line: Line) -> Iterator[str]:
    if line.failed:
        tried = line.answered + line.failed
        yield f"{line.label}: {line.failed} of {tried} failed ({line.failed / tried:.1%})"
    if line.voided:
        said = "not counted: our own fault, or nothing to measure"
        yield f"{line.label}: {line.voided} {said}"
    if line.early:
        yield f"{line.label}: {line.early} answered before zero, published as 0"


def _once(prices: Mapping[str, PriceTag]) -> Iterator[tuple[str, str]]:
    for model, tag in prices.items():
        if tag.usd is None:
            yield model, f"no price: {tag.missing}"
            continue
        remarks = "".join(f"; {remark}" for remark in tag.remarks)
        yield model, f"price {tag.provenance}{remarks}"


def _few(line: Line) -> bool:
    return any(quantile(line.time, share).startswith(FEW) for share in ("p50", "p95"))


def text_of(report: Report) -> Iterator[Table | Text]:
    """For a terminal: a table for each chapter, and its notes."""
    yield Text(_head(report))
    for chapter in report.chapters:
        if chapter.lines:
            yield _table(report, chapter)
        else:
            yield Text(chapter.title, style="bold")
        for note in notes_of(report, chapter):
            yield Text(note, style="dim")
    for note in report.notes:
        yield Text(note, style="yellow")


def _head(report: Report) -> str:
    return f"Measured {report.window}; 95 % intervals; sorted by {report.sort}"


def _table(report: Report, chapter: Chapter) -> Table:
    table = Table(title=Text(chapter.title), title_justify="left", title_style="bold")
    first, *others = headings(report.definition)
    table.add_column(first, overflow="fold", min_width=16)
    for heading in others:
        table.add_column(heading, justify="right")
    for line in chapter.lines:
        # Of a cell the second line says how far the first can be trusted.
        row = ["\n".join(part for part in cell if part) for cell in cells(line)]
        table.add_row(Text(line.label), *map(Text, row))
    return table


def markdown_of(report: Report) -> Iterator[str]:
    """The same as lines of Markdown."""
    yield f"{_head(report)}."
    for chapter in report.chapters:
        yield ""
        yield f"## {_escaped(chapter.title)}"
        yield ""
        if chapter.lines:
            names = headings(report.definition)
            yield f"| {' | '.join(names)} |"
            yield f"| --- |{' ---: |' * (len(names) - 1)}"
        for line in chapter.lines:
            row = [f"{said} ({about})" if about else said for said, about in cells(line)]
            yield f"| {' | '.join(map(_escaped, [line.label, *row]))} |"
        yield ""
        yield from (f"- {_escaped(note)}" for note in notes_of(report, chapter))
    if report.notes:
        yield ""
        yield from (f"- {_escaped(note)}" for note in report.notes)


def _escaped(text: str) -> str:
    """As it is, whatever it holds: nothing in it is markup."""
    plain = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\|`*_[]<>#~" else sign for sign in plain)


def write_csv(out: TextIO, report: Report) -> None:
    """A row for each model and corpus; what there is none of is left blank."""
    rows = csv.writer(out, lineterminator="\n")
    heads: list[str] | None = None
    for chapter in report.chapters:
        for line in chapter.lines:
            values = dict(_columns(report, chapter, line))
            if heads is None:
                heads = list(values)
                rows.writerow(heads)
            rows.writerow(["" if value is None else value for value in values.values()])


def _columns(report: Report, chapter: Chapter, line: Line) -> Iterator[tuple[str, object]]:
    yield "corpus", chapter.corpus
    yield "figure", chapter.title
    yield "model", line.model
    yield "flow", line.flow
    yield "definition", report.definition
    yield from _estimate("wer", line.wer)
    yield from _estimate("first_partial_wer", line.first_partial_wer)
    yield from _latency("time_ms", line.time)
    yield from _latency("first_partial_ms", line.first_partial)
    yield from _estimate("success", line.success)
    for name in ("answered", "failed", "voided", "early"):
        yield name, getattr(line, name)
    yield "price_usd_per_1000_min", line.price.usd
    yield "price_date", line.price.date
    yield "price_provenance", line.price.provenance
    yield "price_missing", line.price.missing
    yield "harness_error", line.harness_error
    yield "signature", line.signature
    yield "notes", "; ".join(line.notes)


def _latency(name: str, latency: Latency) -> Iterator[tuple[str, object]]:
    yield from _estimate(f"{name}_mean", latency.mean)
    for share in SHARES:
        yield from _estimate(f"{name}_{share}", latency.quantiles.get(share, Estimate(None, 0)))


def _estimate(name: str, estimate: Estimate) -> Iterator[tuple[str, object]]:
    yield name, estimate.value
    yield f"{name}_low", estimate.low
    yield f"{name}_high", estimate.high
    yield f"{name}_n", estimate.n


def plain_of(report: Report) -> dict[str, Any]:
    """The same for JSON."""
    return asdict(report)
