"""How wrong the stamp of a message is: the client's against the sender's own."""

from benchmarks.clients import ABSOLUTE, OURS, TRIO
from benchmarks.episode import Episode
from benchmarks.figure import Chart, Figure, Result, Target
from benchmarks.load import Load
from benchmarks.rounds import Rounds, frames_in
from benchmarks.size import Size
from benchmarks.spread import curve, middle, spread

US = 1e3
SAYS_PER_S = 5.0
WAYS = {"plain": False, "TLS": True}


def receive_error(rounds: Rounds, size: Size) -> Result:
    """While pacing, with live voice detection beside it."""
    figures: list[Figure] = []
    curves: dict[str, list[tuple[float, float]]] = {}
    for way, tls in WAYS.items():
        load = Load(
            port=0,
            core=0,
            streams=size.streams,
            frames=frames_in(size.receive_s),
            tls=tls,
            listen=True,
            hear=True,
        )
        episodes = rounds.interleaved(
            (OURS, ABSOLUTE, TRIO), load, size.receive_repeats, f"receive stamps, {way}", SAYS_PER_S
        )
        figures += _figures(way, episodes)
        for client, played in episodes.items():
            errors_ns = [error for episode in played for error in episode.stamp_errors_ns]
            curves[f"{client}, {way}"] = [(e / US, share) for e, share in curve(errors_ns)]
    return Result(
        "Error of the receive stamp",
        f"{size.streams} streams are paced, the live voice detector hears as many in a thread, and "
        f"the other side sends each stream {SAYS_PER_S:g} messages a second at random moments. "
        "Its truth is the moment just before it handed the message to its socket, on the same "
        "clock. "
        "Rivals stamp right after their receive call returns, and hear in the same kind of thread.",
        figures,
        Chart(
            "receive_error",
            "Error of the receive stamp while pacing, live voice detection beside it",
            "µs",
            "curves",
            curves=curves,
            limit=100.0,
        ),
    )


def _figures(way: str, episodes: dict[str, list[Episode]]) -> list[Figure]:
    spreads = {
        client: middle([spread(e.stamp_errors_ns) for e in played])
        for client, played in episodes.items()
    }
    user = middle([spread(e.user_errors_ns) for e in episodes[OURS]])
    return [
        Figure(
            f"receive stamp error p50, {way}",
            "µs",
            {client: one.p50_ns / US for client, one in spreads.items()},
        ),
        Figure(
            f"receive stamp error p99, {way}",
            "µs",
            {client: one.p99_ns / US for client, one in spreads.items()}
            | {"ours, user stamp": user.p99_ns / US},
            (Target(0.1, ABSOLUTE), Target(100.0)),
        ),
    ]
