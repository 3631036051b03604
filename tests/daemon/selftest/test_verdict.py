"""What figures mean: each threshold on its tipping point, and each level for itself."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.selftest.figures import Level
from daemon.selftest.verdict import (
    Fitness,
    excess_ns_of,
    judged,
    judgements_of,
    level_for,
    overall,
    up_to,
)
from measure.records import MS
from tests.daemon.selftest.levels import error, late, level

GOOD_TO_BAD = list(Fitness)


@pytest.mark.parametrize(
    ("streams", "changes", "fitness"),
    [
        (8, {}, Fitness.FIT),
        (8, {"final_error": error(0.2, 1.0)}, Fitness.FIT),
        (8, {"final_error": error(0.201, 0.9)}, Fitness.USABLE),
        (8, {"final_error": error(0.1, 1.001)}, Fitness.USABLE),
        (9, {"final_error": error(0.1, 2.0)}, Fitness.FIT),
        (100, {"final_error": error(0.1, 2.001)}, Fitness.USABLE),
        (8, {"final_error": error(0.1, 5.0)}, Fitness.USABLE),
        (8, {"final_error": error(0.1, 5.001)}, Fitness.UNFIT),
        (8, {"lateness": late(2.0)}, Fitness.FIT),
        (8, {"lateness": late(2.001)}, Fitness.USABLE),
        (8, {"lateness": late(40.0)}, Fitness.USABLE),
        (8, {"invalid": {"harness_late": 1}}, Fitness.USABLE),
        (8, {"invalid": {"harness_late": 5, "harness_stalled": 1}}, Fitness.USABLE),
        (8, {"invalid": {"harness_late": 6, "harness_stalled": 1}}, Fitness.UNFIT),
        (8, {"untold": 7}, Fitness.UNFIT),
        (8, {"final_error": error(0.1, None, n=0)}, Fitness.UNFIT),
    ],
)
def test_each_threshold_lies_where_it_is_said(
    streams: int, changes: dict[str, Any], fitness: Fitness
) -> None:
    judgement = judged(level(streams, **changes))
    assert judgement.fitness is fitness
    assert bool(judgement.reasons) == (fitness is not Fitness.FIT)


def test_a_reason_says_what_how_much_and_how_much_may_be() -> None:
    assert judged(level(8, final_error=error(0.1, 1.5))).reasons == (
        "error of time to final, p99 is 1.50 ms, more than 1 ms",
    )


def test_a_host_that_stands_still_is_excused_by_as_much_but_not_beyond_what_is_usable() -> None:
    stalled = level(8, final_error=error(0.1, 4.0), sentinel=late(3.5))
    assert excess_ns_of(stalled) == MS // 2
    assert judged(stalled).fitness is Fitness.FIT
    worse = replace(stalled, final_error=error(0.1, 6.0), sentinel=late(6.0))
    assert judged(worse).fitness is Fitness.UNFIT


def test_the_ordinary_lateness_of_a_sentinel_excuses_nothing() -> None:
    assert excess_ns_of(level(8, final_error=error(0.1, 1.5), sentinel=late(1.0))) == 1.5 * MS


def test_levels_are_judged_apart_and_the_reach_ends_at_the_first_that_falls_short() -> None:
    levels = [
        level(8),
        level(32, final_error=error(0.1, 3.0)),
        level(64),
        level(100, final_error=error(0.1, 30.0)),
    ]
    judgements = judgements_of(levels)
    assert [one.fitness.value for one in judgements] == ["fit", "usable", "fit", "unfit"]
    assert up_to(judgements, Fitness.FIT) == 8
    assert up_to(judgements, Fitness.USABLE) == 64
    assert overall(levels, 8).fitness is Fitness.FIT
    assert overall(levels, 9).fitness is Fitness.USABLE
    assert overall(levels, 64).fitness is Fitness.USABLE
    assert overall(levels, 65).fitness is Fitness.UNFIT


def test_a_level_with_few_sessions_is_shown_and_not_judged() -> None:
    few = level(1, sessions=5, invalid={"harness_late": 5}, final_error=error(0, None, n=0))
    assert judgements_of([few]) == ()
    assert level_for([few, level(8)], 1) == level(8)
    assert overall([few, level(8)], 1).fitness is Fitness.FIT


def test_more_streams_than_were_tested_are_not_vouched_for() -> None:
    judgement = overall([level(8)], 9)
    assert judgement.fitness is Fitness.UNFIT
    assert judgement.reasons == ("it was not tested with 9 streams at the same time",)


@st.composite
def levels(draw: st.DrawFn) -> Level:
    p99_ms = draw(st.sampled_from([0.3, 0.999, 1.0, 1.1, 2.0, 2.1, 5.0, 5.1]))
    return level(
        draw(st.sampled_from([8, 32])),
        final_error=error(draw(st.sampled_from([0.1, 0.2, 0.3])), p99_ms),
        lateness=late(draw(st.sampled_from([0.5, 2.0, 2.1]))),
        invalid=draw(st.sampled_from([{}, {"harness_late": 1}, {"harness_late": 7}])),
        sentinel=late(draw(st.sampled_from([0.1, 1.0, 1.5, 3.0]))),
    )


@given(levels(), st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 5))
def test_worse_figures_never_make_a_better_verdict(
    one: Level, more_ms: float, more_invalid: int
) -> None:
    size = one.final_error.size
    assert size.p50_ns is not None
    assert size.p99_ns is not None
    worse = replace(
        one,
        final_error=error(size.p50_ns / MS + more_ms, size.p99_ns / MS + more_ms),
        invalid={"harness_late": one.invalid_count + more_invalid},
    )
    before, after = judged(one).fitness, judged(worse).fitness
    assert GOOD_TO_BAD.index(after) >= GOOD_TO_BAD.index(before)
