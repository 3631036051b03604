"""Stamps of the wall clock, carried over to ours; what cannot be true is not believed."""

import itertools
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from daemon.kernel_stamps import TRUSTED_AGE_NS, Carried, carried

MOMENTS = st.integers(0, 1 << 62)
DIFFERENCES = st.integers(-(1 << 61), 1 << 61)


def clocks(*halts_ns: int, wall_minus_ours_ns: int) -> tuple[Callable[[], int], Callable[[], int]]:
    """Our clock and the wall clock; before each look at either, so much time goes by."""
    halts = itertools.chain(halts_ns, itertools.repeat(100))
    time_ns = 1_000_000

    def now_ns() -> int:
        nonlocal time_ns
        time_ns += next(halts)
        return time_ns

    return now_ns, lambda: now_ns() + wall_minus_ours_ns


@given(read_ns=MOMENTS, difference_ns=DIFFERENCES, age_ns=st.integers(0, TRUSTED_AGE_NS))
def test_a_stamp_lies_as_long_before_the_reading_on_our_clock_as_on_its_own(
    read_ns: int, difference_ns: int, age_ns: int
) -> None:
    clocks = Carried(read_ns, difference_ns)
    assert clocks.believed_ns(read_ns + difference_ns - age_ns) == read_ns - age_ns


@given(read_ns=MOMENTS, difference_ns=DIFFERENCES, beyond_ns=st.integers(1, 1 << 61))
def test_what_cannot_be_is_not_believed(read_ns: int, difference_ns: int, beyond_ns: int) -> None:
    clocks, read_wall_ns = Carried(read_ns, difference_ns), read_ns + difference_ns
    assert clocks.believed_ns(read_wall_ns + beyond_ns) is None
    assert clocks.believed_ns(read_wall_ns - TRUSTED_AGE_NS - beyond_ns) is None


@given(difference_ns=DIFFERENCES)
def test_the_difference_is_taken_in_the_middle_of_two_looks(difference_ns: int) -> None:
    now_ns, wall_ns = clocks(wall_minus_ours_ns=difference_ns)
    assert carried(7, now_ns, wall_ns) == Carried(7, difference_ns)


def test_where_the_program_was_held_up_between_the_looks_they_are_taken_again() -> None:
    held_up = (100, 9_000_000, 100)
    now_ns, wall_ns = clocks(*held_up, *held_up, wall_minus_ours_ns=5)
    assert carried(7, now_ns, wall_ns).wall_minus_ours_ns == 5


def test_where_the_wall_clock_is_set_back_between_the_looks_they_are_taken_again() -> None:
    now_ns, wall_ns = clocks(100, 100, -9_000_000, wall_minus_ours_ns=5)
    assert carried(7, now_ns, wall_ns).wall_minus_ours_ns == 5


def test_a_program_that_is_held_up_all_the_time_still_gets_an_answer() -> None:
    now_ns, wall_ns = clocks(*[30_000] * 100, wall_minus_ours_ns=5)
    assert carried(7, now_ns, wall_ns).wall_minus_ours_ns == 5
