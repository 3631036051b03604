"""How audio leaves, whatever else this host does: A1, A2, A27."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock

from daemon.fakes import FakeDeepgram, Faults, Line, Script
from daemon.order import Order
from measure.events import Connected, ForceSent
from measure.records import MS, Verdict
from providers.codec import AudioFormat, Options
from providers.deepgram import Deepgram
from tests.cases.sessions import Session, all_measured, deepgram_as, measured, near, ordered
from tests.daemon.bench import SPEECH, clip_of

STREAMS = 8
LONG_S = 30.0
LONG = replace(SPEECH, end_ms=29_000.0, end_known_ms=29_110.0)
ANSWER = Script(answers=((Line("good day", after_s=0.25, final=True),),))
HOLDUPS_S = (0.004, 0.011, 0.007, 0.013, 0.002)
"""What a busy host takes from this program now and then; never so much that it does not count."""


class Busy(Deepgram):
    """The host is busy with something else just when some frames of this stream are due."""

    def __init__(self, clock: MockClock, holdups_s: dict[float, float]) -> None:
        super().__init__(Options())
        self._clock = clock
        self._holdups_s = holdups_s

    def hold(self, audio_ms: float) -> None:
        """Called when the frame that ends there is due."""
        self._clock.jump(self._holdups_s.get(audio_ms, 0.0))


OFTEN = {
    float(ms): HOLDUPS_S[nth % len(HOLDUPS_S)] for nth, ms in enumerate(range(1000, 28_000, 140))
}
"""Every 140 ms another holdup."""


def orders(clock: MockClock, holdups_s: dict[float, float]) -> list[Order]:
    quick = ordered(seconds=LONG_S, speech=LONG)
    busy = replace(quick, codec=Busy(clock, holdups_s))
    return [busy, *(replace(quick, codec=deepgram_as()) for _ in range(STREAMS - 1))]


@pytest.fixture(scope="module")
def on_a_busy_host() -> list[Session]:
    """Eight streams of half a minute at once."""
    clock = MockClock(autojump_threshold=0)
    pairs = [(FakeDeepgram(ANSWER), order) for order in orders(clock, OFTEN)]
    return trio.run(partial(all_measured, pairs, at_once=True), clock=clock)


def arrivals_ns(session: Session) -> list[int]:
    """When the provider heard each piece of audio."""
    return [one.at_ns for one in session.visit.heard if one.kind == "binary"]


# A1


def test_a1_on_a_busy_host_streams_do_not_drift(on_a_busy_host: list[Session]) -> None:
    for session in on_a_busy_host:
        frames, arrived_ns = session.frames(), arrivals_ns(session)
        assert len(arrived_ns) == len(frames) > LONG_S / 0.02 - 50
        drift_ns = (arrived_ns[-1] - arrived_ns[0]) - (len(frames) - 1) * 20 * MS
        assert abs(drift_ns) <= 5 * MS


def test_a1_a_late_frame_moves_no_later_one(on_a_busy_host: list[Session]) -> None:
    for session in on_a_busy_host:
        frames = session.frames()
        assert {after.due_ns - frame.due_ns for frame, after in pairwise(frames)} == {20 * MS}
        late_ns = [frame.at_ns - frame.due_ns for frame in frames]
        assert all(min(pair) < MS for pair in pairwise(late_ns))  # the next one is in time again
    assert max(frame.at_ns - frame.due_ns for frame in on_a_busy_host[0].frames()) == 13 * MS


def test_a1_lateness_is_in_the_journal_as_it_was(on_a_busy_host: list[Session]) -> None:
    session = on_a_busy_host[0]
    told = {frame.audio_ms: frame.at_ns - frame.due_ns for frame in session.frames()}
    assert all(near(told[ms], held_s * 1000) for ms, held_s in OFTEN.items())
    assert session.finished["late_max_ns"] == max(told.values())
    assert session.reading.verdict is Verdict.FORCED_FINAL


# A2

TAIL_S = 4.607
"""Its last frame holds 7 ms."""
LATE_SPEECH = replace(SPEECH, end_ms=4500.0, end_known_ms=4610.0)
SHORTEST_MS = 20


async def test_a2_the_short_last_frame_is_paced_and_sent_and_the_force_waits_for_the_end(
    autojump_clock: MockClock,
) -> None:
    session = await measured(FakeDeepgram(ANSWER), ordered(seconds=TAIL_S, speech=LATE_SPEECH))
    frames = session.frames()
    (place,) = [nth for nth, frame in enumerate(frames) if frame.audio_ms == TAIL_S * 1000]
    assert frames[place].due_ns - frames[place - 1].due_ns == 20 * MS
    clip = clip_of(TAIL_S).pcm
    assert bytes(session.visit.audio[: len(clip)]) == clip
    assert len(session.visit.audio) / 32 == frames[-1].audio_ms
    (force,) = session.all_of(ForceSent)
    before = [frame for frame in frames if frame.at_ns <= force.at_ns]
    assert before[-1].audio_ms >= LATE_SPEECH.end_known_ms > TAIL_S * 1000


async def refusing(codec_min_ms: int) -> Session:
    """A provider that does not put up with less than 20 ms, and a clip that ends in 7 ms."""
    audio = AudioFormat(min_chunk_ms=codec_min_ms)
    fake = FakeDeepgram(ANSWER, Faults(min_audio_ms=SHORTEST_MS))
    return await measured(
        fake, ordered(deepgram_as(audio=audio), seconds=TAIL_S, speech=LATE_SPEECH)
    )


async def test_a2_where_the_profile_says_so_the_last_frame_is_filled_up_with_silence(
    autojump_clock: MockClock,
) -> None:
    session = await refusing(SHORTEST_MS)
    assert session.reading.verdict is Verdict.FORCED_FINAL
    clip = clip_of(TAIL_S).pcm
    heard = bytes(session.visit.audio)
    assert heard[: len(clip)] == clip
    assert not any(heard[len(clip) :])


async def test_a2_where_the_profile_does_not_the_refusal_is_the_providers(
    autojump_clock: MockClock,
) -> None:
    session = await refusing(0)
    assert session.reading.verdict is Verdict.PROVIDER_ERROR
    assert session.reading.time_to_final_ns is None


async def test_a2_the_silence_that_fills_a_frame_up_is_recorded(
    autojump_clock: MockClock,
) -> None:
    session = await refusing(SHORTEST_MS)
    audio_ms = len(session.visit.audio) / 32
    frames = session.frames()
    assert [frame.filled_ms for frame in frames if frame.filled_ms] == [SHORTEST_MS - 7]
    assert audio_ms == frames[-1].audio_ms + SHORTEST_MS - 7


# A27


async def test_a27_the_detector_is_not_on_the_pacing_path(autojump_clock: MockClock) -> None:
    """Where speech ends is known before the first frame leaves; nothing infers while it paces."""
    sessions = await all_measured(
        [(FakeDeepgram(ANSWER), replace(ordered(), codec=deepgram_as())) for _ in range(STREAMS)],
        at_once=True,
    )
    for session in sessions:
        kinds = [record["k"] for record in session.recorder.records]
        assert kinds.index("speech_end") < kinds.index(Connected.kind) < kinds.index("frames")
        assert all(frame.at_ns - frame.due_ns < 2 * MS for frame in session.frames())
        assert session.reading.valid


async def test_a27_too_much_work_on_the_loop_is_flagged_in_each_stream_and_never_silent(
    autojump_clock: MockClock,
) -> None:
    """30 ms of work inside a step, as an inference on the main thread of a throttled host."""
    overloaded = [
        (FakeDeepgram(ANSWER), replace(ordered(), codec=Busy(autojump_clock, {400.0: 0.03})))
        for _ in range(STREAMS)
    ]
    for session in await all_measured(overloaded, at_once=True):
        assert session.reading.verdict is Verdict.HARNESS_LATE
        assert not session.reading.valid
        late_max_ns = session.finished["late_max_ns"]
        assert isinstance(late_max_ns, int)
        assert late_max_ns >= 30 * MS
        frames_late = session.finished["frames_late"]
        assert isinstance(frames_late, int)
        assert frames_late >= 1


async def test_a27_a_few_milliseconds_of_work_do_not_spoil_a_reading(
    autojump_clock: MockClock,
) -> None:
    busy = replace(ordered(), codec=Busy(autojump_clock, {400.0: 0.005}))
    session = await measured(FakeDeepgram(ANSWER), busy)
    assert session.reading.verdict is Verdict.FORCED_FINAL
    assert near(session.reading.time_to_final_ns, 250)
