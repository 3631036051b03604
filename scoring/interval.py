"""How far a figure can be trusted: bootstrap intervals, the same on every host for the same seed.

The samples are drawn again, with replacement, many times; the figure of each such draw is worked
out, and the interval holds the middle ``level`` of them. Fewer than two samples have none.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.weigh import Scored

RESAMPLES = 2_000
LEVEL = 0.95
SEED = 20_240_601
"""Any number would do; it is written down so that anyone gets the same interval."""
BLOCK_DRAWS = 1 << 20
"""How many draws are held in memory at once."""

Floats = NDArray[np.float64]
Figure = Callable[[Floats], Floats]
"""float64[n draws, samples, columns] -> float64[n draws]"""


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a figure lies, with ``level`` confidence."""

    low: float
    high: float
    level: float = LEVEL


def of_mean(
    values: Sequence[float], *, seed: int = SEED, resamples: int = RESAMPLES
) -> Interval | None:
    """Of the plain mean."""
    return _interval(_column(values), lambda drawn: drawn[..., 0].mean(axis=1), seed, resamples)


def of_quantile(
    values: Sequence[float], share: float, *, seed: int = SEED, resamples: int = RESAMPLES
) -> Interval | None:
    """Of the value that ``share`` of them do not exceed."""

    def figure(drawn: Floats) -> Floats:
        found: Floats = np.quantile(drawn[..., 0], share, axis=1)
        return found

    return _interval(_column(values), figure, seed, resamples)


def of_rate(
    recordings: Sequence[Scored], *, seed: int = SEED, resamples: int = RESAMPLES
) -> Interval | None:
    """Of a corpus's word error rate: whole recordings are drawn, each with its weight."""
    rated = [(one.errors.rate, one.audio_s) for one in recordings if one.errors.rate is not None]
    rows = np.array([(rate * audio_s, audio_s) for rate, audio_s in rated], dtype=np.float64)

    def figure(drawn: Floats) -> Floats:
        sums = drawn.sum(axis=1)
        found: Floats = sums[:, 0] / sums[:, 1]
        return found

    return _interval(rows.reshape(-1, 2), figure, seed, resamples)


def _column(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def _interval(rows: Floats, figure: Figure, seed: int, resamples: int) -> Interval | None:
    if len(rows) < 2:
        return None
    # In one order, so that the one in which samples came cannot change the draws.
    rows = rows[np.lexsort(rows.T)]
    figures = np.concatenate([figure(drawn) for drawn in _draws(rows, seed, resamples)])
    low, high = np.quantile(figures, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))


def _draws(rows: Floats, seed: int, resamples: int) -> Iterator[Floats]:
    """All resamples, a block at a time. The generator is the one whose numbers never change."""
    random = np.random.RandomState(seed)
    in_one = max(1, BLOCK_DRAWS // len(rows))
    for start in range(0, resamples, in_one):
        draws = min(in_one, resamples - start)
        yield rows[random.randint(0, len(rows), size=(draws, len(rows)))]
