"""Sessions against the known-delay server in virtual time: the figures are right to the nanosecond.

The server's own conversation answers over memory; nothing of the harness is replaced but the
network, so a harness that is late by so much is shown to be late by exactly that.
"""

import heapq
from collections.abc import Callable

import trio
import trio.testing
from trio.testing import MemoryReceiveStream

from daemon.clock import now_ns
from daemon.dial import WebsocketUrl
from daemon.link import Dial, Way
from daemon.selftest.conversation import Conversation, Due
from daemon.selftest.course import Course, Part, take_part
from daemon.selftest.figures import Level, Spread, level_of
from daemon.selftest.speech import delays, speech_like
from measure.records import MS
from tests.daemon.bench import ListRecorder, bench_of
from tests.daemon.memory_lane import MemoryLane, Peer

TICK_NS = MS
"""How often the server looks what is due; its answers lie on no grid of ours."""


class LateLane(MemoryLane):
    """What came is read only after a while, as where a program is busy."""

    late_ns = 0

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        received = bytes(await self._incoming.receive_some(max_bytes))
        await trio.sleep(self.late_ns / 1e9)
        self.read_ns = self._now_ns()
        return received


async def serve(peer: Peer) -> None:
    """One stream, as the server's process does it."""
    conversation = Conversation()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(speak, conversation, peer)
        while not conversation.over:
            received = await peer.receive_some()
            if not received:
                break
            reply = conversation.feed(bytes(received), now_ns(), now_ns())
            if reply:
                await peer.send_all(reply)
        nursery.cancel_scope.cancel()


async def speak(conversation: Conversation, peer: Peer) -> None:
    waiting: list[tuple[int, int]] = []
    planned: list[Due] = []
    while True:
        for due in conversation.due:
            heapq.heappush(waiting, (due.at_ns, len(planned)))
            planned.append(due)
        conversation.due.clear()
        while waiting and waiting[0][0] <= now_ns():
            due = planned[heapq.heappop(waiting)[1]]
            at_ns = now_ns()
            await peer.send_all(due.frame(at_ns))
            conversation.was_sent(due, at_ns)
        await trio.sleep(TICK_NS / 1e9)


def dial_into(world: trio.Nursery, late_ns: int) -> Dial:
    async def dial(url: WebsocketUrl) -> Way:
        await trio.lowlevel.checkpoint()
        to_us, incoming = trio.testing.memory_stream_one_way_pair()
        outgoing = MemoryReceiveStream()
        world.start_soon(serve, trio.StapledStream(to_us, outgoing))
        lane = LateLane(outgoing, incoming, now_ns)
        lane.late_ns = late_ns
        return Way(lane, "memory", None, 0, None)

    return dial


def ids() -> Callable[[], str]:
    numbers = iter(range(10_000))
    return lambda: f"s{next(numbers)}"


async def taken(part: Part, *, late_ns: int = 0) -> Level:
    recorder = ListRecorder()
    async with trio.open_nursery() as world:
        async with bench_of(dial_into(world, late_ns), recorder) as bench:
            course = Course(bench, "ws://localhost:1", speech_like(1), 1, "r1", ids())
            measurements, records = await take_part(course, part)
        world.cancel_scope.cancel()
    return level_of(part.streams, measurements, records, Spread())


async def test_without_a_real_host_there_is_no_error(
    autojump_clock: trio.testing.MockClock,
) -> None:
    level = await taken(Part(streams=4, sessions_each=2))
    assert level.sessions == 8
    assert (level.invalid, level.untold) == ({}, 0)
    for error in (level.final_error, level.partial_error):
        assert error.size.n == 8
        assert error.size.max_ns is not None
        assert error.size.max_ns < 1000  # a float of seconds is no finer


async def test_a_harness_that_reads_late_is_found_out_to_the_microsecond(
    autojump_clock: trio.testing.MockClock,
) -> None:
    level = await taken(Part(streams=3, sessions_each=2), late_ns=7 * MS)
    for error in (level.final_error, level.partial_error):
        assert error.size.n == 6
        assert error.bias_ns is not None
        assert abs(error.bias_ns - 7 * MS) < 1000


async def test_every_session_has_a_delay_of_its_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    drawn = [delays(1, stream, number) for stream in range(100) for number in range(3)]
    assert len(set(drawn)) == len(drawn)
    assert all(50_000 <= one.final_us < 400_000 for one in drawn)
    assert all(0 < one.partial_us < one.final_us for one in drawn)
    assert delays(1, 5, 2) == drawn[5 * 3 + 2]


async def test_messages_without_a_kernels_stamp_are_counted(
    autojump_clock: trio.testing.MockClock,
) -> None:
    level = await taken(Part(streams=1, sessions_each=1))
    assert level.user_stamped == 5
    assert level.receive_gap.n == 0


def test_the_clip_is_the_same_for_the_same_seed_and_loud_only_where_speech_is() -> None:
    clip = speech_like(3)
    assert clip == speech_like(3)
    assert clip.sha256 != speech_like(4).sha256
    samples = memoryview(clip.pcm).cast("h")
    assert max(samples[2000:12000]) > 10 * max(samples[13_000:])
