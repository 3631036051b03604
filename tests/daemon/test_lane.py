"""The plain lane: whole frames at once and in order, and what the kernel knows of them."""

import functools
import random
import re
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, Event, Ping

from daemon.clock import now_ns, wall_ns
from daemon.kernel_stamps import TRUSTED_AGE_NS, KernelStamps, SentStamp
from daemon.lane import AnyLane, Lane, LaneFull
from daemon.websocket_frames import encode_frame
from measure.records import SECOND
from tests.daemon.lane_peer import lane_and_stream, lane_over, stream_over, tcp_pair, whole_messages

FRAME = encode_frame(bytes(640), text=False, mask=b"abcd")
CLOCK_SLACK_NS = 1_000_000
"""What the two clocks may seem to differ by where the machine stood still while they were read."""


@asynccontextmanager
async def flushed(lane: Lane) -> AsyncIterator[None]:
    """``lane`` with the task that every lane in use needs."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lane.keep_flushing)
        try:
            yield
        finally:
            lane.close()


async def read_exactly(stream: trio.abc.ReceiveStream, size: int) -> bytes:
    read = b""
    while len(read) < size:
        piece = await stream.receive_some(size - len(read))
        assert piece, f"the stream ended after {len(read)} of {size} bytes"
        read += piece
    return read


def fill(lane: AnyLane) -> bytes:
    """Send far more than the kernel takes while nobody reads; gives what was sent."""
    sent = b""
    while lane.unsent_bytes < 100_000:
        lane.send_nowait(FRAME)
        sent += FRAME
    return sent


# Sending


async def test_a_frame_is_with_the_kernel_before_anything_else_runs() -> None:
    ours, theirs = tcp_pair()
    lane = lane_over(ours)
    async with flushed(lane):
        with theirs:
            assert lane.send_nowait(FRAME)
            assert theirs.recv(2 * len(FRAME)) == FRAME


async def test_what_the_kernel_does_not_take_waits_in_the_queue_and_is_counted() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane), peer:
        frame = bytes(100_000)
        assert not lane.send_nowait(frame)
        assert lane.blocked == 1
        assert 0 < lane.blocked_bytes < len(frame)
        assert not lane.send_nowait(FRAME)
        assert lane.blocked == 2
        assert lane.blocked_bytes <= lane.unsent_bytes <= lane.unacked_bytes


async def test_the_queue_empties_as_the_other_side_reads() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane), peer:
        sent = fill(lane)
        assert await read_exactly(peer, len(sent)) == sent
        await lane.flush()
        assert lane.unsent_bytes == 0
        assert lane.send_nowait(b"x")


async def test_all_that_was_handed_over_counts_as_sent_bytes() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane), peer:
        sent = fill(lane)
        assert lane.sent_bytes == len(sent)


def fill_up(send: Callable[[bytes], object]) -> tuple[bytes, LaneFull]:
    """Send until the queue is full: what was taken, and what is said then."""
    sent = b""
    while True:
        try:
            send(FRAME)
        except LaneFull as full:
            return sent, full
        sent += FRAME


async def test_a_full_queue_refuses_the_frame_and_says_who_has_stopped() -> None:
    ours, theirs = tcp_pair(small=True)
    lane = lane_over(ours, queue_limit_bytes=2000)
    async with flushed(lane), stream_over(theirs) as peer:
        sent, full = fill_up(lane.send_nowait)
        said = r"the provider has stopped reading: (\d+) bytes wait to be sent, at most 2000 may"
        told = re.fullmatch(said, str(full))
        assert told
        assert 2000 - len(FRAME) < int(told[1]) <= 2000
        assert lane.sent_bytes == len(sent)
        assert await read_exactly(peer, len(sent)) == sent  # and nothing of the refused one
        await lane.flush()
        assert lane.send_nowait(FRAME)
        assert await read_exactly(peer, len(FRAME)) == FRAME


async def test_a_frame_above_the_limit_may_go_while_nothing_waits() -> None:
    ours, theirs = tcp_pair()
    lane = lane_over(ours, queue_limit_bytes=10)
    async with flushed(lane), stream_over(theirs) as peer:
        lane.send_nowait(FRAME)
        assert await read_exactly(peer, len(FRAME)) == FRAME


SENDS = st.lists(
    st.tuples(st.sampled_from(["frame", "pause"]), st.sampled_from([0, 1, 640, 5000, 30_000])),
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(sends=SENDS, pings=st.integers(0, 8), seed=st.integers(0, 1 << 30))
def test_frames_and_pings_never_mix_and_each_keep_their_order(
    sends: list[tuple[str, int]], pings: int, seed: int
) -> None:
    """Through sockets with hardly any room, so that nearly every frame leaves in parts."""

    async def scenario() -> None:
        rng = random.Random(seed)
        lane, peer = lane_and_stream(small=True)
        client, server = Connection(ConnectionType.CLIENT), Connection(ConnectionType.SERVER)
        sent: list[bytes] = []
        heard: list[Event] = []

        async def ping() -> None:
            for number in range(pings):
                await lane.send_all(client.send(Ping(payload=bytes([number]) * 100)))

        async def speak() -> None:
            for kind, size in sends:
                if kind == "pause":
                    await trio.testing.wait_all_tasks_blocked()
                else:
                    sent.append(rng.randbytes(size))
                    lane.send_nowait(encode_frame(sent[-1], text=False, mask=rng.randbytes(4)))

        async def listen() -> None:
            while piece := await peer.receive_some(rng.choice([1, 500, 5000])):
                server.receive_data(piece)
                heard.extend(server.events())

        async with peer, trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            async with flushed(lane):
                async with trio.open_nursery() as speaking:
                    speaking.start_soon(ping)
                    speaking.start_soon(speak)
                await lane.flush()
        assert whole_messages(heard) == sent
        assert [e.payload[0] for e in heard if isinstance(e, Ping)] == list(range(pings))
        assert all(isinstance(e, Ping | BytesMessage) for e in heard)

    trio.run(scenario)


async def test_send_all_waits_until_the_kernel_has_taken_everything() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane), peer, trio.open_nursery() as nursery:
        sent = fill(lane)
        nursery.start_soon(lane.send_all, FRAME)
        await trio.testing.wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 1
        assert await read_exactly(peer, len(sent) + len(FRAME)) == sent + FRAME


async def test_a_cancelled_send_all_leaves_no_half_frame() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane), peer:
        sent = fill(lane)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lane.send_all, FRAME)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
        lane.send_nowait(FRAME)
        assert await read_exactly(peer, len(sent) + 2 * len(FRAME)) == sent + 2 * FRAME


async def test_the_end_of_sending_goes_behind_what_is_queued() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane), peer, trio.open_nursery() as nursery:
        sent = fill(lane)
        nursery.start_soon(lane.send_eof)
        assert await read_exactly(peer, len(sent)) == sent
        assert await peer.receive_some(1) == b""


async def test_it_can_be_waited_for_that_sending_is_possible_again() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane), peer, trio.open_nursery() as nursery:
        sent = fill(lane)
        nursery.start_soon(lane.wait_send_all_might_not_block)
        await trio.testing.wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 1
        await read_exactly(peer, len(sent))


# Receiving


async def test_what_was_sent_is_received_and_then_the_end() -> None:
    lane, peer = lane_and_stream()
    async with flushed(lane):
        await peer.send_all(b"hello")
        assert await lane.receive_some() == b"hello"
        await peer.aclose()
        assert await lane.receive_some() == b""


async def test_no_more_is_received_at_once_than_was_asked_for() -> None:
    lane, peer = lane_and_stream()
    async with flushed(lane), peer:
        await peer.send_all(b"hello")
        assert [await lane.receive_some(2) for _ in range(3)] == [b"he", b"ll", b"o"]


def test_receiving_lets_others_run_even_where_everything_is_there() -> None:
    """A provider that floods us must not stop the pacer."""

    async def scenario() -> None:
        lane, peer = lane_and_stream()
        async with flushed(lane), peer:
            await peer.send_all(b"xy")
            for receive in (lane.receive_some,) * 2:
                with trio.testing.assert_checkpoints():
                    await receive(1)

    trio.run(scenario)


# Stamps of the kernel


def require_received_stamps(lane: AnyLane) -> None:
    if not lane.kernel_stamps.received:
        pytest.skip("this kernel gives no stamps of arrival")


def require_sent_stamps(lane: AnyLane) -> None:
    if not lane.kernel_stamps.sent:
        pytest.skip("this kernel gives no stamps of sends")


async def arrival(lane: Lane, peer: trio.SocketStream) -> tuple[int, int, int]:
    """Send one byte to ``lane``: a moment before that, its arrival, its reading.

    The kernel gives stamps a little after it was first asked to, so earlier ones may be missing.
    """
    with trio.fail_after(30):
        while True:
            before_ns = now_ns()
            await peer.send_all(b"x")
            assert await lane.receive_some() == b"x"
            if lane.arrived_ns is not None:
                return before_ns, lane.arrived_ns, lane.read_ns


async def test_bytes_arrive_after_they_were_sent_and_before_they_are_read() -> None:
    lane, peer = lane_and_stream()
    async with flushed(lane), peer:
        require_received_stamps(lane)
        before_ns, arrived_ns, read_ns = await arrival(lane, peer)
        assert before_ns - CLOCK_SLACK_NS <= arrived_ns <= read_ns <= now_ns()


def be_busy() -> None:
    """Let the moments before and after it be told apart; our program does something else."""
    until_ns = now_ns() + 5 * CLOCK_SLACK_NS
    while now_ns() < until_ns:
        pass


async def test_the_arrival_does_not_move_when_we_come_late_to_read() -> None:
    ours, theirs = tcp_pair()
    lane = lane_over(ours)
    async with flushed(lane), stream_over(theirs) as peer:
        require_received_stamps(lane)
        await arrival(lane, peer)  # from here on there are stamps
        await peer.send_all(b"x")
        ours.setblocking(True)
        ours.recv(1, socket.MSG_PEEK)
        ours.setblocking(False)
        there_ns = now_ns()
        be_busy()
        await lane.receive_some()
        assert lane.arrived_ns is not None
        assert lane.arrived_ns <= there_ns + CLOCK_SLACK_NS
        assert lane.read_ns >= there_ns + 5 * CLOCK_SLACK_NS


@pytest.mark.parametrize(
    ("stepped_ns", "believed"),
    [
        (-SECOND, False),  # the stamp would lie in the future
        (TRUSTED_AGE_NS + SECOND, False),
        (2 * SECOND, False),  # it would lie at a moment that can be
        (0, True),
    ],
)
async def test_a_stamp_is_not_believed_where_the_wall_clock_was_set(
    stepped_ns: int, believed: bool
) -> None:
    """The kernel stamps with the wall clock as it is; ours then shows another time."""
    ours, theirs = tcp_pair()
    step_ns = 0
    lane = Lane(ours, now_ns=now_ns, wall_ns=lambda: wall_ns() + step_ns)
    async with flushed(lane), stream_over(theirs) as peer:
        require_received_stamps(lane)
        await arrival(lane, peer)
        step_ns = stepped_ns
        await peer.send_all(b"x")
        await lane.receive_some()
        assert (lane.arrived_ns is not None) == believed
        assert lane.read_ns <= now_ns()


async def test_stamps_are_believed_again_once_both_clocks_are_one() -> None:
    ours, theirs = tcp_pair()
    step_ns, believed = 0, []
    lane = Lane(ours, now_ns=now_ns, wall_ns=lambda: wall_ns() + step_ns)
    async with flushed(lane), stream_over(theirs) as peer:
        require_received_stamps(lane)
        await arrival(lane, peer)
        for ahead_ns in (2 * SECOND, 2 * SECOND, 0, 0):
            step_ns = ahead_ns
            await peer.send_all(b"x")
            await lane.receive_some()
            believed.append(lane.arrived_ns is not None)
    assert believed == [False, False, False, True]


@pytest.mark.parametrize("ahead_ns", [-2 * SECOND, 2 * SECOND])
async def test_no_stamp_is_believed_of_a_kernel_that_has_another_wall_clock_than_we(
    ahead_ns: int,
) -> None:
    ours, theirs = tcp_pair()
    lane = Lane(ours, now_ns=now_ns, wall_ns=lambda: wall_ns() + ahead_ns)
    async with flushed(lane), stream_over(theirs) as peer:
        assert lane.kernel_stamps == KernelStamps(received=False, sent=False)
        await peer.send_all(b"x")
        await lane.receive_some()
        assert lane.arrived_ns is None
        assert lane.take_sent_stamps() is None


async def stamps_of(lane: Lane, wanted: int) -> list[SentStamp]:
    """The next ``wanted`` stamps; acknowledgements come when they come."""
    stamps: list[SentStamp] = []
    with trio.fail_after(30):
        while len(stamps) < wanted:
            stamps += lane.take_sent_stamps() or []
            await trio.lowlevel.checkpoint()
    return stamps


async def test_a_marked_send_is_stamped_when_it_leaves_and_when_it_is_acknowledged() -> None:
    lane, peer = lane_and_stream()
    async with flushed(lane), peer:
        require_sent_stamps(lane)
        lane.send_nowait(FRAME)
        before_ns = now_ns()
        lane.send_nowait(FRAME, stamp=True)
        await read_exactly(peer, 2 * len(FRAME))
        await peer.send_all(b"thanks")  # carries the acknowledgement
        sent, acked = await stamps_of(lane, 2)
        assert (sent.kind, acked.kind) == ("sent", "acked")
        assert sent.offset == acked.offset == lane.sent_bytes == 2 * len(FRAME)
        assert before_ns - CLOCK_SLACK_NS <= sent.at_ns <= acked.at_ns <= now_ns()


async def test_only_marked_sends_are_stamped_and_each_under_its_own_name() -> None:
    lane, peer = lane_and_stream()
    async with flushed(lane), peer:
        require_sent_stamps(lane)
        marked = []
        for number in range(9):
            lane.send_nowait(FRAME, stamp=number % 4 == 1)
            if number % 4 == 1:
                marked.append(lane.sent_bytes)
            await read_exactly(peer, len(FRAME))
            await peer.send_all(b"x")
            await lane.receive_some()
        stamps = await stamps_of(lane, 2 * len(marked))
        assert [s.offset for s in stamps if s.kind == "sent"] == marked
        assert [s.offset for s in stamps if s.kind == "acked"] == marked
        assert lane.take_sent_stamps() == []


async def test_a_marked_frame_that_leaves_in_parts_is_stamped_once_it_has_left_whole() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane), peer:
        require_sent_stamps(lane)
        frame = encode_frame(bytes(50_000), text=False, mask=b"abcd")
        assert not lane.send_nowait(frame, stamp=True)
        await read_exactly(peer, len(frame))
        sent, acked = await stamps_of(lane, 2)
        assert (sent.offset, acked.offset) == (len(frame), len(frame))


async def test_a_stamp_that_waits_does_not_keep_the_reader_busy() -> None:
    """It makes the socket look readable; a reader that only tries again would never rest."""
    lane, peer = lane_and_stream()
    async with flushed(lane), peer, trio.open_nursery() as nursery:
        require_sent_stamps(lane)
        nursery.start_soon(lane.receive_some)
        await trio.testing.wait_all_tasks_blocked()
        lane.send_nowait(FRAME, stamp=True)
        await read_exactly(peer, len(FRAME))
        with trio.fail_after(30):
            await trio.testing.wait_all_tasks_blocked(cushion=0.01)
        await peer.send_all(b"x")
        assert len(await stamps_of(lane, 2)) == 2


async def test_a_stamp_that_waits_does_not_keep_the_flusher_busy() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane), peer:
        require_sent_stamps(lane)
        lane.send_nowait(FRAME, stamp=True)
        fill(lane)
        with trio.fail_after(30):
            await trio.testing.wait_all_tasks_blocked(cushion=0.01)
        assert lane.unsent_bytes


async def test_a_kernel_that_refuses_stamps_is_plainly_one_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("daemon.kernel_stamps.sys.platform", "some other system")
    lane, peer = lane_and_stream()
    async with flushed(lane), peer:
        assert lane.kernel_stamps.received is lane.kernel_stamps.sent is False
        assert lane.send_nowait(FRAME, stamp=True)
        assert await read_exactly(peer, len(FRAME)) == FRAME
        await peer.send_all(b"x")
        assert await lane.receive_some() == b"x"
        assert lane.arrived_ns is None
        assert lane.read_ns <= now_ns()
        assert lane.take_sent_stamps() is None


# The end


async def test_closing_wakes_whoever_receives_or_waits_to_send() -> None:
    lane, peer = lane_and_stream(small=True)

    async def ends_in_closed(call: Callable[[], object]) -> None:
        with pytest.raises(trio.ClosedResourceError):
            await call()  # type: ignore[misc]

    async with flushed(lane), peer, trio.open_nursery() as nursery:
        fill(lane)
        nursery.start_soon(ends_in_closed, lane.receive_some)
        nursery.start_soon(ends_in_closed, functools.partial(lane.send_all, FRAME))
        await trio.testing.wait_all_tasks_blocked()
        await lane.aclose()


async def test_a_closed_lane_refuses_everything_and_still_answers_questions() -> None:
    lane, peer = lane_and_stream()
    async with peer:
        lane.close()
        lane.close()
        with pytest.raises(trio.ClosedResourceError):
            lane.send_nowait(FRAME)
        with pytest.raises(trio.ClosedResourceError):
            await lane.send_all(FRAME)
        with pytest.raises(trio.ClosedResourceError):
            await lane.receive_some()
        assert (lane.unsent_bytes, lane.tcp_info()) == (0, None)
        assert not lane.take_sent_stamps()
        await lane.keep_flushing()


def reset(stream: trio.SocketStream) -> None:
    """Break the connection off, as a host does that has died."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.socket.close()


