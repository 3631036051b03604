"""Whole measurements in virtual time: everything is real but the network and the provider."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
import trio
import trio.testing

from daemon.dial import WebsocketUrl
from daemon.fakes import (
    BINARY,
    EMPTY,
    GARBAGE,
    HUGE,
    FakeDeepgram,
    Faults,
    HangUp,
    Interjection,
    Moment,
    Refusal,
    Script,
)
from daemon.link import Opener, Way
from daemon.order import Bench, Order, Speech
from daemon.session import measure_once
from measure.events import Event, FrameSent, LoopStalled
from measure.faults import FaultKind, Whose
from measure.measurement import Measurement
from measure.records import MS, SECOND, AudioClip, Verdict
from measure.replay import reading_of, sessions_of
from measure.wire import Record
from pacer.clips import clip_from_samples
from pacer.clock import PlainSleeper
from pacer.pace import STEP_NS, Pacer
from providers import CATALOG
from providers.codec import Options
from tests.daemon.memory_lane import memory_lane_pair

KEY = "canary-6f1d2c"
TEXT = "the blue kettle is on the second shelf"
SPEECH = Speech(100.0, 160.0, 1500.0, 1610.0)


def now_ns() -> int:
    return round(trio.current_time() * 1e9)


def wall_ns() -> int:
    return 10**18 + now_ns()


class Watchman:
    """Tells what a test makes it tell."""

    def __init__(self) -> None:
        self._told: list[Callable[[Event], None]] = []

    def look(self, now_ns: int) -> None: ...

    @contextmanager
    def subscribe(self, told: Callable[[Event], None]) -> Iterator[None]:
        self._told.append(told)
        yield
        self._told.remove(told)

    def tell(self, event: Event) -> None:
        for told in self._told:
            told(event)


@dataclass
class Recorder:
    records: list[Record] = field(default_factory=list)

    def put(self, record: Record) -> None:
        self.records.append(record)

    def frames(self) -> list[FrameSent]:
        (session,) = sessions_of(self.records)
        return [event for event in session.events if isinstance(event, FrameSent)]


def clip(seconds: float = 2.0) -> AudioClip:
    samples = (np.arange(round(seconds * 16_000)) % 200 * 50 + 1).astype(np.int16)
    return clip_from_samples("kettle", samples, rate_hz=16_000, reference=TEXT)


def order(speech: Speech | None = SPEECH, seconds: float = 2.0) -> Order:
    codec = CATALOG["deepgram/nova-3"].make(Options())
    return Order(
        session_id="s1",
        run_id="r1",
        model="deepgram/nova-3",
        codec=codec,
        key=KEY,
        clip=clip(seconds),
        speech=speech,
        rule=codec.facts.rule,
        signature="speechbench test",
    )


@dataclass
class Run:
    """One measurement and everything around it."""

    measurement: Measurement
    recorder: Recorder
    fake: FakeDeepgram
    ended_ns: int

    @property
    def verdict(self) -> Verdict:
        return self.measurement.reading.verdict

    @property
    def fault(self) -> tuple[Whose, FaultKind] | None:
        fault = self.measurement.reading.fault
        return None if fault is None else (fault.whose, fault.kind)


async def measured(
    faults: Faults | None = None,
    *,
    after_s: float = 0.15,
    wanted: Order | None = None,
    cancel_after_s: float | None = None,
    meanwhile: Callable[[Watchman], None] | None = None,
    meanwhile_s: float = 1.7,
) -> Run:
    """Measure once against a fake; then, whatever happened, once more against a healthy one."""
    script = Script.for_force(TEXT, start_ms=100, end_ms=1500, after_s=after_s)
    fakes = iter([FakeDeepgram(script, faults), FakeDeepgram(script)])
    recorder, watchman = Recorder(), Watchman()
    done: list[Measurement] = []
    async with trio.open_nursery() as world:

        async def dial(url: WebsocketUrl) -> Way:
            if not (fake.faults.listening if fake.faults else True):
                raise ConnectionRefusedError(111, "refused")
            lane, theirs = memory_lane_pair(now_ns)
            world.start_soon(fake.converse, theirs)
            return Way(lane, "memory", None, 0, None)

        pacer = Pacer(PlainSleeper(), now_ns)
        world.start_soon(pacer.run)
        bench = Bench(pacer, Opener(dial, now_ns), recorder, watchman, now_ns, wall_ns)
        first = fake = next(fakes)
        if meanwhile is not None:
            world.start_soon(_later, meanwhile_s, meanwhile, watchman)
        with trio.move_on_after(cancel_after_s or 3600):
            await measure_once(wanted or order(), bench, done.append)
        ended_ns = now_ns()
        records = Recorder(list(recorder.records))
        fake = next(fakes)
        again = await measure_once(order(), bench)
        assert again.reading.verdict is Verdict.FORCED_FINAL
        assert again.reading.time_to_final_ns == pytest.approx(after_s * SECOND, abs=2 * MS)
        world.cancel_scope.cancel()
    (measurement,) = done
    return Run(measurement, records, first, ended_ns)


async def _later(seconds: float, act: Callable[[Watchman], None], watchman: Watchman) -> None:
    await trio.sleep(seconds)
    act(watchman)


def same_again(run: Run) -> bool:
    (session,) = sessions_of(run.recorder.records)
    return reading_of(session) == run.measurement.reading


@pytest.mark.parametrize("after_s", [0.001, 0.25, 3.0])
async def test_the_time_to_final_is_the_time_the_provider_takes(
    after_s: float, autojump_clock: trio.testing.MockClock
) -> None:
    run = await measured(after_s=after_s)
    assert run.verdict is Verdict.FORCED_FINAL
    assert run.measurement.reading.time_to_final_ns == pytest.approx(after_s * SECOND, abs=10_000)
    assert run.measurement.reading.transcript == TEXT
    assert same_again(run)


async def test_the_force_follows_the_frame_that_completes_the_endpoint(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured()
    (visit,) = run.fake.visits
    sent = [one for one in visit.heard if one.kind in ("text", "binary")]
    assert [b"Finalize" in one.payload for one in sent].index(
        True
    ) == 81  # 1610 ms are complete with the frame that ends at 1620 ms


async def test_frames_leave_at_absolute_due_times(
    autojump_clock: trio.testing.MockClock,
) -> None:
    frames = (await measured()).recorder.frames()
    assert {later.due_ns - one.due_ns for one, later in itertools.pairwise(frames)} == {STEP_NS}
    assert {frame.at_ns - frame.due_ns for frame in frames} == {0}


async def test_after_zero_there_is_only_digital_silence(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured()
    (visit,) = run.fake.visits
    heard = [one for one in visit.heard if one.kind in ("text", "binary")]
    forced = [b"Finalize" in one.payload for one in heard].index(True)
    audio = [one.payload for one in heard if one.kind == "binary"]
    assert b"".join(audio[:forced]) == clip().pcm[: 1620 * 32]
    assert not any(b"".join(audio[forced:]))
    assert len(audio) > forced


async def test_a_clip_that_ends_too_early_is_followed_by_silence_until_the_detector_knows(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(wanted=order(seconds=1.507))
    assert run.verdict is Verdict.FORCED_FINAL
    assert [remark.value for remark in run.measurement.reading.remarks] == ["vad_in_padding"]
    places = [frame.audio_ms for frame in run.recorder.frames()]
    assert places[74:77] == [1500, 1507, 1527]


async def test_a_clip_without_speech_is_not_even_sent(
    autojump_clock: trio.testing.MockClock,
) -> None:
    codec_order = order(speech=None)
    run = await measured(wanted=codec_order)
    assert run.verdict is Verdict.VAD_NEVER
    assert not run.fake.visits
    assert same_again(run)


PROVIDER, NETWORK = Whose.PROVIDER, Whose.NETWORK
FAILURES = {
    "nobody listens": (
        Faults(listening=False),
        Verdict.NETWORK_ERROR,
        (NETWORK, FaultKind.CONNECT),
    ),
    "401": (Faults(refusal=Refusal(401)), Verdict.PROVIDER_ERROR, (PROVIDER, FaultKind.AUTH)),
    "429": (
        Faults(refusal=Refusal(429, retry_after_s=7)),
        Verdict.PROVIDER_ERROR,
        (PROVIDER, FaultKind.RATE),
    ),
    "500": (Faults(refusal=Refusal(500)), Verdict.PROVIDER_ERROR, (PROVIDER, FaultKind.SERVER)),
    "hangs up at once": (
        Faults(hang_up=HangUp(Moment.CONNECTED)),
        Verdict.PROVIDER_ERROR,
        (PROVIDER, FaultKind.HANDSHAKE),
    ),
    "hangs up when open": (
        Faults(hang_up=HangUp(Moment.OPEN)),
        Verdict.CONNECTION_LOST,
        (NETWORK, FaultKind.CLOSED),
    ),
    "hangs up in mid-clip": (
        Faults(hang_up=HangUp(Moment.AUDIO, audio_ms=700)),
        Verdict.CONNECTION_LOST,
        (NETWORK, FaultKind.CLOSED),
    ),
    "closes with 1011 in mid-clip": (
        Faults(hang_up=HangUp(Moment.AUDIO, audio_ms=700, code=1011, reason="oops")),
        Verdict.PROVIDER_ERROR,
        (PROVIDER, FaultKind.SERVER),
    ),
    "hangs up after the force": (
        Faults(hang_up=HangUp(Moment.FORCE)),
        Verdict.CONNECTION_LOST,
        (NETWORK, FaultKind.CLOSED),
    ),
    "closes with 1000 after the force": (
        Faults(hang_up=HangUp(Moment.FORCE, code=1000)),
        Verdict.CONNECTION_LOST,
        None,
    ),
    "garbage": (
        Faults(interjections=(Interjection(GARBAGE, Moment.AUDIO, audio_ms=700),)),
        Verdict.PROVIDER_ERROR,
        (PROVIDER, FaultKind.PROTOCOL),
    ),
    "an empty message": (
        Faults(interjections=(Interjection(EMPTY, Moment.AUDIO, audio_ms=700),)),
        Verdict.PROVIDER_ERROR,
        (PROVIDER, FaultKind.PROTOCOL),
    ),
    "a binary message": (
        Faults(interjections=(Interjection(BINARY, Moment.AUDIO, audio_ms=700),)),
        Verdict.PROVIDER_ERROR,
        (PROVIDER, FaultKind.PROTOCOL),
    ),
    "never answers": (Faults(no_final=True), Verdict.NO_FINAL, None),
    "never opens": (
        Faults(handshake_s=3600),
        Verdict.PROVIDER_ERROR,
        (PROVIDER, FaultKind.TIMEOUT),
    ),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_a_provider_that_fails_is_a_measurement_too(
    name: str, autojump_clock: trio.testing.MockClock
) -> None:
    faults, verdict, fault = FAILURES[name]
    run = await measured(faults)
    assert run.verdict is verdict
    assert run.fault == fault
    assert run.measurement.reading.time_to_final_ns is None
    assert run.ended_ns <= (1.62 + 10 + 1.5) * SECOND
    assert same_again(run)


async def test_a_huge_message_is_only_something_unread(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(Faults(interjections=(Interjection(HUGE, Moment.AUDIO, audio_ms=700),)))
    assert run.verdict is Verdict.FORCED_FINAL
    assert same_again(run)


async def test_how_long_to_stay_away_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    run = await measured(Faults(refusal=Refusal(429, retry_after_s=7)))
    assert run.measurement.reading.fault is not None
    assert run.measurement.reading.fault.retry_after_s == 7


@pytest.mark.parametrize(
    "faults",
    [Faults(close_unanswered=True), Faults(finish_unanswered=True)],
    ids=["never answers Close", "never answers the farewell"],
)
async def test_a_provider_that_does_not_part_costs_little_time_and_no_reading(
    faults: Faults, autojump_clock: trio.testing.MockClock
) -> None:
    run = await measured(faults)
    assert run.verdict is Verdict.FORCED_FINAL
    assert run.ended_ns <= (1.62 + 0.15 + 0.5 + 1.5) * SECOND


async def test_an_acknowledgement_is_not_taken_for_the_final(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(Faults(ack_s=0.02), after_s=0.25)
    assert run.verdict is Verdict.FORCED_FINAL
    assert run.measurement.reading.time_to_final_ns == pytest.approx(0.25 * SECOND, abs=10_000)
    assert run.measurement.reading.confirmed_ns is not None


async def test_an_interrupted_measurement_is_recorded_and_says_farewell(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(cancel_after_s=1.0)
    assert run.verdict is Verdict.CANCELLED
    assert run.recorder.records[-1]["verdict"] == "cancelled"
    (visit,) = run.fake.visits
    assert any(b"CloseStream" in one.payload for one in visit.heard)
    assert run.ended_ns <= 3 * SECOND
    assert same_again(run)


async def test_a_standstill_of_ours_is_not_blamed_on_the_provider(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def stall(watchman: Watchman) -> None:
        watchman.tell(LoopStalled(now_ns(), 60 * MS))

    run = await measured(Faults(no_final=True), meanwhile=stall, meanwhile_s=2.0)
    assert run.verdict is Verdict.HARNESS_STALLED
    assert same_again(run)


async def test_late_frames_make_a_reading_invalid_and_keep_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(meanwhile=lambda _: autojump_clock.jump(0.070), meanwhile_s=1.2005)
    assert run.verdict is Verdict.HARNESS_LATE
    assert run.measurement.reading.selection is Verdict.FORCED_FINAL
    assert not run.measurement.reading.valid
    assert same_again(run)


@pytest.mark.parametrize(
    "faults",
    [
        None,
        Faults(refusal=Refusal(401)),
        Faults(hang_up=HangUp(Moment.AUDIO, audio_ms=500, code=1008, reason=f"bad {KEY}")),
        Faults(interjections=(Interjection(f'{{"type": "{KEY}"}}', Moment.AUDIO, audio_ms=500),)),
        Faults(interjections=(Interjection(f"garbage {KEY}", Moment.AUDIO, audio_ms=500),)),
    ],
    ids=["all is well", "refused", "echoed in a Close", "echoed in a type", "echoed in garbage"],
)
async def test_the_key_is_in_no_record(
    faults: Faults | None, autojump_clock: trio.testing.MockClock
) -> None:
    run = await measured(faults)
    assert KEY not in repr(run.recorder.records)
    assert KEY not in repr(run.measurement)
    assert KEY not in repr(order())
