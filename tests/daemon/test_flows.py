"""Whole sessions in virtual time in the other flows: the stream is closed, or each end counts."""

from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from daemon.config import CONFIG_EXIT_CODE, MethodSection, ModelSection, Settings, settings_of
from daemon.errors import UserError
from daemon.fakes import FakeDeepgram, FakeGladia, Faults, HangUp, Line, Moment, Script
from daemon.fakes.server import Fake
from daemon.order import Order, Speech
from daemon.plan import targets_of, turns_of
from daemon.session import measure_once
from measure.events import BytesUnsent, FinishSent, ForceSent, FrameSent
from measure.measurement import Measurement
from measure.records import SECOND, Endpoint, FinalRule, Flow, ForceAt, Rule, Verdict
from measure.replay import measurement_of, measurements_of, sessions_of
from pacer.builtin import builtin_clips
from providers.codec import Options
from providers.deepgram import Deepgram
from tests.daemon.bench import (
    SPEECH,
    ZERO_MS,
    ListRecorder,
    bench_of,
    clip_of,
    memory_dial,
    order_of,
)
from tests.daemon.test_session import STRAY_NS, PreparedGladia
from vad.survey import Surveyor

FINISH_S = 0.05
SPOKEN = Script(lines=(Line("good", 300), Line("good day", 600)), finish_s=FINISH_S)
KEY = {"DEEPGRAM_API_KEY": "canary-of-some-length", "GLADIA_API_KEY": "canary-of-some-length"}


async def run_of(fake: Fake, order: Order) -> tuple[list[Measurement], ListRecorder]:
    """All measurements of one session; a replay of its records gives the same readings."""
    recorder, measured = ListRecorder(), list[Measurement]()
    async with trio.open_nursery() as world:
        async with bench_of(memory_dial([fake], world), recorder) as bench:
            assert await measure_once(order, bench, measured.append) == measured[-1]
        world.cancel_scope.cancel()
    (session,) = sessions_of(recorder.records)
    replayed = measurements_of(session)
    assert [replace(one, wall_ns=0) for one in replayed] == [
        replace(one, wall_ns=0) for one in measured
    ]
    assert measurement_of(session) == replayed[-1]
    return measured, recorder


def closed_order(force_at: ForceAt = ForceAt.DECISION) -> Order:
    order = order_of(Deepgram(Options()))
    closing = Rule(Flow.CLOSE, FinalRule.NONE, force_at=force_at)
    return replace(order, rule=closing)


# The close flow.


async def test_the_farewell_is_zero_and_the_final_after_it_is_the_answer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    (one,), recorder = await run_of(FakeDeepgram(SPOKEN), closed_order())
    assert one.reading.verdict is Verdict.CLOSED_FINAL
    assert one.reading.time_to_final_ns == pytest.approx(FINISH_S * SECOND, abs=STRAY_NS)
    assert one.reading.transcript == "good day"
    assert one.flow is Flow.CLOSE
    (finish,) = [event for event in recorder.events() if isinstance(event, FinishSent)]
    assert finish.at_ns == one.reading.zero_ns
    assert one.circumstances.force_delay_ns == 0


async def test_in_the_close_flow_nothing_follows_the_farewell_and_it_is_said_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    fake = FakeDeepgram(replace(SPOKEN, finish_s=0.4))
    await run_of(fake, closed_order())
    payloads = [one.payload for one in fake.visits[0].heard if one.kind != "close"]
    assert payloads.count(b'{"type": "CloseStream"}') == 1
    assert payloads[-1] == b'{"type": "CloseStream"}'
    assert len(fake.visits[0].audio) == ZERO_MS * 32


async def test_in_the_close_flow_the_end_may_be_announced_at_the_end_of_speech(
    autojump_clock: trio.testing.MockClock,
) -> None:
    fake = FakeDeepgram(SPOKEN)
    await run_of(fake, closed_order(force_at=ForceAt.SPEECH_END))
    assert len(fake.visits[0].audio) == 500 * 32


async def test_a_stream_that_is_closed_without_words_is_acknowledged_only(
    autojump_clock: trio.testing.MockClock,
) -> None:
    (one,), _ = await run_of(FakeDeepgram(Script(finish_s=FINISH_S)), closed_order())
    assert one.reading.verdict is Verdict.ACK_ONLY


async def test_a_farewell_that_is_not_answered_ends_at_the_deadline(
    autojump_clock: trio.testing.MockClock,
) -> None:
    faults = Faults(finish_unanswered=True, close_unanswered=True)
    started_s = trio.current_time()
    (one,), _ = await run_of(FakeDeepgram(SPOKEN, faults), closed_order())
    assert one.reading.verdict is Verdict.NO_FINAL
    assert trio.current_time() - started_s < 0.62 + 10 + 2


