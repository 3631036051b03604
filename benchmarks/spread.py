"""Statistics of the benchmarks. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

PPM = 1e6


@dataclass(frozen=True, slots=True)
class Spread:
    """How some durations lie, in nanoseconds."""

    n: int
    p50_ns: float
    p90_ns: float
    p99_ns: float
    max_ns: float


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of all do not exceed. ValueError for none."""
    if not ordered:
        raise ValueError("a percentile of nothing")
    if not 0 < share <= 1:
        raise ValueError(f"share {share}: it must be over 0 and at most 1")
    rank = -int(-share * len(ordered) // 1)
    return ordered[rank - 1]


def spread(values_ns: Sequence[float]) -> Spread:
    """Of these durations, in any order. ValueError for none."""
    ordered = sorted(values_ns)
    return Spread(
        len(ordered),
        percentile(ordered, 0.5),
        percentile(ordered, 0.9),
        percentile(ordered, 0.99),
        ordered[-1] if ordered else 0,
    )


def middle(spreads: Sequence[Spread]) -> Spread:
    """Of several repeats the median of each figure; the longest and the number of all."""
    return Spread(
        sum(one.n for one in spreads),
        median(one.p50_ns for one in spreads),
        median(one.p90_ns for one in spreads),
        median(one.p99_ns for one in spreads),
        max(one.max_ns for one in spreads),
    )


def rate_error_ppm(due_ns: Sequence[int], arrived_ns: Sequence[int]) -> float:
    """How much slower than asked for (negative: faster) the frames of one stream came.

    The slope of a straight line through their moments of arrival over their due times, less one.
    """
    if len(due_ns) < 2:
        raise ValueError("a rate needs two frames")
    due_0, arrived_0 = due_ns[0], arrived_ns[0]
    due = [moment - due_0 for moment in due_ns]
    arrived = [moment - arrived_0 for moment in arrived_ns]
    due_mean, arrived_mean = fmean(due), fmean(arrived)
    covariance = sum((d - due_mean) * (a - arrived_mean) for d, a in zip(due, arrived, strict=True))
    variance = sum((d - due_mean) ** 2 for d in due)
    return (covariance / variance - 1) * PPM


def curve(values_ns: Sequence[float], points: int = 200) -> list[tuple[float, float]]:
    """(value, share of all at or below it), evenly in rank: for drawing a distribution."""
    ordered = sorted(values_ns)
    count = min(points, len(ordered))
    ranks = [(index + 1) * len(ordered) // count for index in range(count)]
    return [(ordered[rank - 1], rank / len(ordered)) for rank in ranks]
