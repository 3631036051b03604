"""How the clock of a sound device goes against the host's, and how sure that is."""

import numpy as np
import pytest

from measure.records import MS, SECOND
from pacer.device_clock import DeviceClock, Drift, _drift
from tests.pacer.paper_device import RATE_HZ, START_NS, Device


def drift_of(ppm: float, seconds: int, jitter_ms: float, seed: int) -> Drift:
    """Of a device whose blocks are late by an exponential jitter."""
    random, clock = np.random.default_rng(seed), DeviceClock(RATE_HZ)
    count = seconds * 50
    had_ns = np.arange(1, count + 1) * (20 * MS / (1 + ppm * 1e-6))
    came_ns = np.maximum.accumulate(had_ns + random.exponential(jitter_ms * MS, count))
    for number, at_ns in enumerate(came_ns.astype(np.int64).tolist()):
        clock.take((number + 1) * 320, START_NS + seed * 77 * MS + at_ns, None)
    drift = clock.drift()
    assert drift is not None
    return drift


@pytest.mark.parametrize(
    ("jitter_ms", "seconds", "runs", "error_ppm"),
    [
        (0.2, 15, 150, 1.5),
        (1, 30, 100, 1.5),
        (5, 15, 150, 20),
        (5, 60, 60, 2.3),
        (1, 300, 20, 0.045),
    ],
)
def test_the_drift_lies_in_its_interval_in_95_of_100(
    jitter_ms: float, seconds: int, runs: int, error_ppm: float
) -> None:
    """And the interval is of use. 90: what 95 may look like in so few runs."""
    truths = np.random.default_rng(1).uniform(-100, 100, runs)
    found = [drift_of(ppm, seconds, jitter_ms, seed) for seed, ppm in enumerate(truths)]
    held = [abs(one.ppm - ppm) <= one.error_ppm for one, ppm in zip(found, truths, strict=True)]
    assert np.mean(held) >= 0.9
    assert np.median([one.error_ppm for one in found]) <= error_ppm
    assert {one.over_s for one in found} <= {seconds - 2, seconds - 1, seconds}


@pytest.mark.parametrize(("seconds", "share"), [(15, 0.85), (60, 0.92), (300, 0.94)])
def test_where_each_second_is_like_the_one_before_the_interval_is_wider(
    seconds: int, share: float
) -> None:
    """Least squares alone would hold the truth in 67 of 100."""
    held = []
    for seed in range(400):
        random = np.random.default_rng(seed)
        late_ns, earliest = 0.0, []
        for second in range(-20, seconds):
            late_ns = 0.6 * late_ns + random.exponential(0.1 * MS)
            earliest.append((second * SECOND, int(late_ns)))
        drift = _drift(earliest[20:])
        assert drift is not None
        held.append(abs(drift.ppm) <= drift.error_ppm)
    assert np.mean(held) >= share


def test_before_ten_seconds_and_after_a_loss_nothing_is_said_of_the_drift() -> None:
    clock, said = DeviceClock(RATE_HZ), []
    for block in Device(lost={750: 1_600}, ppm=50).blocks(40):
        clock.take(*block)
        said.append(clock.drift())
    known = [number for number, drift in enumerate(said) if drift is not None]
    ends = [number for number in known if number + 1 not in known]
    assert 499 <= known[0] <= 520
    assert ends[0] in range(750, 860)
    assert next(number for number in known if number > 860) in range(1_250, 1_370)
    assert said[-1] is not None
    assert said[-1].ppm == pytest.approx(50, abs=0.1)


@pytest.mark.parametrize("step_ms", [-9, -2, 2, 9])
@pytest.mark.parametrize("at_s", [1, 2, 4, 10])
def test_a_step_of_the_line_is_no_drift(step_ms: int, at_s: int) -> None:
    clock = DeviceClock(RATE_HZ)
    waits = {0: 9 * MS, at_s * 50: step_ms * MS}
    for block in Device(ppm=40, waits=waits).blocks(at_s + 20):
        clock.take(*block)
    drift = clock.drift()
    assert drift is not None
    assert drift.ppm == pytest.approx(40, abs=1)


def test_behind_a_step_nothing_is_said_for_ten_seconds() -> None:
    clock, said = DeviceClock(RATE_HZ), []
    for number, block in enumerate(Device(waits={1000: 5 * MS}).blocks(45)):
        clock.take(*block)
        if clock.drift() is None and number > 600:
            said.append(number)
    assert said
    assert said[0] in range(1000, 1210)
    assert said[-1] in range(1490, 1660)


def test_one_odd_second_is_no_step() -> None:
    clock = DeviceClock(RATE_HZ)
    for number, (samples, at_ns, _) in enumerate(Device(ppm=40).blocks(40)):
        clock.take(samples, at_ns + (6 * MS if number // 50 == 20 else 0), None)
    drift = clock.drift()
    assert drift is not None
    assert drift.over_s >= 38


def test_one_block_in_time_in_each_second_is_enough_wherever_it_is() -> None:
    """A second's place on the line is where its earliest block came, not where it began."""
    clock = DeviceClock(RATE_HZ)
    for number, (samples, at_ns, _) in enumerate(Device(ppm=-150).blocks(40)):
        in_time = number % 50 == number // 50 * 17 % 50
        clock.take(samples, at_ns + (0 if in_time else 8 * MS), None)
    drift = clock.drift()
    assert drift is not None
    assert drift.ppm == pytest.approx(-150, abs=0.001)
    assert drift.error_ppm < 0.001
