"""A lost tail, stamps that are not the kernel's, a host that stood still, and equal moments."""

from dataclasses import replace

import pytest

from measure.events import (
    Event,
    ForceAcknowledged,
    HostStalled,
    LoopStalled,
    MessageReceived,
    SpeechStart,
    StreamClosed,
    Tick,
    Xrun,
)
from measure.records import MS, SECOND, Remark, Rule, Verdict
from tests.measure.stories import (
    ACKED,
    DEADLINE,
    FALLBACK,
    GRACE_OVER,
    KNOWN_MS,
    MARKED,
    NEXT,
    START_MS,
    ZERO,
    final,
    forced,
    forced_final,
    partial,
    read,
    spoken,
)

AT = ZERO + 200 * MS
ANSWER = forced_final(AT, "good day")


def remarks(rule: Rule, *story: Event) -> tuple[Remark, ...]:
    return read(rule, story).remarks


# A tail that had been on show and is not in the final.


def truncated(shown: str, said: str, rule: Rule = MARKED) -> bool:
    """Whether the final ``said`` lacks the end of ``shown``, which came just before."""
    story = [*forced(partial(ZERO - 1, shown)), forced_final(AT, said)]
    found = Remark.TRUNCATED_TAIL in remarks(rule, *story)
    after = [*forced(), partial(ZERO + 1, shown), forced_final(AT, said)]
    assert (Remark.TRUNCATED_TAIL in remarks(rule, *after)) == found
    return found


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("good day", "good"),
        ("good day", "Good."),
        ("good day, indeed", "Good day"),
        ("good day", "..."),
    ],
)
def test_a_final_that_lacks_the_last_words_on_show_is_remarked(shown: str, said: str) -> None:
    assert truncated(shown, said)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("good day", "good day"),
        ("good day", "Good day!"),
        ("good day", "good day indeed"),
        ("good", "good day"),
        ("goods", "good"),
        ("twenty five", "25"),
        ("good day", "day"),
        ("a good day", "good"),
    ],
)
def test_a_final_that_says_it_otherwise_is_not(shown: str, said: str) -> None:
    assert not truncated(shown, said)


def test_where_words_are_not_kept_apart_each_letter_is_one() -> None:
    assert truncated("良い日", "良い。", replace(MARKED, joiner=""))
    assert not truncated("良い日", "良い日。", replace(MARKED, joiner=""))
    assert not truncated("良い日", "良い。")


def test_only_what_was_on_show_just_before_counts() -> None:
    said = [partial(ZERO - 9, "good day"), partial(ZERO - 1, "good")]
    assert remarks(MARKED, *forced(*said), forced_final(AT, "good")) == ()


def test_a_tail_that_is_still_on_show_is_not_lost() -> None:
    shown = [partial(ZERO - 9, "good", "a"), partial(ZERO - 1, "day", "b")]
    assert remarks(MARKED, *forced(*shown), forced_final(AT, "good", "a")) == ()


def test_a_tail_that_comes_later_is_remarked_as_both() -> None:
    story = [*forced(partial(ZERO - 1, "good day")), forced_final(AT, "good"), final(AT + 1, "day")]
    assert remarks(MARKED, *story) == (Remark.LATE_TEXT_AFTER_FINAL, Remark.TRUNCATED_TAIL)


def test_what_came_after_the_answer_is_not_what_was_on_show_before_it() -> None:
    story = [*forced(), ANSWER, partial(AT + 1, "good day indeed"), final(AT + 2, "indeed")]
    assert Remark.TRUNCATED_TAIL not in remarks(MARKED, *story)


def test_a_partial_that_is_taken_has_lost_nothing() -> None:
    story = [*spoken(partial(ZERO - 1, "good day")), partial(GRACE_OVER + 1, "good")]
    assert remarks(FALLBACK, *story) == ()


def test_a_natural_final_can_lack_its_tail() -> None:
    story = [*spoken(partial(ZERO - 1, "good day")), final(ZERO + 1, "good")]
    assert remarks(FALLBACK, *story) == (Remark.TRUNCATED_TAIL,)


def test_without_an_answer_nothing_is_lost() -> None:
    assert remarks(MARKED, *forced(partial(ZERO - 1, "good day")), Tick(DEADLINE)) == ()


# A final that repeats the end of the one before it.


