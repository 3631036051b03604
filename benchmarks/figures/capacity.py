"""How many streams one core carries before frames are late."""

from dataclasses import replace

from benchmarks.clients import ABSOLUTE, OURS, TRIO, C
from benchmarks.figure import Chart, Figure, Result, Target
from benchmarks.load import Load
from benchmarks.rounds import Rounds, frames_in
from benchmarks.search import Search
from benchmarks.size import Size
from benchmarks.spread import spread

LIMIT_NS = 2_000_000
FIRST = {OURS: 800, ABSOLUTE: 300, TRIO: 100, C: 1800}
"""Where the search begins; it goes wherever it has to."""
WAYS = {
    "plain, binary": (False, False, (OURS, ABSOLUTE, TRIO, C), (1.6, 4.0)),
    "TLS, JSON": (True, True, (OURS, ABSOLUTE, TRIO), (2.0, 5.0)),
}


def streams_per_core(rounds: Rounds, size: Size) -> Result:
    """The largest number whose lateness stays below 2 ms at the 99th percentile."""
    figures: list[Figure] = []
    for way, (tls, json, clients, (against_absolute, against_trio)) in WAYS.items():
        load = Load(port=0, core=0, frames=frames_in(size.capacity_s + 0.5), tls=tls, json=json)
        targets = (
            Target(against_absolute, ABSOLUTE, at_least=True),
            Target(against_trio, TRIO, at_least=True),
        )
        figures.append(
            Figure(
                f"streams per core, {way}",
                "streams",
                _largest(rounds, rounds.here(clients), load, size, way),
                targets,
                note="near the end of a core every engine is bound by the cost of sending a frame",
            )
        )
    return Result(
        "Streams per core",
        "The largest number of streams, of a grid, whose frames arrive within 2 ms at the 99th "
        f"percentile; the grid ends at {size.grid[-1]}. The client has one core, the receiver "
        f"another. A number is tried up to {size.capacity_tries} times before it counts as too "
        "many. Frames that the host itself made late, as the sentinel saw, are not judged here; "
        "where that is more than half of them, the try has failed.",
        figures,
        Chart(
            "streams_per_core",
            "Streams per core with 99 % of frames within 2 ms",
            "streams",
            "bars",
            {figure.name.partition(", ")[2]: figure.values for figure in figures},
        ),
    )


def _largest(
    rounds: Rounds, clients: list[str], load: Load, size: Size, way: str
) -> dict[str, float]:
    """The searches go on in turn, a number each."""
    searches = {client: Search(size.grid, FIRST[client]) for client in clients}
    while any(search.next is not None for search in searches.values()):
        for client, search in searches.items():
            if search.next is not None:
                more = replace(load, streams=search.next)
                search.tell(_passes(rounds, client, more, size.capacity_tries, way))
    return {client: float(search.largest) for client, search in searches.items()}


def _passes(rounds: Rounds, client: str, load: Load, tries: int, way: str) -> bool:
    what = f"streams per core, {way}"
    for _ in range(tries):
        episode = rounds.play(client, load, what)
        if episode is None or not episode.complete:
            return False
        judged = episode.undisturbed_ns
        if 2 * len(judged) < len(episode.lateness_ns):
            rounds.say(f"{what}: {client}, {load.streams}: the host stood still too often")
            continue
        lateness = spread(judged)
        rounds.say(f"{what}: {client}, {load.streams}: p99 {lateness.p99_ns / 1e6:.2f} ms")
        if lateness.p99_ns < LIMIT_NS:
            return True
        if lateness.p50_ns >= LIMIT_NS:  # no stall of the host is the reason for this
            return False
    return False