async def test_a_connection_that_breaks_off_after_the_farewell_is_lost(
    autojump_clock: trio.testing.MockClock,
) -> None:
    faults = Faults(hang_up=HangUp(Moment.FINISH))
    (one,), _ = await run_of(FakeDeepgram(SPOKEN, faults), closed_order())
    assert one.reading.verdict is Verdict.CONNECTION_LOST


async def test_who_cannot_be_forced_can_be_closed(autojump_clock: trio.testing.MockClock) -> None:
    fake = FakeGladia(SPOKEN)
    order = order_of(PreparedGladia(fake), "gladia/solaria-1")
    order = replace(order, rule=replace(order.rule, flow=Flow.CLOSE))
    (one,), _ = await run_of(fake, order)
    assert one.reading.verdict is Verdict.CLOSED_FINAL
    assert one.reading.time_to_final_ns == pytest.approx(FINISH_S * SECOND, abs=STRAY_NS)


@pytest.mark.parametrize("flow", Flow)
async def test_what_had_not_left_at_zero_is_told_in_every_flow(
    flow: Flow, autojump_clock: trio.testing.MockClock
) -> None:
    gladia = FakeGladia(SPOKEN)
    codec = PreparedGladia(gladia) if flow is Flow.FALLBACK else Deepgram(Options())
    fake = gladia if flow is Flow.FALLBACK else FakeDeepgram(SPOKEN)
    order = order_of(codec)
    _, recorder = await run_of(fake, replace(order, rule=replace(order.rule, flow=flow)))
    assert len([event for event in recorder.events() if isinstance(event, BytesUnsent)]) == 1


# Every end of speech.

SECOND_SPEECH = Speech(1300.0, 1360.0, 1700.0, 1810.0)
TWO = Script(
    lines=(Line("good", 300), Line("indeed", 1500)),
    answers=(
        (Line("good day", after_s=0.2, final=True),),
        (Line("indeed so", after_s=0.1), Line("indeed so", after_s=0.3, final=True)),
    ),
)


def two_turns(seconds: float = 2.5) -> Order:
    order = order_of(Deepgram(Options()))
    return replace(
        order,
        clip=clip_of(seconds),
        speech=SECOND_SPEECH,
        earlier=(SPEECH,),
        rule=replace(order.rule, endpoint=Endpoint.EVERY),
    )


async def test_each_end_of_speech_has_a_reading_of_its_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    (first, second), recorder = await run_of(FakeDeepgram(TWO), two_turns())
    assert [one.reading.verdict for one in (first, second)] == [Verdict.FORCED_FINAL] * 2
    assert [one.turn for one in (first, second)] == [1, 2]
    assert [one.reading.transcript for one in (first, second)] == ["good day", "indeed so"]
    times_ns = [one.reading.time_to_final_ns for one in (first, second)]
    assert times_ns == pytest.approx([0.2 * SECOND, 0.3 * SECOND], abs=STRAY_NS)
    assert second.reading.time_to_first_partial_ns == pytest.approx(0.1 * SECOND, abs=STRAY_NS)
    assert (first.circumstances.connect_ns is None, first.reference) == (False, None)
    forces = [event for event in recorder.events() if isinstance(event, ForceSent)]
    assert [force.at_ns for force in forces] == [one.reading.zero_ns for one in (first, second)]


async def test_the_clip_goes_on_after_each_but_the_last_endpoint(
    autojump_clock: trio.testing.MockClock,
) -> None:
    fake = FakeDeepgram(TWO)
    _, recorder = await run_of(fake, two_turns())
    frames = [event.audio_ms for event in recorder.events() if isinstance(event, FrameSent)]
    assert frames == [20.0 * number for number in range(1, len(frames) + 1)]
    audio = bytes(fake.visits[0].audio)
    spoken = audio[: 1820 * 32]
    assert all(spoken[index : index + 2] != b"\0\0" for index in range(0, len(spoken), 2))
    assert not any(audio[1820 * 32 :])


async def test_every_turn_is_recorded_and_the_last_one_ends_the_session(
    autojump_clock: trio.testing.MockClock,
) -> None:
    _, recorder = await run_of(FakeDeepgram(TWO), two_turns())
    ends = [one for one in recorder.records if str(one["k"]).endswith("_finished")]
    assert [(one["k"], one["turn"]) for one in ends] == [
        ("turn_finished", 1),
        ("session_finished", 2),
    ]


