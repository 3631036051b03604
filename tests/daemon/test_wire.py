"""The open websocket: each message with the moment it came, and an end that is always reached."""

import os
import random
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio_websocket import ConnectionRejected, HandshakeError
from wsproto import ConnectionType, WSConnection
from wsproto.connection import Connection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    Request,
)
from wsproto.utilities import LocalProtocolError

from daemon.clock import now_ns
from daemon.dial import WebsocketUrl
from daemon.kernel_stamps import SentStamp
from daemon.lane import AnyLane
from daemon.wire import QUEUED_MESSAGES, Received, Wire, WireClosed, open_wire
from tests.daemon.lane_peer import (
    URL,
    Provider,
    binary,
    lane_and_stream,
    lane_over,
    stream_over,
    tcp_pair,
    text,
    whole_messages,
)
from tests.daemon.memory_lane import MemoryLane, memory_lane_pair
from tests.daemon.test_lane import (
    CLOCK_SLACK_NS,
    be_busy,
    fill_up,
    require_received_stamps,
    require_sent_stamps,
    reset,
)

Clock = trio.testing.MockClock


@asynccontextmanager
async def websocket(
    lane: AnyLane, stream: trio.abc.Stream, and_say: Sequence[Event] = ()
) -> AsyncIterator[tuple[Wire, Provider]]:
    """An open wire over ``lane`` and the provider at its other end."""
    provider = Provider(stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(provider.accept, and_say)
        wire = await open_wire(nursery, lane, URL, now_ns=now_ns)
        try:
            yield wire, provider
        finally:
            wire.hang_up()
            await trio.aclose_forcefully(stream)


def over_tcp(*, small: bool = False) -> tuple[AnyLane, trio.SocketStream]:
    return lane_and_stream(small=small)


def over_memory() -> tuple[AnyLane, trio.abc.Stream]:
    return memory_lane_pair(now_ns)


over_both = pytest.mark.parametrize("network", [over_tcp, over_memory])
Network = Callable[[], tuple[AnyLane, trio.abc.Stream]]


async def all_received(wire: Wire) -> tuple[list[Received], WireClosed]:
    """Everything that comes, and how it ended."""
    received: list[Received] = []
    while True:
        try:
            received.append(await wire.receive())
        except WireClosed as closed:
            return received, closed


# Messages


@over_both
async def test_messages_go_out_as_they_are(network: Network) -> None:
    async with websocket(*network()) as (wire, provider):
        wire.send_nowait("grüß dich")
        wire.send_nowait(bytes(range(256)))
        wire.send_nowait("")
        said = [await provider.hear() for _ in range(3)]
        assert whole_messages(filter(None, said)) == ["grüß dich", bytes(range(256)), ""]


@over_both
async def test_messages_come_in_as_they_are(network: Network) -> None:
    async with websocket(*network()) as (wire, provider):
        await provider.say(text("grüß dich"), binary(b"\x00\xff"))
        assert (await wire.receive()).message == "grüß dich"
        assert (await wire.receive()).message == b"\x00\xff"


async def test_a_send_gives_the_moment_at_which_the_kernel_had_it() -> None:
    async with websocket(*over_tcp()) as (wire, _):
        before_ns = now_ns()
        assert before_ns <= wire.send_nowait("now") <= now_ns()


async def test_each_frame_has_a_mask_of_its_own() -> None:
    lane, stream = over_memory()
    async with websocket(lane, stream) as (wire, _):
        for _ in range(2):
            wire.send_nowait(bytes(8))
        sent = bytes(await stream.receive_some())
        assert sent[:14][2:6] != sent[14:][2:6]


async def test_pings_are_answered_between_our_frames() -> None:
    async with websocket(*over_tcp(small=True)) as (wire, provider):
        for number in range(30):
            wire.send_nowait(bytes([number]) * 3000)
            if number % 10 == 0:
                await provider.say(Ping(payload=bytes([number])))
        heard: list[Event | None] = []
        while (
            sum(isinstance(event, Pong) for event in heard) < 3
            or len(whole_messages(filter(None, heard))) < 30
        ):
            heard.append(await provider.hear())
        messages = whole_messages(filter(None, heard))
        assert messages == [bytes([number]) * 3000 for number in range(30)]
        pongs = [bytes(event.payload) for event in heard if isinstance(event, Pong)]
        assert pongs == [b"\x00", b"\x0a", b"\x14"]


async def test_a_provider_that_stops_reading_is_told_by_the_lane() -> None:
    ours, theirs = tcp_pair(small=True)
    lane = lane_over(ours, queue_limit_bytes=10_000)
    async with websocket(lane, stream_over(theirs)) as (wire, _):
        _, full = fill_up(wire.send_nowait)
        assert str(full).startswith("the provider has stopped reading")
        assert wire.blocked
        assert 0 < wire.unsent_bytes <= wire.unacked_bytes


async def test_marked_messages_are_stamped() -> None:
    lane, stream = over_tcp()
    async with websocket(lane, stream) as (wire, provider):
        require_sent_stamps(lane)
        wire.send_nowait(bytes(640))
        wire.send_nowait("force", stamp=True)
        name = wire.sent_bytes
        await provider.hear()
        await provider.hear()
        stamps: list[SentStamp] = []
        with trio.fail_after(30):
            while len(stamps) < 2:
                stamps += wire.take_sent_stamps() or []
                await trio.lowlevel.checkpoint()
        assert [(stamp.offset, stamp.kind) for stamp in stamps] == [(name, "sent"), (name, "acked")]


async def test_what_the_kernel_knows_is_asked_of_it() -> None:
    async with websocket(*over_memory()) as (wire, _):
        assert (wire.tcp_info(), wire.take_sent_stamps(), wire.unsent_bytes) == (None, None, 0)


# When each message came


class ScriptedLane(MemoryLane):
    """Brings prepared pieces, each with stamps that name it: piece 3 arrived at 3000."""

    def __init__(self, events: Sequence[Event], cut: Callable[[bytes], list[bytes]]) -> None:
        outgoing, incoming = trio.testing.MemoryReceiveStream(), trio.testing.MemoryReceiveStream()
        super().__init__(outgoing, incoming, now_ns)
        self._events = events
        self._cut = cut
        self.pieces: list[bytes] = []
        self.brought = 0

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await super().send_all(data)
        if not self.pieces:
            server = WSConnection(ConnectionType.SERVER)
            server.receive_data(bytes(data))
            assert isinstance(next(server.events()), Request)
            answer = [AcceptConnection(), *self._events]
            self.pieces = self._cut(b"".join(map(server.send, answer)))

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        if self.brought == len(self.pieces):
            return b""
        self.arrived_ns = self.brought * 1000  # type: ignore[assignment]
        self.read_ns = self.brought * 1000 + 7
        self.brought += 1
        return self.pieces[self.brought - 1]


def expected_receipts(pieces: list[bytes]) -> list[Received]:
    """What is to be received of ``pieces``; the slow oracle is wsproto, fed piece by piece."""
    reader = Connection(ConnectionType.CLIENT)
    head_left = b"".join(pieces).index(b"\r\n\r\n") + 4
    heard: list[Event] = []
    receipts: list[Received] = []
    for number, piece in enumerate(pieces):
        reader.receive_data(piece[head_left:])
        head_left = max(0, head_left - len(piece))
        heard += reader.events()
        receipts += [
            Received(message, number * 1000, number * 1000 + 7)
            for message in whole_messages(heard)[len(receipts) :]
        ]
    return receipts


def cut_at_random(seed: int, mean: int) -> Callable[[bytes], list[bytes]]:
    def cut(whole: bytes) -> list[bytes]:
        rng, pieces, at = random.Random(seed), [], 0
        while at < len(whole):
            size = rng.randint(1, 2 * max(mean, len(whole) // 500))
            pieces.append(whole[at : at + size])
            at += size
        return pieces

    return cut


def conversation(said: list[tuple[str, int, bool]]) -> list[Event]:
    """Messages in as many parts as they come, and pings between; the last one is completed."""
    events: list[Event] = []
    for kind, size, last in [*said, ("message", 3, True)]:
        if kind == "ping":
            events.append(Ping(payload=bytes(size % 126)))
        else:
            events.append(BytesMessage(data=os.urandom(size), message_finished=last))
    return events


SAID = st.lists(
    st.tuples(
        st.sampled_from(["message", "message", "ping"]),
        st.sampled_from([0, 1, 125, 126, 65535, 65536]) | st.integers(0, 400),
        st.booleans(),
    ),
    max_size=12,
)


@settings(deadline=None)
@given(
    said=SAID,
    seed=st.integers(0, 1 << 30),
    mean=st.sampled_from([1, 2, 40, 3000, 1 << 20]),
    fetch_late=st.booleans(),
)
@example(said=[("message", 0, True)] * 3, seed=0, mean=1 << 20, fetch_late=True)
@example(said=[("message", 9, False)] * 3, seed=0, mean=1, fetch_late=True)
def test_each_message_has_the_stamps_of_the_piece_that_completed_it(
    said: list[tuple[str, int, bool]], seed: int, mean: int, fetch_late: bool
) -> None:
    """However it is cut, the answer to the upgrade included, and however late it is fetched."""

    async def scenario() -> None:
        lane = ScriptedLane(conversation(said), cut_at_random(seed, mean))
        async with trio.open_nursery() as nursery:
            wire = await open_wire(nursery, lane, URL, now_ns=now_ns)
            if fetch_late:
                await trio.testing.wait_all_tasks_blocked()
            received, closed = await all_received(wire)
            wire.hang_up()
        assert received == expected_receipts(lane.pieces)
        assert closed.code is None

    trio.run(scenario)


async def test_stamps_keep_to_their_messages_while_far_more_wait_than_are_let_in() -> None:
    events = [text(str(number)) for number in range(3 * QUEUED_MESSAGES)]
    lane = ScriptedLane(events, cut_at_random(seed=1, mean=20))
    async with trio.open_nursery() as nursery:
        wire = await open_wire(nursery, lane, URL, now_ns=now_ns)
        await trio.testing.wait_all_tasks_blocked()
        assert lane.brought < len(lane.pieces)  # the provider has to wait
        received, _ = await all_received(wire)
        wire.hang_up()
    assert received == expected_receipts(lane.pieces)
    assert len(received) == len(events)


async def test_a_message_fetched_in_vain_leaves_the_stamps_in_place() -> None:
    async with websocket(*over_memory()) as (wire, provider):
        with trio.move_on_after(0):
            await wire.receive()
        await provider.say(text("first"))
        first = await wire.receive()
        await provider.say(text("second"))
        second = await wire.receive()
        assert [first.message, second.message] == ["first", "second"]
        assert first.read_ns <= second.read_ns


async def test_without_kernel_stamps_there_is_the_moment_of_reading() -> None:
    async with websocket(*over_memory()) as (wire, provider):
        before_ns = now_ns()
        await provider.say(text("hello"))
        received = await wire.receive()
        assert received.arrived_ns is None
        assert before_ns <= received.read_ns <= now_ns()


async def test_on_a_real_network_a_message_arrives_with_its_last_segment() -> None:
    lane, stream = over_tcp()
    require_received_stamps(lane)
    async with websocket(lane, stream) as (wire, provider):
        arrived_ns = None
        with trio.fail_after(30):
            while arrived_ns is None:  # the kernel begins to stamp a little after it was asked to
                frames = provider.encoded(text("whole"), text("in two segments"))
                await stream.send_all(frames[:-1])
                await trio.testing.wait_all_tasks_blocked()  # that much has been read
                be_busy()
                between_ns = now_ns()
                await stream.send_all(frames[-1:])
                whole, in_two = await wire.receive(), await wire.receive()
                arrived_ns = whole.arrived_ns and in_two.arrived_ns
        assert whole.arrived_ns is not None
        assert in_two.arrived_ns is not None
        assert whole.arrived_ns <= whole.read_ns < between_ns
        assert between_ns - CLOCK_SLACK_NS <= in_two.arrived_ns <= in_two.read_ns <= now_ns()


# The provider ends it


@over_both
async def test_messages_before_a_close_are_all_received_and_then_the_close(
    network: Network,
) -> None:
    async with websocket(*network()) as (wire, provider):
        await provider.say(text("1"), text("2"), CloseConnection(code=4001, reason="no money"))
        received, closed = await all_received(wire)
        assert [one.message for one in received] == ["1", "2"]
        assert (closed.code, closed.reason) == (4001, "no money")
        assert str(closed) == "Close 4001, no money"
        answer = await provider.hear()
        assert isinstance(answer, CloseConnection)
        assert answer.code == 4001


async def test_a_close_that_comes_with_the_answer_to_the_upgrade_is_heard() -> None:
    farewell = [text("welcome"), CloseConnection(code=1013, reason="too busy")]
    async with websocket(*over_memory(), and_say=farewell) as (wire, _):
        received, closed = await all_received(wire)
        assert [one.message for one in received] == ["welcome"]
        assert (closed.code, closed.reason) == (1013, "too busy")


async def test_a_close_without_a_code_is_one_all_the_same() -> None:
    async with websocket(*over_memory()) as (wire, provider):
        await provider.stream.send_all(b"\x88\x00")
        _, closed = await all_received(wire)
        assert (closed.code, closed.reason) == (1005, "")


async def test_after_a_close_nothing_is_sent_and_what_came_before_can_be_received() -> None:
    async with websocket(*over_memory()) as (wire, provider):
        await provider.say(text("final"), CloseConnection(code=1000, reason="done"))
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(WireClosed, match="Close 1000, done"):
            wire.send_nowait("more")
        assert (await wire.receive()).message == "final"


async def test_last_words_are_heard_even_where_a_ping_cannot_be_answered_any_more() -> None:
    """The provider pings, answers, closes and dies: the pong meets a dead connection."""
    lane, stream = over_tcp()
    assert isinstance(stream, trio.SocketStream)
    async with websocket(lane, stream) as (wire, provider):
        await trio.testing.wait_all_tasks_blocked()
        last_words = provider.encoded(Ping(), text("final"), CloseConnection(code=1011, reason="x"))
        os.write(stream.socket.fileno(), last_words)
        reset(stream)
        received, closed = await all_received(wire)
        assert [one.message for one in received] == ["final"]
        assert closed.code == 1011
        await wire.close(30)


@over_both
async def test_a_connection_that_just_ends_has_no_code(network: Network) -> None:
    async with websocket(*network()) as (wire, provider):
        await provider.say(text("half a"))
        await provider.stream.aclose()
        received, closed = await all_received(wire)
        assert [one.message for one in received] == ["half a"]
        assert closed.code is None
        assert str(closed) == "the connection ended without a Close"
        await wire.close(30)


async def test_a_connection_that_breaks_off_says_how() -> None:
    lane, stream = over_tcp()
    assert isinstance(stream, trio.SocketStream)
    async with websocket(lane, stream) as (wire, _):
        reset(stream)
        _, closed = await all_received(wire)
        assert closed.code is None
        assert closed.reason.startswith("the connection broke off: ")
        with pytest.raises(WireClosed, match="the connection broke off: "):
            wire.send_nowait("more")


async def test_what_breaks_the_protocol_ends_the_websocket_with_its_code() -> None:
    async with websocket(*over_memory()) as (wire, provider):
        await provider.say(text("fine"))
        await provider.stream.send_all(b"\x81\x02\xff\xff")  # text that is not UTF-8
        received, closed = await all_received(wire)
        assert [one.message for one in received] == ["fine"]
        assert closed.code == 1007


async def test_a_message_without_end_is_refused() -> None:
    lane, stream = over_memory()
    provider = Provider(stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(provider.accept)
        wire = await open_wire(nursery, lane, URL, now_ns=now_ns, max_message_bytes=1000)
        await provider.say(binary(bytes(1001)), Ping())
        _, closed = await all_received(wire)
        assert closed.code == 1009
        answer = await provider.hear()
        assert isinstance(answer, CloseConnection)
        wire.hang_up()


# We end it


async def obeys(provider: Provider) -> None:
    """Answers a Close and hangs up."""
    await provider.hear_all()
    close = provider.heard[-1]
    if isinstance(close, CloseConnection):
        await provider.say(close.response())
    await provider.stream.aclose()


async def pings_first(provider: Provider) -> None:
    """trio-websocket would answer this ping after its own Close, which it must not, and fails."""
    late = provider.encoded(Ping(), text("late"), CloseConnection(code=1000))
    await provider.hear_all()
    await provider.stream.send_all(late)


async def never_answers(provider: Provider) -> None:
    await provider.hear_all()
    await trio.sleep_forever()


async def hangs_up(provider: Provider) -> None:
    await provider.stream.aclose()


@pytest.mark.parametrize(
    ("behaviour", "takes_s"),
    [
        (obeys, 0),
        (hangs_up, 0),
        (pings_first, 0),
        (never_answers, 1.5),
    ],
)
async def test_closing_takes_as_long_as_the_answer_and_never_longer_than_allowed(
    autojump_clock: Clock, behaviour: Callable[[Provider], object], takes_s: float
) -> None:
    async with trio.open_nursery() as nursery:
        async with websocket(*over_memory()) as (wire, provider):
            nursery.start_soon(behaviour, provider)  # type: ignore[arg-type]
            await trio.testing.wait_all_tasks_blocked()
            started_s = trio.current_time()
            await wire.close(1.5)
            assert trio.current_time() - started_s == pytest.approx(takes_s)
            with pytest.raises(WireClosed, match="it was closed here"):
                await wire.receive()
        nursery.cancel_scope.cancel()


async def test_closing_on_a_provider_that_floods_and_does_not_listen_ends_in_time(
    autojump_clock: Clock,
) -> None:
    """The reader stands with its queue full, so it does not even see an answer."""
    async with websocket(*over_memory()) as (wire, provider):
        await provider.say(*[text("words")] * 3 * QUEUED_MESSAGES)
        await trio.testing.wait_all_tasks_blocked()
        started_s = trio.current_time()
        await wire.close(1.5)
        assert trio.current_time() - started_s == pytest.approx(1.5)


async def test_closing_while_nothing_can_be_sent_ends_in_time() -> None:
    async with websocket(*over_tcp(small=True)) as (wire, _):
        while wire.unsent_bytes < 100_000:
            wire.send_nowait(bytes(640))
        with trio.fail_after(30):
            await wire.close(0.01)
        assert wire.unsent_bytes == 0


async def test_our_close_goes_behind_all_that_was_sent() -> None:
    async with websocket(*over_tcp(small=True)) as (wire, provider):
        for number in range(100):
            wire.send_nowait(str(number))
            wire.send_nowait(bytes(1000))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wire.close, 30)
            heard = await provider.hear_all()
            wire.hang_up()
        messages = [message for message in whole_messages(heard) if isinstance(message, str)]
        assert messages == [str(number) for number in range(100)]
        close = heard[-1]
        assert isinstance(close, CloseConnection)
        assert close.code == 1000


@settings(max_examples=30, deadline=None)
@given(
    ours=st.lists(st.sampled_from(["send", "yield", "close"]), max_size=12),
    theirs=st.lists(st.sampled_from(["say", "ping", "yield", "close", "leave"]), max_size=12),
)
def test_whoever_closes_first_nothing_hangs_and_nothing_fails(
    ours: list[str], theirs: list[str]
) -> None:
    async def scenario() -> None:
        async with websocket(*over_tcp()) as (wire, provider), trio.open_nursery() as nursery:
            nursery.start_soon(act_ours, wire)
            nursery.start_soon(act_theirs, provider)
            nursery.start_soon(all_received, wire)

    async def act_ours(wire: Wire) -> None:
        for act in ours:
            try:
                if act == "send":
                    wire.send_nowait(bytes(640))
                elif act == "close":
                    await wire.close(0.05)
            except WireClosed:
                pass
            await trio.lowlevel.checkpoint()
        await wire.close(0.05)

    async def act_theirs(provider: Provider) -> None:
        says = {"say": text("words"), "ping": Ping(), "close": CloseConnection(code=1000)}
        for act in theirs:
            if act in says:
                try:
                    await provider.say(says[act])
                except (trio.BrokenResourceError, LocalProtocolError):
                    break
            elif act == "leave":
                await provider.stream.aclose()
                break
            await trio.lowlevel.checkpoint()

    async def limited() -> None:
        with trio.fail_after(60):
            await scenario()

    trio.run(limited)


async def test_closing_twice_is_closing_once(autojump_clock: Clock) -> None:
    async with websocket(*over_memory()) as (wire, provider):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(obeys, provider)
            nursery.start_soon(wire.close, 1)
            nursery.start_soon(wire.close, 2)
        await wire.close(1)
        with pytest.raises(WireClosed):
            wire.send_nowait("more")


async def test_who_is_receiving_is_told_that_it_was_closed_here(autojump_clock: Clock) -> None:
    async with websocket(*over_memory()) as (wire, _):

        async def listen() -> None:
            with pytest.raises(WireClosed, match="it was closed here"):
                await wire.receive()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            await trio.testing.wait_all_tasks_blocked()
            await wire.close(1)


async def test_closing_when_cancelled_hangs_up_at_once(autojump_clock: Clock) -> None:
    async with websocket(*over_memory()) as (wire, provider):
        started_s = trio.current_time()
        with trio.CancelScope() as scope:
            scope.cancel()
            await wire.close(1)
        assert await provider.hear() is None
        assert trio.current_time() == started_s


async def test_the_end_of_its_nursery_is_the_end_of_the_wire() -> None:
    lane, stream = over_memory()
    provider = Provider(stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(provider.accept)
        wire = await open_wire(nursery, lane, URL, now_ns=now_ns)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert await provider.hear() is None
    await wire.close(30)


# Opening


async def failure_to_open(
    answer: bytes,
    *,
    then_hang_up: bool = False,
    headers: Mapping[str, str] | None = None,
    subprotocols: Sequence[str] = (),
) -> Exception:
    """What ``open_wire`` raises on this answer; the lane must be closed then."""
    lane, stream = over_memory()
    provider = Provider(stream)

    async def reply() -> None:
        await provider.hear()
        await stream.send_all(answer)
        if then_hang_up:
            await stream.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reply)
        try:
            await open_wire(
                nursery, lane, URL, now_ns=now_ns, headers=headers, subprotocols=subprotocols
            )
        except Exception as error:
            failure = error
        else:
            pytest.fail("it opened")
    with pytest.raises(trio.ClosedResourceError):
        lane.send_nowait(b"")
    return failure


def switching(*headers: str) -> bytes:
    lines = ("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade")
    return "\r\n".join((*lines, *headers, "", "")).encode()


@pytest.mark.parametrize(
    ("framing", "then_hang_up"), [("Content-Length: 9\r\n", False), ("", True)]
)
async def test_a_refusal_comes_as_trio_websocket_raises_it(
    framing: str, then_hang_up: bool
) -> None:
    answer = f"HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\n{framing}\r\nslow down"
    failure = await failure_to_open(answer.encode(), then_hang_up=then_hang_up)
    assert isinstance(failure, ConnectionRejected)
    assert failure.status_code == 429
    assert (b"retry-after", b"7") in failure.headers
    assert failure.body == (None if then_hang_up else b"slow down")


async def test_hanging_up_instead_of_an_answer_is_a_failed_handshake() -> None:
    failure = await failure_to_open(b"", then_hang_up=True)
    assert isinstance(failure, HandshakeError)
    assert str(failure) == (
        "no answer to the websocket upgrade; the connection ended without a Close"
    )


async def test_a_break_instead_of_an_answer_is_a_failed_handshake() -> None:
    lane, stream = lane_and_stream()
    reset(stream)
    async with trio.open_nursery() as nursery:
        with pytest.raises(HandshakeError, match=r"no answer .*; the connection broke off: "):
            await open_wire(nursery, lane, URL, now_ns=now_ns)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "Bad HTTP message"),
        (switching("Sec-WebSocket-Accept: wrong"), "Bad accept token"),
        (b"HTTP/1.1 101 Fine\r\n\r\n", "Missing header, 'Connection: Upgrade'"),
    ],
)
async def test_a_wrong_answer_is_a_failed_handshake_that_says_what_is_wrong(
    answer: bytes, complaint: str
) -> None:
    failure = await failure_to_open(answer)
    assert isinstance(failure, HandshakeError)
    assert str(failure) == f"the answer to the websocket upgrade is wrong: {complaint}"


