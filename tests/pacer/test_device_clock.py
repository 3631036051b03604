"""What the blocks of a sound device say about its clock, its delay, and what it lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measure.records import MS, SECOND
from pacer.device_clock import Arrival, DeviceClock
from tests.pacer.paper_device import AGE_NS, RATE_HZ, START_NS, Device


def taken(device: Device, seconds: float, clock: DeviceClock | None = None) -> list[Arrival]:
    clock = clock or DeviceClock(device.rate_hz)
    return [clock.take(*block) for block in device.blocks(seconds)]


def late_ns(device: Device, seconds: float) -> list[int]:
    found = zip(device.blocks(seconds), taken(device, seconds), strict=True)
    return [block[1] - arrival.due_ns for block, arrival in found]


def lost_ns(device: Device, seconds: float) -> list[int]:
    return [arrival.lost_ns for arrival in taken(device, seconds) if arrival.lost_ns]


# When a block is due


steps = st.sampled_from([0, 1, MS, 19 * MS, 20 * MS, 20 * MS, 21 * MS, 60 * MS, 999 * MS])
words = st.none() | st.sampled_from([0, 1, AGE_NS, 2 * SECOND])
missing = st.sampled_from([0, 0, 160, 16_000])
arrivals = st.lists(st.tuples(steps, words, missing), min_size=60, max_size=200)


@given(arrivals=arrivals, rate_hz=st.sampled_from([8_000, 16_000, 44_100, 48_000]))
def test_nothing_is_due_after_it_came_or_taken_up_after_it_was_due(
    arrivals: list[tuple[int, int | None, int]], rate_hz: int
) -> None:
    clock, samples, at_ns = DeviceClock(rate_hz), 0, START_NS
    for step_ns, age_ns, gap in arrivals:
        samples, at_ns = samples + rate_hz // 50 + gap, at_ns + step_ns
        arrival = clock.take(samples, at_ns, age_ns)
        assert arrival.due_ns <= at_ns
        assert arrival.captured_ns is None or arrival.captured_ns <= arrival.due_ns
        assert arrival.lost_ns == 0 or arrival.lost_ns > 10 * MS
        assert clock.delay_ns is None or clock.delay_ns >= 0


@settings(max_examples=20)
@given(later_ns=st.integers(0, 3 * SECOND))
def test_at_another_time_of_day_the_same_is_found(later_ns: int) -> None:
    device = Device(lost={200: 800}, still=((8 * SECOND, 9 * SECOND),), ppm=50)
    there = taken(device, 12)
    clock = DeviceClock(RATE_HZ)
    for (samples, at_ns, age_ns), one in zip(device.blocks(12), there, strict=True):
        found = clock.take(samples, at_ns + later_ns, age_ns)
        assert found.captured_ns is not None
        assert one.captured_ns is not None
        assert found.due_ns == one.due_ns + later_ns
        assert found.captured_ns == one.captured_ns + later_ns
        assert found.lost_ns == one.lost_ns


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 44_100, 48_000])
@pytest.mark.parametrize("size", [160, 441, 1_024, 4_096])
def test_perfect_arrivals_are_never_late_at_any_rate(rate_hz: int, size: int) -> None:
    device = Device(rate_hz=rate_hz, size=size)
    clock = DeviceClock(rate_hz)
    assert set(late_ns(device, 15)) == {0}
    found = taken(device, 15, clock)
    assert not any(arrival.lost_ns for arrival in found)
    assert {arrival.due_ns - (arrival.captured_ns or 0) for arrival in found} == {AGE_NS}
    assert clock.delay_ns == AGE_NS
    drift = clock.drift()
    assert drift is not None
    assert abs(drift.ppm) < 1e-6
    assert drift.error_ppm < 1e-6
    assert 13 <= drift.over_s <= 15


def test_a_late_block_is_late_by_exactly_that() -> None:
    late = late_ns(Device(waits={75: 7 * MS, 76: -7 * MS}), 4)
    assert {number: ns for number, ns in enumerate(late) if ns} == {75: 7 * MS}


def test_blocks_that_come_in_a_burst_are_late_each_by_its_own_wait() -> None:
    late = late_ns(Device(still=((SECOND + 10 * MS, SECOND + 90 * MS),)), 4)
    assert [ns // MS for ns in late if ns] == [70, 50, 30, 10]


@pytest.mark.parametrize("ppm", [-200, -100, 100, 200])
def test_a_clock_that_is_200_ppm_off_makes_no_block_late_by_more_than_a_millisecond_or_so(
    ppm: float,
) -> None:
    late = late_ns(Device(ppm=ppm), 60)
    assert 0 <= min(late) <= max(late) <= (1.25 * MS * -ppm / 200 if ppm < 0 else 0)
    assert not lost_ns(Device(ppm=ppm), 60)


def test_with_bursts_of_a_large_buffer_the_last_block_of_each_is_on_time() -> None:
    still = tuple((n * 400 * MS + 1, (n + 1) * 400 * MS) for n in range(100))
    late = late_ns(Device(still=still), 20)
    assert {ns // MS for ns in late[19::20]} == {0}
    assert max(late) < 400 * MS
    assert not lost_ns(Device(still=still), 20)


# What was lost


@pytest.mark.parametrize("ages", [True, False])
@pytest.mark.parametrize("lost_ms", [11, 20, 60, 150, 1_000, 4_000])
@pytest.mark.parametrize("before", [110, 125, 140, 149, 300])
def test_what_is_missing_is_found_once_and_within_two_seconds(
    before: int, lost_ms: int, ages: bool
) -> None:
    device = Device(lost={before: lost_ms * 16}, ages=ages)
    found = taken(device, 12)
    [place] = [number for number, arrival in enumerate(found) if arrival.lost_ns]
    assert found[place].lost_ns == lost_ms * MS
    at_ns = [block[1] for block in device.blocks(12)]
    assert at_ns[before] < at_ns[place] <= at_ns[before] + 2.1 * SECOND
    late = late_ns(device, 12)
    assert not any(late[:before])
    assert not any(late[place:])


@pytest.mark.parametrize("lost_ms", [15, 60, 400])
def test_ages_that_jitter_and_a_wild_one_do_not_blur_how_much_is_missing(lost_ms: int) -> None:
    random, clock, found_ms = np.random.default_rng(lost_ms), DeviceClock(RATE_HZ), 0.0
    for samples, at_ns, age_ns in Device(lost={430: lost_ms * 16}).blocks(12):
        jitter_ns = int(random.integers(-5 * MS, 5 * MS))
        said_ns = 2 * SECOND if samples in (470 * 320, 485 * 320) else (age_ns or 0) + jitter_ns
        found_ms += clock.take(samples, at_ns, said_ns).lost_ns / MS
    assert found_ms == lost_ms


@pytest.mark.parametrize("ages", [True, False])
@pytest.mark.parametrize("second", [345, 356, 362, 370, 380, 390])
def test_two_losses_in_a_row_are_both_found(second: int, ages: bool) -> None:
    found = lost_ns(Device(lost={340: 480, second: 640}, ages=ages), 15)
    assert sum(found) == 70 * MS


@pytest.mark.parametrize(("lost", "found"), [(159, 0), (160, 0), (161, 161 * SECOND // RATE_HZ)])
def test_ten_milliseconds_may_be_missing_unnoticed(lost: int, found: int) -> None:
    assert sum(lost_ns(Device(lost={200: lost}), 8)) == found


@pytest.mark.parametrize("ages", [True, False])
@pytest.mark.parametrize("place", range(20, 70, 5))
def test_a_device_that_loses_something_every_second_is_charged_with_all_of_it(
    place: int, ages: bool
) -> None:
    """But for one that falls between the first blocks of a second, where it has ages to tell."""
    lost = dict.fromkeys(range(place, 500, 51), 480)
    found_ms = sum(lost_ns(Device(lost=lost, ages=ages), 16)) / MS
    assert found_ms in ({30 * len(lost), 30 * (len(lost) - 1)} if ages else {30 * len(lost)})


def test_audio_that_only_waits_longer_is_not_lost() -> None:
    device, clock = Device(waits={300: 50 * MS}), DeviceClock(RATE_HZ)
    found = taken(device, 15, clock)
    assert not any(arrival.lost_ns for arrival in found)
    assert clock.delay_ns == AGE_NS + 50 * MS
    first = found[0].captured_ns or 0
    assert [(one.captured_ns or 0) - first for one in found] == [
        number * 20 * MS for number in range(750)
    ]
    assert set(late_ns(device, 15)[420:]) == {0}


def test_where_some_is_lost_and_the_rest_waits_longer_only_what_is_lost_counts() -> None:
    assert lost_ns(Device(lost={300: 480}, waits={300: 40 * MS}), 15) == [30 * MS]


def test_without_ages_audio_that_waits_longer_for_good_looks_like_lost_audio() -> None:
    assert lost_ns(Device(waits={300: 50 * MS}, ages=False), 15) == [50 * MS]


@pytest.mark.parametrize("ages", [True, False])
@pytest.mark.parametrize("length_ms", [900, 990, 1_000, 1_019, 1_500, 3_000])
def test_a_host_that_stood_still_and_catches_up_has_lost_nothing(
    length_ms: int, ages: bool
) -> None:
    for begin_ms in range(3_000, 4_050, 27):
        begin_ns, end_ns = begin_ms * MS, (begin_ms + length_ms) * MS
        still = (begin_ns, end_ns), (end_ns + 5 * MS, end_ns + 1_500 * MS)
        assert not lost_ns(Device(still=still, ages=ages), 10)


def test_after_a_standstill_blocks_are_late_by_what_they_waited_and_then_on_time_again() -> None:
    late = late_ns(Device(still=((3 * SECOND + 1, 5 * SECOND),)), 8)
    assert [ns // MS for ns in late if ns] == list(range(1_980, 0, -20))


@pytest.mark.parametrize("ages", [True, False])
@pytest.mark.parametrize("backlog_ms", [100, 1_400, 4_000])
def test_a_backlog_at_the_start_is_no_loss_and_does_not_turn_the_line(
    backlog_ms: int, ages: bool
) -> None:
    drained = {50 * n: -backlog_ms * MS // 5 for n in range(1, 6)}  # in five steps
    device = Device(waits={0: backlog_ms * MS, **drained}, ppm=80, ages=ages)
    clock = DeviceClock(RATE_HZ)
    assert not any(arrival.lost_ns for arrival in taken(device, 30, clock))
    drift = clock.drift()
    assert drift is not None
    assert drift.ppm == pytest.approx(80, abs=0.5)


# What the device says


def test_a_device_that_says_nothing_of_ages_has_no_delay_and_no_moments_of_capture() -> None:
    clock = DeviceClock(RATE_HZ)
    assert clock.delay_ns is None
    assert {one.captured_ns for one in taken(Device(ages=False), 5, clock)} == {None}
    assert clock.delay_ns is None


@pytest.mark.parametrize(("every", "off_ms"), [(1, 2.5), (7, 7), (60, 10), (190, 10)])
def test_ages_that_jitter_or_come_now_and_then_or_wildly_give_even_moments(
    every: int, off_ms: float
) -> None:
    random, clock = np.random.default_rng(every), DeviceClock(RATE_HZ)
    for number, (samples, at_ns, age_ns) in enumerate(Device().blocks(30)):
        assert age_ns is not None
        jitter_ns = int(random.integers(-10 * MS, 10 * MS))
        said_ns = 2 * SECOND if number % 501 == 500 else age_ns + jitter_ns
        arrival = clock.take(samples, at_ns, said_ns if number % every == 0 else None)
        assert arrival.lost_ns == 0
        if number > 250:
            assert arrival.captured_ns is not None
            assert abs(at_ns - AGE_NS - arrival.captured_ns) <= off_ms * MS


def test_ages_that_jump_are_no_loss_while_the_blocks_come_as_before() -> None:
    clock = DeviceClock(RATE_HZ)
    for number, (samples, at_ns, _) in enumerate(Device().blocks(20)):
        said_ns = AGE_NS if number < 500 else 4 * AGE_NS
        assert clock.take(samples, at_ns, said_ns).lost_ns == 0
    assert clock.delay_ns == 4 * AGE_NS


# For how long


@pytest.mark.parametrize(("size", "seconds"), [(320, 700), (RATE_HZ, 86_400)])
def test_what_is_kept_does_not_grow_in_a_day(size: int, seconds: int) -> None:
    clock = DeviceClock(RATE_HZ)
    for block in Device(size=size).blocks(seconds):
        clock.take(*block)
        assert clock._now is not None
        assert len(clock._now.taken_up_ns) <= 51
    assert len(clock._drawn) <= 600
    assert len(clock._past) <= 5
