"""Whole measurements of a codec against its fake, in virtual time: no network, no waiting.

All that measures is real: session, link, websocket and fake. Between the two ends is memory, and
the clock jumps to whatever is due next, so that a performance of many seconds takes a moment.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast
from urllib.parse import urlsplit

import numpy as np
import trio
import trio.testing

from daemon.clock import now_ns
from daemon.conformance.memory import MemoryLane
from daemon.conformance.opens_itself import OpensItself
from daemon.conformance.promise import SECRET, Skipped, Subject
from daemon.dial import WebsocketUrl
from daemon.fakes.script import Faults, Line, Script, spoken
from daemon.fakes.server import Fake
from daemon.fakes.visit import Visit
from daemon.link import Opener, Way
from daemon.order import Bench, Order, Speech
from daemon.session import measure_once
from measure.events import Event
from measure.measurement import Measurement
from measure.records import AudioClip, Flow, Frame, Reading
from measure.replay import sessions_of
from measure.wire import Record
from pacer.clips import clip_from_samples
from pacer.clock import PlainSleeper
from pacer.pace import Pacer
from providers.codec import (
    Codec,
    Facts,
    HttpRequest,
    HttpResponse,
    Message,
    Options,
    Transport,
)

TEXT = "the blue kettle is on the shelf"
SPEECH = Speech(100.0, 160.0, 700.0, 810.0)
FIRST_SPEECH = Speech(100.0, 140.0, 300.0, 350.0)
"""Where there are two turns, the first one's;"""
SECOND_SPEECH = Speech(480.0, 540.0, 700.0, 810.0)
"""and the second one's."""
CLIP_S = 1.0
ANSWER_S = 0.15
"""So long after the force the fake answers it."""
PAUSE_MS = 300.0
"""So much audio after the speech a natural final comes."""
SECONDS_AT_MOST = 120.0
"""Of virtual time; a performance that is not over then hangs."""


@dataclass(frozen=True, slots=True)
class Performance:
    """What one measurement left behind."""

    measurements: tuple[Measurement, ...]
    """One for each turn."""
    records: list[Record] = field(repr=False)
    visits: list[Visit] = field(repr=False)
    pieces: list[Frame] = field(repr=False)
    """The audio that the codec was given, in its order."""
    clip: AudioClip = field(repr=False)

    @property
    def measurement(self) -> Measurement:
        """That of the last turn."""
        return self.measurements[-1]

    @property
    def reading(self) -> Reading:
        return self.measurement.reading

    @property
    def visit(self) -> Visit:
        """What the fake saw of it."""
        return self.visits[-1]

    @property
    def events(self) -> tuple[Event, ...]:
        (session,) = sessions_of(self.records)
        return session.events

    @property
    def shows_the_key(self) -> bool:
        """Some part of it holds the key: records, reading."""
        return SECRET in repr(self.records) or SECRET in repr(self.measurements)


def usual(flow: Flow) -> Script:
    """``TEXT`` while the speech comes, and its final by force or by itself."""
    start_ms, end_ms = SPEECH.start_ms, SPEECH.end_ms
    if flow is Flow.FORCED:
        return Script.for_force(TEXT, start_ms=start_ms, end_ms=end_ms, after_s=ANSWER_S)
    return Script.for_pause(TEXT, start_ms=start_ms, end_ms=end_ms, pause_ms=PAUSE_MS)


def early(flow: Flow) -> Script:
    """``TEXT`` is final while the speech is still coming; a force gets an empty answer."""
    lines = (
        *spoken(TEXT, SPEECH.start_ms, 450.0),
        Line(TEXT, audio_ms=500.0, final=True),
    )
    answers = ((Line("", after_s=ANSWER_S, final=True),),) if flow is Flow.FORCED else ()
    return Script(lines, answers)


