"""Estimates: figures with their intervals, and of how many they are."""

from collections.abc import Callable, Sequence

from daemon.reporting.recordings import Recordings, calls_of
from daemon.reporting.samples import Sample
from exporters.definition_table import ENOUGH
from exporters.report_table import SHARES, Estimate, Latency
from scoring.interval import Interval, of_mean, of_quantile, of_rate
from scoring.weigh import SHARES as QUANTILES
from scoring.weigh import call_latency, corpus_rate, mean, quantile


def estimated(value: float | None, n: int, interval: Callable[[], Interval | None]) -> Estimate:
    """A figure with its interval; where each draw gives the same, that is no interval."""
    found = None if value is None else interval()
    if found is None or found.low == found.high:
        return Estimate(value, n)
    return Estimate(value, n, found.low, found.high)


def latencies_of(samples: Sequence[Sample], value: Callable[[Sample], float | None]) -> list[float]:
    """Each measurement once; of a call, the mean of its parts."""
    whole = [value(one) for one in samples if one.part is None]
    whole += [call_latency(value(one) for one in parts) for parts in calls_of(samples)]
    return [found for found in whole if found is not None]


def latency(values: Sequence[float]) -> Latency:
    """The mean, and each quantile; one of too few values has no interval."""
    n = len(values)

    def at(name: str) -> Estimate:
        share = QUANTILES[name]
        if n < ENOUGH[name]:
            return Estimate(quantile(values, share), n)
        return estimated(quantile(values, share), n, lambda: of_quantile(values, share))

    whole = estimated(mean(values), n, lambda: of_mean(values))
    return Latency(whole, {name: at(name) for name in SHARES})


def word_error_rate(recordings: Recordings) -> Estimate:
    """Of all recordings that have a score, weighted by their seconds."""
    rate = corpus_rate(recordings.scored)
    return estimated(rate.rate, rate.recordings, lambda: of_rate(recordings.scored))


def success(answered: int, failed: int) -> Estimate:
    """The share that was answered."""
    n = answered + failed
    outcomes = [1.0] * answered + [0.0] * failed
    return estimated(answered / n if n else None, n, lambda: of_mean(outcomes))