async def send_forever(lane: Lane) -> None:
    while True:
        lane.send_nowait(b"x")
        await trio.lowlevel.checkpoint()


async def test_a_connection_that_was_reset_still_gives_what_had_arrived() -> None:
    lane, peer = lane_and_stream()
    async with flushed(lane):
        await peer.send_all(b"last words")
        reset(peer)
        with pytest.raises(trio.BrokenResourceError), trio.fail_after(30):
            await send_forever(lane)
        with pytest.raises(trio.BrokenResourceError):
            lane.send_nowait(FRAME)
        assert await lane.receive_some() == b"last words"


async def test_a_connection_that_breaks_while_bytes_wait_tells_the_next_sender() -> None:
    lane, peer = lane_and_stream(small=True)
    async with flushed(lane):
        fill(lane)
        reset(peer)
        for _ in range(2):  # who waits for it, and who asks afterwards
            with pytest.raises(trio.BrokenResourceError):
                await lane.flush()
        with pytest.raises(trio.BrokenResourceError):
            lane.send_nowait(FRAME)


async def test_a_reset_is_broken_to_the_reader() -> None:
    lane, peer = lane_and_stream()
    async with flushed(lane):
        reset(peer)
        with pytest.raises(trio.BrokenResourceError):
            await lane.receive_some()


# What the kernel knows


async def test_the_round_trip_is_known_once_something_was_acknowledged() -> None:
    lane, peer = lane_and_stream()
    async with flushed(lane), peer:
        lane.send_nowait(FRAME)
        await read_exactly(peer, len(FRAME))
        told = lane.tcp_info()
        if told is None:
            pytest.skip("this kernel tells nothing about connections")
        assert 0 < told.min_rtt_ns <= told.rtt_ns < 10 * SECOND
        assert told.retransmits == 0
        assert told.unsent_bytes == 0


async def test_unsent_bytes_are_the_same_by_both_of_the_kernels_answers() -> None:
    ours, theirs = tcp_pair(small=True)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    lane = lane_over(ours)
    async with flushed(lane), stream_over(theirs):
        if lane.tcp_info() is None:
            pytest.skip("this kernel tells nothing about connections")
        assert lane.send_nowait(bytes(100_000))
        with trio.fail_after(30):
            while (told := lane.tcp_info()) and told.unsent_bytes != lane.unsent_bytes:
                await trio.lowlevel.checkpoint()  # bytes were leaving between the two
        assert lane.unsent_bytes > 0
