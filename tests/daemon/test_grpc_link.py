"""The link over gRPC: a real one of grpcio's on loopback, and what needs no grpcio."""

import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec

import pytest
import trio

from daemon.clock import HostClock, host_now_ns
from daemon.conformance.grpc_fake import NAMES, status_of
from daemon.fakes.google import FakeGoogle
from daemon.fakes.riva import FakeRiva
from daemon.fakes.script import Faults, HangUp, Interjection, Line, Moment, Refusal, Script, spoken
from daemon.fakes.server import Fake, listening
from daemon.grpc_link import GrpcOpener, closed_by, requested
from daemon.order import Bench, Link, LinkFailed
from daemon.session import measure_once
from daemon.wire import WireClosed
from measure.events import Event, Transcript
from measure.faults import FaultKind, Whose
from measure.measurement import Measurement
from measure.records import Frame, Verdict
from pacer.clock import PlainSleeper
from pacer.pace import Pacer
from providers.codec import Codec, ForceContext, Message, OpenRequest, Options, PlainCodec
from providers.google import Google
from providers.riva import Riva
from tests.daemon.bench import ListRecorder, QuietWatchman, order_of

with_grpc = pytest.mark.skipif(
    find_spec("grpc") is None, reason="grpcio is not installed: the extra [grpc]"
)
PIECE = b"\1\0" * 1600
AT_ONCE = Script((Line("the blue", 100.0), Line("the blue kettle", 300.0, final=True)))
PATIENCE_S = 30.0
BUSY = (Verdict.HARNESS_LATE, Verdict.HARNESS_STALLED, Verdict.SOCKET_STALLED)
"""What a host with too much to do may read instead; the moments are real here."""


class Plain(PlainCodec):
    def __init__(self, url: str) -> None:
        self._url = url

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url)

    def decode(self, message: Message, at_ns: int) -> Iterable[Event]:
        return ()


@asynccontextmanager
async def linked(
    fake: Fake,
    make: Callable[[Options], Codec] = Google,
    *,
    key: str = "a-token",
    now_ns: Callable[[], int] = host_now_ns,
) -> AsyncIterator[tuple[Codec, Link]]:
    with trio.fail_after(PATIENCE_S):
        async with listening(fake) as address:
            codec = make(Options(url=address))
            async with GrpcOpener(now_ns)(codec, key, PATIENCE_S) as link:
                for message in codec.hello():
                    link.send(message)
                yield codec, link


def say(codec: Codec, link: Link, pieces: int) -> None:
    for index in range(pieces):
        link.send(codec.audio(Frame(index, PIECE, (index + 1) * 100.0)))


def end(codec: Codec, link: Link) -> None:
    for message in codec.finish():
        link.send(message)


async def told(codec: Codec, link: Link) -> tuple[list[Transcript], WireClosed]:
    """What is said until the end, and how it ended."""
    heard: list[Transcript] = []
    while True:
        try:
            received = await link.receive()
        except WireClosed as closed:
            return heard, closed
        events = codec.decode(received.message, received.read_ns)
        heard += [event for event in events if isinstance(event, Transcript)]


@with_grpc
async def test_a_call_is_a_stream_that_ends_in_good_order() -> None:
    fake = FakeGoogle(AT_ONCE)
    before_ns = host_now_ns()
    async with linked(fake) as (codec, link):
        say(codec, link, 4)
        sent = link.sent_bytes
        end(codec, link)
        heard, closed = await told(codec, link)
    assert [(one.text, one.final) for one in heard] == [
        ("the blue", False),
        ("the blue kettle", True),
    ]
    assert closed.code == 1000
    assert bytes(fake.visits[0].audio) == PIECE * 4
    assert sent > 4 * len(PIECE)
    assert link.unsent_bytes == 0
    assert before_ns < link.connected.at_ns < heard[0].at_ns <= heard[1].at_ns < host_now_ns()
    assert fake.visits[0].requests[0].headers["authorization"] == "Bearer a-token"


@with_grpc
async def test_a_response_is_stamped_in_the_thread_that_read_it() -> None:
    stampers: list[str] = []

    def noting_ns() -> int:
        stampers.append(threading.current_thread().name)
        return host_now_ns()

    async with linked(FakeGoogle(AT_ONCE), now_ns=noting_ns) as (codec, link):
        say(codec, link, 4)
        end(codec, link)
        await told(codec, link)
    assert stampers.count("grpc responses") == 2
    assert threading.main_thread().name in stampers


@with_grpc
async def test_a_force_is_answered() -> None:
    script = Script.for_force("good day", end_ms=300.0, after_s=0.0)
    async with linked(FakeRiva(script), partial(Riva, forced=True)) as (codec, link):
        say(codec, link, 4)
        for message in codec.force(ForceContext(400.0)):
            link.send(message)
        end(codec, link)
        heard, closed = await told(codec, link)
    assert heard[-1].text == "good day"
    assert heard[-1].final
    assert closed.code == 1000


@with_grpc
async def test_a_wrong_key_ends_the_call_with_its_status() -> None:
    async with linked(FakeGoogle(AT_ONCE, key="another")) as (codec, link):
        _, closed = await told(codec, link)
    assert closed.code == 4016
    fault = codec.closed(closed.code, closed.reason)
    assert fault is not None
    assert fault.kind is FaultKind.AUTH
    assert fault.detail == "UNAUTHENTICATED: the token is missing or wrong"


