"""The lane under TLS: the same promises, and who the other side is."""

import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing
import trustme

from daemon.clock import now_ns
from daemon.kernel_stamps import SentStamp
from daemon.lane_tls import TlsLane
from daemon.websocket_frames import encode_frame
from tests.daemon.lane_peer import lane_over, stream_over, tcp_pair
from tests.daemon.test_lane import (
    CLOCK_SLACK_NS,
    FRAME,
    be_busy,
    fill,
    fill_up,
    read_exactly,
    require_received_stamps,
    require_sent_stamps,
)

HOST = "speech.test"
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def server_context(authority: trustme.CA, name: str = HOST) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


Server = trio.SSLStream[trio.SocketStream]


@asynccontextmanager
async def secured(
    authority: trustme.CA,
    trusting: ssl.SSLContext,
    *,
    small: bool = False,
    queue_limit_bytes: int = 1 << 20,
) -> AsyncIterator[tuple[TlsLane, Server]]:
    """Our lane and the other side, after the handshake."""
    ours, theirs = tcp_pair(small=small)
    plain = lane_over(ours, queue_limit_bytes=queue_limit_bytes)
    lane = TlsLane(plain, trusting, HOST)
    server = trio.SSLStream(stream_over(theirs), server_context(authority), server_side=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lane.keep_flushing)
        try:
            async with trio.open_nursery() as shaking:
                shaking.start_soon(server.do_handshake)
                await lane.handshake()
            yield lane, server
        finally:
            lane.close()
            await trio.aclose_forcefully(server)


