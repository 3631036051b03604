"""The turns of one stream against what their provider meant: each word has its turn's number.

A provider is drawn that answers in order, but sooner, later or never, and that adds tails. What
each turn may be given is said again here from its own plan, without any machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from measure.events import Event, ForceAcknowledged, SpeechEnd, SpeechStart, Tick, Transcript
from measure.records import MS, SECOND, Endpoint, FinalRule, Flow, Rule, Verdict
from measure.turns import Turn, Turns
from tests.measure.stories import (
    ACKED,
    FALLBACK,
    ITEM,
    MARKED,
    NEXT,
    ZERO,
    final,
    force,
    forced_final,
    frame,
    partial,
)

SPEECH_NS = SECOND
"""From the beginning of a turn to its zero."""
LONG_NS = 60 * SECOND
RULES = [replace(rule, endpoint=Endpoint.EVERY) for rule in (MARKED, ITEM, ACKED, NEXT, FALLBACK)]
delays = st.sampled_from([1, 200 * MS, SECOND, 2 * SECOND - 1, 3 * SECOND + 1, 5 * SECOND, None])
pauses = st.sampled_from([2 * SECOND, 3 * SECOND, 12 * SECOND])
"""From a zero to the next beginning."""


@dataclass(frozen=True)
class Planned:
    """One turn as it was meant."""

    number: int
    begins_ns: int
    answer_ns: int | None
    """When it comes, however late; None: never."""
    shown: bool
    """Words are on show while it speaks."""
    settled: bool
    """A natural final comes while it speaks."""
    tail_ns: int | None
    """When words come that are added to its answer."""

    @property
    def zero_ns(self) -> int:
        return self.begins_ns + SPEECH_NS


@st.composite
def plans(draw: st.DrawFn, *, natural: bool) -> list[Planned]:
    """Answers in order; a tail comes before the next zero, while nothing else can be told of it."""
    planned: list[Planned] = []
    begins_ns, answered_ns = ZERO, 0
    for number in range(draw(st.integers(2, 4))):
        delay_ns, pause_ns = draw(delays), draw(pauses)
        answer_ns = None
        if delay_ns is not None:
            answer_ns = answered_ns = max(begins_ns + SPEECH_NS + delay_ns, answered_ns + 1)
        shown = draw(st.booleans())
        settled = natural and shown and draw(st.booleans())
        next_zero_ns = begins_ns + 2 * SPEECH_NS + pause_ns
        tail_ns = None
        if answer_ns is not None and answer_ns < next_zero_ns - 2:
            tails = [None, answer_ns + 1, begins_ns + SPEECH_NS + pause_ns + 300 * MS]
            tail_ns = draw(
                st.sampled_from([one for one in tails if one is None or one > answer_ns])
            )
        planned.append(Planned(number, begins_ns, answer_ns, shown, settled, tail_ns))
        begins_ns += SPEECH_NS + pause_ns
    return planned


def without_tails(planned: Sequence[Planned]) -> list[Planned]:
    return [replace(one, tail_ns=None) for one in planned]


def story_of(rule: Rule, planned: Sequence[Planned]) -> list[Event]:
    """What happens, in the order of its moments."""
    detected: list[Event] = []
    told: list[Event] = []
    for one in planned:
        at_ms = 2000.0 * one.number
        detected += [
            SpeechStart(0, at_ms, at_ms + 64),
            SpeechEnd(0, at_ms + 900, at_ms + 1000),
        ]
        told += [frame(one.begins_ns, at_ms + 64), frame(one.zero_ns, at_ms + 1000)]
        told += [force(one.zero_ns)] if rule.flow is Flow.FORCED else []
        told += said_in(rule, one)
    return [*detected, *sorted(told, key=lambda event: event.at_ns)]


def said_in(rule: Rule, one: Planned) -> list[Event]:
    said: list[Event] = []
    if one.shown:
        said.append(partial(one.begins_ns + 200 * MS, f"{one.number}:on"))
    if one.settled:
        said.append(final(one.begins_ns + 500 * MS, f"{one.number}:on"))
    if one.answer_ns is not None:
        said += answer(rule, one.answer_ns, f"{one.number}:answer")
    if one.tail_ns is not None:
        said.append(final(one.tail_ns, f"{one.number}:tail"))
    return said


def answer(rule: Rule, at_ns: int, text: str) -> list[Event]:
    if marked(rule):
        return [forced_final(at_ns, text)]
    acknowledged = [ForceAcknowledged(at_ns)] if rule.final_rule is FinalRule.ACK else []
    return [final(at_ns, text), *acknowledged]


def marked(rule: Rule) -> bool:
    return rule.final_rule in (FinalRule.MARKER, FinalRule.ITEM)


def turns_of(rule: Rule, planned: Sequence[Planned]) -> list[Turn]:
    turns = Turns(rule)
    story = story_of(rule, planned)
    for event in (*story, Tick(story[-1].at_ns + LONG_NS)):
        turns.feed(event)
    return turns.begun


# The oracle.


def ends_ns(rule: Rule, planned: Sequence[Planned], one: Planned) -> int:
    """Until when its answer can be told from that of the next: its beginning, or else its force."""
    if one.number + 1 == len(planned):
        return one.zero_ns + LONG_NS
    following = planned[one.number + 1]
    return following.zero_ns if marked(rule) else following.begins_ns


def clear(rule: Rule, planned: Sequence[Planned], one: Planned) -> bool:
    """No answer of an earlier turn can have been taken for its own, nor its own for another's."""
    mine_ns = one.zero_ns if marked(rule) else one.begins_ns
    earlier = planned[: one.number]
    repaid = all(other.answer_ns is not None and other.answer_ns < mine_ns for other in earlier)
    if not repaid:
        return False
    if one.answer_ns is not None and one.answer_ns < ends_ns(rule, planned, one):
        return True
    return one.zero_ns + rule.patience_ns <= ends_ns(rule, planned, one)


