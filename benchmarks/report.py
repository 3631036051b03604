"""What a run found, for people and for programs: a table, a page, plain JSON. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from benchmarks.clients import ABSOLUTE, CLIENTS, NAIVE, OURS, TRIO, C
from benchmarks.figure import Figure, Result, Verdict, verdicts
from benchmarks.picture import number

RIVALS = (C, ABSOLUTE, NAIVE, TRIO)
FOLDER = "performance"
"""Where the pictures lie, beside the page."""


@dataclass(frozen=True, slots=True)
class Report:
    """One whole run."""

    date: str
    size: str
    duration_s: float
    facts: Mapping[str, str]
    """Of the machine."""
    busy: float
    """How busy all cores were meanwhile, the benchmarks included, from 0 to 1."""
    worst_stall_ms: float
    """The longest that the sentinel was late."""
    skipped: Mapping[str, str]
    results: Sequence[Result]

    @property
    def verdicts(self) -> list[Verdict]:
        return [verdict for figure in self.figures for verdict in verdicts(figure)]

    @property
    def figures(self) -> list[Figure]:
        return [figure for result in self.results for figure in result.figures]

    @property
    def all_met(self) -> bool:
        """Nothing that was measured fell short."""
        return all(verdict.met is not False for verdict in self.verdicts)


def as_json(report: Report) -> dict[str, Any]:
    """All figures and verdicts; not the curves."""
    plain = {
        name: getattr(report, name)
        for name in ("date", "size", "duration_s", "facts", "busy", "worst_stall_ms", "skipped")
    }
    figures = [_figure_json(figure) for figure in report.figures]
    return {**plain, "all_met": report.all_met, "figures": figures}


def _figure_json(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "unit": figure.unit,
        "values": dict(figure.values),
        "targets": [
            {**asdict(verdict.target), "measured": verdict.measured, "met": verdict.met}
            for verdict in verdicts(figure)
        ],
    }


def table(report: Report) -> Table:
    """For the terminal."""
    drawn = Table(title=f"{report.size} run, {report.date}")
    for column in _COLUMNS:
        drawn.add_column(column, justify="left" if column in ("figure", "") else "right")
    for result in report.results:
        for row in _rows(result.figures):
            drawn.add_row(*row, style="bold red" if row[-1] == "MISSED" else "")
        drawn.add_section()
    return drawn


_COLUMNS = ("figure", OURS, *RIVALS, "others", "ratio", "target", "")


def _rows(figures: Iterable[Figure]) -> Iterable[list[str]]:
    """One row for each target of each figure; the values in the first of them."""
    for figure in figures:
        judged = [_judged(verdict) for verdict in verdicts(figure)] or [["", "", ""]]
        yield [*_values(figure), *judged[0]]
        blank = [""] * (len(_COLUMNS) - 3)
        yield from ([*blank, *more] for more in judged[1:])


def _values(figure: Figure) -> list[str]:
    known = (OURS, *RIVALS)
    others = [
        f"{name} {number(value)}" for name, value in figure.values.items() if name not in known
    ]
    return [
        f"{figure.name}, {figure.unit}" if figure.unit else figure.name,
        *(number(figure.values[name]) if name in figure.values else "" for name in known),
        ", ".join(others),
    ]


def _judged(verdict: Verdict) -> list[str]:
    measured = "" if verdict.measured is None else number(verdict.measured)
    return [measured, str(verdict.target), verdict.word]


def page(report: Report) -> str:
    """The document, in Markdown."""
    return "\n".join(
        [
            *_HEAD,
            *_summary(report),
            *(line for result in report.results for line in _section(result)),
            *_machine(report),
        ]
    )


_HEAD = (
    "# Performance",
    "",
    "Measured by `make bench`, which writes this page: our program side by side with other ways to",
    "do the same, in one interleaved run, each judged by the same receiver, a process of its own.",
    "All traffic is loopback. Ratios can be compared between machines; values can not.",
    "",
)


def _summary(report: Report) -> list[str]:
    verdicts_ = report.verdicts
    met = sum(verdict.met is True for verdict in verdicts_)
    missed = [verdict for verdict in verdicts_ if verdict.met is False]
    untold = [verdict for verdict in verdicts_ if verdict.met is None]
    lines = [f"**{met} of {len(verdicts_)} targets met**, {report.date}, {report.size} run."]
    lines += ["", "Who is compared:", ""]
    lines += [f"- **{client.name}**: {client.says}" for client in CLIENTS.values()]
    lines += [f"- {name} was left out: {why}" for name, why in report.skipped.items()]
    if missed:
        lines += ["", "Fell short:", ""]
        lines += [f"- {_sentence(verdict)}" for verdict in missed]
    if untold:
        lines += ["", "Could not be told:", ""]
        lines += [f"- {verdict.figure.name}: {verdict.target}" for verdict in untold]
    return lines


def _sentence(verdict: Verdict) -> str:
    assert verdict.measured is not None
    wanted = f"target {verdict.target}"
    note = f" ({verdict.figure.note})" if verdict.figure.note else ""
    return f"{verdict.figure.name}: {number(verdict.measured)}, {wanted}{note}"


def _section(result: Result) -> list[str]:
    lines = ["", f"## {result.title}", "", result.says, ""]
    if result.chart is not None:
        lines += [f"![{result.chart.title}]({FOLDER}/{result.chart.name}.svg)", ""]
    used = _used_columns(result.figures)
    lines.append("| " + " | ".join(_COLUMNS[i] for i in used) + " |")
    lines.append("|" + " --- |" * len(used))
    lines += ["| " + " | ".join(row[i] for i in used) + " |" for row in _rows(result.figures)]
    return lines


def _used_columns(figures: Sequence[Figure]) -> list[int]:
    rows = list(_rows(figures))
    return [i for i in range(len(_COLUMNS)) if i == 0 or any(row[i] for row in rows)]


def _machine(report: Report) -> list[str]:
    """What the figures were measured on, and how."""
    return [
        "",
        "## Machine and conditions",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {name} | {fact} |" for name, fact in report.facts.items()),
        f"| cores busy during the run, the benchmarks included | {report.busy:.0%} |",
        f"| longest stall of the sentinel | {report.worst_stall_ms:.1f} ms |",
        f"| duration | {report.duration_s / 60:.1f} min |",
        "",
        "The sentinel wakes a thousand times a second on the clients' core, before them: what",
        "makes it late makes every client late. Medians and 99th percentiles are medians over the",
        "repeats; a maximum is that of all, and is the host's as much as a client's.",
        "The first half second of each stream is not judged. All Python clients have the same",
        "set-up: scheduling policy, core, switch interval of 0.2 ms, frozen garbage collector.",
        "Rivals get evenly spread phases, the best for them.",
        "",
    ]
