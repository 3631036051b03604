"""Whole measurements over real sockets on loopback: the fallback flow, and the forced one."""

from dataclasses import replace

import numpy as np
import trio

from daemon.clock import HostClock, now_ns, wall_ns
from daemon.fakes import FakeDeepgram, FakeGladia, Faults, Refusal, Script, listening
from daemon.fakes.server import Fake
from daemon.link import Opener, TcpDialer
from daemon.order import Bench, Order, Speech
from daemon.session import measure_once
from measure.events import FrameSent, MessageReceived, NetworkSampled, SendStamped
from measure.faults import FaultKind
from measure.measurement import Measurement
from measure.records import SECOND, Verdict
from measure.replay import measurement_of, reading_of, sessions_of
from measure.wire import Record
from pacer.clips import clip_from_samples
from pacer.clock import PlainSleeper
from pacer.pace import Pacer
from providers import CATALOG
from providers.codec import Options
from tests.daemon.bench import ListRecorder, QuietWatchman

TEXT = "good day"


def measured(
    model: str, fake: Fake, *, end_known_ms: float = 610.0
) -> tuple[Measurement, list[Record]]:
    """One measurement of ``model`` at ``fake``, in real time."""
    recorder = ListRecorder()

    async def main() -> Measurement:
        pacer = Pacer(PlainSleeper(), now_ns)
        opener = Opener(TcpDialer(now_ns, wall_ns), now_ns)
        bench = Bench(pacer, opener, recorder, QuietWatchman(), now_ns, wall_ns)
        async with listening(fake) as address, trio.open_nursery() as nursery:
            nursery.start_soon(pacer.run)
            codec = CATALOG[model].make(Options(url=address))
            samples = (np.arange(16_000) % 200 * 50 + 1).astype(np.int16)
            order = Order(
                session_id="s1",
                run_id="r1",
                model=model,
                codec=codec,
                key="canary",
                clip=clip_from_samples("day", samples, rate_hz=16_000),
                speech=Speech(0.0, 64.0, 500.0, end_known_ms),
                rule=replace(
                    codec.facts.rule, late_budget_ns=60 * SECOND
                ),  # a busy host is no fault here
                signature="speechbench test",
            )
            measurement = await measure_once(order, bench)
            nursery.cancel_scope.cancel()
        return measurement

    return trio.run(main, clock=HostClock()), recorder.records


def test_a_provider_without_a_force_is_measured_by_its_natural_final() -> None:
    script = Script.for_pause(TEXT, end_ms=500, pause_ms=300)
    measurement, records = measured("gladia/solaria-1", FakeGladia(script))
    reading = measurement.reading
    assert reading.verdict is Verdict.NATURAL_FINAL
    assert reading.transcript == TEXT
    (session,) = sessions_of(records)
    assert reading_of(session) == reading
    places = [event.audio_ms for event in session.events if isinstance(event, FrameSent)]
    assert places[:7] == [100, 200, 300, 400, 500, 600, 620]  # cut short where the speech is over


def test_a_preparing_request_that_is_refused_says_why() -> None:
    fake = FakeGladia(faults=Faults(refusal=Refusal(429, retry_after_s=9)))
    measurement, _ = measured("gladia/solaria-1", fake)
    fault = measurement.reading.fault
    assert measurement.reading.verdict is Verdict.PROVIDER_ERROR
    assert fault is not None
    assert (fault.kind, fault.retry_after_s) == (FaultKind.RATE, 9)


def test_messages_carry_both_stamps_and_the_kernels_is_not_the_later() -> None:
    script = Script.for_force(TEXT, end_ms=500, after_s=0.1)
    measurement, records = measured("deepgram/nova-3", FakeDeepgram(script))
    assert measurement.reading.verdict is Verdict.FORCED_FINAL
    (session,) = sessions_of(records)
    assert reading_of(session) == measurement.reading
    messages = [event for event in session.events if isinstance(event, MessageReceived)]
    assert messages
    assert all(one.read_ns is not None and one.at_ns <= one.read_ns for one in messages)
    assert measurement.reading.time_to_final_ns is not None
    assert measurement.reading.time_to_final_ns >= 0.1e9 - 1e6


def test_the_kernel_says_when_zero_left_and_when_it_was_acknowledged() -> None:
    script = Script.for_pause(TEXT, end_ms=500, pause_ms=300)
    measurement, records = measured("deepgram/nova-3", FakeDeepgram(script))
    (session,) = sessions_of(records)
    (said,) = [event for event in session.events if isinstance(event, SendStamped)]
    zero_ns = measurement.reading.zero_ns
    assert zero_ns is not None
    assert said.audio_left_ns is not None
    assert said.audio_acked_ns is not None
    assert said.force_left_ns is not None
    assert said.force_acked_ns is not None
    assert said.audio_left_ns < said.audio_acked_ns
    assert said.audio_left_ns < said.force_left_ns < said.force_acked_ns
    seen = measurement.circumstances
    assert seen.force_left_ns == said.force_left_ns - zero_ns
    assert seen.force_acked_ns == said.force_acked_ns - zero_ns
    assert seen.audio_left_ns is not None
    assert measurement_of(session).circumstances == seen  # replayed from the journal


def test_the_connection_is_looked_at_at_zero_and_when_it_is_over() -> None:
    script = Script.for_pause(TEXT, end_ms=500, pause_ms=300)
    measurement, records = measured("deepgram/nova-3", FakeDeepgram(script))
    (session,) = sessions_of(records)
    looks = [event for event in session.events if isinstance(event, NetworkSampled)]
    assert [look.over for look in looks] == [False, True]
    assert all(look.min_rtt_ns > 0 for look in looks)
    assert measurement.circumstances.rtt_ns == looks[0].rtt_ns
    assert measurement.circumstances.min_rtt_ns == looks[1].min_rtt_ns


def test_every_message_has_the_stamp_of_the_kernel_and_ours_behind_it() -> None:
    script = Script.for_pause(TEXT, end_ms=500, pause_ms=300)
    measurement, records = measured("deepgram/nova-3", FakeDeepgram(script))
    (session,) = sessions_of(records)
    messages = [event for event in session.events if isinstance(event, MessageReceived)]
    gaps_ns = [event.read_ns - event.at_ns for event in messages if event.read_ns is not None]
    assert all(gap_ns >= 0 for gap_ns in gaps_ns)
    assert measurement.circumstances.read_gap_max_ns == max(gaps_ns)
    assert measurement.circumstances.user_stamps == len(messages) - len(gaps_ns)
