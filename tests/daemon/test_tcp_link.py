"""The link on a plain connection: over real sockets on loopback, and whole in virtual time."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
import trio.testing
import trustme

from daemon.clock import HostClock, host_now_ns, wall_ns
from daemon.conformance.failing import FAILING
from daemon.conformance.promise import Promise, Subject, Verdict, outcome_of
from daemon.conformance.stage import SPEECH, TEXT, Performance, performed
from daemon.conformance.staged import STAGED
from daemon.dial import WebsocketUrl
from daemon.fakes.script import Faults, HangUp, Interjection, Line, Moment, Script, spoken
from daemon.fakes.server import Fake, listening
from daemon.fakes.whisper_streaming import FakeWhisperStreaming
from daemon.fakes.wyoming import FakeWyoming
from daemon.lane import AnyLane
from daemon.link import Dial, TcpDialer, Way
from daemon.order import Link, LinkFailed
from daemon.tcp_link import TcpLink, TcpOpener, tcp_url
from daemon.wire import MAX_MESSAGE_BYTES, WireClosed
from measure.events import Connected, Event, Transcript
from measure.faults import Fault, FaultKind, Whose
from measure.records import Frame, Reading
from measure.records import Verdict as Read
from providers import CATALOG
from providers.codec import Codec, ForceContext, Options
from providers.families import no_sense
from providers.wyoming import Wyoming

PATIENCE_S = 20.0
"""Long enough that only what never answers is ever overdue."""
PIECE = b"\1\0" * 320
ANSWERED = Script.for_force("good day", start_ms=20.0, end_ms=60.0, after_s=0.0)


class Staged(FakeWyoming):
    """In memory."""


class StagedLines(FakeWhisperStreaming):
    """In memory."""


def subject(fake: type[Fake]) -> Subject:
    name = "wyoming/server" if fake is Staged else "whisper-streaming/server"
    return Subject(name, CATALOG[name], None, fake)


# Over real sockets


@asynccontextmanager
async def linked(fake: Fake, dial: Dial | None = None) -> AsyncIterator[tuple[Codec, Link]]:
    dial = dial or TcpDialer(host_now_ns, wall_ns)
    with trio.fail_after(PATIENCE_S):
        async with listening(fake) as address:
            codec = Wyoming(Options(url=address))
            async with TcpOpener(dial, host_now_ns)(codec, "", PATIENCE_S) as link:
                for message in codec.hello():
                    link.send(message)
                yield codec, link


async def said(codec: Codec, link: Link, pieces: int = 5) -> list[Event]:
    """So much audio, a force, and what is heard up to the final."""
    for index in range(pieces):
        link.send(codec.audio(Frame(index, PIECE, (index + 1) * 20.0)))
    for message in codec.force(ForceContext(pieces * 20.0)):
        link.send(message, stamp=True)
    events: list[Event] = []
    while not any(isinstance(event, Transcript) and event.final for event in events):
        received = await link.receive()
        events += codec.decode(received.message, received.arrived_ns or received.read_ns)
    return events


def on_this_host(test: Callable[[], Awaitable[None]]) -> None:
    trio.run(test, clock=HostClock())


def test_an_utterance_is_sent_and_its_transcript_comes_back() -> None:
    async def main() -> None:
        fake = FakeWyoming(ANSWERED)
        before_ns = host_now_ns()
        async with linked(fake) as (codec, link):
            events = await said(codec, link)
            assert link.connected.upgrade_ns == 0
            assert link.connected.address.startswith("127.0.0.1:")
            assert link.tcp_info() is not None
            assert link.unsent_bytes == 0
        final = events[-1]
        assert isinstance(final, Transcript)
        assert final.text == "good day"
        assert before_ns < final.at_ns <= host_now_ns()
        assert bytes(fake.visits[0].audio) == PIECE * 5

    on_this_host(main)


def test_what_came_has_the_kernels_stamp() -> None:
    async def main() -> None:
        async with linked(FakeWyoming(ANSWERED)) as (codec, link):
            assert isinstance(link, TcpLink)
            if not link.lane.kernel_stamps.received:
                pytest.skip("this kernel gives no stamps")
            list(codec.force(ForceContext(0)))
            asked_ns = host_now_ns()
            link.send(codec.audio(Frame(0, PIECE * 2, 40.0)))
            received = await link.receive()
            assert received.arrived_ns is not None
            assert asked_ns - 1_000_000 < received.arrived_ns <= received.read_ns

    on_this_host(main)


def test_leaving_ends_our_half_and_the_provider_sees_it() -> None:
    async def main() -> None:
        fake = FakeWyoming(ANSWERED)
        async with linked(fake) as (codec, link):
            await said(codec, link)
        assert ("heard", b"") in fake.visits[0].closes
        with pytest.raises(WireClosed):
            link.send(b"more")
        with pytest.raises(WireClosed, match="closed here"):
            await link.receive()

    on_this_host(main)


def test_a_provider_that_does_not_end_its_half_is_not_waited_for() -> None:
    async def main() -> None:
        fake = FakeWyoming(ANSWERED, Faults(close_unanswered=True, stops_reading_ms=20.0))
        async with linked(fake) as (codec, link):
            link.send(codec.audio(Frame(0, PIECE, 20.0)))

    on_this_host(main)


@pytest.mark.parametrize("reset", [False, True])
def test_a_provider_that_hangs_up_ends_the_stream(reset: bool) -> None:
    async def main() -> None:
        faults = Faults(hang_up=HangUp(Moment.AUDIO, 20.0, reset=reset))
        async with linked(FakeWyoming(ANSWERED, faults)) as (codec, link):
            with pytest.raises(WireClosed, match="broke off" if reset else "ended") as caught:
                await said(codec, link)
        fault = codec.closed(caught.value.code, caught.value.reason)
        assert fault is not None
        assert (fault.whose, fault.kind) == (Whose.NETWORK, FaultKind.CLOSED)

    on_this_host(main)


@asynccontextmanager
async def under_tls(fake: Fake, client: ssl.SSLContext | None) -> AsyncIterator[Link]:
    ca, server = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(server)
    dialer = TcpDialer(host_now_ns, wall_ns)
    if client is not None:
        ca.configure_trust(client)
        dialer._tls = client
    async with listening(fake, tls=server) as address:
        codec = Wyoming(Options(url=address))
        async with TcpOpener(dialer, host_now_ns)(codec, "", PATIENCE_S) as link:
            yield link


def test_the_same_is_spoken_under_tls() -> None:
    async def main() -> None:
        fake = FakeWyoming(ANSWERED)
        async with under_tls(fake, ssl.create_default_context()) as link:
            assert link.connected.tls_ns is not None
            codec = Wyoming(Options())
            for message in codec.hello():
                link.send(message)
            assert (await said(codec, link))[-1].at_ns > 0

    on_this_host(main)


def test_a_certificate_that_nobody_vouches_for_is_a_fault_of_the_way() -> None:
    async def main() -> None:
        async with under_tls(FakeWyoming(), None):
            pass

    assert fault_of(main).kind is FaultKind.TLS


def test_where_nobody_listens_there_is_no_connection() -> None:
    async def main() -> None:
        async with linked(FakeWyoming(faults=Faults(listening=False))):
            pass

    assert fault_of(main).kind is FaultKind.CONNECT


def test_a_connection_that_takes_too_long_is_given_up() -> None:
    async def never(url: WebsocketUrl) -> Way:
        await trio.sleep_forever()
        raise AssertionError

    async def main() -> None:
        async with TcpOpener(never, host_now_ns)(Wyoming(Options()), "", 0.05):
            pass

    fault = fault_of(main)
    assert (fault.whose, fault.kind) == (Whose.NETWORK, FaultKind.TIMEOUT)
    assert "localhost:10300" in fault.detail


def fault_of(test: Callable[[], Awaitable[None]]) -> Fault:
    """Why no stream could be opened; the fake beside it puts that in a group."""
    failures: list[BaseException] = []
    try:
        on_this_host(test)
    except BaseExceptionGroup as group:
        failures += group.exceptions
    except LinkFailed as failed:
        failures.append(failed)
    (failure,) = failures
    assert isinstance(failure, LinkFailed)
    return failure.fault


@pytest.mark.parametrize("url", ["ws://h:1/secret", "tcp://:1", "tcp://secret", "tcp://secret:0"])
def test_an_address_that_leads_nowhere_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="plain connection") as caught:
        tcp_url(url)
    assert "secret" not in str(caught.value)


def test_tls_is_said_in_the_address() -> None:
    assert tcp_url("tcps://host:9") == WebsocketUrl(True, "host", 9, "")
    assert not tcp_url("tcp://host:9").tls


# What comes, in pieces


class Arrivals:
    """A lane on which these pieces arrive, each at its own moment."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)
        self.arrived_ns: int | None = None
        self.read_ns = 0

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        self.read_ns += 10
        self.arrived_ns = self.read_ns - 1
        return self._pieces.pop(0) if self._pieces else b""


