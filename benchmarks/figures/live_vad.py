"""What the live voice detector does to the pacing, and how soon it decides."""

from dataclasses import replace

from benchmarks.clients import OURS
from benchmarks.episode import Episode
from benchmarks.figure import Figure, Result, Target
from benchmarks.load import Load
from benchmarks.rounds import Rounds, frames_in
from benchmarks.size import Size
from benchmarks.spread import middle, spread

WITHOUT = "without detector"


def live_vad(rounds: Rounds, size: Size) -> Result:
    """The same episode with and without it, in turn."""
    load = Load(port=0, core=0, streams=size.vad_streams, frames=frames_in(size.vad_s))
    without: list[Episode] = []
    hearing: list[Episode] = []
    for repeat in range(size.repeats):
        for episodes, hear in ((without, False), (hearing, True)):
            rounds.say(
                f"live detection, {repeat + 1} of {size.repeats}: {'with' if hear else 'without'}"
            )
            episode = rounds.play(OURS, replace(load, hear=hear), "live detection")
            assert episode is not None
            episodes.append(episode)
    delays = middle([spread(episode.outcome.decision_delays_ns) for episode in hearing])
    return Result(
        "Live voice detection",
        f"{size.vad_streams} streams of real speech are paced; one thread hears all of them "
        "together, on the same core. The delay of a decision runs from the moment at which the "
        f"last frame needed for it was handed over until it was told; {delays.n:,} decisions.",
        [
            Figure(
                "lateness p99 with live detection",
                "µs",
                {OURS: _p99_us(hearing), WITHOUT: _p99_us(without)},
                (Target(2.0, WITHOUT),),
                note="the detector's thread holds the interpreter for part of each of its rounds",
            ),
            Figure("delay of a decision p50", "ms", {OURS: delays.p50_ns / 1e6}),
            Figure(
                "delay of a decision p99",
                "ms",
                {OURS: delays.p99_ns / 1e6},
                (Target(12.0),),
                note="two rounds of the thread at most: a pause, and the windows of all streams",
            ),
        ],
    )


def _p99_us(episodes: list[Episode]) -> float:
    return middle([episode.lateness() for episode in episodes]).p99_ns / 1e3
