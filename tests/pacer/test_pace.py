"""Every step is called at its due time, and a late one moves nobody."""

import itertools
from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from pacer.clock import PlainSleeper
from pacer.pace import SLOT_NS, SLOTS, STEP_NS, Pacer

MS = 1_000_000


def now_ns() -> int:
    return round(trio.current_time() * 1e9)


def virtual(main: Callable[[], Awaitable[None]]) -> None:
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def played(*lengths: int, apart_ms: int = 0) -> list[list[int]]:
    """The due times of as many streams as there are lengths; each is as many steps long."""
    pacer = Pacer(PlainSleeper(), now_ns)
    dues: list[list[int]] = [[] for _ in lengths]

    def step_of(stream: int) -> Callable[[int], bool]:
        def step(due_ns: int) -> bool:
            assert now_ns() >= due_ns
            dues[stream].append(due_ns)
            return len(dues[stream]) < lengths[stream]

        return step

    async with trio.open_nursery() as background:
        background.start_soon(pacer.run)
        async with trio.open_nursery() as streams:
            for stream in range(len(lengths)):
                streams.start_soon(pacer.play, step_of(stream))
                await trio.sleep(apart_ms / 1000)
        background.cancel_scope.cancel()
    return dues


async def test_steps_are_due_every_twenty_milliseconds(
    autojump_clock: trio.testing.MockClock,
) -> None:
    (dues,) = await played(50)
    assert [later - earlier for earlier, later in itertools.pairwise(dues)] == [STEP_NS] * 49


async def test_the_first_step_is_due_when_the_first_frame_has_been_heard(
    autojump_clock: trio.testing.MockClock,
) -> None:
    (dues,) = await played(1)
    assert dues[0] == STEP_NS


async def test_streams_that_start_together_are_spread_over_the_frame(
    autojump_clock: trio.testing.MockClock,
) -> None:
    dues = await played(*[3] * SLOTS)
    phases = {stream[0] % STEP_NS for stream in dues}
    assert phases == {slot * SLOT_NS for slot in range(SLOTS)}


async def test_a_slot_is_shared_only_when_every_slot_is_taken(
    autojump_clock: trio.testing.MockClock,
) -> None:
    dues = await played(*[3] * (SLOTS + 1))
    phases = [stream[0] % STEP_NS for stream in dues]
    assert max(phases.count(phase) for phase in set(phases)) == 2


async def test_a_stream_that_is_over_gives_its_slot_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await played(1, 1, apart_ms=100)
    assert first[0] % STEP_NS == second[0] % STEP_NS


async def test_a_standstill_makes_frames_late_and_moves_none(
    autojump_clock: trio.testing.MockClock,
) -> None:
    pacer = Pacer(PlainSleeper(), now_ns)
    seen: list[tuple[int, int]] = []

    def step(due_ns: int) -> bool:
        if len(seen) == 2:
            autojump_clock.jump(0.1)  # the program stood still for five frames
        seen.append((due_ns, now_ns()))
        return len(seen) < 20

    async with trio.open_nursery() as background:
        background.start_soon(pacer.run)
        await pacer.play(step)
        background.cancel_scope.cancel()
    assert [due_ns for due_ns, _ in seen] == [STEP_NS * n for n in range(1, 21)]
    late = [at_ns - due_ns for due_ns, at_ns in seen]
    assert late[2:8] == [100 * MS, 80 * MS, 60 * MS, 40 * MS, 20 * MS, 0]
    assert set(late[8:]) == {0}


async def test_a_new_stream_wakes_a_pacer_that_sleeps_longer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    dues = await played(2, 2, apart_ms=3)
    assert dues[1][0] > dues[0][0]
    assert dues[1][0] - 3 * MS - STEP_NS < STEP_NS


async def test_what_a_step_raises_reaches_its_owner_and_no_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    pacer = Pacer(PlainSleeper(), now_ns)
    calls = 0

    def good(due_ns: int) -> bool:
        nonlocal calls
        calls += 1
        return calls < 5

    def bad(due_ns: int) -> bool:
        raise RuntimeError("this stream is broken")

    async with trio.open_nursery() as background:
        background.start_soon(pacer.run)
        async with trio.open_nursery() as streams:
            streams.start_soon(pacer.play, good)
            with pytest.raises(RuntimeError, match="this stream is broken"):
                await pacer.play(bad)
        background.cancel_scope.cancel()
    assert calls == 5


async def test_a_cancelled_stream_is_stepped_no_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    pacer = Pacer(PlainSleeper(), now_ns)
    dues: list[int] = []

    def step(due_ns: int) -> bool:
        dues.append(due_ns)
        return True

    async with trio.open_nursery() as background:
        background.start_soon(pacer.run)
        with trio.move_on_after(0.070):
            await pacer.play(step)
        await trio.sleep(1)
        background.cancel_scope.cancel()
    assert len(dues) == 3


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 50)), min_size=1, max_size=6))
def test_every_stream_keeps_its_own_grid(streams: list[tuple[int, int]]) -> None:
    lengths = [length for length, _ in streams]

    async def main() -> None:
        dues = await played(*lengths, apart_ms=streams[0][1])
        for stream, length in zip(dues, lengths, strict=True):
            assert stream == [stream[0] + STEP_NS * n for n in range(length)]

    virtual(main)


async def test_what_is_made_ready_comes_after_all_steps_of_the_slot(
    autojump_clock: trio.testing.MockClock,
) -> None:
    pacer = Pacer(PlainSleeper(), now_ns)
    happened: list[str] = []

    def acts(name: str) -> tuple[Callable[[int], bool], Callable[[], None]]:
        def step(due_ns: int) -> bool:
            happened.append(f"step {name}")
            return happened.count(f"step {name}") < 3

        return step, lambda: happened.append(f"make {name}")

    pacer._free_slot = lambda: 0  # type: ignore[method-assign]  # two streams that share a slot
    async with trio.open_nursery() as background:
        background.start_soon(pacer.run)
        async with trio.open_nursery() as streams:
            for name in "ab":
                streams.start_soon(pacer.play, *acts(name))
        background.cancel_scope.cancel()
    steps, made = {"step a", "step b"}, {"make a", "make b"}
    assert [set(happened[at : at + 2]) for at in (0, 2, 4, 6, 8)] == [
        steps,
        made,
        steps,
        made,
        steps,
    ]
    assert len(happened) == 10  # nothing is made for a step that will not come


async def test_an_error_in_making_ready_is_the_owner_s(
    autojump_clock: trio.testing.MockClock,
) -> None:
    pacer = Pacer(PlainSleeper(), now_ns)

    def fails() -> None:
        raise ValueError("nothing to make")

    async with trio.open_nursery() as background:
        background.start_soon(pacer.run)
        with pytest.raises(ValueError, match="nothing to make"):
            await pacer.play(lambda due_ns: True, fails)
        background.cancel_scope.cancel()