@given(st.sampled_from(RULES), st.data())
def test_a_turn_is_believed_exactly_where_its_answer_can_be_told_apart(
    rule: Rule, data: st.DataObject
) -> None:
    planned = without_tails(data.draw(plans(natural=False)))
    for one, turn in zip(planned, turns_of(rule, planned), strict=True):
        reading = turn.reading()
        assert (reading.verdict is not Verdict.TURN_UNCLEAR) == clear(rule, planned, one)
        in_time = one.answer_ns is not None and one.answer_ns < one.zero_ns + rule.patience_ns
        if reading.valid and reading.selection is not Verdict.LATE_PARTIAL:
            assert reading.final is not None
            assert reading.final.at_ns == one.answer_ns or not in_time
            assert reading.zero_ns == one.zero_ns


@given(st.sampled_from(RULES), st.data())
def test_no_turn_that_may_be_published_is_stopped_by_a_word_of_another(
    rule: Rule, data: st.DataObject
) -> None:
    planned = data.draw(plans(natural=marked(rule)))
    for one, turn in zip(planned, turns_of(rule, planned), strict=True):
        reading = turn.reading()
        if reading.valid and reading.final is not None:
            assert reading.final.text.split()[-1].startswith(f"{one.number}:")


@given(st.sampled_from(RULES), plans(natural=False))
def test_where_words_are_not_on_show_no_word_of_another_turn_is_in_a_text(
    rule: Rule, planned: list[Planned]
) -> None:
    unseen = [replace(one, shown=False) for one in planned]
    for one, turn in zip(unseen, turns_of(rule, unseen), strict=True):
        reading = turn.reading()
        if reading.valid:
            words = reading.transcript.split()
            assert all(word.startswith(f"{one.number}:") for word in words)


@given(st.sampled_from(RULES), plans(natural=False))
def test_no_word_is_heard_in_two_turns(rule: Rule, planned: list[Planned]) -> None:
    said = [one for one in story_of(rule, planned) if isinstance(one, Transcript)]
    counted = [turn.tally.circumstances() for turn in turns_of(rule, planned)]
    assert sum(one.finals + one.partials for one in counted) <= len(said)
