"""What becomes of a round whose worker dies."""

import pytest

from daemon.order import Pair
from daemon.post import IN_VAIN, LONGEST_PAUSE_S, Stint, pause_s

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


@pytest.mark.parametrize(("deaths", "seconds"), [(1, 0.5), (2, 1), (3, 2), (8, 60), (5_000, 60)])
def test_the_more_deaths_in_a_row_the_longer_the_pause(deaths: int, seconds: float) -> None:
    assert pause_s(deaths) == seconds <= LONGEST_PAUSE_S
