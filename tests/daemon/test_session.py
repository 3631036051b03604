"""Whole sessions in virtual time: whatever happens, one measurement, in time, and nothing after."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import trio
import trio.testing

from daemon.clock import now_ns
from daemon.fakes import (
    BINARY,
    EMPTY,
    GARBAGE,
    HUGE,
    FakeDeepgram,
    FakeGladia,
    Faults,
    HangUp,
    Interjection,
    Line,
    Moment,
    Refusal,
    Script,
)
from daemon.fakes.dialect import Dialect
from daemon.fakes.server import Fake
from daemon.order import Order
from daemon.session import measure_once
from daemon.watchman import HostWatchman
from measure.events import Event, ForceSent, FrameSent, LoopStalled
from measure.faults import Fault, FaultKind, Whose
from measure.measurement import Measurement
from measure.records import MS, SECOND, Frame, Remark, Verdict
from providers.codec import AudioFormat, Codec, HttpRequest, HttpResponse, Message, Options
from providers.deepgram import Deepgram
from providers.gladia import Gladia
from tests.daemon.bench import (
    KEY,
    ZERO_MS,
    ListRecorder,
    QuietWatchman,
    bench_of,
    memory_dial,
    order_of,
    wall_ns,
)

TEXT = "good day"
ANSWER_S = 0.25
PARTIAL_S = 0.1
STRAY_NS = 1000
"""A float of seconds and a whole number of nanoseconds may differ by less."""
FORCED = Script(
    lines=(Line("good", 300),),
    answers=((Line(TEXT, after_s=PARTIAL_S), Line(TEXT, after_s=ANSWER_S, final=True)),),
)
NATURAL = Script(lines=(Line("good", 300), Line(TEXT, 720), Line(TEXT, 820, final=True)))


class PreparedGladia(Gladia):
    """Has its session from the fake itself: there is no HTTP in virtual time."""

    def __init__(self, fake: FakeGladia) -> None:
        super().__init__(Options(url="http://memory"))
        request = super().prepare(KEY)
        request = replace(request, headers={"host": "memory", "x-gladia-key": KEY})
        answer = fake.asked(request, secure=False)
        assert isinstance(answer, HttpResponse)
        self.prepared(answer)

    def prepare(self, key: str) -> HttpRequest | None:  # type: ignore[override]
        return None


class EchoingDeepgram(FakeDeepgram):
    """Refuses, and repeats the key at the place where a long answer is cut off."""

    def asked(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Dialect:
        return HttpResponse(401, {}, b"x" * 190 + b" " + KEY.encode() + b" is no good key")


class Slow(Deepgram):
    """Takes too long: for one frame shortly before zero, made 20 ms early, or for the force."""

    def __init__(self, clock: trio.testing.MockClock, *, force: bool = False) -> None:
        super().__init__(Options())
        self._clock = clock
        self._force = force

    def audio(self, frame: Frame) -> Message:
        if not self._force and frame.audio_ms == 400:
            self._clock.jump(0.05)
        return super().audio(frame)

    def force(self, context: object) -> tuple[Message, ...]:
        if self._force:
            self._clock.jump(0.03)
        return ('{"type": "Finalize"}',)


class Chatty(Deepgram):
    """Says more at once than a provider that does not read can be sent."""

    def hello(self) -> tuple[Message, ...]:
        return ("x" * 30_000,)


class Broken(Deepgram):
    """Has a fault of its own."""

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        raise RuntimeError(f"no idea what to do, says {KEY}")


@dataclass
class Run:
    """One measurement and what was recorded of it."""

    measurement: Measurement
    recorder: ListRecorder
    fake: Fake
    took_s: float

    @property
    def verdict(self) -> Verdict:
        return self.measurement.reading.verdict

    @property
    def fault(self) -> Fault | None:
        return self.measurement.reading.fault

    def frames(self) -> list[FrameSent]:
        return [event for event in self.recorder.events() if isinstance(event, FrameSent)]

    def replays_and_keeps_the_key(self) -> None:
        assert self.recorder.reading() == self.measurement.reading
        for written in (repr(self.recorder.records), repr(self.measurement)):
            assert KEY not in written
            assert KEY[:9] not in written  # no part of it either


def deepgram(faults: Faults | None = None) -> FakeDeepgram:
    return FakeDeepgram(FORCED, faults)


async def measured(
    fake: Fake,
    wanted: Order | None = None,
    *,
    cancel_after_s: float = 3600,
    jump_after_s: float | None = None,
    clock: trio.testing.MockClock | None = None,
    stall_after_s: float | None = None,
) -> Run:
    """Measure once; then what must hold after any measurement is proven here, for all alike."""
    recorder, again, done = ListRecorder(), ListRecorder(), list[Measurement]()
    watchman = HostWatchman(now_ns, wall_ns) if clock else QuietWatchman()
    async with trio.open_nursery() as world:
        if isinstance(watchman, HostWatchman):
            world.start_soon(watchman.run)

        async def disturb() -> None:
            if jump_after_s is not None and clock is not None:
                await trio.sleep(jump_after_s)
                clock.jump(0.06)
            if stall_after_s is not None and isinstance(watchman, QuietWatchman):
                await trio.sleep(stall_after_s)
                watchman.tell(LoopStalled(now_ns(), 60_000_000))

        dial = memory_dial([fake, deepgram()] if wanted_opens(wanted) else [deepgram()], world)
        async with bench_of(dial, recorder, watchman) as bench:
            await trio.testing.wait_all_tasks_blocked()
            before = trio.lowlevel.current_statistics().tasks_living
            world.start_soon(disturb)
            started_s = trio.current_time()
            with trio.move_on_after(cancel_after_s):
                await measure_once(wanted or order_of(Deepgram(Options())), bench, done.append)
            took_s = trio.current_time() - started_s
            if clock is None:
                await trio.sleep(4000)  # the fake, however obstinate, has gone by then
                assert trio.lowlevel.current_statistics().tasks_living == before
            written = len(recorder.records)
            normal = await measure_once(
                order_of(Deepgram(Options())), replace(bench, recorder=again)
            )
            assert normal.reading.verdict is Verdict.FORCED_FINAL
            assert normal.reading.time_to_final_ns == pytest.approx(ANSWER_S * SECOND, abs=STRAY_NS)
            assert len(recorder.records) == written
        world.cancel_scope.cancel()
    run = Run(done[0], recorder, fake, took_s)
    run.replays_and_keeps_the_key()
    assert recorder.records[-1]["k"] == "session_finished"
    return run


def wanted_opens(wanted: Order | None) -> bool:
    return wanted is None or wanted.speech is not None


async def test_both_latencies_are_those_of_the_provider(
    autojump_clock: trio.testing.MockClock,
) -> None:
    reading = (await measured(deepgram())).measurement.reading
    assert reading.verdict is Verdict.FORCED_FINAL
    assert reading.time_to_final_ns == pytest.approx(ANSWER_S * SECOND, abs=STRAY_NS)
    assert reading.time_to_first_partial_ns == pytest.approx(PARTIAL_S * SECOND, abs=STRAY_NS)


async def test_the_force_leaves_with_the_frame_that_completes_the_endpoint(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(deepgram())
    events = run.recorder.events()
    (force,) = [event for event in events if isinstance(event, ForceSent)]
    last = [event for event in events[: events.index(force)] if isinstance(event, FrameSent)][-1]
    assert last.audio_ms == ZERO_MS
    assert force.at_ns == last.at_ns == run.measurement.reading.zero_ns


async def test_every_frame_leaves_when_it_is_due(autojump_clock: trio.testing.MockClock) -> None:
    frames = (await measured(deepgram())).frames()
    first_ns = frames[0].due_ns
    assert [frame.due_ns for frame in frames] == [
        first_ns + index * 20_000_000 for index in range(len(frames))
    ]
    assert all(frame.at_ns == frame.due_ns for frame in frames)


async def test_only_digital_silence_follows_zero(autojump_clock: trio.testing.MockClock) -> None:
    run = await measured(deepgram())
    audio = bytes(run.fake.visits[0].audio)
    assert all(audio[index : index + 2] != b"\0\0" for index in range(0, ZERO_MS * 32, 2))
    assert len(audio) > ZERO_MS * 32
    assert not any(audio[ZERO_MS * 32 :])


async def test_a_clip_that_ends_too_early_is_followed_by_silence_until_one_can_know(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(deepgram(), order_of(Deepgram(Options()), seconds=0.507))
    assert run.verdict is Verdict.FORCED_FINAL
    assert Remark.VAD_IN_PADDING in run.measurement.reading.remarks
    frames = run.frames()
    assert [frame.audio_ms for frame in frames[24:28]] == [500, 507, 527, 547]
    assert [frame.padding for frame in frames[24:28]] == [False, False, True, True]


async def test_an_acknowledgement_is_not_taken_for_the_final(
    autojump_clock: trio.testing.MockClock,
) -> None:
    reading = (await measured(deepgram(Faults(ack_s=0.02)))).measurement.reading
    assert reading.verdict is Verdict.FORCED_FINAL
    assert reading.time_to_final_ns == pytest.approx(ANSWER_S * SECOND, abs=STRAY_NS)
    assert reading.zero_ns is not None
    assert reading.confirmed_ns == pytest.approx(reading.zero_ns + 0.02 * SECOND, abs=STRAY_NS)


async def test_without_a_force_the_natural_final_stops_the_watch(
    autojump_clock: trio.testing.MockClock,
) -> None:
    fake = FakeGladia(NATURAL)
    run = await measured(fake, order_of(PreparedGladia(fake), "gladia/solaria-1"))
    reading = run.measurement.reading
    assert reading.verdict is Verdict.NATURAL_FINAL
    assert reading.time_to_first_partial_ns == pytest.approx(0.1 * SECOND, abs=STRAY_NS)
    assert reading.time_to_final_ns == pytest.approx(0.2 * SECOND, abs=STRAY_NS)
    places = [frame.audio_ms for frame in run.frames()]
    assert places[:9] == [100, 200, 300, 400, 500, 600, ZERO_MS, 720, 820]


def interjected(message: str | bytes) -> Faults:
    return Faults(interjections=(Interjection(message, Moment.AUDIO, audio_ms=300),))


PROVIDER, NETWORK = Whose.PROVIDER, Whose.NETWORK
REFUSED = Verdict.PROVIDER_ERROR
LOST = Verdict.CONNECTION_LOST
CLOSED = (NETWORK, FaultKind.CLOSED)
GARBLED = (PROVIDER, FaultKind.PROTOCOL)
FAULTS: dict[str, tuple[Faults, Verdict, tuple[Whose, FaultKind] | None, float]] = {
    "refuses": (
        Faults(listening=False),
        Verdict.NETWORK_ERROR,
        (NETWORK, FaultKind.CONNECT),
        0,
    ),
    "401": (Faults(refusal=Refusal(401)), REFUSED, (PROVIDER, FaultKind.AUTH), 0),
    "429": (Faults(refusal=Refusal(429, 7)), REFUSED, (PROVIDER, FaultKind.RATE), 0),
    "500": (Faults(refusal=Refusal(500)), REFUSED, (PROVIDER, FaultKind.SERVER), 0),
    "hangs up at once": (
        Faults(hang_up=HangUp(Moment.CONNECTED)),
        REFUSED,
        (PROVIDER, FaultKind.HANDSHAKE),
        0,
    ),
    "hangs up when open": (Faults(hang_up=HangUp(Moment.OPEN)), LOST, CLOSED, 0),
    "hangs up in mid-clip": (Faults(hang_up=HangUp(Moment.AUDIO, 300)), LOST, CLOSED, 0.3),
    "closes in mid-clip, 1011": (
        Faults(hang_up=HangUp(Moment.AUDIO, 300, code=1011, reason="oops")),
        REFUSED,
        (PROVIDER, FaultKind.SERVER),
        0.3,
    ),
    "closes in mid-clip, 1000": (
        Faults(hang_up=HangUp(Moment.AUDIO, 300, code=1000)),
        LOST,
        None,
        0.3,
    ),
    "hangs up after the force": (Faults(hang_up=HangUp(Moment.FORCE)), LOST, CLOSED, 0.62),
    "closes after the force, 1011": (
        Faults(hang_up=HangUp(Moment.FORCE, code=1011)),
        REFUSED,
        (PROVIDER, FaultKind.SERVER),
        0.62,
    ),
    "garbage": (interjected(GARBAGE), REFUSED, GARBLED, 0.3),
    "empty": (interjected(EMPTY), REFUSED, GARBLED, 0.3),
    "binary": (interjected(BINARY), REFUSED, GARBLED, 0.3),
    "huge": (interjected(HUGE), Verdict.FORCED_FINAL, None, 0.62 + ANSWER_S + 0.5),
    "never answers": (Faults(no_final=True), Verdict.NO_FINAL, None, 10.62),
    "never answers the handshake": (
        Faults(handshake_s=3600),
        REFUSED,
        (PROVIDER, FaultKind.TIMEOUT),
        10,
    ),
    "never answers Close": (
        Faults(close_unanswered=True),
        Verdict.FORCED_FINAL,
        None,
        0.62 + ANSWER_S + 0.5,
    ),
    "never answers the farewell": (
        Faults(finish_unanswered=True, close_unanswered=True),
        Verdict.FORCED_FINAL,
        None,
        0.62 + ANSWER_S + 0.5,
    ),
    "stops reading": (
        Faults(stops_reading_ms=300),
        REFUSED,
        (PROVIDER, FaultKind.TIMEOUT),
        0.62,
    ),
}
"""What goes wrong, the verdict, whose fault and which, and when it can be known (s)."""


@pytest.mark.parametrize("name", FAULTS)
async def test_whatever_a_provider_does_wrong_is_a_measurement_in_time(
    name: str, autojump_clock: trio.testing.MockClock
) -> None:
    faults, verdict, fault, known_s = FAULTS[name]
    run = await measured(deepgram(faults))
    assert run.verdict is verdict
    assert (run.fault and (run.fault.whose, run.fault.kind)) == fault
    assert run.took_s <= known_s + 1.5
    if name == "429":
        assert run.fault is not None
        assert run.fault.retry_after_s == 7


async def test_a_greeting_that_is_not_taken_is_the_providers_fault(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(deepgram(Faults(stops_reading_ms=0)), order_of(Chatty(Options())))
    assert run.verdict is Verdict.PROVIDER_ERROR
    assert run.fault is not None
    assert (run.fault.whose, run.fault.kind) == (PROVIDER, FaultKind.TIMEOUT)


async def test_where_nobody_speaks_no_connection_is_made(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(deepgram(), order_of(Deepgram(Options()), speech=None))
    assert run.verdict is Verdict.VAD_NEVER
    assert not run.fake.visits
    assert run.took_s == 0


@pytest.mark.parametrize("at_s", [0.3, 0.7])
async def test_a_cancelled_session_is_recorded_and_says_farewell(
    at_s: float, autojump_clock: trio.testing.MockClock
) -> None:
    run = await measured(deepgram(), cancel_after_s=at_s)
    assert run.verdict is Verdict.CANCELLED
    assert run.recorder.records[-1]["verdict"] == "cancelled"
    assert b'{"type": "CloseStream"}' in [one.payload for one in run.fake.visits[0].heard]
    assert run.took_s <= at_s + 1


async def test_a_session_is_cancelled_in_time_though_the_provider_does_not_part(
    autojump_clock: trio.testing.MockClock,
) -> None:
    stubborn = Faults(finish_unanswered=True, close_unanswered=True)
    run = await measured(deepgram(stubborn), cancel_after_s=0.3)
    assert run.verdict is Verdict.CANCELLED
    assert run.took_s <= 0.3 + 1


ECHOES: dict[str, Fake] = {
    "in the body of a 401": EchoingDeepgram(),
    "in a Close": deepgram(
        Faults(hang_up=HangUp(Moment.AUDIO, 300, code=1008, reason=f"bad {KEY}"))
    ),
    "in a type": deepgram(interjected(f'{{"type": "{KEY}"}}')),
    "in an error": deepgram(interjected(f'{{"type": "Error", "description": "{KEY}"}}')),
    "in garbage": deepgram(interjected(f"garbage {KEY}")),
    "in bytes": deepgram(interjected(b"\xff" + KEY.encode())),
}


@pytest.mark.parametrize("where", ECHOES)
async def test_a_key_that_the_provider_repeats_is_kept_nowhere(
    where: str, autojump_clock: trio.testing.MockClock
) -> None:
    await measured(ECHOES[where])


async def test_a_standstill_while_waiting_is_ours(autojump_clock: trio.testing.MockClock) -> None:
    run = await measured(deepgram(Faults(no_final=True)), stall_after_s=2)
    assert run.verdict is Verdict.HARNESS_STALLED


async def test_the_watchman_notices_a_standstill_by_itself(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await measured(deepgram(), jump_after_s=0.8, clock=autojump_clock)
    assert run.verdict is Verdict.HARNESS_STALLED
    assert run.measurement.reading.selection is Verdict.FORCED_FINAL


@pytest.mark.parametrize("force", [False, True], ids=["a frame", "the force"])
@pytest.mark.parametrize("answers", [True, False], ids=["answered", "unanswered"])
async def test_what_left_too_late_is_ours(
    force: bool, answers: bool, autojump_clock: trio.testing.MockClock
) -> None:
    wanted = order_of(Slow(autojump_clock, force=force))
    run = await measured(deepgram(Faults(no_final=not answers)), wanted)
    assert run.verdict is Verdict.HARNESS_LATE
    assert run.measurement.reading.selection is (Verdict.FORCED_FINAL if answers else None)


async def test_an_error_of_our_own_is_called_so(autojump_clock: trio.testing.MockClock) -> None:
    broken: Codec = Broken(Options())
    run = await measured(deepgram(), order_of(broken))
    assert run.verdict is Verdict.HARNESS_ERROR
    assert "harness_failed" in [record.get("event") for record in run.recorder.records]
    assert run.took_s <= 0.3 + 1.5


class Chunky(Deepgram):
    """Wants its audio in pieces of another length."""

    def __init__(self, chunk_ms: int) -> None:
        super().__init__(Options())
        self.facts = replace(Deepgram.facts, audio=AudioFormat(chunk_ms=chunk_ms))


@pytest.mark.parametrize("chunk_ms", [20, 40, 60, 100, 250])
async def test_no_audio_leaves_before_it_would_have_been_spoken_nor_later(
    chunk_ms: int, autojump_clock: trio.testing.MockClock
) -> None:
    run = await measured(deepgram(), order_of(Chunky(chunk_ms), seconds=3.0))
    assert run.verdict is Verdict.FORCED_FINAL
    frames = run.frames()
    start_ns = frames[0].due_ns - round(frames[0].audio_ms * 1e6)
    for frame in frames:
        spoken_ns = start_ns + math.ceil(frame.audio_ms / 20) * 20 * MS
        assert frame.due_ns == spoken_ns
        assert 0 <= frame.at_ns - frame.due_ns < MS
    assert len({frame.audio_ms for frame in frames}) == len(frames)
