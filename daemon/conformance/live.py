"""What can be seen of a codec at a real address: one measurement in real time, and one refusal."""

from collections.abc import Iterator
from dataclasses import dataclass

import trio

from daemon.clock import HostClock, host_now_ns, wall_ns
from daemon.conformance.promise import Outcome, Promise, Subject, hold, outcome_of
from daemon.order import Bench, Order
from daemon.plan import speech_of
from daemon.session import measure_once
from daemon.supervise import openers
from daemon.watchman import HostWatchman
from measure.events import StreamClosed, StreamDone
from measure.faults import FaultKind
from measure.measurement import Measurement
from measure.records import VoiceSettings
from measure.replay import sessions_of
from measure.wire import Record
from pacer.builtin import builtin_clips
from pacer.clock import PlainSleeper
from pacer.pace import Pacer
from providers.codec import Ending, Options
from vad.survey import Surveyor

HEARD_RATE_HZ = 16_000
WRONG_KEY = "not-a-key-of-anybody"


@dataclass(slots=True)
class _Records:
    kept: list[Record]

    def put(self, record: Record) -> None:
        self.kept.append(record)


@dataclass(frozen=True, slots=True)
class _Live:
    """One address, and the key for it; what was measured there is measured once."""

    url: str
    key: str

    def measured(self, subject: Subject, key: str) -> tuple[Measurement, list[Record]]:
        records = _Records([])
        order = self._order(subject, key)
        return trio.run(_measure, order, records, clock=HostClock()), records.kept

    def _order(self, subject: Subject, key: str) -> Order:
        codec = subject.codec(Options(url=self.url))
        clip = builtin_clips(codec.facts.audio.rate_hz)[0]
        survey = Surveyor().survey(builtin_clips(HEARD_RATE_HZ)[0], VoiceSettings())
        return Order(
            session_id="conformance",
            run_id="conformance",
            model=subject.name,
            codec=codec,
            key=key,
            clip=clip,
            speech=speech_of(survey),
            rule=codec.facts.rule,
            signature="conformance",
        )


async def _measure(order: Order, records: _Records) -> Measurement:
    pacer = Pacer(PlainSleeper(), host_now_ns)
    watchman = HostWatchman(host_now_ns, wall_ns)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pacer.run)
        measurement = await measure_once(
            order, Bench(pacer, openers(), records, watchman, host_now_ns, wall_ns)
        )
        nursery.cancel_scope.cancel()
    return measurement


def live_outcomes(subject: Subject, url: str, key: str) -> Iterator[Outcome]:
    """How the promises turn out that need a real address."""
    live = _Live(url, key)
    done: list[tuple[Measurement, list[Record]]] = []

    def answer(subject: Subject) -> str:
        done.append(live.measured(subject, key))
        reading = done[0][0].reading
        hold(reading.selection is not None and reading.final, f"{reading.verdict}, {reading.fault}")
        took_ms = (reading.time_to_final_ns or 0) / 1e6
        return f"{reading.verdict} after {took_ms:.0f} ms: {reading.transcript!r}"[:200]

    def farewell(subject: Subject) -> str:
        (session,) = sessions_of(done[0][1])
        said = any(isinstance(event, StreamDone) for event in session.events)
        closed = any(isinstance(event, StreamClosed) for event in session.events)
        ending = subject.codec().facts.ending
        hold(said or ending is not Ending.SAID, "the provider never said that it has said all")
        hold(said or closed or ending is Ending.HANG_UP, "neither finished nor closed")
        return "said all" if said else "closed" if closed else "hung up"

    def secret(_: Subject) -> str:
        hold(not key or key not in repr(done[0]), "the key is in what is left of it")
        return "not in what is left of it" if key else "it needs none"

    def wrong_key(subject: Subject) -> str:
        fault = live.measured(subject, WRONG_KEY)[0].reading.fault
        hold(fault is not None, "a wrong key is taken")
        hold(fault is not None and fault.kind is FaultKind.AUTH, f"it is {fault}")
        return str(fault)

    promises = [
        Promise("live answer", "a real clip gets a real answer", answer),
        Promise("live farewell", "the stream is closed as the provider wants it", farewell),
        Promise("live key", "the key is in nothing that is left", secret),
    ]
    for promise in promises:
        yield outcome_of(promise, subject, key)
        if not done:
            return
    if key:
        refused = Promise("live wrong key", "a wrong key is called so", wrong_key)
        yield outcome_of(refused, subject, key)