async def test_compression_that_was_not_asked_for_is_refused_by_name() -> None:
    failure = await failure_to_open(switching("Sec-WebSocket-Extensions: permessage-deflate"))
    assert isinstance(failure, HandshakeError)
    assert "turned on the websocket extension 'permessage-deflate'" in str(failure)


async def test_a_key_that_cannot_be_sent_is_not_shown() -> None:
    """A file that ends with a line break makes such a key."""
    for how in ({"headers": {"Authorization": "secret\n"}}, {"subprotocols": ["secret\n"]}):
        failure = await failure_to_open(b"", **how)
        assert isinstance(failure, ValueError)
        assert re.match(r"^(header Authorization|subprotocol): has characters ", str(failure))
        assert "secret" not in str(failure)


async def test_a_silent_provider_is_left_when_the_callers_time_is_up(
    autojump_clock: Clock,
) -> None:
    lane, stream = over_memory()
    async with trio.open_nursery() as nursery:
        with trio.move_on_after(3) as scope:
            await open_wire(nursery, lane, URL, now_ns=now_ns)
        assert scope.cancelled_caught
    assert (await stream.receive_some()).startswith(b"GET / HTTP/1.1\r\nHost: speech.test\r\n")
    assert await stream.receive_some() == b""


async def test_what_is_asked_for_is_said_in_the_upgrade() -> None:
    lane, stream = over_memory()
    provider = Provider(stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(provider.accept, (), "realtime")
        wire = await open_wire(
            nursery,
            lane,
            WebsocketUrl(tls=True, host="speech.test", port=8443, resource="/listen?model=a"),
            now_ns=now_ns,
            headers={"Authorization": "Token abc"},
            subprotocols=("realtime", "token.abc"),
        )
        assert wire.subprotocol == "realtime"
        wire.hang_up()
    assert provider.request is not None
    assert provider.request.host == "speech.test:8443"
    assert provider.request.target == "/listen?model=a"
    assert provider.request.subprotocols == ["realtime", "token.abc"]
    assert provider.request.extensions == []
    assert (b"authorization", b"Token abc") in provider.request.extra_headers
