"""A standstill of ours and a step of the wall clock are told to whoever is measuring."""

from collections.abc import Callable

import trio
import trio.testing

from daemon.watchman import HostWatchman
from measure.events import ClockStepped, Event, HostStalled, LoopStalled

MS = 1_000_000


def now_ns() -> int:
    return round(trio.current_time() * 1e9)


class Wall:
    """A wall clock that can be set."""

    def __init__(self) -> None:
        self.ahead_ns = 10**18
        self.holds_up: Callable[[], None] = lambda: None

    def __call__(self) -> int:
        self.holds_up()
        return now_ns() + self.ahead_ns


async def watched(seconds: float, during: object) -> list[Event]:
    wall = Wall()
    watchman = HostWatchman(now_ns, wall)
    told: list[Event] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchman.run)
        await trio.sleep(0.1001)
        with watchman.subscribe(told.append):
            await during(wall, watchman)  # type: ignore[operator]
            await trio.sleep(seconds)
        nursery.cancel_scope.cancel()
    return told


async def test_quiet_hours_are_not_told(autojump_clock: trio.testing.MockClock) -> None:
    async def nothing(wall: Wall, watchman: HostWatchman) -> None: ...

    assert await watched(60, nothing) == []


async def test_a_standstill_is_told_with_its_length(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def stall(wall: Wall, watchman: HostWatchman) -> None:
        autojump_clock.jump(0.300)

    (told,) = await watched(1, stall)
    assert isinstance(told, LoopStalled)
    assert 290 * MS <= told.stalled_ns <= 300 * MS


async def test_who_looks_first_after_a_standstill_learns_of_it_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def stall(wall: Wall, watchman: HostWatchman) -> None:
        autojump_clock.jump(0.300)
        watchman.look(now_ns())

    (told,) = await watched(0, stall)
    assert isinstance(told, LoopStalled)


async def test_a_standstill_is_told_once(autojump_clock: trio.testing.MockClock) -> None:
    async def stall(wall: Wall, watchman: HostWatchman) -> None:
        autojump_clock.jump(0.300)
        watchman.look(now_ns())
        watchman.look(now_ns())

    assert len(await watched(1, stall)) == 1


async def test_a_step_of_the_wall_clock_is_told_with_its_sign(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def step(wall: Wall, watchman: HostWatchman) -> None:
        wall.ahead_ns -= 5_000 * MS

    (told,) = await watched(1, step)
    assert isinstance(told, ClockStepped)
    assert told.step_ns == -5_000 * MS


async def test_who_looks_first_after_a_step_learns_of_it_at_once_and_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def step(wall: Wall, watchman: HostWatchman) -> None:
        wall.ahead_ns += 2_000 * MS
        watchman.look(now_ns())
        watchman.look(now_ns())

    (told,) = await watched(0, step)
    assert isinstance(told, ClockStepped)
    assert told.step_ns == 2_000 * MS


async def test_being_held_up_between_the_looks_at_the_two_clocks_is_no_step(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def hold_up(wall: Wall, watchman: HostWatchman) -> None:
        wall.holds_up = lambda: autojump_clock.jump(0.003)
        watchman.look(now_ns())
        wall.holds_up = lambda: None

    assert await watched(1, hold_up) == []


async def test_nobody_is_told_after_leaving(autojump_clock: trio.testing.MockClock) -> None:
    wall = Wall()
    told: list[Event] = []
    watchman = HostWatchman(now_ns, wall)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchman.run)
        await trio.sleep(0.1)
        with watchman.subscribe(told.append):
            pass
        wall.ahead_ns += 1000 * MS
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert told == []


async def test_what_the_sentinel_saw_is_passed_on(autojump_clock: trio.testing.MockClock) -> None:
    async def stall(wall: Wall, watchman: HostWatchman) -> None:
        watchman.host_stalled(now_ns() - 5 * MS, 30 * MS)

    (told,) = await watched(1, stall)
    assert isinstance(told, HostStalled)
    assert (told.at_ns - told.ended_ns, told.stalled_ns) == (5 * MS, 30 * MS)
