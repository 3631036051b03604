"""The precise sleeper never wakes early, and wakes again however often it is used."""

import sys
import time

import pytest
import trio

from pacer.clock import PlainSleeper, TimerSleeper, best_sleeper

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="timerfd is Linux's")


@linux
async def test_it_wakes_at_the_moment_or_later() -> None:
    with TimerSleeper() as sleeper:
        for ahead_ns in (0, 1, 100_000, 3_000_000):
            due_ns = time.monotonic_ns() + ahead_ns
            await sleeper.until(due_ns)
            assert time.monotonic_ns() >= due_ns


@linux
async def test_a_moment_that_is_past_is_now() -> None:
    with TimerSleeper() as sleeper:
        await sleeper.until(0)
        await sleeper.until(time.monotonic_ns() - 1_000_000_000)


@linux
async def test_it_can_be_cancelled_and_used_again() -> None:
    with TimerSleeper() as sleeper:
        with trio.move_on_after(0.001) as scope:
            await sleeper.until(time.monotonic_ns() + 3_600_000_000_000)
        assert scope.cancelled_caught
        await sleeper.until(time.monotonic_ns() + 1_000_000)


@linux
def test_the_best_sleeper_is_exact_where_the_system_has_a_timer() -> None:
    sleeper = best_sleeper()
    assert sleeper.exact
    assert isinstance(sleeper, TimerSleeper)
    sleeper.close()


async def test_virtual_time_has_a_plain_sleeper(
    autojump_clock: trio.testing.MockClock,
) -> None:
    await PlainSleeper().until(5_000_000_000)
    assert trio.current_time() == 5
