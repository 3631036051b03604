"""``python -m benchmarks``: measures, prints a table, and writes the page and its pictures."""

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks import host
from benchmarks.episode import EpisodeFailed, Stage
from benchmarks.figure import Result
from benchmarks.figures.capacity import streams_per_core
from benchmarks.figures.live_vad import live_vad
from benchmarks.figures.pacing import drift, lateness, play
from benchmarks.figures.receive import receive_error
from benchmarks.figures.scrape import scrape_effect
from benchmarks.figures.send_cost import send_cost
from benchmarks.figures.survey import survey_speed
from benchmarks.picture import svg
from benchmarks.report import FOLDER, Report, as_json, page, table
from benchmarks.rounds import Rounds
from benchmarks.size import FULL, QUICK, Size

DOCS = Path(__file__).parents[1] / "docs"
PAGE = "performance.md"
PARTS = (receive_error, send_cost, streams_per_core, scrape_effect, survey_speed, live_vad)


def measure(size: Size, folder: Path) -> Report:
    """Everything. Says on standard error how far it is."""
    facts, before, started_s = host.facts(), host.processor_times(), time.monotonic()
    with Stage(folder) as stage:
        rounds = Rounds(stage)
        results = list(_results(rounds, size))
    return Report(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        size=size.name,
        duration_s=time.monotonic() - started_s,
        facts=facts,
        busy=host.busy_share(before, host.processor_times()),
        worst_stall_ms=max(rounds.worst_stalls_ns, default=0.0) / 1e6,
        skipped=rounds.skipped,
        results=results,
    )


def _results(rounds: Rounds, size: Size) -> list[Result]:
    paced = play(rounds, size)
    results = [lateness(paced, size), drift(paced, size)]
    for part in PARTS:
        try:
            results.append(part(rounds, size))
        except EpisodeFailed as failed:  # the other figures are not lost for it
            rounds.leave_out(part.__name__, str(failed))
    return results


def write(report: Report, docs: Path) -> None:
    """The page and its pictures."""
    (docs / FOLDER).mkdir(parents=True, exist_ok=True)
    for result in report.results:
        if result.chart is not None:
            (docs / FOLDER / f"{result.chart.name}.svg").write_text(svg(result.chart))
    (docs / PAGE).write_text(page(report))


def main(words: list[str]) -> int:
    """Exit code 0 whether or not targets were met, which the table says; 1: a part failed."""
    wanted = _parser().parse_args(words)
    if not sys.platform.startswith("linux"):
        sys.stderr.write("the benchmarks need Linux: epoll and the kernel's stamps of arrival\n")
        return 2
    with TemporaryDirectory(prefix="speechbench-") as folder:
        try:
            report = measure(QUICK if wanted.quick else FULL, Path(folder))
        except EpisodeFailed as failed:
            sys.stderr.write(f"the benchmarks cannot go on: {failed}\n")
            return 1
    if wanted.json:
        print(json.dumps(as_json(report), indent=2))
    else:
        Console(width=None if sys.stdout.isatty() else 170).print(table(report))
    if wanted.docs is not None or not wanted.quick:
        docs = wanted.docs or DOCS
        write(report, docs)
        sys.stderr.write(f"written: {docs / PAGE}\n")
    return 0 if len(report.results) == len(PARTS) + 2 else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="two minutes instead of twelve; no page is written"
    )
    parser.add_argument("--json", action="store_true", help="figures as JSON, not as a table")
    parser.add_argument(
        "--docs", type=Path, metavar="FOLDER", help="write the page there, after a quick run too"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
