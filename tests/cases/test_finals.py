"""Which answer counts, and from when: A4, A5, A7 to A10."""

from dataclasses import replace
from itertools import pairwise

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from daemon.fakes import FakeDeepgram, FakeGladia, Faults, Line, Script
from measure.events import ForceSent, FrameSent
from measure.records import MS, SECOND, Flow, Remark, Rule, Verdict
from providers.deepgram import Deepgram
from scoring.normalize import NORMALIZERS
from scoring.words import score
from tests.cases.sessions import (
    PreparedGladia,
    Session,
    deepgram_as,
    measured,
    near,
    ordered,
)
from tests.daemon.bench import SPEECH, ZERO_MS

TEXT = "good day"
FALLBACK = Rule(Flow.FALLBACK)
FORCED = Deepgram.facts.rule


async def gladia(script: Script, *, seconds: float = 1.0) -> Session:
    fake = FakeGladia(script)
    order = ordered(PreparedGladia(fake), model="gladia/solaria-1", seconds=seconds)
    return await measured(fake, order)


# A4: a timeout is never published as a latency


async def test_a4_without_a_final_the_value_is_that_of_the_last_partial_and_not_of_the_wait(
    autojump_clock: MockClock,
) -> None:
    session = await gladia(Script((Line("good", 300), Line(TEXT, ZERO_MS, after_s=0.3))))
    assert session.reading.verdict is Verdict.LAST_PARTIAL
    assert near(session.reading.time_to_final_ns, 300)
    assert session.reading.transcript == TEXT


async def test_a4_a_provider_that_says_nothing_has_no_latency_at_all(
    autojump_clock: MockClock,
) -> None:
    session = await gladia(Script())
    assert session.reading.verdict is Verdict.NO_FINAL
    assert session.reading.time_to_final_ns is None
    assert session.finished["time_to_final_ns"] is None
    assert not session.reading.valid


# A5: the watch starts once


@pytest.mark.parametrize("messages", [0, 1, 40])
async def test_a5_the_start_is_the_one_recorded_force_however_much_comes_back(
    messages: int, autojump_clock: MockClock
) -> None:
    partials = tuple(Line(f"good {nth}", after_s=nth * 0.01) for nth in range(messages))
    answer = (*partials, Line(TEXT, after_s=0.5, final=True), Line("late", after_s=0.6, final=True))
    session = await measured(FakeDeepgram(Script(answers=(answer,))))
    (force,) = session.all_of(ForceSent)
    assert session.reading.zero_ns == force.at_ns
    assert near(session.reading.time_to_final_ns, 500)


moments = st.lists(st.integers(0, 1200), max_size=8)


@settings(max_examples=25)
@given(before=moments, after=moments)
def test_a5_no_pattern_of_answers_moves_the_start(before: list[int], after: list[int]) -> None:
    script = Script(
        tuple(Line("a", float(ms), final=ms % 2 == 0) for ms in before),
        (tuple(Line("b", after_s=ms / 1000, final=ms % 3 == 0) for ms in after),),
    )
    rule = replace(FORCED, patience_ns=2 * SECOND)
    clock = MockClock(autojump_threshold=0)
    session = trio.run(measured, FakeDeepgram(script), ordered(rule=rule), clock=clock)
    (force,) = session.all_of(ForceSent)
    frames = [event for event in session.all_of(FrameSent) if event.audio_ms == ZERO_MS]
    assert session.reading.zero_ns == force.at_ns == frames[0].at_ns


# A7: nothing is pending when the force comes


async def test_a7_a_force_that_is_not_answered_ends_in_the_final_that_was_already_there(
    autojump_clock: MockClock,
) -> None:
    script = Script(lines=(Line(TEXT, 520, final=True),))
    session = await measured(FakeDeepgram(script))
    assert session.reading.verdict is Verdict.ALREADY_FINAL
    assert near(session.reading.time_to_final_ns, 520 - ZERO_MS)
    assert session.took_s < ZERO_MS / 1000 + 10 + 1.5


async def test_a7_a_force_that_is_not_answered_and_no_earlier_final_is_a_failure_in_time(
    autojump_clock: MockClock,
) -> None:
    session = await measured(FakeDeepgram(Script(lines=(Line("good", 520),))))
    assert session.reading.verdict is Verdict.NO_FINAL
    assert session.reading.time_to_final_ns is None
    assert session.took_s < ZERO_MS / 1000 + 10 + 1.5


async def test_a7_words_still_open_at_the_force_are_not_covered_by_an_earlier_final(
    autojump_clock: MockClock,
) -> None:
    script = Script(lines=(Line("good", 300, final=True), Line("day", 520)))
    session = await measured(FakeDeepgram(script))
    assert session.reading.verdict is Verdict.NO_FINAL


# A8: several finals, one of which overlaps the one before

CLAUSES = (
    Line("a good day to", after_s=0.2, final=True, marked=True),
    Line("day to you", after_s=0.3, final=True, marked=True),
    Line("all of you", after_s=0.4, final=True, marked=True),
)


