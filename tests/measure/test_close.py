"""The close flow: the end of the stream is announced, and what comes after it is the answer."""

from dataclasses import replace

import pytest

from measure.events import (
    BytesUnsent,
    Event,
    ForceAcknowledged,
    LoopStalled,
    StreamClosed,
    StreamDone,
    Tick,
)
from measure.faults import FaultKind, Whose
from measure.records import ANSWERED, MS, SECOND, Answer, ForceAt, Verdict
from tests.measure.stories import (
    CLOSE,
    DEADLINE,
    END_MS,
    FALLBACK,
    KNOWN_MS,
    MARKED,
    SURVEYED,
    ZERO,
    closing,
    failed,
    final,
    finish,
    force,
    forced,
    forced_final,
    frame,
    partial,
    read,
    spoken,
    told,
)

AT = ZERO + 200 * MS
ANSWER = final(AT, "good day")
BEFORE = final(ZERO - 500 * MS, "good day")


def verdict(*story: Event) -> Verdict:
    return read(CLOSE, story).verdict


# Zero.


def test_the_farewell_is_due_once_the_audio_up_to_where_the_end_can_be_known_has_left() -> None:
    assert not told(CLOSE, [*SURVEYED, frame(1, KNOWN_MS - 1)]).finish_due
    assert told(CLOSE, [*SURVEYED, frame(1, KNOWN_MS)]).finish_due


def test_at_speech_end_the_farewell_is_due_once_the_audio_up_to_it_has_left() -> None:
    early = replace(CLOSE, force_at=ForceAt.SPEECH_END)
    assert not told(early, [*SURVEYED, frame(1, END_MS - 1)]).finish_due
    assert told(early, [*SURVEYED, frame(1, END_MS)]).finish_due


def test_a_farewell_is_no_force_and_a_force_no_farewell() -> None:
    assert not told(CLOSE, spoken()).force_due
    assert not told(MARKED, spoken()).finish_due
    assert not told(FALLBACK, spoken()).finish_due


def test_the_farewell_is_due_once() -> None:
    assert not told(CLOSE, closing()).finish_due


def test_no_farewell_is_due_when_the_stream_has_ended() -> None:
    assert not told(CLOSE, [*spoken(), StreamClosed(ZERO, 1000)]).finish_due


def test_zero_is_when_the_socket_had_the_farewell() -> None:
    assert read(CLOSE, [*spoken(), finish(ZERO + 7)]).zero_ns == ZERO + 7


def test_only_the_message_of_its_own_flow_is_zero() -> None:
    assert read(CLOSE, [*spoken(), force()]).zero_ns is None
    assert read(MARKED, [*spoken(), finish()]).zero_ns is None


def test_a_farewell_is_late_only_beyond_the_budget() -> None:
    assert verdict(*spoken(), finish(late_ns=20 * MS), ANSWER) is Verdict.CLOSED_FINAL
    assert verdict(*spoken(), finish(late_ns=20 * MS + 1), ANSWER) is Verdict.HARNESS_LATE


def test_a_force_that_is_not_of_its_flow_is_late_without_harm() -> None:
    assert verdict(*spoken(), force(late_ns=SECOND), finish(), ANSWER) is Verdict.CLOSED_FINAL


# Which final.


def test_the_first_final_with_text_after_the_farewell_stops_the_watch() -> None:
    story = [*closing(), final(ZERO + 1, ""), ANSWER, final(AT + 1, "indeed")]
    reading = read(CLOSE, story)
    assert (reading.verdict, reading.final) == (Verdict.CLOSED_FINAL, Answer("good day", AT))
    assert reading.time_to_final_ns == 200 * MS


def test_a_closed_final_is_never_a_forced_one() -> None:
    assert verdict(*closing(), forced_final(AT, "good day")) is Verdict.CLOSED_FINAL
    assert read(MARKED, [*forced(), ANSWER]).verdict is Verdict.FORCED_FINAL
    assert Verdict.CLOSED_FINAL in ANSWERED


def test_the_first_partial_after_the_farewell_counts() -> None:
    story = [*closing(), partial(ZERO + 5, "good"), ANSWER]
    assert read(CLOSE, story).time_to_first_partial_ns == 5


