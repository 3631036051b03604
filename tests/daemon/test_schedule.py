"""When what is measured: the same moments for everyone who asks, one in each slot, for months."""

from collections import Counter
from itertools import islice, pairwise, takewhile

from hypothesis import given
from hypothesis import strategies as st

from daemon.schedule import (
    DAY_NS,
    Due,
    Every,
    Job,
    TimesADay,
    Timing,
    agenda,
    count_between,
    moments,
)
from measure.records import SECOND

JOB = Job("daily", "deepgram/nova-3", "calls")
NOW_NS = 1_800_000_000 * SECOND
TIMINGS = st.one_of(st.integers(SECOND, 7 * DAY_NS).map(Every), st.integers(1, 1440).map(TimesADay))
MOMENTS = st.integers(0, 4_000_000_000 * SECOND)
SEEDS = st.integers(0, 2**32)


@given(TIMINGS, MOMENTS, SEEDS)
def test_there_is_one_moment_in_each_slot(timing: Timing, after_ns: int, seed: int) -> None:
    found = list(islice(moments(timing, seed, JOB, after_ns), 20))
    assert all(before < after for before, after in pairwise([after_ns, *found]))
    slots = [timing.slot_at(moment_ns) for moment_ns in found]
    assert all(after - before == 1 for before, after in pairwise(slots))


@given(TIMINGS, MOMENTS, SEEDS, st.integers(0, 10))
def test_who_asks_later_finds_the_same_moments(
    timing: Timing, after_ns: int, seed: int, skipped: int
) -> None:
    all_of_them = list(islice(moments(timing, seed, JOB, after_ns), 20))
    again = moments(timing, seed, JOB, all_of_them[skipped])
    assert list(islice(again, 19 - skipped)) == all_of_them[skipped + 1 :]


@given(TIMINGS, MOMENTS, SEEDS, st.integers(0, 30), st.integers(-1, 1))
def test_moments_are_counted_without_going_through_them(
    timing: Timing, after_ns: int, seed: int, many: int, stray_ns: int
) -> None:
    """Also where the end is right at a moment, just before it or just behind it."""
    found = [after_ns, *islice(moments(timing, seed, JOB, after_ns), many + 2)]
    until_ns = found[many] + stray_ns
    wanted = sum(after_ns < at_ns <= until_ns for at_ns in found)
    assert count_between(timing, seed, JOB, after_ns, until_ns) == wanted
    assert count_between(timing, seed, JOB, after_ns, after_ns) == 0


def test_four_times_a_day_over_half_a_year_is_four_on_each_day_at_changing_hours() -> None:
    half_a_year = takewhile(
        lambda at: at < NOW_NS // DAY_NS * DAY_NS + 183 * DAY_NS,
        moments(TimesADay(4), 1, JOB, NOW_NS // DAY_NS * DAY_NS),
    )
    found = list(half_a_year)
    assert set(Counter(at // DAY_NS for at in found).values()) == {4}
    hours = Counter(at % DAY_NS // (3600 * SECOND) for at in found)
    assert len(hours) == 24
    assert max(hours.values()) < 3 * min(hours.values())


def test_an_interval_is_kept_to_the_nanosecond() -> None:
    found = list(islice(moments(Every(900 * SECOND), 1, JOB, NOW_NS), 1000))
    assert {after - before for before, after in pairwise(found)} == {900 * SECOND}


def test_jobs_do_not_begin_all_at_once() -> None:
    jobs = [Job("daily", f"provider-{number}/model", "calls") for number in range(40)]
    firsts = [next(moments(Every(900 * SECOND), 1, job, NOW_NS)) for job in jobs]
    thirds = Counter((at - NOW_NS) // (300 * SECOND) for at in firsts)
    assert len(set(firsts)) == 40
    assert set(thirds) == {0, 1, 2}


def test_another_seed_measures_at_other_moments() -> None:
    one, other = (next(moments(TimesADay(4), seed, JOB, NOW_NS)) for seed in (1, 2))
    assert one != other


@given(st.lists(TIMINGS, max_size=6), MOMENTS, SEEDS)
def test_the_agenda_holds_every_moment_of_every_job_in_order(
    timings: list[Timing], after_ns: int, seed: int
) -> None:
    jobs = [(timing, Job(f"s{i}", "p/m", "c")) for i, timing in enumerate(timings)]
    found = list(islice(agenda(jobs, seed, after_ns), 50))
    assert [due.wall_ns for due in found] == sorted(due.wall_ns for due in found)
    if not jobs:
        assert found == []
        return
    end_ns = found[-1].wall_ns
    for timing, job in jobs:
        expected = takewhile(lambda at: at < end_ns, moments(timing, seed, job, after_ns))
        ours = [due.wall_ns for due in found if due.job == job and due.wall_ns < end_ns]
        assert ours == list(expected)
    assert all(isinstance(due, Due) for due in found)
