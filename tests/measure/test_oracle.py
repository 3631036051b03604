"""The stopwatch against the method's own sentences, on any story."""

from dataclasses import replace

from hypothesis import given, settings

from measure.events import Event
from measure.records import Flow, Reading, Rule
from tests.measure.oracle import (
    due_of,
    is_over,
    listened,
    next_change_ns,
    reading_of,
)
from tests.measure.stories import read, rules, stories, told

MANY = settings(max_examples=10 * settings().max_examples)


def in_order(reading: Reading) -> Reading:
    """The same with its remarks in alphabetical order: theirs has no meaning."""
    return replace(reading, remarks=tuple(sorted(reading.remarks)))


@MANY
@given(rules, stories())
def test_the_stopwatch_does_as_the_method_says(rule: Rule, story: list[Event]) -> None:
    assert in_order(read(rule, story)) == reading_of(rule, story)


@given(rules, stories())
def test_it_is_done_when_nothing_that_may_come_can_count(rule: Rule, story: list[Event]) -> None:
    assert told(rule, story).done == is_over(rule, listened(rule, story))


@given(rules, stories())
def test_the_force_or_the_farewell_is_due_once_the_endpoint_has_left(
    rule: Rule, story: list[Event]
) -> None:
    for count in range(len(story) + 1):
        watch, due = told(rule, story[:count]), due_of(rule, story[:count])
        assert watch.force_due == (due is Flow.FORCED)
        assert watch.finish_due == (due is Flow.CLOSE)


@given(rules, stories())
def test_it_names_the_next_moment_at_which_something_changes(
    rule: Rule, story: list[Event]
) -> None:
    assert told(rule, story).deadline_ns == next_change_ns(rule, story)
