"""Speed factors and throughput: medians of windows, and what failed beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.speed import (
    DAY_S,
    BarReading,
    Median,
    Timed,
    bar,
    bar_of_points,
    characters,
    point,
    points,
    speed_factor,
    throughput,
    throughput_median,
    window_median,
)


def test_nothing_is_done_in_no_time() -> None:
    with pytest.raises(ValueError, match="0 s: nothing is done in no time"):
        speed_factor(60, 0)
    with pytest.raises(ValueError, match="nan s"):
        throughput(500, float("nan"))


def test_a_day_without_a_measurement_has_no_point() -> None:
    assert point([]) == Median(None, 0, 0, 4)
    assert point([None, None]).failures == 2
    assert not point([1.0, 2.0, 3.0]).complete


def test_days_are_counted_from_midnight() -> None:
    timed = [Timed(DAY_S - 0.5, 1.0), Timed(DAY_S, 2.0), Timed(DAY_S, None)]
    assert points(timed) == {0: Median(1.0, 1, 0, 4), 1: Median(2.0, 1, 1, 4)}


@pytest.mark.parametrize(("at_s", "inside"), [(-0.1, 0), (0.0, 1), (10.0, 1), (10.1, 0)])
def test_both_ends_of_a_window_belong_to_it(at_s: float, inside: int) -> None:
    assert window_median([Timed(at_s, 1.0)], now_s=10, window_s=10).measurements == inside


def test_throughput_is_of_three_days_and_a_bar_of_seven() -> None:
    timed = [Timed(day * DAY_S, float(day)) for day in range(11)]
    assert throughput_median(timed, now_s=10 * DAY_S).measurements == 4
    assert bar(timed, now_s=10 * DAY_S).measurements == 8
    by_points = bar(timed, now_s=10 * DAY_S, reading=BarReading.POINTS)
    assert (by_points.value, by_points.measurements) == (7.0, 7)


def test_a_bar_of_points_lets_each_day_count_the_same() -> None:
    busy = [Timed(DAY_S * 2 + hour, 100.0) for hour in range(9)]
    calm = [Timed(0.0, 1.0), Timed(DAY_S, 1.0)]
    assert bar(busy + calm, now_s=3 * DAY_S).value == 100.0
    assert bar(busy + calm, now_s=3 * DAY_S, reading=BarReading.POINTS).value == 1.0


def test_a_bar_says_when_days_are_missing() -> None:
    found = bar_of_points({9: 1.0, 10: None}, today=10)
    assert (found.value, found.failures, found.complete) == (1.0, 1, False)


def test_characters_are_counted_as_a_reader_would() -> None:
    assert characters("caf\u00e9") == characters("cafe\u0301") == 4


timed = st.lists(st.builds(Timed, st.floats(0, 1e6), st.none() | st.floats(0, 1e3)))


@given(timed, st.floats(0, 1e6), st.floats(-1e6, 1e6))
def test_only_distances_in_time_count(many: list[Timed], now_s: float, shift_s: float) -> None:
    at = [round(one.at_s) for one in many]
    moved = [Timed(a + round(shift_s), one.value) for a, one in zip(at, many, strict=True)]
    still = [Timed(a, one.value) for a, one in zip(at, many, strict=True)]
    now = round(now_s)
    assert throughput_median(moved, now_s=now + round(shift_s)) == throughput_median(
        still, now_s=now
    )


@given(timed)
def test_every_request_is_in_one_point(many: list[Timed]) -> None:
    found = points(many).values()
    assert sum(one.measurements + one.failures for one in found) == len(many)
