"""No sign of life from a pacer that stands still, or when nothing reaches the exporter."""

from collections.abc import Callable

import pytest
import trio
import trio.testing

from daemon.clock import now_ns
from daemon.notify import Notifier
from daemon.watchdog import STEP_S, feed_watchdog, paces
from pacer.clock import PlainSleeper
from pacer.pace import Pacer


class Counting(Notifier):
    """Counts the signs."""

    def __init__(self, watchdog_s: float | None) -> None:
        super().__init__({})
        self.watchdog_s = watchdog_s
        self.signs = 0

    def alive(self) -> None:
        self.signs += 1


async def signs_in_a_minute(
    confirmed: Callable[[], int], *, pacing: bool = True, watchdog_s: float | None = 30.0
) -> tuple[int, list[str]]:
    notifier, complaints = Counting(watchdog_s), list[str]()
    pacer = Pacer(PlainSleeper(), now_ns)
    async with trio.open_nursery() as nursery:
        if pacing:
            nursery.start_soon(pacer.run)
        with trio.move_on_after(60.5):
            await feed_watchdog(notifier, pacer, confirmed, complain=complaints.append)
        nursery.cancel_scope.cancel()
    return notifier.signs, complaints


async def test_a_program_that_moves_gives_a_sign_three_times_a_period(
    autojump_clock: trio.testing.MockClock,
) -> None:
    assert await signs_in_a_minute(lambda: now_ns() // 10**9) == (7, [])


async def test_a_pacer_that_stands_still_gives_none(autojump_clock: trio.testing.MockClock) -> None:
    signs, complaints = await signs_in_a_minute(lambda: now_ns() // 10**9, pacing=False)
    assert signs == 0
    assert complaints == ["the pacer does not move"]


async def test_an_exporter_that_confirms_nothing_new_ends_them(
    autojump_clock: trio.testing.MockClock,
) -> None:
    signs, complaints = await signs_in_a_minute(lambda: min(20, now_ns() // 10**9))
    assert signs == 3
    assert complaints == ["the exporter process confirms nothing"]


async def test_a_pacer_that_serves_a_step_moves_and_one_that_does_not_is_given_a_second(
    autojump_clock: trio.testing.MockClock,
) -> None:
    moving, still = Pacer(PlainSleeper(), now_ns), Pacer(PlainSleeper(), now_ns)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(moving.run)
        assert await paces(moving)
        began_s = trio.current_time()
        assert not await paces(still)
        assert trio.current_time() - began_s == pytest.approx(STEP_S)
        nursery.cancel_scope.cancel()


async def test_where_nobody_waits_for_them_nothing_runs(
    autojump_clock: trio.testing.MockClock,
) -> None:
    assert await signs_in_a_minute(lambda: 0, watchdog_s=None) == (0, [])
