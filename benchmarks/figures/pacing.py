"""How late frames reach the receiver, and how exactly the rate is kept: the same episodes."""

from statistics import median

from benchmarks.clients import ABSOLUTE, NAIVE, OURS, TRIO, C
from benchmarks.episode import Episode
from benchmarks.figure import Chart, Figure, Result, Target
from benchmarks.load import Load
from benchmarks.rounds import Rounds, frames_in
from benchmarks.size import Size
from benchmarks.spread import Spread, curve, middle

US = 1e3
MINUTE_MS = 60_000
_WHY = (
    "some 30 µs are the host's way from timer to program; ours adds the loop's way to the step, "
    "and the encoding"
)
Episodes = dict[str, list[Episode]]


def play(rounds: Rounds, size: Size) -> Episodes:
    """The episodes that this and ``drift`` are read from."""
    load = Load(port=0, core=0, streams=size.streams, frames=frames_in(size.pace_s))
    return rounds.interleaved((OURS, C, ABSOLUTE, TRIO, NAIVE), load, size.repeats, "lateness")


def lateness(episodes: Episodes, size: Size) -> Result:
    """Half and nearly all of the frames."""
    spreads = {client: _spread(played) for client, played in episodes.items()}
    return Result(
        "Lateness at the receiver",
        f"{size.streams} streams of 20 ms frames. Each frame carries the moment it was due; the "
        "kernel of the receiving socket says when it came. The way over loopback is inside.",
        [
            Figure(
                "lateness p50",
                "µs",
                {client: one.p50_ns / US for client, one in spreads.items()},
                (Target(2.5, C), Target(0.2, ABSOLUTE)),
                _WHY,
            ),
            Figure(
                "lateness p99",
                "µs",
                {client: one.p99_ns / US for client, one in spreads.items()},
                (Target(2.0, C), Target(0.25, ABSOLUTE)),
                _WHY,
            ),
            Figure(
                "lateness max",
                "µs",
                {client: one.max_ns / US for client, one in spreads.items()}
                | {"sentinel": max(_host_max_ns(played) for played in episodes.values()) / US},
                note="the host's own stalls are in it: compare it with the sentinel",
            ),
            Figure(
                "processor time of a paced frame",
                "µs",
                {
                    client: median(e.outcome.cpu_ns / e.outcome.sent for e in played) / US
                    for client, played in episodes.items()
                },
                note="all that the process does, its wakes included",
            ),
        ],
        Chart(
            "lateness",
            f"Lateness of frames at the receiver, {size.streams} streams",
            "µs",
            "curves",
            curves={
                client: [(late / US, share) for late, share in curve(_all_ns(played))]
                for client, played in episodes.items()
            },
        ),
    )


def drift(episodes: Episodes, size: Size) -> Result:
    """How much slower than real time audio is sent."""
    ppm = {client: median(e.rate_error_ppm() for e in p) for client, p in episodes.items()}
    sizes = {client: abs(value) for client, value in ppm.items()}
    return Result(
        "Drift",
        "The slope of a straight line through the moments of arrival over the due times, less one; "
        "the median over all streams and repeats.",
        [
            Figure("rate error, absolute", "ppm", sizes, (Target(20.0),)),
            Figure(
                "drift in a minute",
                "ms",
                {client: value / 1e6 * MINUTE_MS for client, value in ppm.items()},
            ),
        ],
        Chart("drift", "Rate error of the audio", "ppm", "bars", {"": sizes}, limit=20.0),
    )


def _spread(episodes: list[Episode]) -> Spread:
    return middle([episode.lateness() for episode in episodes])


def _all_ns(episodes: list[Episode]) -> list[int]:
    return [late for episode in episodes for late in episode.lateness_ns]


def _host_max_ns(episodes: list[Episode]) -> float:
    return max(e.host.late.max_ns if e.host is not None else 0.0 for e in episodes)
