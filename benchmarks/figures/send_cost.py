"""What sending one frame costs the processor, and nothing else."""

from statistics import median

from benchmarks.clients import ABSOLUTE, OURS, TRIO
from benchmarks.figure import Chart, Figure, Result, Target
from benchmarks.load import Load
from benchmarks.rounds import Rounds
from benchmarks.size import Size

US = 1e3
WAYS = {"plain, binary": (False, False), "TLS, JSON": (True, True)}


def send_cost(rounds: Rounds, size: Size) -> Result:
    """Plain binary frames, and base64 in JSON under TLS."""
    costs = {way: _costs(rounds, size, way, *how) for way, how in WAYS.items()}
    return Result(
        "Processor time of a frame sent",
        "One connection, bursts of 20 messages with a pause behind each, the median burst. "
        "Making the message, encoding, masking, encrypting and the system call are inside; "
        "waking up is not.",
        [
            Figure(
                f"processor time of a frame sent, {way}",
                "µs",
                found,
                (Target(0.6, ABSOLUTE), Target(0.25, TRIO)),
                note="the system call is a third of it and cannot be saved; the next largest part "
                "is masking, which our encoder does frame by frame",
            )
            for way, found in costs.items()
        ],
        Chart("send_cost", "Processor time of a frame sent", "µs", "bars", costs),
    )


def _costs(rounds: Rounds, size: Size, way: str, tls: bool, json: bool) -> dict[str, float]:
    load = Load(port=0, core=0, bursts=size.bursts, tls=tls, json=json)
    episodes = rounds.interleaved((OURS, ABSOLUTE, TRIO), load, size.repeats, f"send cost, {way}")
    return {
        client: median(median(e.outcome.burst_cpu_ns) for e in played) / US
        for client, played in episodes.items()
    }