def lines(come: bytes) -> int | None:
    """A codec's cut for lines, to which a question mark is an abomination."""
    if b"?" in come:
        raise no_sense("a question")
    return come.find(b"\n") + 1 or None


def link_with(*pieces: bytes, cut: Callable[[bytes], int | None] = lines) -> TcpLink:
    lane: AnyLane = Arrivals(*pieces)  # type: ignore[assignment]  # as much of one as is used
    connected = Connected(0, None, None, 0, None, 0, "memory")
    return TcpLink(lane, cut, connected, lambda: 0)


async def test_each_message_has_the_stamps_of_the_read_that_completed_it() -> None:
    link = link_with(b"a", b"\nb\nc", b"\n")
    come = [await link.receive() for _ in range(3)]
    assert [(one.message, one.arrived_ns, one.read_ns) for one in come] == [
        (b"a\n", 19, 20),
        (b"b\n", 19, 20),
        (b"c\n", 29, 30),
    ]


@pytest.mark.parametrize(
    ("pieces", "how"), [((b"a\n",), "without a word"), ((b"a\nb",), "within a message")]
)
async def test_the_end_says_whether_something_was_cut_off(pieces: list[bytes], how: str) -> None:
    link = link_with(*pieces)
    assert (await link.receive()).message == b"a\n"
    with pytest.raises(WireClosed, match=how):
        await link.receive()