def overlaps(before: str, text: str, rule: Rule = MARKED) -> bool:
    story = [*forced(), forced_final(AT, before), final(AT + 1, text)]
    return Remark.OVERLAPPING_FINAL in remarks(rule, *story)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("a good day to", "day to you"),
        ("a good day to", "Day, to you!"),
        ("a good day to", "good day to you"),
        ("a good day", "a good day to you"),
        ("good day", "good day"),
        ("to you", "to you to you"),
    ],
)
def test_a_final_that_repeats_the_end_of_the_one_before_is_remarked(before: str, text: str) -> None:
    assert overlaps(before, text)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("a good day", "day to you"),
        ("good day to", "a good day to"),
        ("a good day to", "to day you"),
        ("good day to you", "good day"),
        ("you", "you"),
    ],
)
def test_one_word_said_twice_or_another_place_is_no_overlap(before: str, text: str) -> None:
    assert not overlaps(before, text)


def test_where_words_are_not_kept_apart_four_letters_are_an_overlap() -> None:
    together = replace(MARKED, joiner="")
    assert overlaps("今日は良い日です", "良い日ですね", together)
    assert overlaps("今日はいい日", "はいい日", together)
    assert not overlaps("良い日です", "日ですね", together)


def test_a_later_final_of_the_same_segment_takes_the_place_of_the_earlier() -> None:
    said = [forced_final(AT, "good day to", "a"), final(AT + 1, "good day to you", segment="a")]
    assert Remark.OVERLAPPING_FINAL not in remarks(MARKED, *forced(), *said)
    other = final(AT + 1, "good day to you", segment="b")
    assert Remark.OVERLAPPING_FINAL in remarks(MARKED, *forced(), said[0], other)


def test_only_finals_that_say_something_new_are_compared() -> None:
    shown = [partial(ZERO - 9, "a good day"), partial(ZERO - 1, "good day to")]
    assert remarks(MARKED, *forced(*shown), forced_final(AT, "good day to you")) == ()
    said = [forced_final(AT, "a good day", "a"), final(AT + 1, " ")]
    again = [final(AT + 2, "a good day", segment="a"), final(AT + 3, "good day to you")]
    assert Remark.OVERLAPPING_FINAL in remarks(MARKED, *forced(), *said, again[1])
    between = final(AT + 2, "indeed")
    assert Remark.OVERLAPPING_FINAL not in remarks(MARKED, *forced(), *said, between, again[1])
    twice = remarks(MARKED, *forced(), *said, between, *again)
    assert Remark.OVERLAPPING_FINAL not in twice


# Where the kernel gave no stamp.


def test_an_answer_without_a_kernel_stamp_is_remarked() -> None:
    assert remarks(MARKED, *forced(), MessageReceived(AT, "{}"), ANSWER) == (Remark.USER_STAMP,)


def test_an_answer_with_a_kernel_stamp_is_not_remarked() -> None:
    assert remarks(MARKED, *forced(), MessageReceived(AT, "{}", AT + 9), ANSWER) == ()


def test_only_the_stamp_of_the_answer_matters() -> None:
    others = [MessageReceived(AT - 1, "{}"), partial(AT - 1, "good")]
    assert remarks(MARKED, *forced(), *others, MessageReceived(AT, "{}", AT), ANSWER) == ()


def test_without_an_answer_no_stamp_is_remarked() -> None:
    story = [*forced(), MessageReceived(AT, "{}"), partial(AT, "good"), Tick(DEADLINE)]
    assert remarks(MARKED, *story) == ()


# Where the host stood still.


def host(ended_ns: int, stalled_ns: int, told_ns: int | None = None) -> HostStalled:
    return HostStalled(told_ns or max(ended_ns, ZERO), ended_ns, stalled_ns)


@pytest.mark.parametrize(
    ("stall", "spoils"),
    [
        (host(ZERO + 100 * MS, 20 * MS), False),
        (host(ZERO + 100 * MS, 20 * MS + 1), True),
        (host(ZERO, 50 * MS), False),
        (host(ZERO + 1, 50 * MS), True),
        (host(ZERO, 50 * MS, ZERO + 100 * MS), False),
    ],
)
def test_a_host_that_stands_still_while_an_answer_is_awaited_spoils_it(
    stall: HostStalled, spoils: bool
) -> None:
    expected = Verdict.HARNESS_STALLED if spoils else Verdict.FORCED_FINAL
    assert read(MARKED, [*forced(), stall, ANSWER]).verdict is expected


