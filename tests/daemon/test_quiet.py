"""The self-test finds a pause, or is given one; nothing is measured beside it."""

import pytest
import trio
from trio.testing import MockClock

from daemon.dispatch import State
from daemon.quiet import PATIENCE_S, PAUSE_S, Quiet
from daemon.schedule import Job
from measure.records import SECOND

JOB = Job("daily", "deepgram/nova-3", "calls")


def wall_ns() -> int:
    return round(trio.current_time() * SECOND)


def quiet(state: State, next_due_s: float | None) -> Quiet:
    return Quiet(state, lambda: None if next_due_s is None else round(next_due_s * SECOND), wall_ns)


@pytest.mark.parametrize("next_due_s", [None, PAUSE_S + 1])
async def test_in_a_pause_it_begins_at_once(
    autojump_clock: MockClock, next_due_s: float | None
) -> None:
    state = State()
    async with quiet(state, next_due_s):
        assert trio.current_time() == 0
        assert state.quiet
    assert not state.quiet


async def test_it_waits_for_the_end_of_what_runs(autojump_clock: MockClock) -> None:
    state = State()
    state.running.begin(JOB)

    async def ends() -> None:
        await trio.sleep(100)
        state.running.end(JOB)
        state.tell_change()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ends)
        async with quiet(state, None):
            assert 100 <= trio.current_time() <= 102


async def test_without_a_pause_one_is_made_after_a_while(autojump_clock: MockClock) -> None:
    state = State()
    busy = Quiet(state, lambda: wall_ns() + SECOND, wall_ns)
    async with busy:
        assert trio.current_time() == pytest.approx(PATIENCE_S, abs=2)
        assert state.quiet


async def test_whoever_waits_is_told_when_it_is_over(autojump_clock: MockClock) -> None:
    state = State()
    async with trio.open_nursery() as nursery, quiet(state, None):
        nursery.start_soon(state.changed.wait)
        await trio.sleep(60)
    assert trio.current_time() == 60


async def test_who_gives_up_waiting_leaves_no_quiet_behind(autojump_clock: MockClock) -> None:
    state = State()
    state.running.begin(JOB)
    busy = Quiet(state, lambda: wall_ns() + SECOND, wall_ns)
    with trio.move_on_after(PATIENCE_S + 100) as waiting:
        async with busy:
            pytest.fail("what runs has not ended")
    assert waiting.cancelled_caught
    assert not state.quiet