async def test_what_can_be_no_message_is_handed_on_once_and_then_it_is_over() -> None:
    link = link_with(b"a\n", b"what?", b"b\n")
    assert [(await link.receive()).message for _ in range(2)] == [b"a\n", b"what?"]
    for _ in range(2):
        with pytest.raises(WireClosed):
            await link.receive()


async def test_a_message_without_end_is_not_kept_for_ever() -> None:
    link = link_with(*[b"x" * (MAX_MESSAGE_BYTES // 2 + 1)] * 3, cut=lambda come: None)
    with pytest.raises(WireClosed, match="more than"):
        await link.receive()


class Quiet(trio.abc.HalfCloseableStream):
    """A lane whose other side ends its half as soon as we have ended ours."""

    def __init__(self) -> None:
        self._ended = trio.Event()
        self.closed = False

    async def send_eof(self) -> None:
        await trio.lowlevel.checkpoint()
        self._ended.set()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await self._ended.wait()
        return b""

    def close(self) -> None:
        self.closed = True

    async def send_all(self, data: bytes | bytearray | memoryview) -> None: ...
    async def wait_send_all_might_not_block(self) -> None: ...
    async def aclose(self) -> None: ...


async def test_an_orderly_end_takes_no_longer_than_the_other_side(
    autojump_clock: trio.testing.MockClock,
) -> None:
    lane = Quiet()
    connected = Connected(0, None, None, 0, None, 0, "memory")
    await TcpLink(lane, lines, connected, lambda: 0).close()  # type: ignore[arg-type]  # as above
    assert lane.closed
    assert trio.current_time() == 0.0


# Whole measurements in virtual time


@pytest.mark.parametrize(
    "promise",
    [one for one in (*STAGED, *FAILING) if one.name != "refusals"],  # no HTTP is spoken there
    ids=lambda one: one.name,
)
def test_a_codec_on_a_plain_connection_keeps_its_promises(promise: Promise) -> None:
    outcome = outcome_of(promise, subject(Staged))
    if outcome.verdict is Verdict.SKIPPED:
        pytest.skip(outcome.reason)
    assert outcome.verdict is Verdict.KEPT, outcome.reason


def lines_measured(*late: Line, faults: Faults | None = None) -> Performance:
    script = Script((*spoken(TEXT, SPEECH.start_ms, SPEECH.end_ms), *late))
    return performed(subject(StagedLines), script, faults)


def test_sure_words_that_come_after_the_grace_are_the_answer() -> None:
    late_ms = SPEECH.end_known_ms + 2300.0
    reading = lines_measured(Line(f"{TEXT} there", late_ms)).reading
    assert (reading.verdict, reading.transcript) == (Read.LATE_PARTIAL, f"{TEXT} there")
    assert _after_zero_ms(reading) == pytest.approx(2300.0, abs=20.0)


def test_without_any_the_last_ones_before_are() -> None:
    soon_ms = SPEECH.end_known_ms + 500.0
    reading = lines_measured(Line(f"{TEXT} there", soon_ms)).reading
    assert (reading.verdict, reading.transcript) == (Read.LAST_PARTIAL, f"{TEXT} there")
    assert _after_zero_ms(reading) == pytest.approx(500.0, abs=20.0)


def _after_zero_ms(reading: Reading) -> float:
    assert reading.time_to_final_ns is not None
    return reading.time_to_final_ns / 1e6


@pytest.mark.parametrize("fake", [Staged, StagedLines])
def test_bytes_that_can_be_no_message_are_the_providers_fault(fake: type[Fake]) -> None:
    said_wrongly = Interjection("no line of its own\n", Moment.AUDIO, 200.0)
    reading = performed(subject(fake), faults=Faults(interjections=(said_wrongly,))).reading
    assert reading.fault is not None
    assert (reading.fault.whose, reading.fault.kind) == (Whose.PROVIDER, FaultKind.PROTOCOL)


def test_a_server_that_hangs_up_behind_its_transcript_has_answered() -> None:
    faults = Faults(hang_up=HangUp(Moment.FINAL))
    reading = performed(subject(Staged), faults=faults).reading
    assert (reading.verdict, reading.transcript) == (Read.FORCED_FINAL, TEXT)
    assert reading.time_to_final_ns == pytest.approx(150e6, abs=1e6)
    assert reading.fault is None


def test_a_fake_holds_its_client_to_the_order_of_an_utterance() -> None:
    fake = partial(FakeWyoming, ANSWERED)

    async def main() -> None:
        async with linked(fake()) as (codec, link):
            for message in codec.force(ForceContext(0)):
                link.send(message)
            link.send(codec.audio(Frame(0, PIECE, 20.0)))
            with pytest.raises(WireClosed):
                await link.receive()

    on_this_host(main)
