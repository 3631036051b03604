"""A worker hangs when it is silent for long while we run, and for no other reason."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from daemon.vigil import HUNG_S, LOOK_S, STARTING_S, Vigil
from exporters.health import SILENT_NS
from measure.records import SECOND

LOOK_NS = round(LOOK_S * SECOND)
BEGAN_NS = 17 * SECOND


def vigil() -> Vigil:
    """Over a worker that has just given its first sign."""
    one = Vigil(BEGAN_NS)
    one.heard()
    return one


def looks(one: Vigil, since_ns: int, count: int, every_ns: int = LOOK_NS) -> list[bool]:
    return [one.look(since_ns + nth * every_ns) for nth in range(1, count + 1)]


def in_time(seconds: float) -> int:
    """How many looks are made in so long."""
    return round(seconds / LOOK_S)


def test_one_that_is_silent_for_so_long_hangs_and_not_a_look_sooner() -> None:
    one = vigil()
    found = looks(one, BEGAN_NS, in_time(HUNG_S))
    assert found == [False] * (in_time(HUNG_S) - 1) + [True]
    assert one.silent_s == HUNG_S


def test_every_sign_begins_anew() -> None:
    one, now_ns = vigil(), BEGAN_NS
    for _ in range(5):
        assert not any(looks(one, now_ns, in_time(HUNG_S) - 1))
        now_ns += (in_time(HUNG_S) - 1) * LOOK_NS
        one.heard()
    assert one.silent_s == 0.0


def test_where_the_host_stood_still_for_a_day_nobody_hangs() -> None:
    one = vigil()
    assert not one.look(BEGAN_NS + 86_400 * SECOND)
    assert one.silent_s == LOOK_S


def test_a_host_that_stands_still_again_and_again_is_not_held_against_a_worker() -> None:
    """Nine tenths of the time nothing runs: silence is counted in what is left."""
    assert not any(looks(vigil(), BEGAN_NS, in_time(HUNG_S) - 1, 10 * LOOK_NS))


def test_looks_in_quick_succession_make_no_silence() -> None:
    assert not any(looks(vigil(), BEGAN_NS, 10_000, 1_000))


def test_a_worker_that_starts_is_given_longer_but_not_for_ever() -> None:
    found = looks(Vigil(BEGAN_NS), BEGAN_NS, in_time(STARTING_S))
    assert found == [False] * (in_time(STARTING_S) - 1) + [True]


def test_it_is_seen_to_be_unwell_before_it_is_killed() -> None:
    assert SILENT_NS < HUNG_S * SECOND < STARTING_S * SECOND


@given(st.lists(st.tuples(st.integers(1, 3 * LOOK_NS), st.booleans()), max_size=200))
def test_it_hangs_exactly_when_the_looks_since_its_last_sign_make_up_so_long(
    steps: list[tuple[int, bool]],
) -> None:
    """The sentence as an oracle: each gap between two looks counts, but never for more than one."""
    one, moments, last_sign = vigil(), [BEGAN_NS], 0
    for gap_ns, sign in steps:
        moments.append(moments[-1] + gap_ns)
        since = moments[last_sign:]
        ours_ns = sum(min(after - before, LOOK_NS) for before, after in pairwise(since))
        assert one.look(moments[-1]) == (ours_ns >= HUNG_S * SECOND)
        if sign:
            one.heard()
            last_sign = len(moments) - 1
