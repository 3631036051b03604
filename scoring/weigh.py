"""From measurements to published numbers: quantiles of latencies, weighted word error rates. Pure.

Counts are added and ratios made last; what could not be measured is counted, never guessed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scoring.words import WordErrors


@dataclass(frozen=True, slots=True)
class Scored:
    """One recording's word errors and how long it lasts."""

    errors: WordErrors
    audio_s: float


def quantile(values: Iterable[float], share: float) -> float | None:
    """The value that ``share`` of them do not exceed, between neighbours in proportion.

    None of none. The median of an even number is the mean of the middle two.
    """
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def time_weighted_rate(recordings: Sequence[Scored]) -> float | None:
    """The word error rate within a corpus: each recording's rate, weighted by its seconds.

    Recordings whose reference has no words have no rate and no weight. None where none has one.
    """
    rated = [(one.errors.rate, one.audio_s) for one in recordings if one.errors.rate is not None]
    seconds = sum(audio_s for _, audio_s in rated)
    if not seconds:
        return None
    return sum(rate * audio_s for rate, audio_s in rated) / seconds


def total(recordings: Iterable[Scored]) -> WordErrors:
    """All errors, added up."""
    return sum((one.errors for one in recordings), WordErrors())
