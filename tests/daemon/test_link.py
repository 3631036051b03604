"""Opening a stream over real sockets on loopback: whatever goes wrong is one fault, and whose."""

import ssl
from dataclasses import dataclass

import pytest
import trio
import trustme

from daemon.clock import HostClock, now_ns, wall_ns
from daemon.fakes import (
    FakeDeepgram,
    FakeGladia,
    Faults,
    HangUp,
    Interjection,
    Moment,
    Refusal,
    Script,
    listening,
)
from daemon.fakes.dialect import Dialect
from daemon.fakes.server import Fake
from daemon.link import Opener, TcpDialer
from daemon.order import LinkFailed
from measure.faults import Fault, FaultKind, Whose
from providers import CATALOG
from providers.codec import HttpRequest, HttpResponse, Options
from tests.daemon.bench import KEY

PATIENCE_S = 20.0
"""Long enough that only what never answers is ever overdue."""
PROVIDER, NETWORK = Whose.PROVIDER, Whose.NETWORK


class EchoingGladia(FakeGladia):
    """Fails, and repeats the key at the place where a long answer is cut off."""

    def asked(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Dialect:
        said = "x" * 190 + " " + KEY + " is unheard of"
        return HttpResponse(500, {}, b'{"message": "' + said.encode() + b'"}')


@dataclass(frozen=True)
class Case:
    """One way to fail."""

    fake: Fake
    whose: Whose
    kind: FaultKind
    model: str = "deepgram/nova-3"
    timeout_s: float = PATIENCE_S
    retry_after_s: float | None = None


def deepgram(faults: Faults) -> FakeDeepgram:
    return FakeDeepgram(Script(), faults)


def at_once(message: bytes) -> Faults:
    return Faults(interjections=(Interjection(message, Moment.CONNECTED),))


GLADIA = "gladia/solaria-1"
CASES = {
    "nobody listens": Case(deepgram(Faults(listening=False)), NETWORK, FaultKind.CONNECT),
    "nobody listens to the request before": Case(
        FakeGladia(faults=Faults(listening=False)), NETWORK, FaultKind.CONNECT, GLADIA
    ),
    "401": Case(deepgram(Faults(refusal=Refusal(401))), PROVIDER, FaultKind.AUTH),
    "402": Case(deepgram(Faults(refusal=Refusal(402))), PROVIDER, FaultKind.QUOTA),
    "404": Case(deepgram(Faults(refusal=Refusal(404))), PROVIDER, FaultKind.HANDSHAKE),
    "429": Case(
        deepgram(Faults(refusal=Refusal(429, 7))), PROVIDER, FaultKind.RATE, retry_after_s=7
    ),
    "503": Case(deepgram(Faults(refusal=Refusal(503))), PROVIDER, FaultKind.SERVER),
    "401 to the request before": Case(
        FakeGladia(faults=Faults(refusal=Refusal(401))), PROVIDER, FaultKind.AUTH, GLADIA
    ),
    "429 to the request before": Case(
        FakeGladia(faults=Faults(refusal=Refusal(429, 9))),
        PROVIDER,
        FaultKind.RATE,
        GLADIA,
        retry_after_s=9,
    ),
    "500 only to the websocket": Case(
        FakeGladia(faults=Faults(refusal=Refusal(500, upgrade=True))),
        PROVIDER,
        FaultKind.SERVER,
        GLADIA,
    ),
    "500 with the key in it": Case(EchoingGladia(), PROVIDER, FaultKind.SERVER, GLADIA),
    "hangs up": Case(
        deepgram(Faults(hang_up=HangUp(Moment.CONNECTED))), PROVIDER, FaultKind.HANDSHAKE
    ),
    "resets": Case(
        deepgram(Faults(hang_up=HangUp(Moment.CONNECTED, reset=True))),
        PROVIDER,
        FaultKind.HANDSHAKE,
    ),
    "speaks no HTTP": Case(deepgram(at_once(b"220 mail\r\n\r\n")), PROVIDER, FaultKind.HANDSHAKE),
    "never answers": Case(
        deepgram(Faults(handshake_s=3600)), PROVIDER, FaultKind.TIMEOUT, timeout_s=0.2
    ),
}


async def opened(case: Case) -> Fault | None:
    """Why no stream could be opened; None where one was."""
    opener = Opener(TcpDialer(now_ns, wall_ns), now_ns)
    async with listening(case.fake) as address:
        codec = CATALOG[case.model].make(Options(url=address))
        try:
            async with opener(codec, KEY, case.timeout_s):
                return None
        except LinkFailed as failed:
            return failed.fault


@pytest.mark.parametrize("name", CASES)
def test_a_stream_that_cannot_be_opened_says_whose_fault_it_is(name: str) -> None:
    case = CASES[name]
    fault = trio.run(opened, case, clock=HostClock())
    assert fault is not None
    assert (fault.whose, fault.kind) == (case.whose, case.kind)
    assert fault.retry_after_s == case.retry_after_s
    assert fault.detail
    assert "\n" not in fault.detail
    assert KEY[:9] not in fault.detail


@pytest.mark.parametrize(
    ("fake", "model"),
    [(FakeDeepgram(), "deepgram/nova-3"), (FakeGladia(), GLADIA)],
    ids=["one websocket", "a request before it"],
)
def test_a_stream_that_is_opened_says_nothing_of_a_fault(fake: Fake, model: str) -> None:
    case = Case(fake, PROVIDER, FaultKind.SERVER, model)
    assert trio.run(opened, case, clock=HostClock()) is None


def test_a_certificate_that_nobody_vouches_for_is_a_fault_of_the_way() -> None:
    async def main() -> Fault | None:
        context = unknown_to_all()
        async with listening(FakeDeepgram(), tls=context) as address:
            codec = CATALOG["deepgram/nova-3"].make(Options(url=address))
            try:
                async with Opener(TcpDialer(now_ns, wall_ns), now_ns)(codec, KEY, PATIENCE_S):
                    return None
            except LinkFailed as failed:
                return failed.fault

    fault = trio.run(main, clock=HostClock())
    assert fault is not None
    assert (fault.whose, fault.kind) == (NETWORK, FaultKind.TLS)


def unknown_to_all() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context
