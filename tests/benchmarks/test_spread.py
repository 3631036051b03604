"""Statistics: what is called the 99th percentile is it, and a slope is a rate."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.spread import curve, middle, percentile, rate_error_ppm, spread

STEP_NS = 20_000_000
VALUES = st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=300)


def test_half_of_three_is_the_middle_one() -> None:
    assert percentile([1, 2, 3], 0.5) == 2


def test_the_99th_percentile_of_a_hundred_is_the_last_but_one() -> None:
    assert percentile(list(range(1, 101)), 0.99) == 99


def test_the_99th_percentile_of_few_is_the_largest() -> None:
    assert percentile([1, 2, 3], 0.99) == 3


@given(VALUES, st.floats(0.001, 1))
def test_a_percentile_is_the_smallest_value_that_the_share_does_not_exceed(
    values: list[int], share: float
) -> None:
    ordered = sorted(values)
    found = percentile(ordered, share)
    at_most = sum(value <= found for value in values)
    below = sum(value < found for value in values)
    assert at_most >= share * len(values)
    assert below < share * len(values)


@pytest.mark.parametrize("share", [0.0, 1.01, -0.5])
def test_a_share_must_be_one(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        percentile([1], share)


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="nothing"):
        spread([])


def test_of_repeats_the_medians_count_but_the_longest_of_all() -> None:
    found = middle([spread([1, 2]), spread([10, 20]), spread([3, 400])])
    assert (found.n, found.p50_ns, found.p99_ns, found.max_ns) == (6, 3, 20, 400)


def test_a_constant_lateness_is_no_rate_error() -> None:
    due_ns = [i * STEP_NS for i in range(100)]
    assert rate_error_ppm(due_ns, [d + 700_000 for d in due_ns]) == pytest.approx(0, abs=1e-6)


@given(st.integers(-500_000, 500_000), st.integers(0, 10**17))
def test_a_stretched_stream_has_just_that_rate_error(ppm: int, start_ns: int) -> None:
    due_ns = [start_ns + i * STEP_NS for i in range(50)]
    arrived_ns = [start_ns + i * STEP_NS * (1_000_000 + ppm) // 1_000_000 for i in range(50)]
    assert rate_error_ppm(due_ns, arrived_ns) == pytest.approx(ppm, abs=0.01)


def test_jitter_hardly_touches_the_rate() -> None:
    random = Random(7)
    due_ns = [i * STEP_NS for i in range(400)]
    arrived_ns = [d + random.randrange(200_000) for d in due_ns]
    assert abs(rate_error_ppm(due_ns, arrived_ns)) < 10


def test_one_frame_has_no_rate() -> None:
    with pytest.raises(ValueError, match="two frames"):
        rate_error_ppm([0], [0])


@given(VALUES)
def test_a_curve_rises_and_ends_with_the_largest_at_all(values: list[int]) -> None:
    points = curve(values)
    assert points == sorted(points)
    assert points[-1] == (max(values), 1.0)
