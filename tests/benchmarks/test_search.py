"""The search finds the largest number that passes, wherever it begins."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.search import Search

GRIDS = st.lists(st.integers(1, 5000), min_size=1, max_size=40, unique=True).map(sorted)


@given(GRIDS, st.integers(0, 5001), st.integers(0, 5001))
def test_it_finds_the_largest_that_passes(grid: list[int], capacity: int, first: int) -> None:
    search = Search(grid, first)
    asked: list[int] = []
    while search.next is not None:
        assert search.next not in asked
        asked.append(search.next)
        search.tell(search.next <= capacity)
    assert search.largest == max((n for n in grid if n <= capacity), default=0)


def test_it_begins_where_it_is_told_to() -> None:
    assert Search([10, 20, 40, 80], 50).next == 40


def test_a_good_guess_needs_few_tries() -> None:
    search, asked = Search(range(100), 50), 0
    while search.next is not None:
        search.tell(search.next <= 51)
        asked += 1
    assert asked <= 3