def test_a_mark_confirms_nothing_where_nothing_was_forced() -> None:
    story = [*closing(), forced_final(AT, "good day"), ForceAcknowledged(AT)]
    assert read(CLOSE, story).confirmed_ns is None
    assert told(CLOSE, story).deadline_ns == AT + CLOSE.confirm_ns


def test_that_nothing_more_comes_is_the_confirmation() -> None:
    story = [*closing(), ANSWER, StreamDone(AT + 1)]
    assert read(CLOSE, story).confirmed_ns == AT + 1
    assert told(CLOSE, story).deadline_ns == AT + 1 + CLOSE.settle_ns


def test_an_ordinary_close_is_the_confirmation_too() -> None:
    assert read(CLOSE, [*closing(), ANSWER, StreamClosed(AT + 1, 1000)]).confirmed_ns == AT + 1
    assert read(CLOSE, [*closing(), ANSWER, StreamClosed(AT + 1, None)]).confirmed_ns is None


def test_the_first_confirmation_is_the_one() -> None:
    story = [*closing(), StreamDone(ZERO + 1), StreamClosed(ZERO + 2, 1000)]
    assert read(CLOSE, story).confirmed_ns == ZERO + 1


def test_what_was_said_before_the_farewell_confirms_nothing() -> None:
    assert read(CLOSE, [*spoken(), StreamDone(ZERO), finish(), ANSWER]).confirmed_ns is None


def test_where_nothing_more_comes_nothing_more_is_awaited_though_there_was_no_word() -> None:
    story = [*closing(partial(ZERO - 1, "good")), StreamDone(ZERO + 1)]
    assert told(CLOSE, story).deadline_ns == ZERO + 1 + CLOSE.settle_ns
    settled = [*story, Tick(ZERO + 1 + CLOSE.settle_ns)]
    assert told(CLOSE, settled).done
    assert read(CLOSE, settled).verdict is Verdict.ACK_ONLY


def test_a_final_behind_the_word_that_nothing_more_comes_counts_while_it_settles() -> None:
    assert verdict(*closing(), StreamDone(ZERO + 1), ANSWER) is Verdict.CLOSED_FINAL


def test_all_that_was_final_before_is_already_final_once_nothing_more_comes() -> None:
    reading = read(CLOSE, [*closing(BEFORE), StreamDone(ZERO + 1)])
    assert (reading.verdict, reading.time_to_final_ns) == (Verdict.ALREADY_FINAL, -500 * MS)
    assert verdict(*closing(BEFORE), Tick(ZERO + 1)) is Verdict.NO_FINAL


# Without an answer.


@pytest.mark.parametrize("code", [1000, 1005])
def test_an_ordinary_close_without_words_is_an_acknowledgement(code: int) -> None:
    assert verdict(*closing(), StreamClosed(ZERO + 1, code)) is Verdict.ACK_ONLY


def test_a_stream_that_breaks_off_after_the_farewell_is_lost() -> None:
    assert verdict(*closing(), StreamClosed(ZERO + 1, None)) is Verdict.CONNECTION_LOST


def test_a_stream_that_breaks_off_when_all_was_said_is_acknowledged() -> None:
    story = [*closing(), StreamDone(ZERO + 1), StreamClosed(ZERO + 2, None)]
    assert verdict(*story) is Verdict.ACK_ONLY


def test_an_ordinary_close_before_the_farewell_is_a_lost_connection() -> None:
    assert verdict(*spoken(), StreamClosed(ZERO, 1000)) is Verdict.CONNECTION_LOST


def test_a_failure_after_the_farewell_is_one() -> None:
    story = [*closing(), StreamDone(ZERO + 1), failed(ZERO + 2, Whose.PROVIDER, FaultKind.SERVER)]
    assert verdict(*story) is Verdict.PROVIDER_ERROR


def test_nothing_in_time_is_no_final() -> None:
    assert verdict(*closing(), Tick(DEADLINE)) is Verdict.NO_FINAL


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (LoopStalled(ZERO + 50 * MS, 40 * MS), Verdict.HARNESS_STALLED),
        (BytesUnsent(ZERO, 641, 640), Verdict.SOCKET_STALLED),
    ],
)
def test_what_is_ours_to_blame_spoils_it(ours: Event, expected: Verdict) -> None:
    assert verdict(*closing(), ours, ANSWER) is expected
