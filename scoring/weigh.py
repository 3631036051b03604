"""From measurements to published numbers: quantiles of latencies, weighted word error rates. Pure.

Counts are added and ratios made last; what could not be measured is counted, never guessed.

Method: METHOD.md section 6.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum

from scoring.words import WordErrors

SHARES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
"""The quantiles that are published, by name."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One recording's word errors and how long it lasts."""

    errors: WordErrors
    audio_s: float


@dataclass(frozen=True, slots=True)
class CorpusRate:
    """The word error rate of one corpus, and what it is made of."""

    rate: float | None
    """Weighted by seconds; None where no recording has a rate."""
    recordings: int
    """How many have one."""
    audio_s: float
    """How long those are together."""
    without_reference: int
    """Recordings whose reference has no words: they have neither rate nor weight."""
    words_without_reference: int
    """Words inserted in those."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """What many samples of one latency have in common, in the unit in which they were given."""

    measured: int
    missing: int
    """Samples in which the awaited did not happen. They are no zeros."""
    mean: float | None
    """Each sample counts once, however long its audio is."""
    quantiles: Mapping[str, float | None]
    """By name, as in SHARES."""

    @property
    def success(self) -> float | None:
        """The share of samples that were measured; None of none."""
        tried = self.measured + self.missing
        return self.measured / tried if tried else None


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


def mean(values: Iterable[float]) -> float | None:
    """The plain mean, the same in whatever order they come; None of none."""
    there = list(values)
    return fsum(there) / len(there) if there else None


def latencies(samples: Iterable[float | None]) -> Latencies:
    """All samples of one latency summed up; None stands for one that could not be measured."""
    every = list(samples)
    there = [sample for sample in every if sample is not None]
    return Latencies(
        measured=len(there),
        missing=len(every) - len(there),
        mean=mean(there),
        quantiles={name: quantile(there, share) for name, share in SHARES.items()},
    )


def call_latency(parts: Iterable[float | None]) -> float | None:
    """A call's latency: the plain mean over those of its parts that were measured.

    **Reading**: each call is then one sample of its corpus. None where no part was measured.
    """
    return mean(part for part in parts if part is not None)


def time_weighted_rate(recordings: Sequence[Scored]) -> float | None:
    """The word error rate within a corpus: each recording's rate, weighted by its seconds.

    Recordings whose reference has no words have no rate and no weight. None where none has one.
    """
    return corpus_rate(recordings).rate


def corpus_rate(recordings: Sequence[Scored]) -> CorpusRate:
    """The word error rate within a corpus, and what it leaves out."""
    rated = [(one.errors.rate, one.audio_s) for one in recordings if one.errors.rate is not None]
    empty = [one.errors for one in recordings if one.errors.rate is None]
    audio_s = fsum(seconds for _, seconds in rated)
    return CorpusRate(
        rate=fsum(rate * seconds for rate, seconds in rated) / audio_s if audio_s else None,
        recordings=len(rated),
        audio_s=audio_s,
        without_reference=len(empty),
        words_without_reference=sum(errors.insertions for errors in empty),
    )


def total(recordings: Iterable[Scored]) -> WordErrors:
    """All errors, added up."""
    return sum((one.errors for one in recordings), WordErrors())


def across(figures: Mapping[str, float | None], weights: Mapping[str, Fraction]) -> float | None:
    """One figure from those of several corpora, each with its weight; the weights add up to 1.

    None where a corpus that has a weight has no figure: the others do not stand in for it.
    Raises ValueError for weights that are not a whole, and for a figure without a weight.
    """
    if sum(weights.values()) != 1 or any(weight <= 0 for weight in weights.values()):
        said = ", ".join(f"{name} {weight}" for name, weight in weights.items())
        raise ValueError(f"weights must be above 0 and add up to 1: {said}")
    strangers = sorted(set(figures) - set(weights))
    if strangers:
        raise ValueError(f"no weight for: {', '.join(strangers)}")
    parts = []
    for name, weight in weights.items():
        figure = figures.get(name)
        if figure is None:
            return None
        parts.append(weight * Fraction(figure))
    return float(sum(parts))