async def test_a_turn_that_never_began_has_no_reading(
    autojump_clock: trio.testing.MockClock,
) -> None:
    faults = Faults(hang_up=HangUp(Moment.AUDIO, 900))
    measured, _ = await run_of(FakeDeepgram(TWO, faults), two_turns())
    assert [one.reading.verdict for one in measured] == [Verdict.FORCED_FINAL]


async def test_a_connection_lost_in_the_second_turn_leaves_the_first_as_it_was(
    autojump_clock: trio.testing.MockClock,
) -> None:
    faults = Faults(hang_up=HangUp(Moment.AUDIO, 1600))
    measured, _ = await run_of(FakeDeepgram(TWO, faults), two_turns())
    verdicts = [one.reading.verdict for one in measured]
    assert verdicts == [Verdict.FORCED_FINAL, Verdict.CONNECTION_LOST]


async def test_the_late_final_of_a_turn_is_no_final_of_the_next(
    autojump_clock: trio.testing.MockClock,
) -> None:
    late = (Line("good day", after_s=1.3, final=True),)  # 100 ms behind the second force
    script = replace(TWO, answers=(late, (Line("indeed", after_s=0.4, final=True),)))
    (first, second), _ = await run_of(FakeDeepgram(script), two_turns())
    assert first.reading.verdict is Verdict.TURN_UNCLEAR
    assert second.reading.verdict is Verdict.TURN_UNCLEAR
    assert second.reading.final is not None
    assert second.reading.final.text == "indeed"


# What can be configured.


def rules(flow: str | None, endpoint: str = "last", name: str = "deepgram/nova-3") -> list[object]:
    settings = Settings(
        model=(ModelSection.model_validate({"name": name, "flow": flow}),),
        method=MethodSection.model_validate({"endpoint": endpoint}),
    )
    targets, _ = targets_of(settings, KEY)
    return [(one.rule.flow, one.rule.final_rule, one.rule.endpoint) for one in targets]


def test_a_model_is_measured_in_its_own_flow_if_nothing_else_is_asked_for() -> None:
    expected = [(Flow.FORCED, FinalRule.MARKER, Endpoint.LAST)]
    assert rules(None) == rules("forced") == expected
    assert rules("fallback", name="gladia/solaria-1")[0] == (
        Flow.FALLBACK,
        FinalRule.NONE,
        Endpoint.LAST,
    )


@pytest.mark.parametrize("name", ["deepgram/nova-3", "gladia/solaria-1"])
def test_a_model_that_has_a_farewell_can_be_measured_by_it(name: str) -> None:
    assert rules("close", name=name) == [(Flow.CLOSE, FinalRule.NONE, Endpoint.LAST)]


def test_every_endpoint_is_a_setting() -> None:
    assert rules(None, "every") == [(Flow.FORCED, FinalRule.MARKER, Endpoint.EVERY)]


@pytest.mark.parametrize(
    ("flow", "endpoint", "name", "said"),
    [
        (
            "fallback",
            "last",
            "deepgram/nova-3",
            "deepgram/nova-3: there is no flow 'fallback' with it; allowed: forced, close",
        ),
        (
            "forced",
            "last",
            "gladia/solaria-1",
            "gladia/solaria-1: there is no flow 'forced' with it; allowed: fallback, close",
        ),
        (
            "close",
            "every",
            "deepgram/nova-3",
            "deepgram/nova-3: the flow 'close' ends the stream, "
            "so that method.endpoint must be 'last'",
        ),
    ],
)
def test_a_flow_that_a_model_does_not_know_is_refused_in_one_line(
    flow: str, endpoint: str, name: str, said: str
) -> None:
    with pytest.raises(UserError) as error:
        rules(flow, endpoint, name)
    assert (str(error.value), error.value.exit_code) == (said, CONFIG_EXIT_CODE)


def test_a_flow_that_there_is_not_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    table = {"model": [{"name": "deepgram/nova-3", "flow": "force"}]}
    with pytest.raises(UserError, match=r"model\[1\]\.flow: .*'forced', 'fallback' or 'close'"):
        settings_of(table, tmp_path / "bench.toml")


def test_every_pair_of_edges_is_a_turn_and_the_last_end_is_the_last_turns() -> None:
    clip = builtin_clips(16_000)[0]
    survey = Surveyor().survey(clip, Settings().voice_settings)
    every, (last,) = turns_of(survey, Endpoint.EVERY), turns_of(survey, Endpoint.LAST)
    assert len(every) == len(survey.ends)
    assert every[-1].end_known_ms == last.end_known_ms
    assert every[0].start_ms == last.start_ms
    assert all(one.start_ms < one.end_ms <= one.end_known_ms for one in every)
