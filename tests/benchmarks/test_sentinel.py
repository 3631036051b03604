"""The sentinel tells the host's stalls from what a client does."""

from benchmarks.sentinel import Sentinel, Watch
from benchmarks.spread import spread

MS = 1_000_000


def test_a_frame_that_was_due_in_a_stall_or_soon_after_is_spoilt() -> None:
    watch = Watch(spread([0]), [(100 * MS, 150 * MS)])
    assert [watch.spoils(due * MS) for due in (99, 100, 150, 650, 651)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_without_stalls_nothing_is_spoilt() -> None:
    assert not Watch(spread([0])).spoils(0)


def test_it_answers_each_time_with_what_it_has_seen_since() -> None:
    with Sentinel(core=0) as sentinel:
        first, second = sentinel.take(), sentinel.take()
    assert min(first.late.n, second.late.n) >= 1
    assert second.late.max_ns >= second.late.p50_ns >= 0
