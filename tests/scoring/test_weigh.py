"""Numbers that sum up many measurements."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.weigh import (
    SHARES,
    Scored,
    across,
    call_latency,
    corpus_rate,
    latencies,
    quantile,
    time_weighted_rate,
    total,
)
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


def test_what_could_not_be_measured_is_counted_and_no_zero() -> None:
    found = latencies([0.2, None, 0.4])
    assert (found.measured, found.missing, found.success) == (2, 1, 2 / 3)
    assert found.mean == pytest.approx(0.3)
    assert found.quantiles["p50"] == pytest.approx(0.3)


def test_of_no_samples_there_is_nothing_to_say() -> None:
    found = latencies([])
    assert (found.mean, found.success, found.quantiles) == (None, None, dict.fromkeys(SHARES))
    assert latencies([None]).success == 0.0


def test_four_quantiles_are_published() -> None:
    found = latencies([float(value) for value in range(101)])
    assert found.quantiles == {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0}


def test_a_call_is_as_fast_as_its_parts_that_were_measured() -> None:
    assert call_latency([1.0, None, 2.0]) == 1.5
    assert call_latency([None]) is None


@given(st.lists(st.floats(0, 1e3), min_size=1), st.randoms())
def test_the_order_of_samples_changes_no_mean(values: list[float], random: Random) -> None:
    before = latencies(values)
    random.shuffle(values)
    assert latencies(values) == before


HALVES = {"a": Fraction(1, 2), "b": Fraction(1, 2)}


@pytest.mark.parametrize("figures", [{"a": 0.1}, {"a": 0.1, "b": None}, {}])
def test_no_corpus_stands_in_for_another(figures: dict[str, float | None]) -> None:
    assert across(figures, HALVES) is None


@pytest.mark.parametrize(
    "weights",
    [{}, {"a": Fraction(1, 2)}, {"a": Fraction(3, 2), "b": Fraction(-1, 2)}, {"a": Fraction(2)}],
)
def test_weights_must_be_a_whole(weights: dict[str, Fraction]) -> None:
    with pytest.raises(ValueError, match="above 0 and add up to 1"):
        across({"a": 0.1}, weights)


def test_a_figure_without_a_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="no weight for: c"):
        across({"a": 0.1, "b": 0.1, "c": 0.1}, HALVES)


@given(st.floats(0, 10))
def test_corpora_that_agree_agree_with_the_whole(value: float) -> None:
    assert across({"a": value, "b": value}, HALVES) == value


recordings = st.lists(
    st.builds(
        Scored,
        st.builds(WordErrors, st.integers(0, 50), st.integers(0, 9), st.integers(0, 9)),
        st.floats(0.1, 1e4),
    ),
    max_size=20,
)


@given(recordings)
def test_a_rate_is_between_the_lowest_and_the_highest(corpus: list[Scored]) -> None:
    found = corpus_rate(corpus)
    rates = [one.errors.rate for one in corpus if one.errors.rate is not None]
    assert found.recordings + found.without_reference == len(corpus)
    if found.rate is None:
        assert rates == []
    else:
        assert min(rates) - 1e-9 <= found.rate <= max(rates) + 1e-9


@given(recordings)
def test_two_halves_of_a_recording_weigh_as_the_whole(corpus: list[Scored]) -> None:
    halves = [Scored(one.errors, one.audio_s / 2) for one in corpus for _ in range(2)]
    assert time_weighted_rate(halves) == pytest.approx(time_weighted_rate(corpus))
