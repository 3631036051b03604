"""The stopwatch: small stories first, then laws that hold for every story."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.events import (
    BytesUnsent,
    Cancelled,
    ClockStepped,
    Event,
    FinishSent,
    ForceAcknowledged,
    ForceRejected,
    ForceSent,
    FrameSent,
    HostStalled,
    LoopStalled,
    MessageReceived,
    NetworkSampled,
    NoSpeech,
    Notice,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    StreamDone,
    StreamReady,
    Tick,
    Transcript,
    Unread,
)
from measure.faults import Fault, FaultKind, Whose
from measure.records import (
    ANSWERED,
    MS,
    OUR_FAULT,
    SECOND,
    Answer,
    FinalRule,
    Flow,
    ForceAt,
    Reading,
    Remark,
    Rule,
    Verdict,
)
from measure.stopwatch import Stopwatch
from measure.wire import Record, Recorder, events_of
from tests.measure.stories import (
    ACKED,
    DEADLINE,
    END_MS,
    FALLBACK,
    GRACE_OVER,
    ITEM,
    KNOWN_MS,
    MARKED,
    NEXT,
    START_MS,
    SURVEYED,
    ZERO,
    Telling,
    failed,
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
EVERY_RULE = [*FORCED_RULES, FALLBACK]
EARLY = replace(MARKED, force_at=ForceAt.SPEECH_END)
ANSWER = forced_final(ZERO + 200 * MS, "good day")
ANSWERED_AT = ANSWER.at_ns
BEFORE = final(ZERO - 500 * MS, "good day", forced=False)
"""All that was said, final before zero."""


def started(rule: Rule, *before: Event) -> list[Event]:
    """As a measurement begins under ``rule``, up to zero."""
    return forced(*before) if rule.flow is Flow.FORCED else spoken(*before)


def verdict(rule: Rule, *story: Event) -> Verdict:
    return read(rule, story).verdict


# The force, and zero.


def test_the_force_is_due_once_the_audio_up_to_where_the_end_can_be_known_has_left() -> None:
    assert not told(MARKED, [*SURVEYED, frame(1, KNOWN_MS - 1)]).force_due
    assert told(MARKED, [*SURVEYED, frame(1, KNOWN_MS)]).force_due


def test_at_speech_end_the_force_is_due_once_the_audio_up_to_it_has_left() -> None:
    assert not told(EARLY, [*SURVEYED, frame(1, END_MS - 1)]).force_due
    assert told(EARLY, [*SURVEYED, frame(1, END_MS)]).force_due


def test_the_force_is_not_due_before_the_end_of_speech_is_known() -> None:
    assert not told(MARKED, [frame(1, KNOWN_MS)]).force_due


def test_a_decision_that_comes_after_its_audio_makes_the_force_due() -> None:
    assert told(MARKED, [frame(1, KNOWN_MS), SpeechEnd(2, END_MS, KNOWN_MS)]).force_due


def test_an_end_of_speech_where_no_audio_was_needed_makes_the_force_due() -> None:
    assert told(MARKED, [SpeechEnd(1, 0.0, 0.0)]).force_due


def test_an_end_of_speech_that_needs_audio_waits_for_it() -> None:
    assert not told(MARKED, [SpeechEnd(1, 0.5, 0.5)]).force_due


def test_only_the_first_end_of_speech_counts() -> None:
    again = SpeechEnd(0, END_MS, KNOWN_MS + 500)
    assert told(MARKED, [*SURVEYED, again, frame(1, KNOWN_MS)]).force_due


def test_the_force_is_due_once() -> None:
    assert not told(MARKED, forced()).force_due


def test_without_a_forced_endpoint_no_force_is_due() -> None:
    assert not told(FALLBACK, spoken()).force_due


def test_no_force_is_due_when_the_stream_has_ended() -> None:
    assert not told(MARKED, [*spoken(), StreamClosed(ZERO, 1000)]).force_due


def test_zero_is_when_the_socket_had_the_force() -> None:
    assert read(MARKED, [*spoken(), force(ZERO + 7)]).zero_ns == ZERO + 7


def test_only_the_first_force_counts() -> None:
    assert read(MARKED, [*forced(), force(ZERO + 1)]).zero_ns == ZERO


def test_there_is_no_zero_before_the_force() -> None:
    assert told(MARKED, spoken()).zero_ns is None


def test_without_force_zero_is_when_the_audio_up_to_the_decision_had_left() -> None:
    assert told(FALLBACK, [*SURVEYED, frame(1, END_MS), frame(2, KNOWN_MS)]).zero_ns == 2


def test_without_force_a_late_decision_is_zero() -> None:
    assert read(FALLBACK, [frame(1, KNOWN_MS), SpeechEnd(2, END_MS, KNOWN_MS)]).zero_ns == 2


@pytest.mark.parametrize(
    ("told_ns", "expected"),
    [(20 * MS, Verdict.NATURAL_FINAL), (20 * MS + 1, Verdict.HARNESS_LATE)],
)
def test_without_force_a_live_detector_must_not_tell_too_late(
    told_ns: int, expected: Verdict
) -> None:
    story = [
        SURVEYED[0],
        frame(ZERO, KNOWN_MS),
        frame(ZERO + 20 * MS, KNOWN_MS + 20),
        SpeechEnd(ZERO + told_ns, END_MS, KNOWN_MS),
        final(ZERO + SECOND, "good day"),
    ]
    assert verdict(FALLBACK, *story) is expected


def test_without_force_it_does_not_matter_when_a_force_would_be_sent() -> None:
    early = replace(FALLBACK, force_at=ForceAt.SPEECH_END)
    assert read(early, [*SURVEYED, frame(1, END_MS)]).zero_ns is None


def test_without_force_a_sent_force_is_no_zero() -> None:
    assert read(FALLBACK, [*SURVEYED, force(1)]).zero_ns is None


def test_zero_is_set_once() -> None:
    assert read(FALLBACK, [*spoken(), frame(ZERO + 1, KNOWN_MS + 20)]).zero_ns == ZERO


def test_time_never_goes_back() -> None:
    with pytest.raises(ValueError, match="went back 1 ns"):
        told(MARKED, [Tick(2), Tick(1)])


@pytest.mark.parametrize(
    "received",
    [
        MessageReceived(ZERO - 1, "{}"),
        StreamReady(ZERO - 1),
        partial(ZERO - 1, "good"),
        ForceAcknowledged(ZERO - 1),
        ForceRejected(ZERO - 1, "too soon"),
        Notice(ZERO - 1, "metadata"),
        Unread(ZERO - 1, "news"),
        StreamDone(ZERO - 1),
    ],
    ids=lambda event: event.kind,
)
def test_what_is_received_may_have_arrived_before_what_was_told(received: Event) -> None:
    assert read(MARKED, [*forced(), received, ANSWER]).verdict is Verdict.FORCED_FINAL


def test_an_older_stamp_takes_no_time_back() -> None:
    with pytest.raises(ValueError, match="went back 4 ns"):
        told(MARKED, [Tick(5), Notice(1, "metadata"), Tick(1)])


# With a force: which final.


@pytest.mark.parametrize("rule", FORCED_RULES, ids=lambda rule: rule.final_rule)
def test_the_first_final_with_text_after_the_force_stops_the_watch(rule: Rule) -> None:
    reading = read(rule, [*forced(), ANSWER, final(ANSWERED_AT + 1, "indeed")])
    assert reading.final == Answer("good day", ANSWERED_AT)


def test_a_final_after_the_force_is_a_forced_final() -> None:
    assert verdict(MARKED, *forced(), ANSWER) is Verdict.FORCED_FINAL


def test_time_to_final_is_from_zero_to_the_final() -> None:
    assert read(MARKED, [*forced(), ANSWER]).time_to_final_ns == 200 * MS


def test_the_first_final_counts_even_if_it_is_said_to_be_natural() -> None:
    story = [*forced(), final(ZERO + 1, "good", forced=False), ANSWER]
    assert read(MARKED, story).time_to_final_ns == 1


def test_the_answer_has_everything_final_before_it() -> None:
    story = [*forced(final(ZERO - SECOND, "well")), ANSWER]
    assert read(MARKED, story).final == Answer("well good day", ANSWERED_AT)


def test_after_a_force_no_partial_stops_the_watch_however_late() -> None:
    reading = read(MARKED, [*forced(), partial(ZERO + 9 * SECOND, "good"), Tick(DEADLINE)])
    assert reading.final is None


def test_a_blank_final_is_no_final() -> None:
    assert read(MARKED, [*forced(), final(ZERO + 1, " "), ANSWER]).final == Answer(
        "good day", ANSWERED_AT
    )


def test_a_final_from_before_the_force_does_not_answer_it() -> None:
    story = [*forced(partial(ZERO - 2 * SECOND, "day", "b"), final(ZERO - 1, "good", segment="a"))]
    assert read(MARKED, [*story, Tick(DEADLINE)]).final is None


def test_what_arrived_before_zero_is_before_however_late_it_is_read() -> None:
    story = [
        *forced(partial(ZERO - 2, "goo")),
        final(ZERO - 1, "good"),
        ForceAcknowledged(ZERO + 5),
    ]
    assert read(ACKED, story).selection is Verdict.ALREADY_FINAL


def test_a_final_of_the_same_moment_as_zero_counts_if_it_was_told_after() -> None:
    assert read(MARKED, [*forced(), final(ZERO, "good")]).time_to_final_ns == 0


def test_a_final_of_the_same_moment_as_zero_is_before_if_it_was_told_before() -> None:
    story = [*forced(final(ZERO, "good")), ForceAcknowledged(ZERO + 1)]
    assert read(ACKED, story).selection is Verdict.ALREADY_FINAL


def test_a_final_that_is_given_again_does_not_answer_the_force() -> None:
    story = [*forced(final(ZERO - 1, "good", segment="a")), forced_final(ZERO + 1, "good", "a")]
    assert read(MARKED, story).selection is Verdict.ALREADY_FINAL


def test_the_answer_comes_within_the_patience() -> None:
    assert verdict(MARKED, *forced(), forced_final(DEADLINE - 1, "good")) is Verdict.FORCED_FINAL


def test_a_providers_late_final_is_not_a_latency() -> None:
    reading = read(MARKED, [*forced(), forced_final(DEADLINE, "good")])
    assert (reading.verdict, reading.final) == (Verdict.NO_FINAL, None)


@pytest.mark.parametrize("rule", EVERY_RULE, ids=lambda rule: f"{rule.flow}-{rule.final_rule}")
def test_a_timeout_is_not_a_latency(rule: Rule) -> None:
    reading = read(rule, [*started(rule), Tick(DEADLINE)])
    assert reading.verdict is Verdict.NO_FINAL
    assert reading.time_to_final_ns is None


def test_before_anything_is_said_there_is_no_final() -> None:
    assert verdict(MARKED) is Verdict.NO_FINAL


# With a force: when the provider confirms it, and until when is listened.


@pytest.mark.parametrize(
    ("rule", "event", "confirms"),
    [
        (MARKED, forced_final(ZERO + 5, "good"), True),
        (MARKED, forced_final(ZERO + 5, ""), True),
        (MARKED, final(ZERO + 5, "good", forced=False), False),
        (MARKED, final(ZERO + 5, "good"), False),
        (MARKED, partial(ZERO + 5, "good"), False),
        (ITEM, forced_final(ZERO + 5, "good"), True),
        (ITEM, final(ZERO + 5, "good"), False),
        (ACKED, ForceAcknowledged(ZERO + 5), True),
        (ACKED, final(ZERO + 5, "good"), False),
        (NEXT, final(ZERO + 5, "good"), True),
        (NEXT, final(ZERO + 5, ""), True),
        (NEXT, partial(ZERO + 5, "good"), False),
        (replace(MARKED, final_rule=FinalRule.NONE), final(ZERO + 5, "good"), False),
        (FALLBACK, forced_final(ZERO + 5, "good"), False),
        (replace(NEXT, flow=Flow.FALLBACK), final(ZERO + 5, "good"), False),
        (FALLBACK, ForceAcknowledged(ZERO + 5), False),
    ],
)
def test_what_confirms_the_force(rule: Rule, event: Event, confirms: bool) -> None:
    confirmed_ns = read(rule, [*started(rule), event]).confirmed_ns
    assert confirmed_ns == (ZERO + 5 if confirms else None)


def test_only_the_first_confirmation_counts() -> None:
    acks = [ForceAcknowledged(ZERO + 1), ForceAcknowledged(ZERO + 2)]
    assert read(ACKED, [*forced(), *acks]).confirmed_ns == ZERO + 1


@pytest.mark.parametrize("ack_ns", [ZERO + 1, ZERO + 9])
def test_of_two_sorts_of_confirmation_the_first_counts(ack_ns: int) -> None:
    said = sorted(
        [ForceAcknowledged(ack_ns), forced_final(ZERO + 5, "good")], key=lambda e: e.at_ns
    )
    assert read(ACKED, [*forced(), *said]).confirmed_ns == min(ack_ns, ZERO + 5)


def test_nothing_from_before_the_force_confirms_it() -> None:
    story = forced(forced_final(ZERO - 1, "good"), ForceAcknowledged(ZERO - 1))
    assert read(MARKED, story).confirmed_ns is None


def test_an_older_acknowledgement_does_not_hide_the_one_of_the_force() -> None:
    acks = [ForceAcknowledged(ZERO - 1), ForceAcknowledged(ZERO + 20)]
    assert read(ACKED, [*forced(), *acks]).confirmed_ns == ZERO + 20


def test_without_zero_nothing_is_confirmed() -> None:
    assert read(MARKED, [*spoken(), forced_final(ZERO, "good")]).confirmed_ns is None


def test_after_the_confirmed_final_it_listens_until_all_has_settled() -> None:
    assert told(MARKED, [*forced(), ANSWER]).deadline_ns == ANSWERED_AT + MARKED.settle_ns


def test_an_unconfirmed_final_waits_for_its_confirmation() -> None:
    story = [*forced(), final(ANSWERED_AT, "good day")]
    assert told(MARKED, story).deadline_ns == ANSWERED_AT + MARKED.confirm_ns


def test_a_confirmation_after_the_final_starts_the_settling() -> None:
    story = [*forced(), final(ANSWERED_AT, "good"), ForceAcknowledged(ANSWERED_AT + SECOND)]
    assert told(ACKED, story).deadline_ns == ANSWERED_AT + SECOND + ACKED.settle_ns


def test_only_the_first_final_can_start_the_settling() -> None:
    story = [*forced(), final(ANSWERED_AT, "good"), ForceAcknowledged(ANSWERED_AT + 1)]
    story.append(final(ANSWERED_AT + 2, "day"))
    assert told(ACKED, story).deadline_ns == ANSWERED_AT + 1 + ACKED.settle_ns


def test_a_confirmation_before_the_final_does_not_start_the_settling() -> None:
    story = [*forced(partial(ZERO - 1, "good")), ForceAcknowledged(ZERO + 1), ANSWER]
    assert told(ACKED, story).deadline_ns == ANSWERED_AT + ACKED.settle_ns


def test_a_confirmation_counts_until_it_is_awaited_no_more() -> None:
    unconfirmed = [*forced(), final(ANSWERED_AT, "good")]
    late_ns = ANSWERED_AT + ACKED.confirm_ns
    assert read(ACKED, [*unconfirmed, ForceAcknowledged(late_ns - 1)]).confirmed_ns == late_ns - 1
    assert read(ACKED, [*unconfirmed, ForceAcknowledged(late_ns)]).confirmed_ns is None


def test_an_unconfirmed_final_is_an_answer_all_the_same() -> None:
    story = [*forced(), final(ANSWERED_AT, "good day"), Tick(ANSWERED_AT + MARKED.confirm_ns)]
    watch = told(MARKED, story)
    assert (watch.done, watch.reading().time_to_final_ns) == (True, 200 * MS)


def test_an_unconfirmed_final_is_listened_after_no_shorter_than_a_confirmed_one() -> None:
    hasty = replace(MARKED, confirm_ns=1)
    story = [*forced(), final(ANSWERED_AT, "good day")]
    assert told(hasty, story).deadline_ns == ANSWERED_AT + MARKED.settle_ns


def test_nothing_is_listened_for_beyond_the_patience() -> None:
    assert told(MARKED, [*forced(), forced_final(DEADLINE - 1, "good")]).deadline_ns == DEADLINE


def test_finals_count_until_all_has_settled() -> None:
    settled_ns = ANSWERED_AT + MARKED.settle_ns
    in_time = read(MARKED, [*forced(), ANSWER, final(settled_ns - 1, "indeed")])
    too_late = read(MARKED, [*forced(), ANSWER, final(settled_ns, "indeed")])
    assert in_time.last_final == Answer("good day indeed", settled_ns - 1)
    assert too_late.last_final == Answer("good day", ANSWERED_AT)


def test_the_last_final_is_the_last_with_text() -> None:
    story = [*forced(), ANSWER, final(ANSWERED_AT + 1, "indeed"), final(ANSWERED_AT + 2, "")]
    assert read(MARKED, story).last_final == Answer("good day indeed", ANSWERED_AT + 1)


def test_a_final_before_zero_is_no_last_final() -> None:
    assert read(MARKED, forced(BEFORE)).last_final is None


def test_before_zero_there_is_no_last_final() -> None:
    assert read(MARKED, spoken(BEFORE)).last_final is None


# With a force: acknowledgements are never finals.


def test_an_acknowledgement_of_nothing_goes_on_to_the_deadline() -> None:
    watch = told(ACKED, [*forced(), ForceAcknowledged(ZERO + 1)])
    assert watch.deadline_ns == DEADLINE


@pytest.mark.parametrize(
    ("rule", "ack"),
    [
        (ACKED, ForceAcknowledged(ZERO + 1)),
        (MARKED, forced_final(ZERO + 1, "")),
        (NEXT, final(ZERO + 1, "")),
    ],
    ids=["ack", "empty marked final", "empty final"],
)
def test_an_acknowledgement_is_never_a_final(rule: Rule, ack: Event) -> None:
    reading = read(rule, [*forced(), ack, Tick(DEADLINE)])
    assert (reading.verdict, reading.final) == (Verdict.ACK_ONLY, None)
    assert reading.confirmed_ns == ZERO + 1


def test_an_acknowledgement_settles_no_outstanding_words() -> None:
    story = [*forced(final(ZERO - 9, "good"), partial(ZERO - 1, "day")), forced_final(ZERO + 1, "")]
    assert verdict(MARKED, *story, Tick(DEADLINE)) is Verdict.ACK_ONLY


def test_words_after_the_acknowledgement_are_the_answer() -> None:
    story = [*forced(partial(ZERO - 1, "good")), ForceAcknowledged(ZERO + 1), ANSWER]
    assert read(ACKED, story).time_to_final_ns == 200 * MS


def test_a_rejected_force_goes_on_to_the_deadline() -> None:
    assert told(MARKED, [*forced(), ForceRejected(ZERO + 1, "too soon")]).deadline_ns == DEADLINE


# With a force: all had been final before.


@pytest.mark.parametrize(
    ("rule", "ack"),
    [
        (ACKED, ForceAcknowledged(ZERO + 1)),
        (MARKED, forced_final(ZERO + 1, "")),
        (NEXT, final(ZERO + 1, "")),
    ],
    ids=["ack", "empty marked final", "empty final"],
)
def test_a_confirmed_force_after_all_was_final_is_already_final(rule: Rule, ack: Event) -> None:
    assert verdict(rule, *forced(BEFORE), ack) is Verdict.ALREADY_FINAL


def test_a_negative_time_is_never_clamped() -> None:
    assert read(ACKED, [*forced(BEFORE), ForceAcknowledged(ZERO + 1)]).time_to_final_ns == -500 * MS


def test_already_final_is_not_decided_before_the_force_is_confirmed() -> None:
    assert verdict(ACKED, *forced(BEFORE), Tick(DEADLINE - 1)) is Verdict.NO_FINAL


def test_without_any_word_to_the_force_already_final_is_decided_at_the_deadline() -> None:
    assert verdict(ACKED, *forced(BEFORE), Tick(DEADLINE)) is Verdict.ALREADY_FINAL


def test_an_ordinary_close_decides_already_final() -> None:
    assert verdict(ACKED, *forced(BEFORE), StreamClosed(ZERO + 1, 1000)) is Verdict.ALREADY_FINAL


def test_a_stream_that_breaks_off_decides_nothing() -> None:
    assert verdict(ACKED, *forced(BEFORE), StreamClosed(ZERO + 1, None)) is Verdict.CONNECTION_LOST


def test_after_already_final_it_listens_until_all_has_settled() -> None:
    watch = told(ACKED, [*forced(BEFORE), ForceAcknowledged(ZERO + 1)])
    assert watch.deadline_ns == ZERO + 1 + ACKED.settle_ns


def test_already_final_is_the_most_recent_final_with_all_before_it() -> None:
    finals = [final(ZERO - 9, "good"), final(ZERO - 5, "day"), final(ZERO - 2, "")]
    reading = read(ACKED, [*forced(*finals), ForceAcknowledged(ZERO + 1)])
    assert reading.final == Answer("good day", ZERO - 5)


def test_a_final_that_was_given_twice_counts_when_it_was_first_given() -> None:
    finals = [final(ZERO - 9, "good", segment="a"), final(ZERO - 5, "good", segment="a")]
    reading = read(ACKED, [*forced(*finals), ForceAcknowledged(ZERO + 1)])
    assert reading.final == Answer("good", ZERO - 9)


def test_while_words_are_outstanding_nothing_is_already_final() -> None:
    story = forced(BEFORE, partial(ZERO - 1, "and"))
    assert verdict(MARKED, *story, Tick(DEADLINE)) is Verdict.NO_FINAL


def test_where_no_final_had_words_nothing_is_already_final() -> None:
    assert verdict(MARKED, *forced(final(ZERO - 1, "")), Tick(DEADLINE)) is Verdict.NO_FINAL


def test_where_nothing_was_said_nothing_is_already_final() -> None:
    assert verdict(ACKED, *forced(), ForceAcknowledged(ZERO + 1)) is Verdict.ACK_ONLY


def test_partials_alone_are_not_already_final() -> None:
    story = forced(partial(ZERO - 5, "good"), partial(ZERO - 1, ""))
    assert verdict(MARKED, *story, Tick(DEADLINE)) is Verdict.NO_FINAL


def test_new_words_after_zero_show_that_not_all_was_final() -> None:
    story = [*forced(BEFORE), partial(ZERO + 1, "and")]
    assert verdict(MARKED, *story, Tick(DEADLINE)) is Verdict.NO_FINAL


def test_new_words_after_the_acknowledgement_show_that_not_all_was_final() -> None:
    story = [*forced(BEFORE), ForceAcknowledged(ZERO + 1), partial(ZERO + 2, "and")]
    assert told(ACKED, story).deadline_ns == DEADLINE


def test_an_echo_after_zero_leaves_all_final() -> None:
    before = final(ZERO - 500 * MS, "good day", segment="a")
    story = [*forced(before), partial(ZERO + 1, "good day", "a"), ForceAcknowledged(ZERO + 2)]
    assert verdict(ACKED, *story) is Verdict.ALREADY_FINAL


def test_a_final_that_comes_after_all_the_same_is_the_answer() -> None:
    story = [*forced(BEFORE), ForceAcknowledged(ZERO + 1), final(ZERO + 250 * MS, "indeed")]
    assert read(ACKED, story).final == Answer("good day indeed", ZERO + 250 * MS)


# Without a force.


def test_a_final_within_the_grace_is_a_natural_final() -> None:
    assert verdict(FALLBACK, *spoken(), final(GRACE_OVER, "good")) is Verdict.NATURAL_FINAL


def test_a_final_after_the_grace_is_a_late_final() -> None:
    assert verdict(FALLBACK, *spoken(), final(GRACE_OVER + 1, "good")) is Verdict.LATE_FINAL


def test_a_partial_after_the_grace_is_a_late_partial() -> None:
    assert verdict(FALLBACK, *spoken(), partial(GRACE_OVER + 1, "good")) is Verdict.LATE_PARTIAL


def test_within_the_grace_no_partial_stops_the_watch() -> None:
    story = [*spoken(), partial(GRACE_OVER, "goo"), final(GRACE_OVER, "good")]
    assert read(FALLBACK, story).final == Answer("good", GRACE_OVER)


def test_after_the_grace_whatever_comes_first_counts() -> None:
    partial_first = [partial(GRACE_OVER + 1, "go"), final(GRACE_OVER + 2, "good")]
    final_first = [final(GRACE_OVER + 1, "good"), partial(GRACE_OVER + 2, "day")]
    assert read(FALLBACK, [*spoken(), *partial_first]).final == Answer("go", GRACE_OVER + 1)
    assert read(FALLBACK, [*spoken(), *final_first]).final == Answer("good", GRACE_OVER + 1)


def test_after_the_grace_a_blank_stops_nothing() -> None:
    story = [*spoken(), partial(GRACE_OVER + 1, " "), partial(GRACE_OVER + 2, "good")]
    assert read(FALLBACK, story).final == Answer("good", GRACE_OVER + 2)


def test_after_the_grace_a_final_that_is_given_again_stops_nothing() -> None:
    before = forced(final(ZERO - 1, "good", segment="a"), partial(ZERO - 1, "day", "b"))
    story = [
        *before,
        final(GRACE_OVER + 1, "good", segment="a"),
        partial(GRACE_OVER + 2, "day", "b"),
    ]
    assert read(FALLBACK, story).final == Answer("good day", GRACE_OVER + 2)


def test_a_blank_final_within_the_grace_is_no_natural_final() -> None:
    story = [*spoken(), final(ZERO + 1, ""), final(GRACE_OVER + 1, "good")]
    assert verdict(FALLBACK, *story) is Verdict.LATE_FINAL


def test_without_any_final_the_last_partial_stands_with_its_own_moment() -> None:
    said = [partial(ZERO + 100 * MS, "goo"), partial(ZERO + 300 * MS, "good")]
    reading = read(FALLBACK, [*spoken(), *said, Tick(DEADLINE)])
    assert (reading.verdict, reading.time_to_final_ns) == (Verdict.LAST_PARTIAL, 300 * MS)


def test_the_last_partial_is_not_taken_before_the_deadline() -> None:
    story = [*spoken(), partial(GRACE_OVER, "good"), Tick(DEADLINE - 1)]
    assert read(FALLBACK, story).final is None


def test_the_last_partial_may_be_from_before_zero() -> None:
    story = [*spoken(partial(ZERO - 500 * MS, "good")), Tick(DEADLINE)]
    assert read(FALLBACK, story).time_to_final_ns == -500 * MS


def test_the_last_partial_has_words() -> None:
    story = [*spoken(), partial(ZERO + 1, "good"), partial(ZERO + 2, " "), Tick(DEADLINE)]
    assert read(FALLBACK, story).final == Answer("good", ZERO + 1)


def test_the_last_partial_has_all_finals_before_it() -> None:
    before = [final(ZERO - 9, "good"), partial(ZERO - 1, "day")]
    assert read(FALLBACK, [*spoken(*before), Tick(DEADLINE)]).final == Answer("good day", ZERO - 1)


def test_an_ordinary_close_decides_for_the_last_partial() -> None:
    story = [*spoken(), partial(ZERO + 1, "good"), StreamClosed(ZERO + 2, 1000)]
    assert verdict(FALLBACK, *story) is Verdict.LAST_PARTIAL


def test_where_the_stream_breaks_off_no_partial_stands() -> None:
    story = [*spoken(), partial(ZERO + 1, "good"), StreamClosed(ZERO + 2, None)]
    assert verdict(FALLBACK, *story) is Verdict.CONNECTION_LOST


def test_a_final_before_zero_with_nothing_outstanding_is_already_final() -> None:
    reading = read(FALLBACK, [*spoken(BEFORE), Tick(GRACE_OVER + 1)])
    assert (reading.verdict, reading.time_to_final_ns) == (Verdict.ALREADY_FINAL, -500 * MS)


def test_already_final_is_decided_once_the_grace_is_over() -> None:
    assert not told(FALLBACK, [*spoken(BEFORE), Tick(GRACE_OVER)]).done
    assert told(FALLBACK, [*spoken(BEFORE), Tick(GRACE_OVER + 1)]).done
    assert verdict(FALLBACK, *spoken(BEFORE), Tick(GRACE_OVER)) is Verdict.NO_FINAL


def test_what_was_already_final_does_not_settle_again_after_the_grace() -> None:
    slow = replace(FALLBACK, settle_ns=5 * SECOND)
    assert told(slow, [*spoken(BEFORE), Tick(GRACE_OVER + 1)]).done


def test_a_natural_final_comes_before_already_final() -> None:
    story = [*spoken(BEFORE), final(GRACE_OVER, "indeed"), Tick(GRACE_OVER + 1)]
    assert verdict(FALLBACK, *story) is Verdict.NATURAL_FINAL


def test_new_words_within_the_grace_show_that_not_all_was_final() -> None:
    story = [*spoken(BEFORE), partial(GRACE_OVER, "and"), Tick(DEADLINE)]
    assert verdict(FALLBACK, *story) is Verdict.LAST_PARTIAL


def test_new_words_after_the_grace_leave_all_final() -> None:
    story = [*spoken(BEFORE), partial(GRACE_OVER + 1, "and"), Tick(DEADLINE)]
    assert verdict(FALLBACK, *story) is Verdict.ALREADY_FINAL


def test_outstanding_words_keep_it_from_being_already_final() -> None:
    story = [*spoken(BEFORE, partial(ZERO - 1, "and")), Tick(GRACE_OVER + 1)]
    assert not told(FALLBACK, story).done


def test_without_a_choice_the_end_of_the_grace_and_then_the_deadline_are_awaited() -> None:
    assert told(FALLBACK, spoken()).deadline_ns == GRACE_OVER + 1
    assert told(FALLBACK, [*spoken(), Tick(GRACE_OVER)]).deadline_ns == GRACE_OVER + 1
    assert told(FALLBACK, [*spoken(), Tick(GRACE_OVER + 1)]).deadline_ns == DEADLINE


@pytest.mark.parametrize(
    "answer",
    [
        final(ZERO + 5, "good"),
        final(GRACE_OVER + 5, "good"),
        partial(GRACE_OVER + 5, "good"),
    ],
    ids=["natural final", "late final", "late partial"],
)
def test_after_an_answer_it_listens_until_all_has_settled(answer: Event) -> None:
    assert told(FALLBACK, [*spoken(), answer]).deadline_ns == answer.at_ns + FALLBACK.settle_ns


def test_a_final_after_the_partial_that_was_taken_is_the_last_final() -> None:
    story = [*spoken(), partial(GRACE_OVER + 1, "go"), final(GRACE_OVER + 2, "good")]
    assert read(FALLBACK, story).last_final == Answer("good", GRACE_OVER + 2)


# The first partial, the first text, the transcript.


def test_the_first_partial_is_the_first_after_zero() -> None:
    story = [*forced(partial(ZERO - 1, "go")), partial(ZERO + 5, "goo"), partial(ZERO + 9, "good")]
    assert read(MARKED, story).first_partial == Answer("goo", ZERO + 5)


def test_time_to_first_partial_is_from_zero_to_the_first_partial() -> None:
    assert read(MARKED, [*forced(), partial(ZERO + 5, "go"), ANSWER]).time_to_first_partial_ns == 5


def test_a_missing_first_partial_is_missing() -> None:
    reading = read(MARKED, [*forced(partial(ZERO - 1, "good")), ANSWER])
    assert reading.first_partial is None
    assert reading.time_to_first_partial_ns is None


def test_before_zero_there_is_no_first_partial() -> None:
    assert read(MARKED, spoken(partial(ZERO - 1, "good"))).first_partial is None


def test_the_first_partial_has_the_finals_before_it() -> None:
    story = [*forced(final(ZERO - 1, "good")), partial(ZERO + 1, "day")]
    assert read(MARKED, story).first_partial == Answer("good day", ZERO + 1)


def test_a_blank_is_no_first_partial() -> None:
    story = [*forced(), partial(ZERO + 1, " "), partial(ZERO + 2, "good")]
    assert read(MARKED, story).first_partial == Answer("good", ZERO + 2)


def test_an_echo_is_no_first_partial() -> None:
    said = [partial(ZERO + 1, "good"), partial(ZERO + 2, "good day")]
    story = [*forced(partial(ZERO - 1, "good")), *said]
    assert read(MARKED, story).first_partial == Answer("good day", ZERO + 2)


def test_an_echo_is_a_first_partial_where_the_rule_says_so() -> None:
    rule = replace(MARKED, echo_counts=True)
    story = [*forced(partial(ZERO - 1, "good")), partial(ZERO + 1, "good")]
    assert read(rule, story).first_partial == Answer("good", ZERO + 1)


def test_where_echoes_count_a_blank_is_still_no_first_partial() -> None:
    rule = replace(MARKED, echo_counts=True)
    assert read(rule, [*forced(), partial(ZERO + 1, " ")]).first_partial is None


def test_no_partial_after_the_final_is_a_first_partial() -> None:
    story = [*forced(), ANSWER, partial(ANSWERED_AT + 1, "indeed")]
    assert read(MARKED, story).first_partial is None


def test_the_partial_that_stops_the_watch_can_be_the_first() -> None:
    story = [*spoken(), partial(GRACE_OVER + 1, "good")]
    assert read(FALLBACK, story).first_partial == Answer("good", GRACE_OVER + 1)


def test_a_partial_within_the_grace_is_the_first_though_a_later_one_is_taken() -> None:
    story = [*spoken(), partial(ZERO + 5, "go"), partial(GRACE_OVER + 1, "good")]
    assert read(FALLBACK, story).first_partial == Answer("go", ZERO + 5)


def test_an_echo_can_be_the_first_partial_after_all_was_final() -> None:
    rule = replace(ACKED, echo_counts=True)
    before = final(ZERO - 500 * MS, "good day", segment="a")
    story = [*forced(before), partial(ZERO + 1, "good day", "a"), ForceAcknowledged(ZERO + 2)]
    assert read(rule, story).first_partial == Answer("good day", ZERO + 1)


@pytest.mark.parametrize("first", [partial(ZERO + 5, "good"), final(ZERO + 5, "good")])
def test_the_first_text_is_the_first_transcript_of_either_kind(first: Transcript) -> None:
    reading = read(MARKED, [*forced(), first, ANSWER])
    assert reading.first_text == Answer("good", ZERO + 5)


def test_a_blank_is_no_first_text() -> None:
    assert read(MARKED, [*forced(), final(ZERO + 1, " ")]).first_text is None


def test_what_came_before_zero_is_no_first_text() -> None:
    assert read(MARKED, forced(BEFORE)).first_text is None


def test_before_zero_there_is_no_first_text() -> None:
    assert read(MARKED, spoken(BEFORE)).first_text is None


def test_the_transcript_is_all_finals_joined() -> None:
    before = [final(ZERO - 9, "well"), partial(ZERO - 1, "go")]
    story = [*forced(*before), ANSWER, final(ANSWERED_AT + 1, "indeed")]
    assert read(MARKED, story).transcript == "well good day indeed"


def test_the_transcript_is_joined_as_the_provider_does() -> None:
    rule = replace(MARKED, joiner="")
    assert read(
        rule, [*forced(final(ZERO - 9, "良い")), forced_final(ZERO + 1, "日")]
    ).transcript == ("良い日")


def test_a_selected_partial_counts_as_final() -> None:
    story = [*spoken(final(ZERO - 9, "good"), partial(ZERO - 1, "day")), Tick(DEADLINE)]
    assert read(FALLBACK, story).transcript == "good day"


def test_a_partial_that_was_not_selected_is_no_part_of_the_transcript() -> None:
    assert read(MARKED, [*forced(partial(ZERO - 1, "good")), Tick(DEADLINE)]).transcript == ""


def test_where_nothing_was_said_the_transcript_is_empty() -> None:
    assert read(MARKED, forced()).transcript == ""


def test_a_transcript_needs_no_zero() -> None:
    assert read(MARKED, spoken(BEFORE)).transcript == "good day"


# Why there is no answer.

REFUSALS = [
    (Whose.PROVIDER, FaultKind.AUTH, Verdict.PROVIDER_ERROR),
    (Whose.PROVIDER, FaultKind.QUOTA, Verdict.PROVIDER_ERROR),
    (Whose.PROVIDER, FaultKind.RATE, Verdict.PROVIDER_ERROR),
    (Whose.PROVIDER, FaultKind.PROTOCOL, Verdict.PROVIDER_ERROR),
    (Whose.PROVIDER, FaultKind.SERVER, Verdict.PROVIDER_ERROR),
    (Whose.PROVIDER, FaultKind.TIMEOUT, Verdict.PROVIDER_ERROR),
    (Whose.PROVIDER, FaultKind.CLOSED, Verdict.CONNECTION_LOST),
    (Whose.NETWORK, FaultKind.CLOSED, Verdict.CONNECTION_LOST),
    (Whose.NETWORK, FaultKind.CONNECT, Verdict.NETWORK_ERROR),
    (Whose.NETWORK, FaultKind.TLS, Verdict.NETWORK_ERROR),
    (Whose.HOST, FaultKind.HARNESS, Verdict.HARNESS_ERROR),
    (Whose.HOST, FaultKind.CLOSED, Verdict.HARNESS_ERROR),
]


@pytest.mark.parametrize(("whose", "kind", "expected"), REFUSALS)
def test_a_failure_names_the_guilty(whose: Whose, kind: FaultKind, expected: Verdict) -> None:
    reading = read(MARKED, [*forced(), failed(ZERO + 1, whose, kind)])
    assert (reading.verdict, reading.selection) == (expected, None)
    assert reading.fault == Fault(whose, kind, "as it said")


@pytest.mark.parametrize("code", [1000, 1011, None])
def test_a_close_without_an_answer_is_a_lost_connection(code: int | None) -> None:
    assert verdict(MARKED, *forced(), StreamClosed(ZERO + 1, code)) is Verdict.CONNECTION_LOST


def test_a_close_is_no_failure_of_its_own() -> None:
    assert read(MARKED, [*forced(), StreamClosed(ZERO + 1, 1000)]).fault is None


def test_a_lost_connection_before_zero_is_a_lost_connection() -> None:
    assert verdict(MARKED, *spoken(), StreamClosed(ZERO, 1000)) is Verdict.CONNECTION_LOST


def test_a_failure_leaves_no_partial_standing() -> None:
    story = [*spoken(), partial(ZERO + 1, "good"), failed(ZERO + 2, *REFUSALS[4][:2])]
    assert read(FALLBACK, story).final is None


def test_a_failure_leaves_nothing_already_final() -> None:
    story = [*forced(BEFORE), failed(ZERO + 2, *REFUSALS[4][:2])]
    assert read(MARKED, story).final is None


@pytest.mark.parametrize(
    "end",
    [
        failed(ANSWERED_AT + 1, Whose.PROVIDER, FaultKind.SERVER),
        failed(ANSWERED_AT + 1, Whose.HOST, FaultKind.HARNESS),
        StreamClosed(ANSWERED_AT + 1, None),
        Cancelled(ANSWERED_AT + 1),
    ],
    ids=lambda event: event.kind,
)
def test_an_end_after_the_answer_changes_nothing(end: Event) -> None:
    assert read(MARKED, [*forced(), ANSWER, end]) == read(MARKED, [*forced(), ANSWER])


def test_a_failure_past_the_deadline_is_none() -> None:
    story = [*forced(), failed(DEADLINE, Whose.PROVIDER, FaultKind.SERVER)]
    assert read(MARKED, story).verdict is Verdict.NO_FINAL
    assert read(MARKED, story).fault is None


def test_a_clip_without_speech_has_no_reading() -> None:
    assert verdict(MARKED, NoSpeech(1)) is Verdict.VAD_NEVER


def test_who_cancels_gets_no_reading() -> None:
    assert verdict(MARKED, *forced(), Cancelled(ZERO + 1)) is Verdict.CANCELLED


@pytest.mark.parametrize(
    "end",
    [
        NoSpeech(ZERO + 1),
        Cancelled(ZERO + 1),
        StreamClosed(ZERO + 1, 1000),
        failed(ZERO + 1, Whose.PROVIDER, FaultKind.AUTH),
    ],
    ids=lambda event: event.kind,
)
@pytest.mark.parametrize("story", [[], spoken(), forced()], ids=["nothing", "spoken", "forced"])
def test_an_end_is_the_end(story: list[Event], end: Event) -> None:
    watch = told(MARKED, [*story, end])
    assert (watch.done, watch.deadline_ns) == (True, None)


def test_that_nothing_more_will_come_ends_nothing_yet() -> None:
    assert not told(MARKED, [*forced(), StreamDone(ZERO + 1)]).done


# What makes a reading invalid.


def test_a_frame_is_late_only_beyond_the_budget() -> None:
    in_time = [*SURVEYED, frame(ZERO, KNOWN_MS, late_ns=20 * MS), force(), ANSWER]
    too_late = [*SURVEYED, frame(ZERO, KNOWN_MS, late_ns=20 * MS + 1), force(), ANSWER]
    assert verdict(MARKED, *in_time) is Verdict.FORCED_FINAL
    assert verdict(MARKED, *too_late) is Verdict.HARNESS_LATE


def test_a_force_is_late_only_beyond_the_budget() -> None:
    assert verdict(MARKED, *spoken(), force(late_ns=20 * MS), ANSWER) is Verdict.FORCED_FINAL
    assert verdict(MARKED, *spoken(), force(late_ns=20 * MS + 1), ANSWER) is Verdict.HARNESS_LATE


def test_a_second_force_is_late_without_harm() -> None:
    story = [*forced(), force(ZERO + 1, late_ns=SECOND), ANSWER]
    assert verdict(MARKED, *story) is Verdict.FORCED_FINAL


@pytest.mark.parametrize(
    ("at_ns", "expected"),
    [(ZERO - SECOND - 1, Verdict.FORCED_FINAL), (ZERO - SECOND, Verdict.HARNESS_LATE)],
)
def test_only_frames_of_the_last_second_before_zero_must_be_in_time(
    at_ns: int, expected: Verdict
) -> None:
    assert verdict(MARKED, *forced(frame(at_ns, 600.0, late_ns=SECOND)), ANSWER) is expected


def test_the_last_second_is_counted_from_zero_not_from_the_last_frame() -> None:
    story = [*SURVEYED, frame(ZERO - SECOND - 1, 980.0, late_ns=SECOND), frame(ZERO - 1, KNOWN_MS)]
    assert verdict(MARKED, *story, force(), ANSWER) is Verdict.FORCED_FINAL


def test_a_late_frame_after_zero_spoils_nothing() -> None:
    story = [*forced(), frame(ZERO + 1, KNOWN_MS + 20, late_ns=SECOND, padding=True), ANSWER]
    assert verdict(MARKED, *story) is Verdict.FORCED_FINAL


def test_before_zero_late_frames_are_ours_to_blame_for_a_lost_connection() -> None:
    story = [*SURVEYED, frame(5, 500.0, late_ns=SECOND), StreamClosed(6, 1000)]
    assert verdict(MARKED, *story) is Verdict.HARNESS_LATE


def test_before_zero_frames_of_an_earlier_second_spoil_nothing() -> None:
    frames = [frame(5, 500.0, late_ns=SECOND), frame(6 + SECOND, 520.0)]
    story = [*SURVEYED, *frames, StreamClosed(2 * SECOND, 1000)]
    assert verdict(MARKED, *story) is Verdict.CONNECTION_LOST


@pytest.mark.parametrize(
    "event",
    [LoopStalled(ZERO, 3 * SECOND), ClockStepped(ZERO, SECOND), BytesUnsent(ZERO, 641, 640)],
    ids=lambda event: event.kind,
)
def test_before_zero_nothing_but_late_frames_is_ours_to_blame(event: Event) -> None:
    story = [*spoken(), event, StreamClosed(ZERO, 1000)]
    assert verdict(MARKED, *story) is Verdict.CONNECTION_LOST


@pytest.mark.parametrize(
    ("stall", "spoils"),
    [
        (LoopStalled(ZERO + 100 * MS, 20 * MS), False),
        (LoopStalled(ZERO + 100 * MS, 20 * MS + 1), True),
        (LoopStalled(ZERO, 50 * MS), False),
        (LoopStalled(ZERO + 1, 50 * MS), True),
    ],
)
def test_a_stall_spoils_an_answer_that_is_awaited(stall: LoopStalled, spoils: bool) -> None:
    expected = Verdict.HARNESS_STALLED if spoils else Verdict.FORCED_FINAL
    assert verdict(MARKED, *forced(), stall, ANSWER) is expected


@pytest.mark.parametrize(
    ("stalled_ns", "spoils"), [(100 * MS, False), (100 * MS + 1, True), (9 * SECOND, True)]
)
def test_a_stall_that_began_before_the_answer_spoils_it(stalled_ns: int, spoils: bool) -> None:
    stall = LoopStalled(ANSWERED_AT + 100 * MS, stalled_ns)
    expected = Verdict.HARNESS_STALLED if spoils else Verdict.FORCED_FINAL
    assert verdict(MARKED, *forced(), ANSWER, stall) is expected


def test_a_stall_that_shows_that_the_deadline_has_passed_spoils_the_waiting() -> None:
    stall = LoopStalled(DEADLINE + SECOND, 2 * SECOND)
    assert verdict(MARKED, *forced(), stall) is Verdict.HARNESS_STALLED


def test_a_stall_that_began_at_the_deadline_spoils_nothing() -> None:
    assert verdict(MARKED, *forced(), LoopStalled(DEADLINE + SECOND, SECOND)) is Verdict.NO_FINAL


def test_while_an_answer_is_awaited_a_stall_up_to_now_spoils_the_reading() -> None:
    assert verdict(MARKED, *forced(), LoopStalled(ZERO + SECOND, SECOND // 2)) is (
        Verdict.HARNESS_STALLED
    )


def test_bytes_in_the_socket_spoil_a_reading_beyond_one_chunk() -> None:
    assert verdict(MARKED, *forced(), BytesUnsent(ZERO, 640, 640), ANSWER) is Verdict.FORCED_FINAL
    assert verdict(MARKED, *forced(), BytesUnsent(ZERO, 641, 640), ANSWER) is Verdict.SOCKET_STALLED


def test_bytes_that_have_left_later_spoil_a_reading_all_the_same() -> None:
    unsent = [BytesUnsent(ZERO, 641, 640), BytesUnsent(ZERO + 1, 0, 640)]
    assert verdict(MARKED, *forced(), *unsent, ANSWER) is Verdict.SOCKET_STALLED


@pytest.mark.parametrize(
    ("steps_ns", "spoils"),
    [
        ([50 * MS], False),
        ([50 * MS + 1], True),
        ([-50 * MS - 1], True),
        ([30 * MS, 30 * MS], True),
        ([30 * MS, -30 * MS], False),
        ([30 * MS, -60 * MS], True),
    ],
)
def test_clocks_may_disagree_within_the_budget(steps_ns: list[int], spoils: bool) -> None:
    steps = [ClockStepped(ZERO + number, step) for number, step in enumerate(steps_ns)]
    expected = Verdict.CLOCK_STEP if spoils else Verdict.FORCED_FINAL
    assert verdict(MARKED, *forced(), *steps, ANSWER) is expected


def test_a_clock_that_stepped_before_zero_spoils_the_reading() -> None:
    assert verdict(MARKED, ClockStepped(0, SECOND), *forced(), ANSWER) is Verdict.CLOCK_STEP


STALL = LoopStalled(ZERO + 100 * MS, 50 * MS)
OUTCOMES = [
    ("answer", MARKED, (ANSWER,)),
    ("no_final", MARKED, (Tick(DEADLINE),)),
    ("ack_only", MARKED, (forced_final(ZERO + 200 * MS, ""), Tick(DEADLINE))),
    ("connection_lost", MARKED, (StreamClosed(ZERO + 200 * MS, None),)),
    ("provider_error", MARKED, (failed(ZERO + 200 * MS, Whose.PROVIDER, FaultKind.SERVER),)),
    ("late_partial", FALLBACK, (partial(GRACE_OVER + 1, "good"),)),
]


@pytest.mark.parametrize(
    ("rule", "outcome"), [o[1:] for o in OUTCOMES], ids=[outcome[0] for outcome in OUTCOMES]
)
def test_what_is_ours_to_blame_is_never_the_providers(
    rule: Rule, outcome: tuple[Event, ...]
) -> None:
    assert verdict(rule, *started(rule), STALL, *outcome) is Verdict.HARNESS_STALLED


def test_an_invalid_reading_still_shows_what_was_chosen() -> None:
    reading = read(MARKED, [*forced(), STALL, ANSWER])
    assert (reading.selection, reading.time_to_final_ns) == (Verdict.FORCED_FINAL, 200 * MS)
    assert not reading.valid


def test_an_invalid_reading_still_shows_the_failure() -> None:
    reading = read(MARKED, [*forced(), STALL, failed(ANSWERED_AT, Whose.NETWORK, FaultKind.CLOSED)])
    assert reading.fault == Fault(Whose.NETWORK, FaultKind.CLOSED, "as it said")


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (NoSpeech(ZERO + 200 * MS), Verdict.VAD_NEVER),
        (Cancelled(ZERO + 200 * MS), Verdict.CANCELLED),
    ],
)
def test_what_says_nothing_of_the_provider_stays_as_it_is(end: Event, expected: Verdict) -> None:
    assert verdict(MARKED, *forced(), STALL, end) is expected


def test_the_first_of_several_faults_of_ours_is_named() -> None:
    late, unsent = force(late_ns=SECOND), BytesUnsent(ZERO, 641, 640)
    step = ClockStepped(ZERO, SECOND)
    assert verdict(MARKED, *spoken(), late, unsent, step, STALL) is Verdict.HARNESS_LATE
    assert verdict(MARKED, *forced(), unsent, step, STALL) is Verdict.HARNESS_STALLED
    assert verdict(MARKED, *forced(), unsent, step) is Verdict.SOCKET_STALLED


def test_the_latest_frame_of_the_whole_clip_is_kept() -> None:
    frames = [frame(5, 20.0, late_ns=7), frame(6, 40.0, late_ns=9), frame(7, 60.0, late_ns=-2)]
    assert read(MARKED, frames).late_max_ns == 9


def test_a_frame_after_zero_can_be_the_latest() -> None:
    assert read(MARKED, [*forced(), frame(ZERO + 9, 1020.0, late_ns=8)]).late_max_ns == 8


def test_frames_that_left_early_have_a_negative_lateness() -> None:
    assert read(MARKED, [frame(5, 20.0, late_ns=-2)]).late_max_ns == -2


def test_without_frames_there_is_no_lateness() -> None:
    assert read(MARKED, [Tick(1)]).late_max_ns is None


# Remarks.


def remarks(rule: Rule, *story: Event) -> tuple[Remark, ...]:
    return read(rule, story).remarks


def test_a_plain_measurement_has_no_remarks() -> None:
    assert remarks(MARKED, *forced(partial(ZERO - SECOND, "good")), ANSWER) == ()


def test_an_end_that_could_be_known_only_in_the_padding_is_remarked() -> None:
    padded = [frame(1, KNOWN_MS - 20), frame(ZERO, KNOWN_MS, padding=True), force()]
    assert remarks(MARKED, *SURVEYED, *padded) == (Remark.VAD_IN_PADDING,)


def test_padding_after_the_endpoint_is_not_remarked() -> None:
    padded = [frame(1, KNOWN_MS), frame(ZERO, KNOWN_MS + 20, padding=True), force()]
    assert remarks(MARKED, *SURVEYED, *padded) == ()


def test_padding_after_zero_is_not_remarked() -> None:
    story = [*SURVEYED, frame(1, 500.0), force(), frame(ZERO, 520.0, padding=True)]
    assert remarks(MARKED, *story) == ()


def test_padding_from_the_start_is_remarked() -> None:
    assert remarks(MARKED, *SURVEYED, frame(1, 20.0, padding=True)) == (Remark.VAD_IN_PADDING,)


def test_only_the_first_padding_shows_where_the_clip_ended() -> None:
    padded = [frame(1, KNOWN_MS - 20, padding=True), frame(2, KNOWN_MS, padding=True)]
    more = frame(3, KNOWN_MS + 20, padding=True)
    assert remarks(MARKED, *SURVEYED, *padded, more) == (Remark.VAD_IN_PADDING,)


def test_at_speech_end_padding_that_follows_it_is_not_remarked() -> None:
    padded = [frame(1, END_MS), frame(ZERO, END_MS + 20, padding=True), force()]
    assert remarks(EARLY, *SURVEYED, *padded) == ()


def test_padding_without_any_end_of_speech_is_not_remarked() -> None:
    assert remarks(MARKED, frame(1, 20.0, padding=True)) == ()


def test_a_clip_that_ends_in_speech_is_remarked() -> None:
    assert remarks(MARKED, SpeechEnd(0, END_MS, END_MS, at_eof=True)) == (Remark.VAD_AT_EOF,)


@pytest.mark.parametrize("text", [partial(2, "thank you"), final(2, "thank you")])
def test_words_before_any_speech_was_sent_are_phantoms(text: Event) -> None:
    assert remarks(MARKED, *SURVEYED, frame(1, START_MS), text) == (Remark.PHANTOM_PARTIAL,)


def test_words_after_some_speech_was_sent_are_no_phantoms() -> None:
    assert remarks(MARKED, *SURVEYED, frame(1, START_MS + 1), partial(2, "good")) == ()


def test_words_before_any_audio_are_phantoms() -> None:
    assert remarks(MARKED, SpeechStart(0, 0.0, 64.0), partial(1, "you")) == (
        Remark.PHANTOM_PARTIAL,
    )


def test_phantoms_are_found_though_they_are_read_later() -> None:
    story = [*SURVEYED, frame(5, START_MS + 20), partial(4, "thank you")]
    assert remarks(MARKED, *story) == (Remark.PHANTOM_PARTIAL,)


def test_phantoms_are_found_though_the_start_is_known_later() -> None:
    story = [frame(1, 100.0), partial(2, "you"), frame(3, 264.0), SpeechStart(3, START_MS, 264.0)]
    assert remarks(MARKED, *story) == (Remark.PHANTOM_PARTIAL,)


def test_only_the_first_start_of_speech_counts() -> None:
    story = [*SURVEYED, frame(1, 500.0), SpeechStart(1, 800.0, 864.0), partial(2, "good")]
    assert remarks(MARKED, *story) == ()


def test_a_blank_is_no_phantom() -> None:
    assert remarks(MARKED, *SURVEYED, partial(1, " "), frame(2, 500.0), partial(3, "good")) == ()


def test_without_a_start_of_speech_there_are_no_phantoms() -> None:
    assert remarks(MARKED, partial(1, "good")) == ()


def test_words_after_the_final_are_remarked() -> None:
    late = final(ANSWERED_AT + 1, "indeed")
    assert remarks(MARKED, *forced(), ANSWER, late) == (Remark.LATE_TEXT_AFTER_FINAL,)


def test_a_blank_after_the_final_is_not_remarked() -> None:
    assert remarks(MARKED, *forced(), ANSWER, final(ANSWERED_AT + 1, " ")) == ()


def test_a_final_that_comes_twice_is_remarked_and_counted_once() -> None:
    twice = [forced_final(ZERO + n * SECOND // 4, "good", "a") for n in (1, 2)]
    reading = read(MARKED, [*forced(), *twice])
    assert reading.remarks == (Remark.DUPLICATE_FINAL,)
    assert (reading.transcript, reading.last_final) == ("good", Answer("good", twice[0].at_ns))


@pytest.mark.parametrize("off_ns", [-100 * MS, 0, 100 * MS])
@pytest.mark.parametrize("forced_mark", [None, False])
@pytest.mark.parametrize("rule", [MARKED, ITEM], ids=lambda rule: rule.final_rule)
def test_an_unmarked_final_near_the_force_is_remarked(
    rule: Rule, forced_mark: bool | None, off_ns: int
) -> None:
    near = final(ZERO + off_ns, "good", forced=forced_mark)
    story = forced(near) if off_ns < 0 else [*forced(), near]
    assert remarks(rule, *story) == (Remark.NATURAL_FINAL_RACE,)


@pytest.mark.parametrize(
    ("rule", "near"),
    [
        (MARKED, final(ZERO - 100 * MS - 1, "good", forced=False)),
        (MARKED, final(ZERO + 100 * MS + 1, "good", forced=False)),
        (MARKED, forced_final(ZERO + 1, "good")),
        (MARKED, final(ZERO + 1, "")),
        (MARKED, partial(ZERO + 1, "good")),
        (NEXT, final(ZERO + 1, "good")),
        (ACKED, final(ZERO + 1, "good")),
        (replace(MARKED, flow=Flow.FALLBACK), final(ZERO + 1, "good")),
    ],
    ids=["before", "after", "marked", "blank", "partial", "next", "ack", "fallback"],
)
def test_what_is_no_race(rule: Rule, near: Event) -> None:
    story = started(rule, near) if near.at_ns < ZERO else [*started(rule), near]
    assert remarks(rule, *story) == ()


def test_without_zero_there_is_no_race() -> None:
    assert remarks(MARKED, *spoken(final(ZERO - 1, "good"))) == ()


def test_a_rejected_force_is_remarked() -> None:
    story = [*forced(), ForceRejected(ZERO + 1, "too soon")]
    assert remarks(MARKED, *story) == (Remark.FORCE_REJECTED,)


def test_what_happens_twice_is_remarked_once() -> None:
    twice = [ForceRejected(ZERO + 1, "too soon"), ForceRejected(ZERO + 2, "too soon")]
    assert remarks(MARKED, *forced(), *twice) == (Remark.FORCE_REJECTED,)


# Laws.


def clock_free(reading: Reading) -> tuple[object, ...]:
    """A reading without the moments of the host's clock."""
    zero_ns = reading.zero_ns or 0

    def place(answer: Answer | None) -> tuple[str, int] | None:
        return None if answer is None else (answer.text, answer.at_ns - zero_ns)

    return (
        reading.verdict,
        reading.selection,
        reading.time_to_final_ns,
        reading.time_to_first_partial_ns,
        place(reading.final) if reading.zero_ns is not None else None,
        place(reading.first_text),
        place(reading.last_final),
        None if reading.confirmed_ns is None else reading.confirmed_ns - zero_ns,
        reading.transcript,
        reading.remarks,
        reading.late_max_ns,
    )


