"""Another rule is applied only where what was recorded gives an exact answer."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given

from measure.definitions.other_rule import Inexact, retold_under
from measure.events import Event, StreamClosed, Tick
from measure.records import MS, SECOND, Endpoint, ForceAt, Reading, Rule, Verdict
from measure.replay import recorded_of
from measure.wire import Record
from tests.measure.stories import (
    FALLBACK,
    MARKED,
    ZERO,
    final,
    forced,
    forced_final,
    partial,
    recorded,
    rules,
    spoken,
    stories,
    told,
)

ANSWERED = [
    *forced(),
    forced_final(ZERO + 250 * MS, "good day"),
    Tick(ZERO + 750 * MS),
    partial(ZERO + 800 * MS, "again"),
    StreamClosed(ZERO + 900 * MS, 1000),
]
SILENT = [*forced(), Tick(ZERO + 10 * SECOND), StreamClosed(ZERO + 11 * SECOND, 1000)]
NATURAL = [
    *spoken(),
    partial(ZERO + 500 * MS, "good"),
    final(ZERO + 900 * MS, "good day"),
    Tick(ZERO + 1400 * MS),
    StreamClosed(ZERO + 1500 * MS, 1000),
]


def under(was: Rule, story: Iterable[Event], **changes: object) -> Reading:
    (turn,) = retold_under(recorded(was, story), replace(was, **changes))  # type: ignore[arg-type]
    return turn.reading


def test_a_shorter_patience_has_an_exact_answer() -> None:
    assert under(MARKED, ANSWERED, patience_ns=200 * MS).verdict is Verdict.NO_FINAL


def test_a_longer_patience_changes_nothing_where_an_answer_had_come() -> None:
    assert under(MARKED, ANSWERED, patience_ns=60 * SECOND).verdict is Verdict.FORCED_FINAL


def test_nobody_knows_what_a_longer_patience_would_have_heard() -> None:
    with pytest.raises(Inexact, match="not listened for as long"):
        under(MARKED, SILENT, patience_ns=11 * SECOND)


def test_of_a_session_that_was_broken_off_nobody_knows_the_rest() -> None:
    with pytest.raises(Inexact):
        under(MARKED, forced(), patience_ns=9 * SECOND)


def test_nobody_knows_what_would_have_come_in_a_longer_settling_time() -> None:
    with pytest.raises(Inexact):
        under(MARKED, ANSWERED, settle_ns=501 * MS)


def test_a_shorter_grace_makes_a_late_final() -> None:
    reading = under(FALLBACK, NATURAL, grace_ns=600 * MS)
    assert reading.verdict is Verdict.LATE_FINAL
    assert reading.time_to_final_ns == 900 * MS


def test_the_force_cannot_be_sent_again() -> None:
    with pytest.raises(Inexact, match="the force was sent at the decision"):
        under(MARKED, ANSWERED, force_at=ForceAt.SPEECH_END)


def test_without_a_force_it_does_not_matter_when_it_is_sent() -> None:
    assert under(FALLBACK, NATURAL, force_at=ForceAt.SPEECH_END).verdict is Verdict.NATURAL_FINAL


def test_several_turns_are_not_told_apart_under_another_rule() -> None:
    every = replace(MARKED, endpoint=Endpoint.EVERY)
    with pytest.raises(Inexact, match="several turns"):
        under(every, ANSWERED, patience_ns=SECOND)


def test_under_the_rule_of_then_there_is_always_an_answer() -> None:
    every = replace(MARKED, endpoint=Endpoint.EVERY)
    for rule in (MARKED, every):
        assert under(rule, forced()).zero_ns == ZERO


def test_neither_rule_may_have_several_turns() -> None:
    with pytest.raises(Inexact, match="several turns"):
        under(MARKED, ANSWERED, endpoint=Endpoint.EVERY)


def test_a_stricter_budget_makes_it_our_fault() -> None:
    assert under(MARKED, ANSWERED, late_budget_ns=-1).verdict is Verdict.HARNESS_LATE


@given(rules, stories(), rules)
def test_an_answer_under_another_rule_is_that_of_a_watch_with_that_rule(
    rule: Rule, story: list[Event], other: Rule
) -> None:
    other = replace(other, flow=rule.flow, force_at=rule.force_at, final_rule=rule.final_rule)
    try:
        (turn,) = retold_under(recorded(rule, story), other)
    except Inexact:
        return
    assert turn.reading == told(other, story).reading()


def test_sessions_come_as_soon_as_they_are_over() -> None:
    def record(kind: str, session_id: str) -> Record:
        return {"k": kind, "s": session_id, "t": 1}

    read: list[Record] = []

    def records() -> Iterable[Record]:
        for kind, session_id in (
            ("transcript", "unknown"),
            ("session_started", "a"),
            ("session_started", "b"),
            ("log", "a"),
            ("session_finished", "b"),
            ("session_started", "c"),
            ("session_finished", "c"),
        ):
            read.append(record(kind, session_id))
            yield read[-1]

    sessions = recorded_of(records())
    assert next(sessions).session_id == "b"
    assert len(read) == 5
    rest = list(sessions)
    assert [one.session_id for one in rest] == ["c", "a"]
    assert [one["k"] for one in rest[1].rest] == ["log"]
