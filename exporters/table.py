"""What a person reads after a run: one row a measurement, then a summary of each model.

Pure but for the printing: rows and summaries come in as values, ready to be shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement, as it is shown. None: there is none; it is shown as a dash, never as 0."""

    clip: str
    model: str
    audio_s: float
    verdict: str
    valid: bool
    time_to_final_ms: float | None
    time_to_first_partial_ms: float | None
    wer: float | None
    first_partial_wer: float | None
    late_max_ms: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle and the upper end of some values."""

    p50: float | None
    p95: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """One model over all its measurements."""

    model: str
    measurements: int
    answered: int
    """With a reading that counts."""
    failed: int
    """By the provider's or the network's fault."""
    voided: int
    """By our own fault, or for want of speech: they say nothing about the provider."""
    already_final: int
    """Answered before zero: shown as 0 ms, counted apart."""
    time_to_final_ms: Spread
    time_to_first_partial_ms: Spread
    wer: float | None
    first_partial_wer: float | None
    late_p99_ms: float | None
    signature: str
    harness_error: str = ""
    """What this harness adds to a time on its host, in words; empty where nothing is said of it."""

    @property
    def success_rate(self) -> float | None:
        """Of those that say something about the provider; None where none does."""
        asked = self.answered + self.failed
        return self.answered / asked if asked else None


def ranked(summaries: Sequence[Summary]) -> list[Summary]:
    """The quickest first; last those that have no time, which is no good time."""

    def place(summary: Summary) -> tuple[bool, float]:
        p50_ms = summary.time_to_final_ms.p50
        return (True, 0.0) if p50_ms is None else (False, p50_ms)

    return sorted(summaries, key=place)


def run_table(rows: Sequence[Row]) -> Table:
    """One row a measurement."""
    several = len({row.model for row in rows}) > 1
    table = Table(title="Time from end of speech, in ms", title_justify="left", title_style="bold")
    table.add_column("clip", no_wrap=True)
    if several:
        table.add_column("model", overflow="fold")
    table.add_column("audio\ns", justify="right")
    table.add_column("verdict", no_wrap=True)
    for heading in ("final", "first\npartial", "WER\n%", "WER %\n1st part.", "worst\nlate ms"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            Text(row.clip),
            *([row.model] if several else []),
            f"{row.audio_s:.2f}",
            _verdict(row),
            _ms(row.time_to_final_ms),
            _ms(row.time_to_first_partial_ms),
            _percent(row.wer),
            _percent(row.first_partial_wer),
            _ms(row.late_max_ms, digits=2),
        )
    return table


def summary_view(summary: Summary) -> RenderableType:
    """A few lines on one model."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="bold")
    lines.add_column()
    lines.add_row(summary.model, _counts(summary))
    lines.add_row("  time to final", _spread(summary.time_to_final_ms))
    lines.add_row("  time to first partial", _spread(summary.time_to_first_partial_ms))
    lines.add_row(
        "  word error rate",
        f"{_percent(summary.wer)} % of the final text, "
        f"{_percent(summary.first_partial_wer)} % of the first partial (weighted by seconds)",
    )
    lines.add_row("  our own lateness", f"{_ms(summary.late_p99_ms, digits=2)} ms (p99 of frames)")
    if summary.harness_error:
        lines.add_row("  our own error", summary.harness_error)
    return Group(lines, Text(f"  {summary.signature}", style="dim"))


def table_console() -> Console:
    """Standard output; where it is no terminal, wide enough for every column."""
    console = Console()
    return console if console.is_terminal else Console(width=160)


def print_run(console: Console, rows: Sequence[Row], summaries: Sequence[Summary]) -> None:
    """The table, the remarks below it, and the summaries."""
    console.print(run_table(rows))
    for row in rows:
        if row.note:
            console.print(Text(f"{row.clip}, {row.model}: {row.note}", style="yellow"))
    for summary in ranked(summaries):
        console.print()
        console.print(summary_view(summary))


def _verdict(row: Row) -> Text:
    return Text(row.verdict, style="green" if row.valid else "red")


def _counts(summary: Summary) -> str:
    rate = summary.success_rate
    said = [f"{summary.answered} of {summary.answered + summary.failed} answered"]
    said += [f"success {rate:.0%}"] if rate is not None else []
    said += [f"failed {1 - rate:.0%}"] if rate is not None and summary.failed else []
    said += (
        [f"{summary.voided} not counted: our own fault, or nothing to measure"]
        if summary.voided
        else []
    )
    said += [f"{summary.already_final} before the end"] if summary.already_final else []
    return ", ".join(said)


def _spread(spread: Spread) -> str:
    if spread.p50 is None:
        return "n/a"
    return f"p50 {_ms(spread.p50)} ms, p95 {_ms(spread.p95)} ms"


def _ms(value: float | None, digits: int = 0) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _percent(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio * 100:.1f}"