@given(rules, stories(), st.integers(0, 10**15))
def test_a_later_start_changes_no_duration(rule: Rule, story: list[Event], by_ns: int) -> None:
    assert clock_free(read(rule, later(story, by_ns))) == clock_free(read(rule, story))


ordered = stories(older_stamps=False)
"""Stories into which other events can be put without going back in time."""


@st.composite
def with_ticks(draw: st.DrawFn) -> tuple[list[Event], list[Event]]:
    """A story without ticks and the same with some, none while the program stood still."""
    quiet = [event for event in draw(ordered) if not isinstance(event, Tick)]
    ticked: list[Event] = []
    for number, event in enumerate(quiet):
        rest = [
            e.ended_ns - e.stalled_ns
            if isinstance(e, HostStalled)
            else e.at_ns - (e.stalled_ns if isinstance(e, LoopStalled) else 0)
            for e in quiet[number:]
        ]
        since_ns = quiet[number - 1].at_ns if number else 0
        if since_ns <= min(rest):
            ticks = draw(st.lists(st.integers(since_ns, min(rest)), max_size=2))
            tipping = [at_ns for at_ns in (min(rest), min(rest) - 1) if at_ns >= since_ns]
            ticked += [Tick(at_ns) for at_ns in sorted([*ticks, draw(st.sampled_from(tipping))])]
        ticked.append(event)
    return quiet, ticked