async def test_a8_no_clause_is_lost_and_first_and_last_are_both_kept(
    autojump_clock: MockClock,
) -> None:
    session = await measured(FakeDeepgram(Script(answers=(CLAUSES,))))
    reading = session.reading
    assert reading.transcript == "a good day to day to you all of you"
    assert reading.final is not None
    assert reading.last_final is not None
    assert reading.zero_ns is not None
    assert near(reading.time_to_final_ns, 200)
    assert near(reading.last_final.at_ns - reading.zero_ns, 400)


@pytest.mark.parametrize(("joiner", "text"), [(" ", "good day"), ("", "goodday")])
async def test_a8_finals_are_joined_as_the_provider_wants_it(
    joiner: str, text: str, autojump_clock: MockClock
) -> None:
    codec = deepgram_as()
    rule = Rule(Flow.FORCED, codec.facts.rule.final_rule, joiner=joiner)
    answer = (Line("good", after_s=0.1, final=True), Line("day", after_s=0.2, final=True))
    session = await measured(FakeDeepgram(Script(answers=(answer,))), ordered(codec, rule=rule))
    assert session.reading.transcript == text


async def test_a8_a_final_that_overlaps_the_one_before_is_flagged(
    autojump_clock: MockClock,
) -> None:
    session = await measured(FakeDeepgram(Script(answers=(CLAUSES,))))
    assert Remark.OVERLAPPING_FINAL in session.reading.remarks


# A9: an early acknowledgement


async def test_a9_an_empty_acknowledgement_is_no_final(autojump_clock: MockClock) -> None:
    script = Script.for_force(TEXT, end_ms=500, after_s=0.25)
    session = await measured(FakeDeepgram(script, Faults(ack_s=0.02)))
    reading = session.reading
    assert reading.verdict is Verdict.FORCED_FINAL
    assert near(reading.time_to_final_ns, 250)
    assert reading.confirmed_ns is not None
    assert reading.zero_ns is not None
    assert near(reading.confirmed_ns - reading.zero_ns, 20)


async def test_a9_an_acknowledgement_and_never_a_text_is_called_so(
    autojump_clock: MockClock,
) -> None:
    silent = Script(answers=((Line("", after_s=0.02, final=True),),))
    session = await measured(FakeDeepgram(silent))
    assert session.reading.verdict is Verdict.ACK_ONLY
    assert session.reading.time_to_final_ns is None


async def test_a9_a_tail_behind_the_first_final_is_flagged_and_both_texts_can_be_scored(
    autojump_clock: MockClock,
) -> None:
    answer = (
        Line("good", after_s=0.02, final=True, marked=True),
        Line("day", after_s=0.25, final=True, marked=False),
    )
    session = await measured(FakeDeepgram(Script(answers=(answer,))))
    reading = session.reading
    assert Remark.LATE_TEXT_AFTER_FINAL in reading.remarks
    assert near(reading.time_to_final_ns, 20)
    assert reading.final is not None
    normal = NORMALIZERS["speechbench"]
    assert score(TEXT, reading.final.text, normal).deletions == 1
    assert score(TEXT, reading.transcript, normal).errors == 0


# A10: a provider that wants silence


def in_silence(pause_ms: float) -> Script:
    return Script.for_pause(TEXT, end_ms=SPEECH.end_ms, pause_ms=pause_ms)


async def test_a10_the_silence_a_provider_wants_is_paced_and_recorded(
    autojump_clock: MockClock,
) -> None:
    session = await gladia(in_silence(500), seconds=SPEECH.end_ms / 1000)
    assert session.reading.verdict is Verdict.NATURAL_FINAL
    padding = [frame for frame in session.frames() if frame.padding]
    assert padding[0].at_ns == padding[0].due_ns
    assert all(frame.at_ns == frame.due_ns for frame in padding)
    steps_ns = {after.due_ns - frame.due_ns for frame, after in pairwise(padding)}
    assert steps_ns == {20 * MS, 100 * MS}  # the chunk in which the endpoint falls is cut short
    sent_ms = session.finished["sent_ms"]
    assert isinstance(sent_ms, float)
    assert sent_ms - SPEECH.end_ms >= 500
    assert not any(session.visit.audio[round(SPEECH.end_ms) * 32 :])


async def test_a10_without_that_silence_the_fallback_ends_it_and_nothing_hangs(
    autojump_clock: MockClock,
) -> None:
    codec = deepgram_as(FALLBACK, silence_after_force=False, keepalive_s=4.0)
    waiting = Script(lines=(*in_silence(500).lines[:-1], Line(TEXT, 1000, final=True)))
    session = await measured(FakeDeepgram(waiting), ordered(codec))
    assert session.reading.verdict is Verdict.LAST_PARTIAL
    assert session.reading.time_to_final_ns is not None
    assert session.reading.time_to_final_ns < 2 * SECOND
    assert session.took_s < ZERO_MS / 1000 + 10 + 1.5
