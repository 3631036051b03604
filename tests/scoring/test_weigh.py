"""Numbers that sum up many measurements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.weigh import Scored, quantile, time_weighted_rate, total
from scoring.words import WordErrors


def test_of_nothing_there_is_no_quantile_and_no_rate() -> None:
    assert quantile([], 0.5) is None
    assert time_weighted_rate([]) is None


def test_the_median_of_two_is_their_mean() -> None:
    assert quantile([3.0, 1.0], 0.5) == 2.0


def test_a_quantile_lies_between_its_neighbours_in_proportion() -> None:
    assert quantile([0.0, 10.0, 20.0, 30.0], 0.95) == pytest.approx(28.5)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 1))
def test_a_quantile_is_never_outside_the_values(values: list[float], share: float) -> None:
    found = quantile(values, share)
    assert found is not None
    assert min(values) - 1e-6 <= found <= max(values) + 1e-6


def test_rates_are_weighted_by_time_and_not_by_words() -> None:
    recordings = [
        Scored(WordErrors(reference_words=10, substitutions=5), audio_s=1.0),
        Scored(WordErrors(reference_words=1000), audio_s=3.0),
    ]
    assert time_weighted_rate(recordings) == 0.125


def test_a_reference_without_words_has_no_weight() -> None:
    recordings = [
        Scored(WordErrors(insertions=7), audio_s=100.0),
        Scored(WordErrors(reference_words=4, deletions=1), audio_s=1.0),
    ]
    assert time_weighted_rate(recordings) == 0.25
    assert total(recordings) == WordErrors(4, 0, 7, 1)
