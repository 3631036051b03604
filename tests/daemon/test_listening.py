"""Live audio, whole runs in virtual time: one microphone, several models, every end an endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from daemon.config import settings_of
from daemon.dial import WebsocketUrl
from daemon.fakes import FakeDeepgram, Faults, HangUp, Line, Moment, Refusal, Script
from daemon.fakes.assemblyai import FakeAssemblyAI
from daemon.fakes.server import Fake
from daemon.gate import Gate
from daemon.link import Dial, Way
from daemon.listening import Ended, Listening, live_recording
from daemon.order import Speech
from daemon.plan import Plan, known_error, targets_of
from daemon.rounds import Outcome
from daemon.session import measure_once
from exporters.packets import Report
from measure.events import DeviceSampled, Event, ForceSent, FrameSent, SpeechEnd, SpeechStart, Xrun
from measure.measurement import Measurement
from measure.records import MS, SECOND, Remark, Verdict
from measure.replay import Session, measurements_of, sessions_of
from pacer.microphone import Block
from tests.daemon.bench import KEY, ListRecorder, bench_of, clip_of, memory_dial
from tests.daemon.microphones import GONE, PlayedMicrophone, WrittenDetector
from vad.listening import FellBehind

FIRST = Speech(200.0, 264.0, 900.0, 1032.0)
SECOND_SPEECH = Speech(2000.0, 2064.0, 2900.0, 3032.0)
BOTH = (FIRST, SECOND_SPEECH)
PCM = clip_of(4.0).pcm
ANSWER_S = 0.15
NOVA, ASSEMBLY = "deepgram/nova-3", "assemblyai/universal-streaming-english"
KEYS = {"DEEPGRAM_API_KEY": KEY, "ASSEMBLYAI_API_KEY": KEY}
TWO_ANSWERS = Script(
    lines=(Line("good", 500), Line("good day", 800), Line("sir", 2500)),
    answers=(
        (Line("good day", after_s=ANSWER_S, final=True),),
        (Line("sir", after_s=ANSWER_S, final=True),),
    ),
)


class Open:
    """A journal with room."""

    alive = True
    report = Report(received=0)


class Shut(Open):
    """A journal without."""

    report = Report(received=0, full=True)


@dataclass
class Run:
    """What came of a run."""

    measured: list[Measurement]
    ended: Ended
    recorder: ListRecorder
    said: list[str] = field(default_factory=list)
    heard: bytes = b""

    @property
    def sessions(self) -> list[Session]:
        return list(sessions_of(self.recorder.records))

    def events(self, kind: type[Event], session: int = 0) -> list[Any]:
        return [event for event in self.sessions[session].events if isinstance(event, kind)]

    def verdicts(self, model: str = NOVA) -> list[Verdict]:
        return [one.reading.verdict for one in self.measured if one.model == model]


def plan_for(*models: str) -> Plan:
    table = {"model": [{"name": name} for name in models], "method": {"endpoint": "every"}}
    settings = settings_of(table, Path("bench.toml"))
    targets, skipped = targets_of(settings, KEYS)
    assert not skipped
    rates_hz = {target.codec().facts.audio.rate_hz for target in targets}
    recording = live_recording(rates_hz)
    return Plan(settings, tuple(targets), (recording,), (), "host", known_error(settings))


async def listened(
    fakes: Sequence[Fake],
    microphone: PlayedMicrophone,
    *,
    models: Sequence[str] = (NOVA,),
    speeches: Sequence[Speech] = BOTH,
    lag_s: float = 0.0,
    detector_hangs: bool = False,
    gate: Open | None = None,
    stop_after_s: float | None = 8.0,
) -> Run:
    """A run; a replay of its records gives the same measurements."""
    plan, recorder, outcome = plan_for(*models), ListRecorder(), Outcome()
    said: list[str] = []
    heard = bytearray()
    async with trio.open_nursery() as world:
        async with bench_of(_dial_of(fakes, world), recorder) as bench:
            listening = Listening(
                plan,
                plan.targets,
                bench,
                Gate(gate or Open(), lambda *_, **__: None),
                microphone,
                WrittenDetector(speeches, world, lag_s, detector_hangs),
                record=heard.extend,
                say=said.append,
            )
            if stop_after_s is not None:
                world.start_soon(_stop, listening, stop_after_s)
            ended = await listening.run("r1", outcome)
        world.cancel_scope.cancel()
    run = Run(outcome.measured, ended, recorder, said, bytes(heard))
    replayed = [one for session in run.sessions for one in measurements_of(session)]
    by_name = {(one.session_id, one.turn): replace(one, wall_ns=0) for one in replayed}
    for one in run.measured:
        assert by_name[one.session_id, one.turn] == replace(one, wall_ns=0)
    return run


def _dial_of(fakes: Sequence[Fake], world: trio.Nursery) -> Dial:
    """Each provider has its own fakes, one for each connection."""
    novas = [fake for fake in fakes if isinstance(fake, FakeDeepgram)]
    nova = memory_dial(novas, world)
    other = memory_dial([fake for fake in fakes if fake not in novas], world)

    async def dial(url: WebsocketUrl) -> Way:
        return await (nova if "deepgram" in url.host else other)(url)

    return dial


async def _stop(listening: Listening, after_s: float) -> None:
    await trio.sleep(after_s)
    listening.stop()


# What is measured.


async def test_each_end_of_speech_is_a_turn_with_a_reading_of_its_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await listened([FakeDeepgram(TWO_ANSWERS)], PlayedMicrophone(PCM))
    assert run.verdicts() == [Verdict.FORCED_FINAL] * 2
    assert [one.reading.transcript for one in run.measured] == ["good day", "sir"]
    for one in run.measured:
        assert one.reading.time_to_final_ns == pytest.approx(ANSWER_S * SECOND, abs=MS)


async def test_live_audio_is_measured_as_the_same_recording_is(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await listened([FakeDeepgram(TWO_ANSWERS)], PlayedMicrophone(PCM))
    plan, recorder = plan_for(NOVA), ListRecorder()
    order = plan.order(plan.targets[0], plan.recordings[0], "r2")
    clip = clip_of(4.0)
    order = replace(order, clip=clip, speech=SECOND_SPEECH, earlier=(FIRST,))
    async with trio.open_nursery() as world:
        fakes = [FakeDeepgram(TWO_ANSWERS)]
        async with bench_of(memory_dial(fakes, world), recorder) as bench:
            await measure_once(order, bench)
        world.cancel_scope.cancel()
    assert _forced_at(run.sessions[0]) == _forced_at(next(sessions_of(recorder.records)))
    assert _forced_at(run.sessions[0]) == [1040.0, 3040.0]


def _forced_at(session: Session) -> list[float]:
    """How much audio had been sent when each force went out."""
    sent_ms, places = 0.0, []
    for event in session.events:
        if isinstance(event, FrameSent):
            sent_ms = event.audio_ms
        if isinstance(event, ForceSent):
            places.append(sent_ms)
    return places


async def test_several_models_hear_the_same_from_the_same_sample_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    slow = FakeAssemblyAI(TWO_ANSWERS, Faults(handshake_s=0.8))
    nova = FakeDeepgram(TWO_ANSWERS)
    run = await listened([nova, slow], PlayedMicrophone(PCM), models=(NOVA, ASSEMBLY))
    assert run.verdicts(NOVA) == run.verdicts(ASSEMBLY) == [Verdict.FORCED_FINAL] * 2
    until_force = 1040 * 32  # behind it, one provider's short chunk is filled up
    heard, also = (bytes(fake.visits[0].audio)[:until_force] for fake in (nova, slow))
    assert heard == also == run.heard[:until_force]
    ends = [[event.audio_ms for event in run.events(SpeechEnd, nth)] for nth in (0, 1)]
    assert ends == [[900.0, 2900.0]] * 2


async def test_a_chunk_is_cut_short_where_the_detector_finds_an_end(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await listened([FakeAssemblyAI(TWO_ANSWERS)], PlayedMicrophone(PCM), models=(ASSEMBLY,))
    assert _forced_at(run.sessions[0]) == [1040.0, 3040.0]
    assert [one.circumstances.force_delay_ns for one in run.measured] == [0, 0]


@pytest.mark.parametrize(
    ("lag_s", "expected"), [(0.019, Verdict.FORCED_FINAL), (0.021, Verdict.HARNESS_LATE)]
)
async def test_a_detector_that_is_slow_makes_the_force_late_and_that_counts(
    lag_s: float, expected: Verdict, autojump_clock: trio.testing.MockClock
) -> None:
    run = await listened([FakeDeepgram(TWO_ANSWERS)], PlayedMicrophone(PCM), lag_s=lag_s)
    assert run.verdicts() == [expected] * 2
    delay_ns = run.measured[0].circumstances.force_delay_ns
    assert delay_ns == pytest.approx(lag_s * SECOND, abs=MS)


async def test_at_another_rate_than_the_devices_it_is_heard_a_little_later(
    autojump_clock: trio.testing.MockClock,
) -> None:
    microphone = PlayedMicrophone(bytes(48_000 * 2 * 4), rate_hz=48_000)
    run = await listened([FakeDeepgram(TWO_ANSWERS)], microphone)
    frames = run.events(FrameSent)
    assert 15 < frames[0].audio_ms < 20
    assert {round(b.audio_ms - a.audio_ms, 6) for a, b in pairwise(frames)} == {20.0}
    assert run.verdicts() == [Verdict.FORCED_FINAL] * 2


async def test_without_speech_there_is_nothing_to_measure_and_that_is_said(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await listened([FakeDeepgram(Script())], PlayedMicrophone(PCM), speeches=())
    assert run.verdicts() == [Verdict.VAD_NEVER]
    assert run.measured[0].audio_ms == pytest.approx(8000, abs=40)


# When it ends.


async def test_speech_that_is_still_open_ends_where_the_audio_does_and_is_answered(
    autojump_clock: trio.testing.MockClock,
) -> None:
    open_end = (FIRST, replace(SECOND_SPEECH, end_ms=60_000.0, end_known_ms=60_000.0))
    microphone = PlayedMicrophone(PCM, disappears=True)
    run = await listened(
        [FakeDeepgram(TWO_ANSWERS)], replace(microphone, pcm=PCM[: 16_000 * 5]), speeches=open_end
    )
    assert run.ended.why == GONE
    assert run.verdicts() == [Verdict.FORCED_FINAL] * 2
    assert Remark.VAD_AT_EOF in run.measured[1].reading.remarks


async def test_a_detector_that_hangs_at_the_end_keeps_nobody_waiting(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await listened(
        [FakeDeepgram(TWO_ANSWERS)], PlayedMicrophone(PCM), detector_hangs=True, stop_after_s=2.5
    )
    assert run.verdicts() == [Verdict.FORCED_FINAL, Verdict.HARNESS_LATE]
    assert Remark.VAD_AT_EOF in run.measured[1].reading.remarks


async def test_a_device_that_disappears_keeps_what_was_measured(
    autojump_clock: trio.testing.MockClock,
) -> None:
    microphone = PlayedMicrophone(PCM[: 16_000 * 3], disappears=True)
    run = await listened([FakeDeepgram(TWO_ANSWERS)], microphone, stop_after_s=None)
    assert run.ended.why == GONE
    assert run.verdicts() == [Verdict.FORCED_FINAL]


async def test_who_stops_has_the_last_answer_first(autojump_clock: trio.testing.MockClock) -> None:
    run = await listened([FakeDeepgram(TWO_ANSWERS)], PlayedMicrophone(PCM), stop_after_s=3.1)
    assert run.ended.why is None
    assert run.verdicts() == [Verdict.FORCED_FINAL] * 2


async def test_who_stops_before_it_begins_has_measured_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    fake = FakeDeepgram(TWO_ANSWERS, Faults(handshake_s=2.0))
    run = await listened([fake], PlayedMicrophone(PCM), stop_after_s=0.5)
    assert run.verdicts() == [Verdict.VAD_NEVER]
    assert run.heard == b""


async def test_a_host_that_cannot_follow_says_so_and_ends(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def behind(block: Block) -> Block:
        if block.start_sample > 16_000:
            raise FellBehind(11.0)
        return block

    run = await listened([FakeDeepgram(TWO_ANSWERS)], PlayedMicrophone(PCM, change=behind))
    assert run.ended.why is not None
    assert "too slow" in run.ended.why


# When a provider fails.


async def test_who_refuses_the_key_is_not_asked_again_and_the_others_go_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    refusing = FakeAssemblyAI(Script(), Faults(refusal=Refusal(401)))
    fakes = [FakeDeepgram(TWO_ANSWERS), refusing]
    run = await listened(fakes, PlayedMicrophone(PCM), models=(NOVA, ASSEMBLY))
    assert run.verdicts(NOVA) == [Verdict.FORCED_FINAL] * 2
    assert run.verdicts(ASSEMBLY) == [Verdict.PROVIDER_ERROR]
    assert any(line.startswith(f"{ASSEMBLY} is not asked again") for line in run.said)


async def test_where_all_refuse_it_ends_and_nobody_is_told_to_speak(
    autojump_clock: trio.testing.MockClock,
) -> None:
    refusing = FakeDeepgram(Script(), Faults(refusal=Refusal(401)))
    run = await listened([refusing], PlayedMicrophone(PCM), stop_after_s=None)
    assert run.verdicts() == [Verdict.PROVIDER_ERROR]
    assert not any("speak" in line or "awaited" in line for line in run.said)


async def test_while_the_journal_is_full_nothing_begins_and_one_can_stop_all_the_same(
    autojump_clock: trio.testing.MockClock,
) -> None:
    run = await listened([], PlayedMicrophone(PCM), gate=Shut(), stop_after_s=3.0)
    assert run.measured == []


async def test_a_stream_that_ends_by_itself_is_opened_again_and_knows_its_own_places(
    autojump_clock: trio.testing.MockClock,
) -> None:
    breaking = FakeDeepgram(TWO_ANSWERS, Faults(hang_up=HangUp(Moment.AUDIO, 400.0)))
    again = FakeDeepgram(Script(answers=((Line("sir", after_s=ANSWER_S, final=True),),)))
    run = await listened([breaking, again], PlayedMicrophone(PCM))
    assert run.verdicts() == [Verdict.CONNECTION_LOST, Verdict.FORCED_FINAL]
    assert run.measured[1].reading.transcript == "sir"
    (start,), first = run.events(SpeechStart, 1), run.events(DeviceSampled, 1)[0]
    assert first.audio_ms == 0.0
    assert start.audio_ms + first.heard_ms == SECOND_SPEECH.start_ms


# The device.


async def test_frames_carry_the_moment_in_which_they_were_taken_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    microphone = PlayedMicrophone(PCM)
    run = await listened([FakeDeepgram(TWO_ANSWERS)], microphone)
    frames = [event for event in run.events(FrameSent) if not event.padding]
    assert {frame.at_ns - frame.captured_ns for frame in frames} == {40 * MS}
    assert {frame.at_ns - frame.due_ns for frame in frames} == {0}


async def test_where_the_device_does_not_say_it_nobody_knows(
    autojump_clock: trio.testing.MockClock,
) -> None:
    microphone = PlayedMicrophone(PCM, delay_ns=None)
    run = await listened([FakeDeepgram(TWO_ANSWERS)], microphone)
    assert {frame.captured_ns for frame in run.events(FrameSent)} == {None}
    assert {sampled.delay_ns for sampled in run.events(DeviceSampled)} == {None}


async def test_a_block_that_comes_late_makes_its_turn_invalid_and_no_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    microphone = PlayedMicrophone(PCM, late_ns=lambda index: 30 * MS if index == 45 else 0)
    run = await listened([FakeDeepgram(TWO_ANSWERS)], microphone)
    assert run.verdicts() == [Verdict.HARNESS_LATE, Verdict.FORCED_FINAL]


async def test_what_the_device_says_it_lost_marks_the_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def lossy(block: Block) -> Block:
        return replace(block, overflow=block.start_sample == 16 * 2500)

    run = await listened([FakeDeepgram(TWO_ANSWERS)], PlayedMicrophone(PCM, change=lossy))
    marked = [Remark.XRUN in one.reading.remarks for one in run.measured]
    assert marked == [False, True]
    (xrun,) = run.events(Xrun)
    assert (xrun.what, xrun.lost_ms) == ("input_overflow", None)
    assert xrun.audio_ms == pytest.approx(2500, abs=20)


async def test_blocks_that_never_came_are_told_with_how_much_is_missing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def lossy(block: Block) -> Block | None:
        return None if 16 * 2200 <= block.start_sample < 16 * 2260 else block

    run = await listened([FakeDeepgram(TWO_ANSWERS)], PlayedMicrophone(PCM, change=lossy))
    (xrun,) = run.events(Xrun)
    assert (xrun.what, xrun.lost_ms) == ("input_lost", 60.0)
    assert xrun.audio_ms == pytest.approx(2200, abs=20)
    frames = [event for event in run.events(FrameSent) if not event.padding]
    assert {frame.at_ns - frame.due_ns for frame in frames} == {0}


async def test_samples_that_the_device_lost_without_a_word_are_found_by_their_number(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def late_from_then_on(index: int) -> int:
        return 60 * MS if index >= 110 else 0

    run = await listened(
        [FakeDeepgram(TWO_ANSWERS)], PlayedMicrophone(PCM, late_ns=late_from_then_on)
    )
    found = run.events(Xrun)
    assert [xrun.what for xrun in found] == ["input_lost"]
    assert found[0].lost_ms == pytest.approx(60.0, abs=0.1)
    assert run.verdicts() == [Verdict.FORCED_FINAL, Verdict.HARNESS_LATE]
