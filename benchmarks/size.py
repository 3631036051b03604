"""How long everything is measured: enough to trust it, or enough to look."""

from dataclasses import dataclass

FINE_GRID = (
    *(20, 30, 40, 50, 75, 100, 125, 150, 200, 250, 300, 350, 400, 450, 500),
    *(600, 700, 800, 900, 1000, 1200, 1400, 1600, 1800, 2000),
)
COARSE_GRID = (50, 100, 200, 400, 600, 800)


@dataclass(frozen=True, slots=True)
class Size:
    """How much of each; ``repeats`` are interleaved, and their median counts."""

    name: str
    streams: int
    vad_streams: int
    repeats: int
    pace_s: float
    receive_repeats: int
    receive_s: float
    bursts: int
    scrape_s: float
    vad_s: float
    capacity_s: float
    capacity_tries: int
    """How often a number of streams may fail before it is too many: the host stalls sometimes."""
    grid: tuple[int, ...]
    survey_repeats: int


FULL = Size("full", 50, 100, 3, 8.0, 2, 6.0, 300, 8.0, 6.0, 2.5, 3, FINE_GRID, 5)
QUICK = Size("quick", 50, 100, 1, 2.5, 1, 2.0, 60, 2.5, 2.5, 1.0, 1, COARSE_GRID, 2)
TINY = Size("tiny", 2, 2, 1, 0.8, 1, 0.8, 3, 0.8, 0.8, 0.8, 1, (1, 2), 1)
"""For tests of the benchmarks themselves: its figures mean nothing."""