@pytest.mark.parametrize(("stalled_ns", "spoils"), [(100 * MS, False), (100 * MS + 1, True)])
def test_a_host_that_stood_still_before_the_answer_spoils_it_though_it_is_told_later(
    stalled_ns: int, spoils: bool
) -> None:
    stall = host(AT + 100 * MS, stalled_ns, AT + 150 * MS)
    expected = Verdict.HARNESS_STALLED if spoils else Verdict.FORCED_FINAL
    assert read(MARKED, [*forced(), ANSWER, stall]).verdict is expected


@pytest.mark.parametrize(
    ("stall", "remarked"),
    [
        (host(ZERO - SECOND, 50 * MS), False),
        (host(ZERO - SECOND + 1, 50 * MS), True),
        (host(ZERO - SECOND + 1, 20 * MS), False),
        (host(ZERO, 21 * MS), True),
        (host(AT, 21 * MS, AT), True),
        (host(AT + 100 * MS, 100 * MS, AT + 100 * MS), False),
        (host(AT + 100 * MS, 100 * MS + 1, AT + 100 * MS), True),
    ],
)
def test_a_host_that_stood_still_from_a_second_before_zero_to_the_answer_is_remarked(
    stall: HostStalled, remarked: bool
) -> None:
    found = remarks(MARKED, *forced(), ANSWER, replace(stall, at_ns=max(stall.at_ns, AT)))
    assert found == ((Remark.HOST_STALLED,) if remarked else ())


def test_a_host_that_stands_still_past_the_deadline_spoils_the_waiting() -> None:
    story = [*forced(), host(DEADLINE + SECOND, 2 * SECOND, DEADLINE + SECOND)]
    reading = read(MARKED, story)
    assert (reading.verdict, reading.remarks) == (Verdict.HARNESS_STALLED, (Remark.HOST_STALLED,))


def test_our_own_standstill_is_not_the_hosts() -> None:
    assert remarks(MARKED, *forced(), LoopStalled(AT, 50 * MS), ANSWER) == ()


def test_before_zero_a_host_that_stood_still_is_not_remarked() -> None:
    story = [*spoken(), host(ZERO, 50 * MS), StreamClosed(ZERO, 1000)]
    assert read(MARKED, story).verdict is Verdict.CONNECTION_LOST
    assert remarks(MARKED, *story) == ()


# Where the sound device failed.


@pytest.mark.parametrize(
    ("place_ms", "at_ns", "remarked"),
    [
        (START_MS - 0.0625, ZERO, False),
        (START_MS, ZERO, True),
        (KNOWN_MS, AT, True),
        (KNOWN_MS, AT + 1, False),
    ],
)
def test_a_device_that_fails_between_the_start_of_speech_and_the_answer_is_remarked(
    place_ms: float, at_ns: int, remarked: bool
) -> None:
    story = [*forced(), ANSWER]
    story.insert(-1 if at_ns <= AT else len(story), Xrun(at_ns, "input_lost", place_ms, 20.0))
    assert remarks(MARKED, *story) == ((Remark.XRUN,) if remarked else ())


def test_a_device_that_fails_before_any_speech_is_known_is_remarked_until_it_is() -> None:
    assert remarks(MARKED, Xrun(1, "input_overflow", 0.0)) == (Remark.XRUN,)
    assert remarks(MARKED, Xrun(1, "input_overflow", 0.0), SpeechStart(1, 0.5, 64.0)) == ()


# At equal stamps what was told first was first.


def test_a_final_told_before_the_force_at_the_same_moment_is_before_it() -> None:
    assert read(NEXT, [*spoken(), final(ZERO, "good"), *forced()[-1:]]).final is None


def test_a_final_told_after_the_force_at_the_same_moment_answers_it() -> None:
    reading = read(NEXT, [*forced(), final(ZERO, "good")])
    assert (reading.verdict, reading.time_to_final_ns) == (Verdict.FORCED_FINAL, 0)


def test_a_partial_told_before_the_final_at_the_same_moment_is_the_first() -> None:
    story = [*forced(), partial(AT, "good"), ANSWER]
    assert read(MARKED, story).time_to_first_partial_ns == 200 * MS
    assert read(MARKED, [*forced(), ANSWER, partial(AT, "good")]).first_partial is None


def test_an_acknowledgement_and_a_final_at_one_moment_are_one_answer_in_either_order() -> None:
    ack, said = ForceAcknowledged(AT), final(AT, "good day")
    one, other = read(ACKED, [*forced(), ack, said]), read(ACKED, [*forced(), said, ack])
    assert one == other
    assert (one.verdict, one.confirmed_ns) == (Verdict.FORCED_FINAL, AT)
