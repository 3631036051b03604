"""Each definition of latency: small stories, then what holds for all of them."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.definitions import DEFINITIONS, METHOD, Measured, Missing, Value
from measure.definitions.emission import NO_WORD_TIMES
from measure.definitions.retelling import Replayed, Retelling, retold
from measure.events import (
    Cancelled,
    Event,
    ForceAcknowledged,
    FrameSent,
    MessageReceived,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    Tick,
)
from measure.records import MS, OUR_FAULT, Endpoint, Rule
from measure.words import ReadWords, Word, Words
from tests.measure.stories import (
    ACKED,
    END_MS,
    FALLBACK,
    KNOWN_MS,
    MARKED,
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
    recorded,
    rules,
    stories,
)

SPEECH_END_NS = ZERO - 100 * MS
"""When the frame with the end of speech left, in a paced story."""


def replayed(rule: Rule, story: Iterable[Event], read_words: ReadWords | None = None) -> Replayed:
    return Retelling(rule, story).replayed(read_words)


def value(name: str, story: Iterable[Event], rule: Rule = MARKED) -> Value:
    return DEFINITIONS[name].of(replayed(rule, story))


def ms(name: str, story: Iterable[Event], rule: Rule = MARKED) -> float:
    found = value(name, story, rule)
    assert isinstance(found, Measured), found
    return found.value / MS


def missing(name: str, story: Iterable[Event], rule: Rule = MARKED) -> str:
    found = value(name, story, rule)
    assert isinstance(found, Missing), found
    return found.reason


def paced(*said: Event) -> list[Event]:
    """Frames of 20 ms up to where the end is known at ZERO, the force, and what was said."""
    frames: list[Event] = [frame(ZERO + (n - 50) * 20 * MS, n * 20.0) for n in range(1, 51)]
    told = [*frames, *said, force()]
    return [*SURVEYED, *sorted(told, key=lambda event: event.at_ns)]


def test_the_method_is_the_reading() -> None:
    assert ms(METHOD, [*forced(), forced_final(ZERO + 250 * MS, "good day")]) == 250


def test_the_method_of_a_partial_that_counts_is_its_moment() -> None:
    story = [*paced()[:-1], partial(ZERO + 300 * MS, "good"), StreamClosed(ZERO + 400 * MS, 1000)]
    assert ms(METHOD, story, FALLBACK) == 300


def test_without_an_answer_the_method_says_the_verdict() -> None:
    assert missing(METHOD, [*forced(), Tick(ZERO + MARKED.patience_ns)]) == "no_final"


def test_an_answer_from_before_zero_has_a_negative_value() -> None:
    story = paced(final(ZERO - 40 * MS, "good day"), forced_final(ZERO + 20 * MS, ""))
    assert ms(METHOD, story) == -40


SPLIT = paced(
    forced_final(ZERO + 250 * MS, "good"),
    final(ZERO + 400 * MS, "day", forced=False),
    partial(ZERO + 450 * MS, "again"),
)


def test_the_last_final_is_not_the_first() -> None:
    assert ms("last_final", SPLIT) == 400


def test_without_a_final_after_zero_there_is_no_last_one() -> None:
    story = paced(final(ZERO - 40 * MS, "good day"), forced_final(ZERO + 20 * MS, ""))
    assert missing("last_final", story) == "no final with text after zero"


def test_the_confirmation_counts_without_text() -> None:
    acknowledged = ForceAcknowledged(ZERO + 20 * MS)
    story = [*paced(), acknowledged, final(ZERO + 250 * MS, "good day")]
    assert ms("confirmed", story, ACKED) == 20


def test_a_force_that_nobody_confirms_has_no_confirmation() -> None:
    story = [*paced(), final(ZERO + 250 * MS, "good day")]
    assert missing("confirmed", story) == "the force was not confirmed"


def test_from_the_end_of_speech_the_silence_wait_is_inside() -> None:
    assert ms("speech_end", SPLIT) == 250 + 100


def test_from_the_end_of_speech_to_the_last_final_there_is_more_inside() -> None:
    assert ms("speech_end_last", SPLIT) == 400 + 100


def test_the_end_of_speech_is_when_the_frame_left_that_completed_it() -> None:
    late = [*paced(forced_final(ZERO + 250 * MS, "good day"))]
    moved = SPEECH_END_NS + 7 * MS
    late = [
        frame(moved, END_MS, late_ns=7 * MS)
        if isinstance(event, FrameSent) and event.audio_ms == END_MS
        else event
        for event in late
    ]
    assert ms("speech_end", late) == 250 + 93


def live(story: list[Event], *, delay_ns: int | None) -> list[Event]:
    """The same, heard by a microphone that gives its samples so long after it took them up."""
    return [
        replace(one, captured_ns=None if delay_ns is None else one.at_ns - delay_ns)
        if isinstance(one, FrameSent)
        else one
        for one in story
    ]


def test_from_the_microphone_on_its_own_delay_is_inside() -> None:
    assert ms("captured", live(SPLIT, delay_ns=41 * MS)) == 250 + 100 + 41


def test_the_end_of_speech_was_taken_up_before_the_end_of_its_frame() -> None:
    story = [
        SURVEYED[0],
        SpeechEnd(0, END_MS - 7, KNOWN_MS),
        *(event for event in SPLIT if not isinstance(event, SpeechStart | SpeechEnd)),
    ]
    assert ms("captured", live(story, delay_ns=0)) == 250 + 100 + 7


@pytest.mark.parametrize("story", [SPLIT, live(SPLIT, delay_ns=None)])
def test_what_no_microphone_took_up_has_no_such_time(story: list[Event]) -> None:
    said = "no live audio, or the device does not say when it took it up"
    assert missing("captured", story) == said


def test_a_final_without_words_is_no_last_final() -> None:
    story = paced(forced_final(ZERO + 250 * MS, "good day"), final(ZERO + 400 * MS, " "))
    assert ms("speech_end_last", story) == 250 + 100


def test_a_partial_is_no_last_final() -> None:
    story = paced(forced_final(ZERO + 250 * MS, "good day"), partial(ZERO + 400 * MS, "so"))
    assert ms("speech_end_last", story) == 250 + 100


def test_a_duplicate_is_no_last_final() -> None:
    story = paced(
        forced_final(ZERO + 250 * MS, "good day", "a"),
        forced_final(ZERO + 400 * MS, "good day", "a"),
    )
    assert ms("speech_end_last", story) == 250 + 100


def test_without_an_end_of_speech_nothing_counts_from_it() -> None:
    story = [SURVEYED[0], frame(1, 500.0), force(), forced_final(ZERO + MS, "good")]
    assert missing("speech_end", story) == "no frame reached the end of speech"


PARTIALS = paced(
    partial(ZERO - 600 * MS, "could"),
    partial(ZERO - 400 * MS, "Good"),
    partial(ZERO + 50 * MS, "good day."),
    forced_final(ZERO + 250 * MS, "Good day!"),
)


def test_the_first_partial_is_the_first_after_zero() -> None:
    assert ms("first_partial", PARTIALS) == 50


def test_a_final_is_no_first_partial() -> None:
    story = paced(forced_final(ZERO + 250 * MS, "good day"))
    assert missing("first_partial", story) == "no partial between zero and the answer"


def test_a_final_may_be_the_first_text() -> None:
    assert ms("first_text", paced(forced_final(ZERO + 250 * MS, "good day"))) == 250


def test_a_partial_may_be_the_first_text() -> None:
    assert ms("first_text", PARTIALS) == 50


def test_from_the_start_of_the_audio_the_very_first_partial_counts() -> None:
    assert ms("audio_start", PARTIALS) == 980 - 600


def test_a_partial_without_words_shows_nothing() -> None:
    story = paced(partial(ZERO - 600 * MS, " "), partial(ZERO - 400 * MS, "good"))
    assert ms("audio_start", story) == 980 - 400


def test_a_final_without_partials_has_none_from_the_start() -> None:
    assert missing("audio_start", SPLIT[:-1]) == "no partial"


def corrected(*said: Event, rule: Rule = MARKED) -> int:
    found = value("corrections", paced(*said), rule)
    assert isinstance(found, Measured)
    return found.value


def test_words_that_are_taken_back_are_corrections() -> None:
    assert corrected(partial(ZERO - 9, "could"), partial(ZERO - 8, "good")) == 1


def test_words_that_are_added_correct_nothing() -> None:
    assert corrected(partial(ZERO - 9, "good"), partial(ZERO - 8, "good day")) == 0


def test_fewer_words_than_before_are_a_correction() -> None:
    assert corrected(partial(ZERO - 9, "good day"), partial(ZERO - 8, "good")) == 1


def test_capitals_and_punctuation_correct_nothing() -> None:
    assert corrected(partial(ZERO - 9, "good day"), partial(ZERO - 8, "Good day. it")) == 0


def test_all_letters_of_a_word_are_compared_and_marks_are_no_words() -> None:
    assert corrected(partial(ZERO - 9, "good"), partial(ZERO - 8, "god")) == 1
    assert corrected(partial(ZERO - 9, "good"), partial(ZERO - 8, "goot")) == 1
    assert corrected(partial(ZERO - 9, "good ..."), partial(ZERO - 8, "good day")) == 0
    assert corrected(partial(ZERO - 9, '"good" -'), partial(ZERO - 8, "good")) == 0


def test_a_final_is_no_correction() -> None:
    assert corrected(partial(ZERO - 9, "could"), forced_final(ZERO + 8, "good")) == 0


def test_a_partial_of_a_new_segment_keeps_what_is_final() -> None:
    story = [partial(ZERO - 9, "good"), final(ZERO - 8, "good day"), partial(ZERO - 7, "it")]
    assert corrected(*story) == 0


def test_where_words_are_written_together_characters_are_compared() -> None:
    together = Rule(MARKED.flow, MARKED.final_rule, joiner="")
    grown = [partial(ZERO - 9, "今日"), partial(ZERO - 8, "今日は")]
    assert corrected(*grown, rule=together) == 0
    assert corrected(*grown) == 1


def test_where_nothing_was_said_nothing_can_be_taken_back() -> None:
    assert missing("corrections", paced()) == "no text"


WORDS: dict[str, Words] = {
    "1": Words((Word("god", 0.0, 200.0),), final=False),
    "2": Words((Word("Good", 10.0, 210.0), Word("good", 300.0, 500.0)), final=False),
    "3": Words((Word("good", 0.0, 200.0), Word("good", 310.0, 480.0)), final=True),
}


def spoken(at_ns: int, name: str) -> MessageReceived:
    return MessageReceived(at_ns, name, at_ns)


def emission(*said: Event, read_words: ReadWords | None = None) -> Value:
    story = [*paced(*said), forced_final(ZERO + 250 * MS, "good good")]
    return DEFINITIONS["words"].of(replayed(MARKED, story, read_words))


def read_word(raw: str | bytes) -> Words | None:
    return WORDS.get(str(raw))


def test_a_word_is_shown_with_the_first_message_that_has_it_at_its_place() -> None:
    # "good" ends at 200 ms, which left 800 ms before zero; "2" is the first to show it there
    heard = emission(
        spoken(ZERO - 700 * MS, "1"),
        spoken(ZERO - 500 * MS, "2"),
        spoken(ZERO + 250 * MS, "3"),
        read_words=read_word,
    )
    # the second ends at 480 ms and is shown at once: 20 ms later than its frame
    assert heard == Measured(20 * MS)


def test_the_median_word_counts() -> None:
    heard = emission(spoken(ZERO + 250 * MS, "3"), read_words=read_word)
    assert heard == Measured(250 * MS + 520 * MS)


def test_the_same_word_at_another_place_is_another_word() -> None:
    def read(raw: str | bytes) -> Words:
        place_ms = 0.0 if raw == "early" else 310.0
        return Words((Word("good", place_ms, place_ms + 170.0),), final=raw != "early")

    heard = emission(
        spoken(ZERO - 700 * MS, "early"), spoken(ZERO + 250 * MS, "3"), read_words=read
    )
    assert heard == Measured(250 * MS + 520 * MS)


def test_a_message_without_words_is_passed_over() -> None:
    said = [spoken(ZERO - 1, "no words"), spoken(ZERO + 250 * MS, "3")]
    assert emission(*said, read_words=read_word) == Measured(250 * MS + 520 * MS)


def test_a_word_of_no_length_is_shown_with_the_message_that_says_it() -> None:
    def read(_: str | bytes) -> Words:
        return Words((Word("good", 200.0, 200.0),), final=True)

    assert emission(spoken(ZERO, "any"), read_words=read) == Measured(800 * MS)


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "overlaps"),
    [
        (0.0, 100.0, False),
        (0.0, 101.0, True),
        (120.0, 130.0, True),
        (199.0, 300.0, True),
        (200.0, 300.0, False),
        (0.0, 300.0, True),
    ],
)
def test_words_overlap_where_they_share_some_sound(
    start_ms: float, end_ms: float, overlaps: bool
) -> None:
    assert Word("good", 100.0, 200.0).overlaps(Word("good", start_ms, end_ms)) == overlaps


def test_words_beyond_what_was_sent_say_nothing() -> None:
    def beyond(_: str | bytes) -> Words:
        return Words((Word("good", 0.0, 99_999.0),), final=True)

    heard = emission(spoken(ZERO + 250 * MS, "3"), read_words=beyond)
    assert heard == Missing("no final with word times")


def test_where_a_provider_gives_no_word_times_that_is_said() -> None:
    assert emission(spoken(ZERO, "3")) == Missing(NO_WORD_TIMES)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_what_was_our_own_fault_has_no_value_under_any_definition(name: str) -> None:
    story = paced(forced_final(ZERO + 250 * MS, "good day"))
    late = [force(late_ns=21 * MS) if event == force() else event for event in story]
    assert missing(name, late) == "harness_late"
    assert missing(name, [*paced()[:-1], Cancelled(ZERO)]) == "cancelled"


def test_each_turn_of_a_stream_has_a_value_where_every_end_counts() -> None:
    second = 2000.0
    rule = Rule(MARKED.flow, MARKED.final_rule, endpoint=Endpoint.EVERY)
    story: list[Event] = [
        *SURVEYED,
        SpeechStart(0, 1500.0, 1564.0),
        SpeechEnd(0, second, second + 100),
        *(frame(ZERO + (n - 50) * 20 * MS, n * 20.0) for n in range(1, 51)),
        force(),
        forced_final(ZERO + 250 * MS, "good", "a"),
        *(frame(ZERO + (n - 50) * 20 * MS, n * 20.0) for n in range(63, 106)),
        force(ZERO + 1100 * MS),
        forced_final(ZERO + 1400 * MS, "day", "b"),
        StreamClosed(ZERO + 2000 * MS, 1000),
    ]
    turns = retold(recorded(rule, story))
    assert [DEFINITIONS[METHOD].of(turn) for turn in turns] == [
        Measured(250 * MS, ZERO, ZERO + 250 * MS),
        Measured(300 * MS, ZERO + 1100 * MS, ZERO + 1400 * MS),
    ]
    spans = [DEFINITIONS["speech_end"].of(turn) for turn in turns]
    assert [isinstance(one, Measured) and one.value / MS for one in spans] == [350, 400]
    for name in ("corrections", "speech_end_last", "audio_start", "words"):
        reasons = {str(DEFINITIONS[name].of(turn)) for turn in turns}
        assert reasons == {str(Missing("several turns in one stream"))}


@given(rules, stories())
def test_the_method_rescored_is_the_reading_of_the_stopwatch(
    rule: Rule, story: list[Event]
) -> None:
    reading = read(rule, story)
    (turn,) = retold(recorded(rule, story))
    again = DEFINITIONS[METHOD].of(turn)
    assert turn.reading == reading
    if reading.valid:
        assert isinstance(again, Measured)
        assert again.value == reading.time_to_final_ns
    else:
        assert again == Missing(reading.verdict.value)


@given(rules, stories())
def test_a_duration_is_what_lies_between_its_two_moments(rule: Rule, story: list[Event]) -> None:
    for definition in DEFINITIONS.values():
        found = definition.of(replayed(rule, story))
        if isinstance(found, Measured) and found.from_ns is not None and found.to_ns is not None:
            assert found.value == found.to_ns - found.from_ns


@given(rules, stories())
def test_there_is_no_value_where_it_was_our_fault(rule: Rule, story: list[Event]) -> None:
    told = replayed(rule, story)
    if told.reading.verdict in OUR_FAULT:
        reason = Missing(told.reading.verdict.value)
        assert {str(one.of(told)) for one in DEFINITIONS.values()} == {str(reason)}


def values(rule: Rule, story: Iterable[Event]) -> dict[str, object]:
    """Each value, without its moments."""
    told = replayed(rule, story)
    found = {name: definition.of(told) for name, definition in DEFINITIONS.items()}
    return {name: one.value if isinstance(one, Measured) else one for name, one in found.items()}


@given(rules, stories(), st.sampled_from([1, 20 * MS, 10**15]))
def test_a_later_start_changes_no_value(rule: Rule, story: list[Event], by_ns: int) -> None:
    assert values(rule, later(story, by_ns)) == values(rule, story)


@given(rules, stories(older_stamps=False), st.data())
def test_the_passing_of_time_changes_no_value(
    rule: Rule, story: list[Event], data: st.DataObject
) -> None:
    ticked = list(story)
    if story:
        place = data.draw(st.integers(0, len(story) - 1))
        ticked.insert(place + 1, Tick(story[place].at_ns))
        ticked.insert(place, Tick(story[place].at_ns))
    assert values(rule, ticked) == values(rule, story)


def test_the_known_end_is_not_the_speech_end() -> None:
    assert KNOWN_MS - END_MS == 100.0
