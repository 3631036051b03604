"""Whether being scraped makes frames late."""

from dataclasses import replace
from statistics import median

from benchmarks.clients import OURS
from benchmarks.episode import Episode
from benchmarks.figure import Figure, Result, Target
from benchmarks.load import Load
from benchmarks.rounds import Rounds, frames_in
from benchmarks.size import Size
from benchmarks.spread import middle

WITHOUT = "without scrapes"


def scrape_effect(rounds: Rounds, size: Size) -> Result:
    """The same episode with and without a scraper, in turn."""
    load = Load(port=0, core=0, streams=size.streams, frames=frames_in(size.scrape_s), record=True)
    without: list[Episode] = []
    scraped: list[Episode] = []
    for repeat in range(size.repeats):
        for episodes, each_second in ((without, False), (scraped, True)):
            rounds.say(
                f"scrapes, {repeat + 1} of {size.repeats}: {'with' if each_second else 'without'}"
            )
            episode = rounds.play(OURS, replace(load, scraped=each_second), "scrapes")
            assert episode is not None
            episodes.append(episode)
    lines = median(episode.outcome.scrape_lines for episode in scraped)
    return Result(
        "Scrapes",
        f"{size.streams} streams whose every frame is recorded and journalled by the exporter "
        f"process; its {lines:,.0f} lines of metrics are scraped each second, or not.",
        [
            Figure(
                "lateness p99 with scrapes",
                "µs",
                {OURS: _p99_us(scraped), WITHOUT: _p99_us(without)},
                (Target(1.3, WITHOUT),),
            ),
            Figure("lines of a scrape", "lines", {OURS: float(lines)}),
        ],
    )


def _p99_us(episodes: list[Episode]) -> float:
    return middle([episode.lateness() for episode in episodes]).p99_ns / 1e3