def performed(
    subject: Subject,
    script: Script | None = None,
    faults: Faults | None = None,
    *,
    good_key: str | None = None,
    facts: Callable[[Facts], Facts] = lambda facts: facts,
    earlier: tuple[Speech, ...] = (),
    refused_with: str | None = None,
) -> Performance:
    """One measurement, after that of ``earlier`` speech. Raises Skipped.

    ``good_key``: the only one that the fake takes. ``refused_with``: what it says to every request.
    """
    if subject.fake is None:
        raise Skipped("no fake speaks like it")
    codec = subject.codec(Options(url=f"{subject.fake.scheme}://memory"))
    plain = codec.facts.transport is Transport.WEBSOCKET
    if not plain and not issubclass(subject.fake, OpensItself):
        raise Skipped(f"its transport is {codec.facts.transport}, and its fake needs a real one")
    fake = subject.fake(script or usual(codec.facts.rule.flow), faults, key=good_key)
    if refused_with is not None:
        refusal = HttpResponse(401, {}, refused_with.encode())
        fake.asked = lambda request, *, secure: refusal  # type: ignore[method-assign]
    acting = _Acting(codec, fake, facts(codec.facts))
    order = _order(subject, cast("Codec", acting))
    if earlier:
        order = replace(order, earlier=earlier, speech=SECOND_SPEECH)
    records: list[Record] = []
    clock = trio.testing.MockClock(autojump_threshold=0)
    measured: list[Measurement] = trio.run(_perform, order, fake, records, clock=clock)
    return Performance(tuple(measured), records, list(fake.visits), acting.pieces, order.clip)


async def _perform(order: Order, fake: Fake, records: list[Record]) -> list[Measurement]:
    measured: list[Measurement] = []
    with trio.fail_after(SECONDS_AT_MOST):
        async with trio.open_nursery() as world:
            pacer = Pacer(PlainSleeper(), now_ns)
            world.start_soon(pacer.run)
            if isinstance(fake, OpensItself):
                opener = fake.opener(world)
            else:
                opener = Opener(_dialing(fake, world), now_ns)
            bench = Bench(pacer, opener, _List(records), _Quiet(), now_ns, _wall_ns)
            await measure_once(order, bench, measured.append)
            await trio.sleep(1.0)  # the fake sees the end as well
            world.cancel_scope.cancel()
    return measured


def _dialing(fake: Fake, world: trio.Nursery) -> Callable[[WebsocketUrl], Any]:
    async def dial(url: WebsocketUrl) -> Way:
        await trio.lowlevel.checkpoint()
        if not fake.faults.listening:
            raise ConnectionRefusedError(111, "refused")
        to_us, incoming = trio.testing.memory_stream_one_way_pair()
        outgoing = trio.testing.MemoryReceiveStream()
        world.start_soon(fake.converse, trio.StapledStream(to_us, outgoing))
        return Way(MemoryLane(outgoing, incoming, now_ns), "memory", None, 0, None)

    return dial


def _order(subject: Subject, codec: Codec) -> Order:
    facts = codec.facts
    samples = np.arange(round(CLIP_S * facts.audio.rate_hz)) % 200 * 50 + 1
    clip = clip_from_samples(
        "conformance", samples.astype(np.int16), rate_hz=facts.audio.rate_hz, reference=TEXT
    )
    return Order(
        session_id="conformance",
        run_id="conformance",
        model=subject.name,
        codec=codec,
        key=subject.canary if facts.key_variable else "",
        clip=clip,
        speech=SPEECH,
        rule=facts.rule,
        signature="conformance",
    )


class _Acting:
    """A codec that asks the fake directly for what is prepared over HTTP, and counts its audio."""

    def __init__(self, codec: Codec, fake: Fake, facts: Facts) -> None:
        self._codec = codec
        self._fake = fake
        self.facts = facts
        self.pieces: list[Frame] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._codec, name)

    def audio(self, frame: Frame) -> Message:
        self.pieces.append(frame)
        return self._codec.audio(frame)

    def prepare(self, key: str) -> None:
        request = self._codec.prepare(key)
        if request is None:
            return
        parts = urlsplit(request.url)
        headers = {name.lower(): value for name, value in request.headers.items()}
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        asked = HttpRequest(request.method, target, {**headers, "host": "memory"}, request.body)
        refusal = self._fake.faults.refusal
        if refusal is not None and not refusal.upgrade:
            after_s = refusal.retry_after_s
            answer = HttpResponse(
                refusal.status, {} if after_s is None else {"Retry-After": str(after_s)}, b"{}"
            )
        else:
            told = self._fake.asked(asked, secure=False)
            assert isinstance(told, HttpResponse), "a request before the stream opens no websocket"
            answer = told
        self._codec.prepared(answer)


class _List:
    def __init__(self, records: list[Record]) -> None:
        self._records = records

    def put(self, record: Record) -> None:
        self._records.append(record)


class _Quiet:
    """Nothing stands still in virtual time."""

    def look(self, now_ns: int) -> None: ...

    @contextmanager
    def subscribe(self, told: Callable[[Event], None]) -> Iterator[None]:
        yield


def _wall_ns() -> int:
    return 1_800_000_000_000_000_000 + now_ns()


def forever_silent(facts: Facts) -> Facts:
    """The same provider, were it to want no audio after a force."""
    return replace(facts, silence_after_force=False)