@given(rules, with_ticks(), st.sampled_from([0, 1, SECOND // 2, 2 * SECOND, 10 * SECOND]))
def test_ticks_change_no_reading(
    rule: Rule, story: tuple[list[Event], list[Event]], more_ns: int
) -> None:
    quiet, ticked = story
    last = Tick(more_ns + (quiet[-1].at_ns if quiet else 0))
    assert read(rule, [*ticked, last]) == read(rule, [*quiet, last])


@given(rules, with_ticks(), st.integers(-SECOND, SECOND), st.booleans())
def test_frames_after_zero_change_nothing_but_the_latest_frame(
    rule: Rule, story: tuple[list[Event], list[Event]], late_ns: int, padding: bool
) -> None:
    _, ticked = story
    watch, busy = Stopwatch(rule), Stopwatch(rule)
    sent_ms = 0.0
    for event in ticked:
        watch.feed(event)
        if isinstance(event, FrameSent):
            sent_ms = event.audio_ms
        sends = isinstance(event, Tick) and watch.zero_ns is not None
        busy.feed(frame(event.at_ns, sent_ms, late_ns=late_ns, padding=padding) if sends else event)
    assert replace(busy.reading(), late_max_ns=None) == replace(watch.reading(), late_max_ns=None)


UNRELATED = [
    Notice(0, "metadata"),
    Unread(0, "news"),
    StreamReady(0),
    MessageReceived(0, "{}", 1),
    NetworkSampled(0, 1, 1, 0),
]


@given(rules, ordered, st.data())
def test_unrelated_notices_change_nothing_wherever_they_stand(
    rule: Rule, story: list[Event], data: st.DataObject
) -> None:
    noisy: list[Event] = []
    for event in story:
        noisy.append(event)
        unrelated = data.draw(st.lists(st.sampled_from(UNRELATED), max_size=2))
        noisy += [replace(one, at_ns=event.at_ns) for one in unrelated]
    assert read(rule, noisy) == read(rule, story)


@given(rules, stories(), stories())
def test_done_is_done(rule: Rule, story: list[Event], rest: list[Event]) -> None:
    watch = told(rule, story)
    now_ns = max((event.at_ns for event in story), default=0)
    before = watch.reading()
    if watch.done:
        for event in later(rest, now_ns):
            watch.feed(event)
            assert (watch.done, watch.deadline_ns, watch.force_due) == (True, None, False)
        assert watch.reading() == before


@given(rules, stories())
def test_a_reading_can_be_asked_for_at_any_time(rule: Rule, story: list[Event]) -> None:
    watch = Stopwatch(rule)
    for event in story:
        watch.feed(event)
        assert watch.reading() == watch.reading()
        assert (watch.deadline_ns, watch.force_due) == (watch.deadline_ns, watch.force_due)
    assert watch.reading() == read(rule, story)


@given(rules, stories())
def test_the_next_moment_is_never_in_the_past(rule: Rule, story: list[Event]) -> None:
    watch, now_ns = Stopwatch(rule), 0
    for event in story:
        watch.feed(event)
        now_ns = max(now_ns, event.at_ns)
        waits = watch.zero_ns is not None and not watch.done
        assert (watch.deadline_ns is not None) == waits
        assert watch.deadline_ns is None or watch.deadline_ns > now_ns


@given(rules, stories())
def test_at_the_deadline_it_is_done_whatever_came_before(rule: Rule, story: list[Event]) -> None:
    watch = told(rule, story)
    if watch.zero_ns is not None:
        now_ns = max(event.at_ns for event in story)
        watch.feed(Tick(max(now_ns, watch.zero_ns + rule.patience_ns)))
        assert watch.done


@given(rules, stories())
def test_waiting_for_each_next_moment_ends(rule: Rule, story: list[Event]) -> None:
    watch = told(rule, story)
    for _ in range(3):
        if watch.deadline_ns is not None:
            watch.feed(Tick(watch.deadline_ns))
    assert watch.done or watch.zero_ns is None


FINALS = {Verdict.FORCED_FINAL, Verdict.CLOSED_FINAL, Verdict.NATURAL_FINAL, Verdict.LATE_FINAL}


@given(rules, stories())
def test_the_first_partial_never_comes_after_the_final(rule: Rule, story: list[Event]) -> None:
    reading = read(rule, story)
    final_ns, partial_ns = reading.time_to_final_ns, reading.time_to_first_partial_ns
    if reading.selection in FINALS and final_ns is not None and partial_ns is not None:
        assert 0 <= partial_ns <= final_ns


@given(rules, stories())
def test_an_answered_reading_has_its_answer(rule: Rule, story: list[Event]) -> None:
    reading = read(rule, story)
    assert (reading.final is None) == (reading.selection is None)
    assert reading.selection is None or reading.selection in ANSWERED
    if reading.verdict in ANSWERED:
        assert reading.verdict is reading.selection
        assert reading.time_to_final_ns is not None
    else:
        assert reading.selection is None or reading.verdict in OUR_FAULT


@given(rules, stories())
def test_every_moment_shown_is_one_at_which_words_came(rule: Rule, story: list[Event]) -> None:
    reading = read(rule, story)
    came = {e.at_ns for e in story if isinstance(e, Transcript) and e.text.strip()}
    answers = [reading.final, reading.first_partial, reading.first_text, reading.last_final]
    assert {answer.at_ns for answer in answers if answer} <= came


@given(rules, stories())
def test_each_rule_keeps_to_its_time(rule: Rule, story: list[Event]) -> None:
    reading = read(rule, story)
    bounds = {
        Verdict.FORCED_FINAL: (0, rule.patience_ns - 1),
        Verdict.CLOSED_FINAL: (0, rule.patience_ns - 1),
        Verdict.NATURAL_FINAL: (0, rule.grace_ns),
        Verdict.LATE_FINAL: (rule.grace_ns + 1, rule.patience_ns - 1),
        Verdict.LATE_PARTIAL: (rule.grace_ns + 1, rule.patience_ns - 1),
        Verdict.LAST_PARTIAL: (-ZERO * 100, rule.grace_ns),
        Verdict.ALREADY_FINAL: (-ZERO * 100, 0),
    }
    if reading.selection is not None and reading.time_to_final_ns is not None:
        low, high = bounds[reading.selection]
        assert low <= reading.time_to_final_ns <= high


def faultless(story: Sequence[Event]) -> list[Event]:
    """The same story, had nothing been wrong on our side."""
    ours = (LoopStalled, HostStalled, ClockStepped, BytesUnsent)
    return [
        replace(event, due_ns=event.at_ns)
        if isinstance(event, FrameSent | ForceSent | FinishSent)
        else Tick(event.at_ns)
        if isinstance(event, ours)
        else event
        for event in story
    ]


@given(rules, stories())
def test_a_fault_of_ours_changes_nothing_but_the_verdict(rule: Rule, story: list[Event]) -> None:
    spoilt, clean = read(rule, story), read(rule, faultless(story))
    remarks = tuple(remark for remark in spoilt.remarks if remark is not Remark.HOST_STALLED)
    same = replace(spoilt, verdict=clean.verdict, late_max_ns=clean.late_max_ns, remarks=remarks)
    assert same == clean
    assert spoilt.verdict is clean.verdict or spoilt.verdict in OUR_FAULT


@given(rules, stories())
def test_a_replay_from_its_records_reads_as_it_did_live(rule: Rule, story: list[Event]) -> None:
    records: list[Record] = []
    recorder = Recorder("s", records.append)
    for event in story:
        recorder.note(event)
    recorder.flush()
    assert read(rule, events_of(records)) == read(rule, story)


def test_drawn_stories_never_take_our_time_back() -> None:
    telling = Telling()
    moments = [telling.stamp(Tick(0), at_ns).at_ns for at_ns in (5, 3, 9)]
    assert moments == [5, 5, 9]


def test_a_final_after_the_grace_takes_nothing_from_the_one_within_it() -> None:
    story = [*spoken(), final(GRACE_OVER - 1, "good"), final(GRACE_OVER + 1, "day")]
    reading = read(FALLBACK, story)
    assert (reading.verdict, reading.final) == (
        Verdict.NATURAL_FINAL,
        Answer("good", GRACE_OVER - 1),
    )
