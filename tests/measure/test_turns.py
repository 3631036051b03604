"""Several turns on one stream: each has its own answer, and never that of another."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.events import (
    Cancelled,
    ClockStepped,
    Connected,
    Event,
    ForceAcknowledged,
    FrameSent,
    HostStalled,
    LoopStalled,
    NoSpeech,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    Tick,
    Transcript,
    Xrun,
)
from measure.measurement import Tally
from measure.records import (
    MS,
    OUR_FAULT,
    SECOND,
    Answer,
    Endpoint,
    FinalRule,
    Flow,
    Reading,
    Remark,
    Rule,
    Verdict,
)
from measure.turns import Turns
from tests.measure.stories import (
    ACKED,
    CLOSE,
    FALLBACK,
    ITEM,
    MARKED,
    NEXT,
    SURVEYED,
    ZERO,
    final,
    force,
    forced,
    forced_final,
    frame,
    later,
    partial,
    read,
    rules,
    spoken,
    stories,
    told,
)

FORCED_RULES = [MARKED, ITEM, ACKED, NEXT]
UNMARKED = [ACKED, NEXT, FALLBACK, replace(MARKED, flow=Flow.FALLBACK)]
START2_MS, START2_KNOWN_MS = 2000.0, 2064.0
END2_MS, KNOWN2_MS = 2900.0, 3000.0
BEGUN = ZERO + 3 * SECOND
"""When the second turn begins: so much of its speech has left."""
ZERO2 = ZERO + 4 * SECOND
SECOND_SPEECH = (
    SpeechStart(0, START2_MS, START2_KNOWN_MS),
    SpeechEnd(0, END2_MS, KNOWN2_MS),
)
RESUMED = frame(BEGUN, START2_KNOWN_MS)
SPOKEN2 = [frame(ZERO2 - 80 * MS, 2920.0), frame(ZERO2, KNOWN2_MS)]


def every(rule: Rule) -> Rule:
    return replace(rule, endpoint=Endpoint.EVERY)


def turned(rule: Rule, *story: Event) -> Turns:
    """The turns of a story, in which the detector had heard both speeches beforehand."""
    turns = Turns(every(rule))
    for event in (*SURVEYED, *SECOND_SPEECH, *story):
        turns.feed(event)
    return turns


def readings(rule: Rule, *story: Event) -> list[Reading]:
    return [turn.reading() for turn in turned(rule, *story).begun]


def verdicts(rule: Rule, *story: Event) -> list[Verdict]:
    return [reading.verdict for reading in readings(rule, *story)]


def asked(rule: Rule, at_ns: int) -> list[Event]:
    """What makes zero besides the audio."""
    return [] if rule.flow is Flow.FALLBACK else [force(at_ns)]


def first(rule: Rule, *before: Event) -> list[Event]:
    """The first turn up to its zero."""
    return [*spoken(*before)[len(SURVEYED) :], *asked(rule, ZERO)]


def second(rule: Rule, *before: Event) -> list[Event]:
    """The second turn up to its zero; what came ``before`` came while one spoke."""
    return [RESUMED, *before, *SPOKEN2, *asked(rule, ZERO2)]


def answer(rule: Rule, at_ns: int, text: str) -> list[Event]:
    """A final as the provider answers with it."""
    if rule.final_rule in (FinalRule.MARKER, FinalRule.ITEM):
        return [forced_final(at_ns, text)]
    return [final(at_ns, text), *([ForceAcknowledged(at_ns)] if rule is ACKED else [])]


EVERY_RULE = pytest.mark.parametrize(
    "rule", [*FORCED_RULES, FALLBACK], ids=lambda rule: rule.final_rule
)


# Each turn has its own answer.


@EVERY_RULE
def test_each_turn_has_its_own_answer(rule: Rule) -> None:
    one, two = readings(
        rule,
        *first(rule, partial(ZERO - SECOND, "good")),
        *answer(rule, ZERO + 200 * MS, "good day"),
        *second(rule, partial(BEGUN + 1, "indeed")),
        *answer(rule, ZERO2 + 300 * MS, "indeed so"),
    )
    assert (one.final, one.zero_ns) == (Answer("good day", ZERO + 200 * MS), ZERO)
    assert (two.final, two.zero_ns) == (Answer("indeed so", ZERO2 + 300 * MS), ZERO2)
    assert one.valid
    assert two.valid
    assert (one.transcript, two.transcript) == ("good day", "indeed so")


def test_a_turn_begins_when_a_detector_must_have_noticed_its_speech() -> None:
    before = frame(BEGUN, START2_KNOWN_MS - 1)
    assert len(turned(MARKED, *first(MARKED), before).begun) == 1
    assert len(turned(MARKED, *first(MARKED), RESUMED).begun) == 2


def test_a_live_detector_may_say_so_after_the_audio() -> None:
    turns = Turns(every(MARKED))
    for event in (*SURVEYED, *first(MARKED), replace(RESUMED, audio_ms=2100.0)):
        turns.feed(event)
    assert len(turns.begun) == 1
    turns.feed(SpeechStart(BEGUN + 1, START2_MS, START2_KNOWN_MS))
    assert len(turns.begun) == 2
    assert not turns.force_due
    turns.feed(frame(ZERO2, KNOWN2_MS))
    turns.feed(SpeechEnd(ZERO2 + 1, END2_MS, KNOWN2_MS))
    assert turns.force_due


def test_a_turn_that_begins_late_knows_how_far_the_audio_has_come() -> None:
    turns = Turns(every(FALLBACK))
    for event in (*SURVEYED, *first(FALLBACK), replace(RESUMED, audio_ms=3000.0)):
        turns.feed(event)
    turns.feed(Tick(BEGUN + 2 * SECOND))
    turns.feed(SpeechStart(BEGUN + 2 * SECOND, START2_MS, START2_KNOWN_MS))
    turns.feed(SpeechEnd(BEGUN + 2 * SECOND, END2_MS, KNOWN2_MS))
    assert turns.zero_ns == BEGUN + 2 * SECOND


def test_both_may_be_known_by_one_frame() -> None:
    story = [*first(FALLBACK), final(ZERO + 1, "good"), frame(ZERO2, KNOWN2_MS)]
    turns = turned(FALLBACK, *story)
    assert (len(turns.begun), turns.zero_ns) == (2, ZERO2)
    assert verdicts(FALLBACK, *first(FALLBACK), frame(ZERO2, KNOWN2_MS)) == [
        Verdict.TURN_UNCLEAR,
        Verdict.TURN_UNCLEAR,
    ]
    assert verdicts(FALLBACK, *story[:-2], frame(ZERO2, KNOWN2_MS), final(ZERO2 + 1, "good")) == [
        Verdict.TURN_UNCLEAR,
        Verdict.TURN_UNCLEAR,
    ]


def test_the_force_is_due_once_for_each_turn() -> None:
    assert turned(MARKED, *first(MARKED)[:-1]).force_due
    assert not turned(MARKED, *first(MARKED)).force_due
    assert not turned(MARKED, *first(MARKED), RESUMED).force_due
    assert turned(MARKED, *first(MARKED), RESUMED, *SPOKEN2).force_due
    assert not turned(MARKED, *first(MARKED), *second(MARKED)).force_due


def test_the_last_endpoint_is_over_when_the_last_turn_has_its_zero() -> None:
    assert not turned(MARKED, *first(MARKED)).over
    assert not turned(MARKED, *first(MARKED), RESUMED).over
    assert turned(MARKED, *first(MARKED), *second(MARKED)).over


def test_it_knows_whether_somebody_has_spoken_and_still_speaks() -> None:
    turns = Turns(every(MARKED))
    seen = [(turns.spoken, turns.speaking)]
    for event in (*SURVEYED, *SECOND_SPEECH):
        turns.feed(event)
        seen.append((turns.spoken, turns.speaking))
    assert seen == [(False, False), (True, True), (True, False), (True, True), (True, False)]


def test_it_is_done_when_no_turn_awaits_anything() -> None:
    settled = [*first(MARKED), forced_final(ZERO + 1, "good"), Tick(ZERO + SECOND)]
    assert not turned(MARKED, *settled).done
    again = [*settled, *second(MARKED), forced_final(ZERO2 + 1, "day")]
    assert not turned(MARKED, *again).done
    assert turned(MARKED, *again, Tick(ZERO2 + SECOND)).done


def test_it_is_done_when_the_stream_has_ended_though_more_would_have_been_said() -> None:
    turns = turned(MARKED, *first(MARKED), StreamClosed(ZERO + 1, 1000))
    assert (turns.done, turns.deadline_ns, len(turns.begun)) == (True, None, 1)


def test_no_turn_begins_when_the_stream_has_ended() -> None:
    turns = turned(MARKED, *first(MARKED), StreamClosed(ZERO + 1, 1000), RESUMED)
    assert len(turns.begun) == 1


def test_between_two_turns_no_moment_is_awaited() -> None:
    settled = [*first(MARKED), forced_final(ZERO + 1, "good")]
    assert turned(MARKED, *settled).deadline_ns == ZERO + 1 + MARKED.settle_ns
    assert turned(MARKED, *settled, Tick(ZERO + SECOND)).deadline_ns is None


def test_the_next_moment_is_the_first_of_both_turns() -> None:
    turns = turned(MARKED, *first(MARKED), RESUMED)
    assert turns.deadline_ns == ZERO + MARKED.patience_ns
    assert turned(MARKED, *first(MARKED), *second(MARKED)).deadline_ns == (
        ZERO2 + MARKED.patience_ns
    )
    assert turned(NEXT, *first(NEXT), RESUMED).deadline_ns is None


@pytest.mark.parametrize("end", [NoSpeech(ZERO), Cancelled(ZERO), StreamClosed(ZERO, 1000)])
def test_an_end_is_the_end_of_the_turn_that_is_on(end: Event) -> None:
    turns = turned(MARKED, *first(MARKED), end)
    assert turns.done
    assert [turn.watch.done for turn in turns.begun] == [True]


@pytest.mark.parametrize("rule", [MARKED, CLOSE], ids=lambda rule: rule.flow)
def test_where_only_one_end_counts_there_is_one_turn_whatever_is_told(rule: Rule) -> None:
    turns = Turns(rule)
    for event in (*SURVEYED, *SECOND_SPEECH, *spoken()[2:], RESUMED, *SPOKEN2):
        turns.feed(event)
    assert len(turns.begun) == 1
    assert (turns.force_due, turns.finish_due) == (rule is MARKED, rule is CLOSE)
    assert not turns.over


# A late answer is never credited to the next turn.


@EVERY_RULE
def test_an_answer_that_a_turn_still_lacks_is_not_that_of_the_next(rule: Rule) -> None:
    two = readings(
        rule,
        *first(rule, partial(ZERO - 1, "good")),
        *second(rule),
        *answer(rule, ZERO2 + 10 * MS, "good day"),
        *answer(rule, ZERO2 + 300 * MS, "indeed"),
    )[1]
    assert two.verdict is Verdict.TURN_UNCLEAR
    assert two.final is None or two.final == Answer("indeed", ZERO2 + 300 * MS)


@EVERY_RULE
def test_a_late_answer_alone_is_no_answer_of_the_next(rule: Rule) -> None:
    story = [*first(rule), *second(rule), *answer(rule, ZERO2 + 10 * MS, "good day")]
    one, two = readings(rule, *story, Tick(ZERO2 + 11 * SECOND))
    assert (one.final, two.final) == (None, None)
    assert (one.verdict, two.verdict) == (Verdict.TURN_UNCLEAR, Verdict.TURN_UNCLEAR)


@pytest.mark.parametrize("rule", UNMARKED, ids=lambda rule: rule.final_rule)
def test_a_turn_without_an_answer_when_the_next_begins_is_unclear(rule: Rule) -> None:
    assert verdicts(rule, *first(rule), RESUMED)[0] is Verdict.TURN_UNCLEAR


@pytest.mark.parametrize("rule", UNMARKED, ids=lambda rule: rule.final_rule)
def test_an_unmarked_answer_while_the_next_speaks_is_credited_to_nobody(rule: Rule) -> None:
    late = answer(rule, BEGUN + 1, "good day")
    one, two = readings(rule, *first(rule), *second(rule, *late))
    assert (one.final, two.transcript) == (None, "")
    assert (one.verdict, two.verdict) == (Verdict.TURN_UNCLEAR, Verdict.TURN_UNCLEAR)


@pytest.mark.parametrize("rule", [MARKED, ITEM], ids=lambda rule: rule.final_rule)
def test_a_marked_answer_can_be_told_apart_until_the_next_force(rule: Rule) -> None:
    one, two = readings(
        rule,
        *first(rule),
        *second(rule, forced_final(BEGUN + 1, "good day")),
        forced_final(ZERO2 + 300 * MS, "indeed"),
    )
    assert (one.verdict, one.time_to_final_ns) == (Verdict.FORCED_FINAL, 3 * SECOND + 1)
    assert (two.verdict, two.final) == (
        Verdict.FORCED_FINAL,
        Answer("indeed", ZERO2 + 300 * MS),
    )
    assert two.transcript == "indeed"


def test_an_answer_past_the_deadline_repays_what_is_owed() -> None:
    """The turn failed; the next one may trust in its own answer again."""
    far = 12 * SECOND
    story = [
        *first(MARKED),
        Tick(ZERO + 11 * SECOND),
        replace(RESUMED, at_ns=ZERO + far, due_ns=ZERO + far),
        forced_final(ZERO + far + 1, "good day"),
        *later(SPOKEN2, far),
        force(ZERO2 + far),
        forced_final(ZERO2 + far + 5, "indeed"),
    ]
    one, two = readings(MARKED, *story)
    assert one.verdict is Verdict.NO_FINAL
    assert (two.verdict, two.final) == (Verdict.FORCED_FINAL, Answer("indeed", ZERO2 + far + 5))


@pytest.mark.parametrize("ticks", [True, False])
@pytest.mark.parametrize("off_ns", [0, 1])
def test_an_answer_past_the_deadline_repays_also_while_the_next_speaks(
    ticks: bool, off_ns: int
) -> None:
    past_ns = ZERO + 10 * SECOND + off_ns
    late = [*([Tick(past_ns)] if ticks else []), forced_final(past_ns, "good day")]
    far = 12 * SECOND
    story = [*first(MARKED), RESUMED, *late, *later(SPOKEN2, far), force(ZERO2 + far)]
    one, two = readings(MARKED, *story, forced_final(ZERO2 + far + 5, "indeed"))
    assert one.verdict is Verdict.NO_FINAL
    assert (two.verdict, two.final) == (Verdict.FORCED_FINAL, Answer("indeed", ZERO2 + far + 5))


def test_a_natural_final_repays_nothing_where_answers_are_marked() -> None:
    far = 12 * SECOND
    resumed = replace(RESUMED, at_ns=ZERO + far, due_ns=ZERO + far)
    said = [partial(ZERO + far + 1, "so"), final(ZERO + far + 1, "so")]
    said += [forced_final(ZERO + far + 2, "good day")]
    story = [*first(MARKED), Tick(ZERO + 10 * SECOND), resumed, *said]
    story += [*later(SPOKEN2, far), force(ZERO2 + far), forced_final(ZERO2 + far + 5, "it is")]
    two = readings(MARKED, *story)[1]
    assert (two.verdict, two.transcript) == (Verdict.FORCED_FINAL, "so it is")


ZERO3 = ZERO2 + 4 * SECOND
THIRD_SPEECH = (SpeechStart(0, 4000.0, 4064.0), SpeechEnd(0, 4900.0, 5000.0))


@EVERY_RULE
@pytest.mark.parametrize("repaid", [True, False], ids=["repaid", "not repaid"])
def test_what_was_owed_and_has_come_is_owed_no_more(rule: Rule, repaid: bool) -> None:
    late = answer(rule, ZERO2 + 1, "good day") if repaid else []
    story = [*THIRD_SPEECH, *first(rule), *second(rule), *late]
    story += answer(rule, ZERO2 + SECOND, "indeed")
    story += [frame(ZERO3 - SECOND, 4100.0), frame(ZERO3, 5000.0), *asked(rule, ZERO3)]
    one, two, three = readings(rule, *story, *answer(rule, ZERO3 + 9, "so"))
    assert (one.verdict, two.verdict) == (Verdict.TURN_UNCLEAR, Verdict.TURN_UNCLEAR)
    assert two.final == (Answer("indeed", ZERO2 + SECOND) if repaid else None)
    assert three.valid == repaid
    assert three.final == (Answer("so", ZERO3 + 9) if repaid else None)


@pytest.mark.parametrize("rule", [NEXT, FALLBACK], ids=lambda rule: rule.final_rule)
@pytest.mark.parametrize("said", [partial(ZERO2 + 1, "good"), final(ZERO2 + 1, " ")])
def test_what_is_no_answer_repays_nothing(rule: Rule, said: Transcript) -> None:
    story = [*THIRD_SPEECH, *first(rule), *second(rule), said]
    story += answer(rule, ZERO2 + SECOND, "indeed")
    story += [frame(ZERO3 - SECOND, 4100.0), frame(ZERO3, 5000.0), *asked(rule, ZERO3)]
    three = readings(rule, *story, *answer(rule, ZERO3 + 9, "so"))[2]
    assert three.valid == (rule is NEXT and said.final)  # its next final answers, also a blank one


def test_an_answer_past_the_deadline_and_the_next_force_leaves_both_without() -> None:
    story = [*first(MARKED), Tick(ZERO + 10 * SECOND)]
    far = 12 * SECOND
    story += [replace(RESUMED, at_ns=ZERO + far, due_ns=ZERO + far)]
    story += [*later(SPOKEN2, far), force(ZERO2 + far), forced_final(ZERO2 + far + 5, "good day")]
    one, two = readings(MARKED, *story)
    assert (one.verdict, two.verdict) == (Verdict.NO_FINAL, Verdict.TURN_UNCLEAR)
    assert two.final is None


def test_while_nothing_is_owed_a_natural_final_is_the_next_turns_own() -> None:
    said = [partial(BEGUN + 1, "a"), final(BEGUN + 1, "a")]
    story = [*first(MARKED), forced_final(ZERO + 1, "good"), *second(MARKED, *said)]
    two = readings(MARKED, *story, forced_final(ZERO2 + 1, "day"))[1]
    assert (two.verdict, two.final) == (Verdict.FORCED_FINAL, Answer("a day", ZERO2 + 1))


def test_a_natural_final_of_the_next_speech_is_no_answer_to_the_force_before() -> None:
    one, two = readings(MARKED, *first(MARKED), *second(MARKED, final(BEGUN + 1, "indeed")))
    assert (one.final, one.verdict) == (None, Verdict.TURN_UNCLEAR)
    assert two.transcript == "indeed"


# A tail: words that are added to an answer while the next one speaks.


def with_a_tail(rule: Rule, *said: Event) -> Reading:
    """The second turn; ``said`` came while it spoke, and the first had had its answer."""
    story = [*first(rule), *answer(rule, ZERO + 1, "good"), *second(rule, *said)]
    return readings(rule, *story, *answer(rule, ZERO2 + 1, "indeed"))[1]


@EVERY_RULE
def test_a_final_out_of_nothing_while_one_speaks_makes_it_unclear(rule: Rule) -> None:
    assert with_a_tail(rule, final(BEGUN + 1, "day")).verdict is Verdict.TURN_UNCLEAR


@EVERY_RULE
def test_a_final_that_partials_have_announced_is_of_the_turn(rule: Rule) -> None:
    said = [partial(BEGUN + 1, "uh"), final(BEGUN + 2, "uh")]
    assert with_a_tail(rule, *said).final == Answer("uh indeed", ZERO2 + 1)
    assert with_a_tail(rule, *said).valid
    assert with_a_tail(rule, said[0], partial(BEGUN + 1, " "), said[1]).valid
    assert with_a_tail(rule, *said, partial(BEGUN + 3, "so"), final(BEGUN + 4, "so")).valid
    assert not with_a_tail(rule, *said, final(BEGUN + 3, "day")).valid
    assert not with_a_tail(rule, partial(BEGUN + 1, " "), said[1]).valid


@EVERY_RULE
def test_a_blank_final_is_no_tail(rule: Rule) -> None:
    assert with_a_tail(rule, final(BEGUN + 1, " ")).valid


def test_a_final_in_the_first_turn_is_no_tail() -> None:
    assert readings(MARKED, *first(MARKED, SAID), forced_final(ZERO + 1, "so"))[0].valid


def test_what_comes_after_zero_is_no_tail() -> None:
    story = [*first(MARKED), forced_final(ZERO + 1, "good"), *second(MARKED)]
    said = [forced_final(ZERO2, "indeed"), final(ZERO2 + 1, "so")]
    assert readings(MARKED, *story, *said)[1].valid


def test_a_segment_that_was_first_heard_in_the_turn_is_its_own() -> None:
    said = [partial(BEGUN + 1, "uh", "b"), final(BEGUN + 2, "so", segment="a")]
    assert with_a_tail(MARKED, *said).valid
    assert not with_a_tail(MARKED, *said, final(BEGUN + 3, "uh", segment="c")).valid
    assert with_a_tail(MARKED, *said, final(BEGUN + 3, "uh", segment="b")).valid
    assert not with_a_tail(MARKED, final(BEGUN + 2, "so", segment="a")).valid


@pytest.mark.parametrize(
    ("segment", "expected"), [(None, Verdict.TURN_UNCLEAR), ("b", Verdict.ALREADY_FINAL)]
)
def test_no_turn_is_already_final_by_what_may_be_a_tail(
    segment: str | None, expected: Verdict
) -> None:
    said = [partial(BEGUN + 1, "day", segment), final(BEGUN + 2, "day", segment=segment)]
    story = [*first(ACKED), *answer(ACKED, ZERO + 1, "good"), *second(ACKED, *said)]
    two = readings(ACKED, *story, ForceAcknowledged(ZERO2 + 1))[1]
    assert (two.selection, two.verdict) == (Verdict.ALREADY_FINAL, expected)


def test_all_that_was_final_already_owes_nothing() -> None:
    said = final(ZERO - 500 * MS, "good day", forced=False)
    waited = [*first(MARKED, said), Tick(ZERO + 10 * SECOND)]
    far = 10 * SECOND
    story = [*waited, replace(RESUMED, at_ns=ZERO + far, due_ns=ZERO + far)]
    story += [*later(SPOKEN2, far), force(ZERO2 + far), forced_final(ZERO2 + far + 5, "indeed")]
    one, two = readings(MARKED, *story)
    assert (one.verdict, two.verdict) == (Verdict.ALREADY_FINAL, Verdict.FORCED_FINAL)


def test_finals_of_an_earlier_turn_are_never_already_final_in_the_next() -> None:
    story = [*first(ACKED), *answer(ACKED, ZERO + 1, "good day"), final(ZERO + 2 * SECOND, "so")]
    two = readings(ACKED, *story, *second(ACKED), ForceAcknowledged(ZERO2 + 1))[1]
    assert (two.selection, two.transcript) == (None, "")


def test_an_acknowledgement_that_is_owed_confirms_no_later_force() -> None:
    said = final(BEGUN + 1, "indeed")
    story = [*first(ACKED), final(ZERO + 1, "good"), *second(ACKED, said)]
    two = readings(ACKED, *story, ForceAcknowledged(ZERO2 + 1))[1]
    assert (two.confirmed_ns, two.verdict) == (None, Verdict.TURN_UNCLEAR)
    two = readings(ACKED, *story, ForceAcknowledged(ZERO2 + 1), ForceAcknowledged(ZERO2 + 2))[1]
    assert two.confirmed_ns == ZERO2 + 2


def test_a_partial_that_was_taken_leaves_its_final_owed() -> None:
    story = [*first(FALLBACK), partial(ZERO + 2 * SECOND + 1, "good")]
    one, two = readings(FALLBACK, *story, *second(FALLBACK), final(ZERO2 + 1, "good"))
    assert (one.verdict, two.verdict) == (Verdict.LATE_PARTIAL, Verdict.TURN_UNCLEAR)
    assert two.final is None


def test_a_blank_final_repays_nothing_where_nothing_is_forced() -> None:
    story = [*first(FALLBACK), *second(FALLBACK), final(ZERO2 + 1, " "), final(ZERO2 + 2, "good")]
    assert readings(FALLBACK, *story)[1].final is None


def test_an_answered_turn_stays_as_it_is_when_the_next_begins() -> None:
    story = [*first(NEXT), final(BEGUN - 1, "good"), RESUMED]
    one, _ = readings(NEXT, *story)
    assert (one.verdict, one.time_to_final_ns) == (Verdict.FORCED_FINAL, 3 * SECOND - 1)


def test_what_is_unclear_is_no_failure_of_the_provider() -> None:
    assert Verdict.TURN_UNCLEAR in OUR_FAULT


def test_a_fault_of_ours_is_named_before_it_is_said_to_be_unclear() -> None:
    story = [*first(NEXT), LoopStalled(ZERO + SECOND, 100 * MS), RESUMED]
    assert verdicts(NEXT, *story)[0] is Verdict.HARNESS_STALLED


def test_a_failure_while_an_answer_is_owed_is_unclear() -> None:
    story = [*first(NEXT), *second(NEXT), StreamClosed(ZERO2 + 1, 1000)]
    assert verdicts(NEXT, *story) == [Verdict.TURN_UNCLEAR, Verdict.TURN_UNCLEAR]


# What is owed.


SAID = final(ZERO - 500 * MS, "good day")


@pytest.mark.parametrize(
    ("rule", "story", "owes"),
    [
        (MARKED, spoken(), False),
        (MARKED, forced(), True),
        (MARKED, [*forced(), StreamClosed(ZERO + 1, 1000)], False),
        (MARKED, [*forced(), Cancelled(ZERO + 1)], False),
        (MARKED, [*forced(), forced_final(ZERO + 1, "good")], False),
        (MARKED, [*forced(), forced_final(ZERO + 1, "")], False),
        (MARKED, [*forced(), final(ZERO + 1, "good")], True),
        (MARKED, [*forced(), final(ZERO + 1, "good"), Tick(ZERO + 3 * SECOND)], True),
        (MARKED, forced(SAID), True),
        (MARKED, [*forced(SAID), Tick(ZERO + 10 * SECOND)], False),
        (ACKED, [*forced(), final(ZERO + 1, "good")], True),
        (ACKED, [*forced(), ForceAcknowledged(ZERO + 1)], False),
        (NEXT, [*forced(), final(ZERO + 1, "good")], False),
        (FALLBACK, spoken(), True),
        (FALLBACK, [*spoken(), final(ZERO + 1, "good")], False),
        (FALLBACK, [*spoken(), partial(ZERO + 3 * SECOND, "good")], True),
        (FALLBACK, [*spoken(SAID), Tick(ZERO + 3 * SECOND)], False),
        (FALLBACK, [*spoken(), Tick(ZERO + 10 * SECOND)], True),
    ],
)
def test_an_answer_is_owed_until_it_has_come_or_none_can_come(
    rule: Rule, story: list[Event], owes: bool
) -> None:
    assert told(rule, story).owes == owes


# Segments with names.


def test_a_segment_stays_with_the_turn_that_first_heard_it() -> None:
    said = [partial(ZERO + 1, "uh", "a"), forced_final(ZERO + 2, "good", "b")]
    story = [*first(MARKED), *said, *second(MARKED), partial(ZERO2 + 1, "uh uh", "a")]
    two = readings(MARKED, *story, forced_final(ZERO2 + 5, "indeed", "c"))[1]
    assert (two.first_text, two.first_partial) == (Answer("indeed", ZERO2 + 5), None)


def test_a_late_final_of_a_named_segment_is_not_the_next_turns() -> None:
    heard = [partial(ZERO + 1, "day", "b"), final(ZERO + 2, "good", segment="a")]
    story = [*first(FALLBACK), *heard, *second(FALLBACK), final(ZERO2 + 1, "day", segment="b")]
    one, two = readings(FALLBACK, *story, final(ZERO2 + 9, "indeed", segment="c"))
    assert (one.final, two.final) == (Answer("good", ZERO + 2), Answer("indeed", ZERO2 + 9))


def test_a_segment_that_is_first_heard_when_nothing_is_awaited_may_be_the_next_turns() -> None:
    noise = partial(ZERO + 2 * SECOND, "uh", "b")
    story = [*first(MARKED), forced_final(ZERO + 1, "good", "a"), noise]
    story += second(MARKED, partial(BEGUN + 1, "indeed", "b"))
    two = readings(MARKED, *story, partial(ZERO2 + 1, "indeed so", "b"))[1]
    assert two.first_partial == Answer("indeed so", ZERO2 + 1)


def test_an_answer_is_one_whatever_its_segment_is_called() -> None:
    noise = partial(ZERO + 100 * MS, "uh", "b")
    story = [*first(MARKED), forced_final(ZERO + 1, "good", "a"), noise, *second(MARKED)]
    assert readings(MARKED, *story, forced_final(ZERO2 + 1, "so", "b"))[1].valid


# What spoils a turn.


def test_a_turn_is_spoilt_by_the_late_frames_of_its_own_last_second() -> None:
    late = frame(BEGUN + SECOND - 100 * MS, 2900.0, late_ns=SECOND)
    story = [*first(MARKED), forced_final(ZERO + 1, "good"), RESUMED, late, *SPOKEN2]
    assert verdicts(MARKED, *story, force(ZERO2), forced_final(ZERO2 + 1, "day")) == [
        Verdict.FORCED_FINAL,
        Verdict.HARNESS_LATE,
    ]


@pytest.mark.parametrize(
    ("ago_ns", "expected"),
    [(SECOND, Verdict.HARNESS_LATE), (SECOND + 1, Verdict.FORCED_FINAL)],
)
def test_a_late_frame_from_before_it_began_spoils_a_turn_within_the_second(
    ago_ns: int, expected: Verdict
) -> None:
    zero_ns = BEGUN + 200 * MS
    story = [
        *first(MARKED),
        forced_final(ZERO + 1, "good"),
        frame(zero_ns - ago_ns, 1980.0, late_ns=SECOND),
        RESUMED,
        frame(zero_ns, KNOWN2_MS),
        force(zero_ns),
        forced_final(zero_ns + 1, "day"),
    ]
    assert verdicts(MARKED, *story)[1] is expected


def test_a_clock_that_stepped_long_before_a_turn_does_not_spoil_it() -> None:
    story = [*first(MARKED), forced_final(ZERO + 1, "good"), ClockStepped(ZERO + 2, SECOND)]
    story += [*second(MARKED), forced_final(ZERO2 + 1, "day")]
    assert verdicts(MARKED, *story) == [Verdict.CLOCK_STEP, Verdict.FORCED_FINAL]


@pytest.mark.parametrize(
    ("place_ms", "marked"), [(START2_MS - 1, False), (START2_MS, True), (KNOWN2_MS, True)]
)
def test_a_device_that_fails_marks_the_turn_whose_speech_it_falls_into(
    place_ms: float, marked: bool
) -> None:
    lost = Xrun(BEGUN - 1, "input_lost", place_ms)
    story = [*first(MARKED), forced_final(ZERO + 1, "good"), Tick(ZERO + SECOND), lost]
    story += [*second(MARKED), forced_final(ZERO2 + 1, "day")]
    expected = (Remark.XRUN,) if marked else ()
    assert [reading.remarks for reading in readings(MARKED, *story)] == [(), expected]


def test_a_device_that_fails_while_two_turns_are_open_is_heard_by_both() -> None:
    lost = Xrun(BEGUN + 1, "input_lost", START2_MS + 100)
    story = [*first(MARKED), RESUMED, lost, forced_final(BEGUN + 2, "good"), *SPOKEN2]
    story += [*asked(MARKED, ZERO2), forced_final(ZERO2 + 1, "day")]
    assert [reading.remarks for reading in readings(MARKED, *story)] == [(Remark.XRUN,)] * 2


@pytest.mark.parametrize(
    "stall", [HostStalled(BEGUN - 1, BEGUN - 1, 50 * MS), HostStalled(BEGUN + 1, BEGUN, 50 * MS)]
)
def test_a_host_that_stood_still_as_a_turn_began_is_remarked_there(stall: HostStalled) -> None:
    zero_ns = BEGUN + 200 * MS
    story = [*first(MARKED), forced_final(ZERO + 1, "good"), Tick(ZERO + SECOND)]
    begun = sorted([RESUMED, stall], key=lambda event: event.at_ns)
    story += [*begun, frame(zero_ns, KNOWN2_MS), force(zero_ns), forced_final(zero_ns + 1, "day")]
    one, two = readings(MARKED, *story)
    assert (one.remarks, two.remarks) == ((), (Remark.HOST_STALLED,))


def test_a_stall_while_both_wait_spoils_both() -> None:
    story = [*first(MARKED), RESUMED, LoopStalled(BEGUN + 1, SECOND)]
    story += [forced_final(BEGUN + 2, "good"), *SPOKEN2, force(ZERO2)]
    assert verdicts(MARKED, *story, forced_final(ZERO2 + 1, "day")) == [
        Verdict.HARNESS_STALLED,
        Verdict.FORCED_FINAL,
    ]


@pytest.mark.parametrize("kind", [LoopStalled, HostStalled])
def test_a_stall_past_the_deadline_while_the_next_speaks_spoils_the_waiting(
    kind: type[LoopStalled] | type[HostStalled],
) -> None:
    at_ns = ZERO + 11 * SECOND
    spans = (2 * SECOND,) if kind is LoopStalled else (at_ns, 2 * SECOND)
    story = [*first(MARKED), RESUMED, kind(at_ns, *spans)]
    assert verdicts(MARKED, *story)[0] is Verdict.HARNESS_STALLED
    assert verdicts(MARKED, *story, Tick(at_ns))[0] is Verdict.HARNESS_STALLED


def test_the_time_that_passes_while_the_next_speaks_ends_the_wait_of_the_one_before() -> None:
    far = ZERO + 10 * SECOND
    story = [*first(MARKED), RESUMED, Tick(far), forced_final(far, "good")]
    one, _ = readings(MARKED, *story)
    assert (one.verdict, one.final) == (Verdict.NO_FINAL, None)


# Circumstances.


def test_each_turn_counts_its_own_circumstances() -> None:
    connected = Connected(0, None, None, 5, None, 6, "127.0.0.1:80")
    turns = Turns(every(MARKED))
    story = [connected, *SURVEYED, *SECOND_SPEECH, *first(MARKED), forced_final(ZERO + 1, "good")]
    story += second(MARKED, partial(BEGUN + 1, "so"))
    for event in story:
        turns.feed(event)
    one, two = [turn.tally.circumstances() for turn in turns.begun]
    assert (one.frames, two.frames) == (3, 2)
    assert (one.finals, one.partials, two.finals, two.partials) == (1, 0, 0, 1)
    assert (one.connect_ns, two.connect_ns) == (11, None)
    assert [turn.number for turn in turns.begun] == [1, 2]


# Laws.


@given(rules, stories(), st.sampled_from(Endpoint))
def test_with_one_endpoint_it_is_the_stopwatch(
    rule: Rule, story: list[Event], endpoint: Endpoint
) -> None:
    starts = [event for event in story if isinstance(event, SpeechStart)]
    ends = [event for event in story if isinstance(event, SpeechEnd)]
    turns, watch, tally = Turns(replace(rule, endpoint=endpoint)), told(rule, []), Tally()
    one = endpoint is Endpoint.LAST
    for event in story:
        if (
            one
            or not isinstance(event, SpeechStart | SpeechEnd)
            or event in (*starts[:1], *ends[:1])
        ):
            watch.feed(event)
            tally.feed(event)
            turns.feed(event)
            assert turns.deadline_ns == watch.deadline_ns
            assert (turns.force_due, turns.finish_due) == (watch.force_due, watch.finish_due)
            assert (turns.done, turns.zero_ns) == (watch.done, watch.zero_ns)
            assert turns.over == (watch.zero_ns is not None)
    (turn,) = turns.begun
    assert turn.reading() == watch.reading()
    assert turn.tally.circumstances() == tally.circumstances()


def only_received(story: list[Event]) -> list[Event]:
    """What a provider may say, at moments of its own, and what time does."""
    return [event for event in story if isinstance(event, Transcript | ForceAcknowledged | Tick)]


heard_stories = stories(older_stamps=False).map(only_received)
gaps = st.sampled_from([0, SECOND, 3 * SECOND, 4 * SECOND, 11 * SECOND, 15 * SECOND])


@st.composite
def two_turns(draw: st.DrawFn) -> tuple[Rule, list[Event]]:
    """Two turns and whatever a provider may say meanwhile, in the order of its moments."""
    rule = every(draw(st.sampled_from([*FORCED_RULES, FALLBACK])))
    pause_ns = draw(gaps)
    own = [*first(rule), *later(second(rule), pause_ns)]
    said = draw(heard_stories) + later(draw(heard_stories), draw(gaps))
    story = sorted([*own, *said], key=lambda event: event.at_ns)
    return rule, [*SURVEYED, *SECOND_SPEECH, *story]


def fed(rule: Rule, story: list[Event]) -> Turns:
    turns = Turns(rule)
    for event in story:
        turns.feed(event)
    return turns


@given(two_turns())
def test_no_word_is_given_to_two_turns(told_of: tuple[Rule, list[Event]]) -> None:
    rule, story = told_of
    turns = fed(rule, story)
    counts = [turn.tally.circumstances() for turn in turns.begun]
    finals = sum(isinstance(event, Transcript) and event.final for event in story)
    partials = sum(isinstance(event, Transcript) and not event.final for event in story)
    assert sum(one.finals for one in counts) <= finals
    assert sum(one.partials for one in counts) <= partials


@given(two_turns(), st.data())
def test_ticks_change_no_turn(told_of: tuple[Rule, list[Event]], data: st.DataObject) -> None:
    rule, story = told_of
    ticked: list[Event] = []
    for event in story:
        since_ns = max((one.at_ns for one in ticked), default=0)
        at_ns = data.draw(st.lists(st.integers(since_ns, event.at_ns), max_size=1))
        ticked += [*map(Tick, at_ns), event]
    last = Tick(story[-1].at_ns + data.draw(gaps))
    plain, busy = fed(rule, [*story, last]), fed(rule, [*ticked, last])
    assert [one.reading() for one in busy.begun] == [one.reading() for one in plain.begun]


@given(two_turns())
def test_waiting_for_each_next_moment_ends_all_turns(told_of: tuple[Rule, list[Event]]) -> None:
    rule, story = told_of
    turns = fed(rule, story)
    for _ in range(6):
        if turns.deadline_ns is not None:
            turns.feed(Tick(turns.deadline_ns))
    assert turns.done


@given(two_turns())
def test_a_clear_first_turn_reads_as_if_it_were_alone(told_of: tuple[Rule, list[Event]]) -> None:
    rule, story = told_of
    turns = fed(rule, story)
    one = turns.begun[0]
    begun = next(n for n, event in enumerate(story) if getattr(event, "audio_ms", 0) == 2064.0)
    if one.unclear or not any(isinstance(e, FrameSent) for e in story[:begun]):
        return
    if one.reading().final is None or (one.reading().final or Answer("", 0)).at_ns >= (
        story[begun].at_ns
    ):
        return
    alone = read(replace(rule, endpoint=Endpoint.LAST), [*SURVEYED, *story[4 : begun + 1]])
    assert one.reading().final == alone.final
    assert one.reading().verdict == alone.verdict
