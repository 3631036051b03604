"""What becomes of a round whose worker dies."""

import os

import pytest

from daemon.order import Pair
from daemon.post import (
    IN_VAIN,
    LONGEST_PAUSE_S,
    STEADY_S,
    Cause,
    Stint,
    deaths_in_a_row,
    pause_s,
    state_of,
)
from exporters.metric_table import CLOSED, OTHER

PAIRS = [Pair(0, 0), Pair(0, 1), Pair(1, 0)]


def stint() -> Stint:
    return Stint("w1", "r1", list(PAIRS))


def test_what_has_begun_is_lost_and_the_rest_is_left_to_the_next_worker() -> None:
    one = stint()
    one.begin(PAIRS[0], "s-a")
    assert one.break_off() == ["s-a"]
    assert (one.lost, one.todo, one.over.is_set()) == (["s-a"], PAIRS[1:], False)


def test_a_round_of_which_nothing_is_left_is_over_with_its_worker() -> None:
    one = stint()
    for number, pair in enumerate(PAIRS):
        one.begin(pair, f"s-{number}")
    one.break_off()
    assert one.over.is_set()
    assert (one.unmeasured, one.lost) == (0, ["s-0", "s-1", "s-2"])


def test_workers_that_begin_nothing_are_given_up() -> None:
    one = stint()
    for _ in range(IN_VAIN - 1):
        one.break_off()
        assert not one.over.is_set()
    one.break_off()
    assert one.over.is_set()
    assert one.unmeasured == len(PAIRS)


def test_a_worker_that_begins_something_is_no_worker_in_vain() -> None:
    one = stint()
    for _ in range(IN_VAIN - 1):
        one.break_off()
    one.begin(PAIRS[0], "s-a")
    one.break_off()
    assert not one.over.is_set()
    assert one.lost == ["s-a"]


def test_what_has_its_moment_now_is_not_left_to_the_next_worker() -> None:
    one = Stint("w1", "r1", list(PAIRS), at_its_moment=True)
    one.begin(PAIRS[0], "s-a")
    assert one.break_off() == ["s-a"]
    assert (one.over.is_set(), one.unmeasured) == (True, 2)


def test_trouble_soon_after_trouble_is_counted_on_and_after_long_work_anew() -> None:
    assert deaths_in_a_row(0, 0.0) == 1
    assert deaths_in_a_row(3, 0.0) == 4
    assert deaths_in_a_row(3, STEADY_S - 0.001) == 4
    assert deaths_in_a_row(3, STEADY_S) == 1


def test_what_a_process_does_is_said_in_words() -> None:
    assert state_of(os.getpid()) == "running"
    assert state_of(2**22 + 1) == "gone"  # more than any process has


def test_every_cause_is_a_label() -> None:
    assert {cause.value for cause in Cause} == set(CLOSED["cause"]) - {OTHER}


@pytest.mark.parametrize(("deaths", "seconds"), [(1, 0.5), (2, 1), (3, 2), (8, 60), (5_000, 60)])
def test_the_more_deaths_in_a_row_the_longer_the_pause(deaths: int, seconds: float) -> None:
    assert pause_s(deaths) == seconds <= LONGEST_PAUSE_S
