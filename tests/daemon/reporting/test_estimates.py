"""Estimates: of how many they are, and where they have an interval."""

from dataclasses import replace

import pytest

from daemon.reporting.estimates import estimated
from exporters.report_table import Estimate
from scoring.interval import Interval
from tests.daemon.reporting.sampled import FAILED, SAMPLE, line, part


def test_latencies_count_each_sample_once_and_a_missing_one_is_no_zero() -> None:
    found = line(replace(SAMPLE, time_ms=100.0), replace(SAMPLE, clip="two", audio_s=90.0), FAILED)
    assert (found.time.mean.value, found.time.mean.n) == (150.0, 2)


def test_a_calls_latency_is_the_mean_of_its_parts_and_one_sample() -> None:
    parts = [part(1, "thank you for", time_ms=100.0), part(2, "standing by today", time_ms=500.0)]
    found = line(*parts, replace(SAMPLE, time_ms=200.0))
    assert (found.time.mean.value, found.time.mean.n) == (250.0, 2)


def test_measuring_a_recording_again_makes_its_interval_no_narrower() -> None:
    other = replace(SAMPLE, clip="two", text="good")
    third = replace(SAMPLE, clip="three", text="good day")
    once, often = line(SAMPLE, other, third), line(*[SAMPLE, other, third] * 5)
    assert once.wer == often.wer
    assert once.wer.low is not None


@pytest.mark.parametrize(("n", "there"), [(9, False), (10, True)])
def test_a_quantile_of_too_few_values_has_no_interval(n: int, there: bool) -> None:
    found = line(*(replace(SAMPLE, time_ms=100.0 + nth) for nth in range(n)))
    assert found.time.quantiles["p90"].value is not None
    assert (found.time.quantiles["p90"].low is not None) == there


def test_where_every_draw_gives_the_same_there_is_no_interval() -> None:
    assert estimated(1.0, 9, lambda: Interval(1.0, 1.0)) == Estimate(1.0, 9)
    assert estimated(None, 0, lambda: Interval(1.0, 2.0)) == Estimate(None, 0)
