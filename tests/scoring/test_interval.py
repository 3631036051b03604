"""Intervals: the same for everyone, around the figure, and right about as often as they say."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.interval import BLOCK_DRAWS, Interval, of_mean, of_quantile, of_rate
from scoring.weigh import Scored, mean, quantile, time_weighted_rate
from scoring.words import WordErrors

VALUES = [0.21, 0.35, 0.19, 0.25, 0.33, 0.41, 0.28]
FEW = 200
"""Resamples, where only the shape of the answer counts."""


def test_one_sample_has_no_interval() -> None:
    assert of_mean([1.0]) is None
    assert of_quantile([], 0.5) is None
    assert of_rate([Scored(WordErrors(10), 1.0)]) is None


def test_the_same_samples_give_the_same_interval_on_every_host() -> None:
    found = of_quantile(VALUES, 0.5)
    assert found == Interval(pytest.approx(0.21), pytest.approx(0.35))  # type: ignore[arg-type]
    assert of_mean(VALUES) == of_mean(VALUES)
    assert of_mean(VALUES, seed=1) != of_mean(VALUES, seed=2)


def test_samples_that_are_all_the_same_leave_no_doubt() -> None:
    assert of_mean([0.5] * 9) == Interval(0.5, 0.5)


def test_a_rate_whose_interval_is_wanted_leaves_out_what_has_none() -> None:
    recordings = [Scored(WordErrors(10, errors), 5.0 + errors) for errors in range(6)]
    silent = Scored(WordErrors(insertions=3), 100.0)
    found = of_rate(recordings)
    assert found is not None
    assert of_rate([silent, *recordings]) == found
    rate = time_weighted_rate(recordings)
    assert rate is not None
    assert found.low < rate < found.high


values = st.lists(st.floats(0, 100), min_size=2, max_size=30)


@given(values, st.randoms())
def test_the_order_of_samples_changes_no_interval(samples: list[float], random: Random) -> None:
    before = of_quantile(samples, 0.9, resamples=FEW)
    random.shuffle(samples)
    assert of_quantile(samples, 0.9, resamples=FEW) == before


@given(values)
def test_an_interval_lies_within_the_samples(samples: list[float]) -> None:
    for found in (of_mean(samples, resamples=FEW), of_quantile(samples, 0.5, resamples=FEW)):
        assert found is not None
        assert min(samples) - 1e-9 <= found.low <= found.high <= max(samples) + 1e-9


def test_many_samples_are_drawn_in_blocks_that_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    samples = [Random(value).random() for value in range(50)]
    whole = of_mean(samples, resamples=FEW)
    monkeypatch.setattr("scoring.interval.BLOCK_DRAWS", BLOCK_DRAWS >> 14)
    assert of_mean(samples, resamples=FEW) == whole


def covered(samples: list[float], true: float, share: float | None) -> bool:
    found = (
        of_mean(samples, resamples=400)
        if share is None
        else of_quantile(samples, share, resamples=400)
    )
    assert found is not None
    return found.low <= true <= found.high


@pytest.mark.parametrize(("share", "true"), [(None, 0.5), (0.5, 0.5), (0.9, 0.9)])
def test_intervals_hold_the_truth_about_as_often_as_they_say(
    share: float | None, true: float
) -> None:
    random = Random(7)
    trials = [[random.random() for _ in range(60)] for _ in range(300)]
    assert mean(samples[0] for samples in trials) == pytest.approx(0.5, abs=0.05)
    assert quantile(trials[0], 0.5) == pytest.approx(0.5, abs=0.2)
    hits = sum(covered(samples, true, share) for samples in trials)
    assert 0.90 <= hits / 300 <= 0.99