@pytest.mark.parametrize("version", VERSIONS)
async def test_frames_go_there_and_come_back(
    authority: trustme.CA, trusting: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    context.maximum_version = version
    async with secured(authority, context) as (lane, server):
        assert lane.send_nowait(FRAME)
        assert await read_exactly(server, len(FRAME)) == FRAME
        await server.send_all(b"thanks")
        assert await lane.receive_some() == b"thanks"


async def test_the_certificate_must_carry_the_hosts_name(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    ours, theirs = tcp_pair()
    server = trio.SSLStream(
        stream_over(theirs), server_context(authority, "other.test"), server_side=True
    )
    lane = TlsLane(lane_over(ours), trusting, HOST)

    async def is_told() -> None:
        with pytest.raises(trio.BrokenResourceError) as told:
            await read_exactly(server, 1)
        assert "alert" in str(told.value.__cause__).lower()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(is_told)
        with pytest.raises(ssl.SSLCertVerificationError, match=HOST):
            await lane.handshake()
        lane.close()
    await trio.aclose_forcefully(server)


async def test_a_stranger_is_not_trusted(trusting: ssl.SSLContext) -> None:
    ours, theirs = tcp_pair()
    stranger = trio.SSLStream(stream_over(theirs), server_context(trustme.CA()), server_side=True)
    lane = TlsLane(lane_over(ours), trusting, HOST)

    async def shake() -> None:
        with pytest.raises(trio.BrokenResourceError):
            await read_exactly(stranger, 1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(shake)
        with pytest.raises(ssl.SSLCertVerificationError):
            await lane.handshake()
        lane.close()
    await trio.aclose_forcefully(stranger)


async def test_hanging_up_during_the_handshake_is_an_error_of_tls(
    trusting: ssl.SSLContext,
) -> None:
    ours, theirs = tcp_pair()
    lane = TlsLane(lane_over(ours), trusting, HOST)
    async with trio.open_nursery() as nursery:
        server = stream_over(theirs)

        async def hang_up() -> None:
            await server.receive_some()
            await server.aclose()

        nursery.start_soon(hang_up)
        with pytest.raises(ssl.SSLEOFError):
            await lane.handshake()
        lane.close()


async def test_whoever_does_not_speak_tls_is_an_error_of_tls(trusting: ssl.SSLContext) -> None:
    ours, theirs = tcp_pair()
    lane = TlsLane(lane_over(ours), trusting, HOST)
    async with stream_over(theirs) as server:
        await server.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        with pytest.raises(ssl.SSLError):
            await lane.handshake()
        lane.close()


async def test_frames_that_had_to_wait_come_out_whole_and_in_order(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    rng = random.Random(3)
    async with secured(authority, trusting, small=True) as (lane, server):
        frames = [
            encode_frame(rng.randbytes(rng.choice([1, 640, 20_000])), text=False, mask=b"abcd")
            for _ in range(40)
        ]
        pongs = [encode_frame(bytes([number]), text=True, mask=b"abcd") for number in range(5)]
        async with trio.open_nursery() as nursery:

            async def pong() -> None:
                for one in pongs:
                    await lane.send_all(one)

            nursery.start_soon(pong)
            for frame in frames[:20]:
                lane.send_nowait(frame)
            await trio.testing.wait_all_tasks_blocked()  # the first pong stands in the queue now
            for frame in frames[20:]:
                lane.send_nowait(frame)
            assert lane.blocked
            expected = b"".join([*frames[:20], pongs[0], *frames[20:], *pongs[1:]])
            assert await read_exactly(server, len(expected)) == expected


async def test_a_refused_frame_does_not_spoil_what_follows(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    """Records are numbered: one that was encrypted and left out would end the connection."""
    async with secured(authority, trusting, small=True, queue_limit_bytes=2000) as (lane, server):
        sent, _ = fill_up(lane.send_nowait)
        assert await read_exactly(server, len(sent)) == sent
        await lane.flush()
        lane.send_nowait(FRAME)
        assert await read_exactly(server, len(FRAME)) == FRAME


async def test_the_kernels_stamp_is_of_the_segment_that_completes_the_record(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    ours, theirs = tcp_pair()
    plain = lane_over(ours)
    require_received_stamps(plain)
    lane = TlsLane(plain, trusting, HOST)
    to_server, from_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    machine = server_context(authority).wrap_bio(to_server, from_server, server_side=True)

    async def shake(server: trio.SocketStream) -> None:
        while True:
            try:
                machine.do_handshake()
                return
            except ssl.SSLWantReadError:
                await server.send_all(from_server.read())
                to_server.write(await server.receive_some())
            finally:
                if from_server.pending:
                    await server.send_all(from_server.read())

    async with stream_over(theirs) as server:
        async with trio.open_nursery() as shaking:
            shaking.start_soon(shake, server)
            await lane.handshake()

        async def receive() -> None:
            assert await lane.receive_some() == b"a whole record"

        before_ns, arrived_ns = 0, None
        with trio.fail_after(30):
            while arrived_ns is None:  # the first ones may come without a stamp
                machine.write(b"a whole record")
                record = from_server.read()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(receive)
                    await server.send_all(record[:-1])
                    await trio.testing.wait_all_tasks_blocked()  # that has been read
                    be_busy()
                    before_ns = now_ns()
                    await server.send_all(record[-1:])
                arrived_ns = lane.arrived_ns
        assert before_ns - CLOCK_SLACK_NS <= arrived_ns <= lane.read_ns
        lane.close()


async def test_marked_sends_are_named_by_what_is_on_the_wire(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    async with secured(authority, trusting) as (lane, server):
        require_sent_stamps(lane)
        before = lane.sent_bytes
        lane.send_nowait(FRAME, stamp=True)
        assert lane.sent_bytes - before > len(FRAME)
        await read_exactly(server, len(FRAME))
        await server.send_all(b"x")
        stamps: list[SentStamp] = []
        with trio.fail_after(30):
            while len(stamps) < 2:
                stamps += lane.take_sent_stamps() or []
                await trio.lowlevel.checkpoint()
        assert {stamp.offset for stamp in stamps} == {lane.sent_bytes}


async def test_closing_says_goodbye_and_does_not_wait_for_the_answer(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    async with secured(authority, trusting) as (lane, server):
        lane.send_nowait(FRAME)
        await lane.aclose()  # the other side does not even look
        assert await read_exactly(server, len(FRAME)) == FRAME
        assert await server.receive_some() == b""  # trio insists on a goodbye
        with pytest.raises(trio.ClosedResourceError):
            lane.send_nowait(FRAME)


async def test_closing_lets_go_first_what_was_sent_before(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    async with secured(authority, trusting, small=True) as (lane, server):
        sent = fill(lane)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lane.aclose)
            await trio.testing.wait_all_tasks_blocked()
            assert await read_exactly(server, len(sent)) == sent
            assert await server.receive_some() == b""


async def test_closing_takes_no_longer_than_the_caller_allows(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    async with secured(authority, trusting, small=True) as (lane, _):
        fill(lane)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lane.aclose)
            await trio.testing.wait_all_tasks_blocked()
            assert len(nursery.child_tasks) == 1
            nursery.cancel_scope.cancel()
        with pytest.raises(trio.ClosedResourceError):
            lane.send_nowait(FRAME)


@pytest.mark.parametrize("goodbye", [True, False])
async def test_the_other_sides_end_is_an_end_with_goodbye_and_without(
    authority: trustme.CA, trusting: ssl.SSLContext, goodbye: bool
) -> None:
    async with secured(authority, trusting) as (lane, server):
        await server.send_all(b"last words")
        if goodbye:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(server.aclose)
                assert await lane.receive_some() == b"last words"
                assert await lane.receive_some() == b""
                await lane.aclose()
        else:
            await server.transport_stream.aclose()
            assert await lane.receive_some() == b"last words"
            assert await lane.receive_some() == b""


async def test_a_forged_record_breaks_the_connection(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    async with secured(authority, trusting) as (lane, server):
        await server.transport_stream.send_all(b"\x17\x03\x03\x00\x20" + bytes(32))
        with pytest.raises(trio.BrokenResourceError, match=r"^TLS: "):
            await lane.receive_some()


async def test_receiving_lets_others_run_even_where_everything_is_there(
    authority: trustme.CA, trusting: ssl.SSLContext
) -> None:
    async with secured(authority, trusting) as (lane, server):
        await server.send_all(b"xy")
        for _ in range(2):
            with trio.testing.assert_checkpoints():
                await lane.receive_some(1)