@with_grpc
@pytest.mark.parametrize(
    ("faults", "code"),
    [
        (Faults(hang_up=HangUp(Moment.AUDIO, 100.0, reset=True)), None),
        (Faults(hang_up=HangUp(Moment.AUDIO, 100.0)), None),
        (Faults(hang_up=HangUp(Moment.AUDIO, 100.0, code=4014, reason="later")), 4014),
        (Faults(refusal=Refusal(429)), 4008),
    ],
)
async def test_a_call_that_breaks_off_is_told_from_one_that_is_ended(
    faults: Faults, code: int | None
) -> None:
    async with linked(FakeGoogle(AT_ONCE, faults)) as (codec, link):
        say(codec, link, 2)
        _, closed = await told(codec, link)
        assert closed.code == code, closed.reason
        with pytest.raises(WireClosed):
            link.send(b"\x2a\0")


@with_grpc
async def test_leaving_ends_the_call_whatever_the_provider_does() -> None:
    fake = FakeGoogle(AT_ONCE, Faults(finish_unanswered=True))
    async with linked(fake) as (codec, link):
        say(codec, link, 1)
        await link.receive()
        end(codec, link)
    with pytest.raises(WireClosed):
        link.send(b"\x2a\0")
    with pytest.raises(WireClosed):
        await link.receive()


SPOILT = Faults(
    interjections=(Interjection(b"HTTP/1.1 400 Bad Request\r\n\r\n", Moment.CONNECTED),),
    hang_up=HangUp(Moment.CONNECTED),
)


@with_grpc
@pytest.mark.parametrize("faults", [Faults(listening=False), SPOILT])
async def test_nobody_there_or_nobody_who_speaks_grpc_is_no_connection(faults: Faults) -> None:
    async with listening(FakeGoogle(faults=faults)) as address:
        with pytest.raises(LinkFailed) as caught:
            async with GrpcOpener()(Google(Options(url=address)), "a-token", PATIENCE_S):
                pass
    fault = caught.value.fault
    assert (fault.whose, fault.kind) == (Whose.NETWORK, FaultKind.CONNECT)
    assert "127.0.0.1" in fault.detail


@with_grpc
async def test_a_connection_that_takes_too_long_is_given_up() -> None:
    with trio.socket.socket() as socket:
        await socket.bind(("127.0.0.1", 0))
        socket.listen(1)
        codec = Google(Options(url=f"grpc://127.0.0.1:{socket.getsockname()[1]}"))
        with pytest.raises(LinkFailed, match=r"was not made within 0\.05 s"):
            async with GrpcOpener()(codec, "a-token", 0.05):
                pass


@with_grpc
@pytest.mark.parametrize(
    ("make", "fake", "verdict"),
    [
        (
            partial(Riva, forced=True),
            FakeRiva(Script.for_force("good day", start_ms=100, end_ms=500, after_s=0.05)),
            Verdict.FORCED_FINAL,
        ),
        (
            Google,
            FakeGoogle(Script((*spoken("good day", 100, 500), Line("good day", 800, final=True)))),
            Verdict.NATURAL_FINAL,
        ),
    ],
)
def test_a_whole_measurement(
    make: Callable[[Options], Codec], fake: Fake, verdict: Verdict
) -> None:
    async def measured() -> Measurement:
        async with listening(fake) as address, trio.open_nursery() as nursery:
            order = order_of(make(Options(url=address)), "riva/any")
            pacer = Pacer(PlainSleeper(), host_now_ns)
            nursery.start_soon(pacer.run)
            watchman, opener = QuietWatchman(), GrpcOpener()
            bench = Bench(pacer, opener, ListRecorder(), watchman, host_now_ns, host_now_ns)
            measurement = await measure_once(order, bench)
            nursery.cancel_scope.cancel()
        return measurement

    reading = trio.run(measured, clock=HostClock()).reading
    assert reading.transcript == "good day", reading.fault
    assert reading.verdict in (verdict, *BUSY)
    assert reading.time_to_final_ns is not None
    assert reading.time_to_final_ns > 45_000_000


def test_without_grpcio_one_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)

    async def opening() -> None:
        async with GrpcOpener()(Plain("grpc://h"), "", 1.0):
            pass

    with pytest.raises(LinkFailed, match=r"speechbench\[grpc\]") as caught:
        trio.run(opening)
    assert caught.value.fault.whose is Whose.HOST


def test_an_address_of_another_kind_is_refused_without_repeating_it() -> None:
    with pytest.raises(LinkFailed) as caught:
        requested(Plain("wss://host/secret"), "")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "details", "code"),
    [
        (0, "", 1000),
        (14, "recvmsg:Connection reset by peer", None),
        (14, "the service is busy", 4014),
        (13, "Socket closed", 4013),
    ],
)
def test_the_end_of_a_call_is_the_end_of_a_stream(
    status: int, details: str, code: int | None
) -> None:
    assert closed_by(status, NAMES[status], details).code == code


def test_every_status_has_its_close_and_back() -> None:
    codes: Iterable[int | None] = (closed_by(nth, NAMES[nth], "").code for nth in range(17))
    assert [status_of(code) for code in codes if code is not None] == list(range(17))
