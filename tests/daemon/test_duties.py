"""From a configuration to what has to be done: which runs, when, how many, and their cost."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.admission import Limits
from daemon.budget import Allowance, cost_usd
from daemon.config import CONFIG_EXIT_CODE, Settings
from daemon.duties import (
    TRAILING_S,
    allowance_of,
    assignments_of,
    limits_of,
    lines_of,
    most_streams,
    overall_of,
    pairs_of_job,
    require_work,
)
from daemon.errors import UserError
from daemon.plan import Plan, Target, known_error
from daemon.schedule import Every, Job, TimesADay
from measure.records import SECOND
from providers.codec import Options
from providers.deepgram import Deepgram
from tests.daemon.bench import clip_of
from tests.daemon.several import recording

DEEPGRAM, GLADIA = "deepgram/nova-3", "gladia/solaria-1"
CLIPS = ("a", "b", "c", "d", "e")


def plan(*names: str, corpora: tuple[str, ...] = ("calls", "talks"), **settings: object) -> Plan:
    """These models, and five clips of a second in each corpus."""
    table = {"model": [{"name": name} for name in names], **settings}
    made = Settings.model_validate(table)
    targets = tuple(Target(name, Options(), "", Deepgram.facts.rule) for name in names)
    recordings = []
    for corpus in corpora:
        for name in CLIPS:
            one = recording(name)
            recordings.append(replace(one, clip=replace(one.clip, corpus=corpus)))
    return Plan(made, targets, tuple(recordings), (), "host", known_error(made))


def schedule(name: str = "own", **given: object) -> dict[str, Any]:
    return {"name": name, **({} if "times_a_day" in given else {"every_s": 60}), **given}


def test_without_a_schedule_everything_is_measured_each_interval() -> None:
    made = plan(DEEPGRAM, GLADIA, daemon={"interval_s": 60})
    assert [one.job for one in assignments_of(made)] == [
        Job("interval", name, corpus)
        for name in (DEEPGRAM, GLADIA)
        for corpus in ("calls", "talks")
    ]
    assert {one.timing for one in assignments_of(made)} == {Every(60 * SECOND)}


def test_a_schedule_takes_the_models_and_corpora_that_it_names() -> None:
    own = schedule(times_a_day=4, models=[GLADIA], corpora=["talks"])
    (one,) = assignments_of(plan(DEEPGRAM, GLADIA, schedule=[own]))
    assert one.job == Job("own", GLADIA, "talks")
    assert one.timing == TimesADay(4)


def test_all_mistakes_of_all_schedules_are_told_at_once() -> None:
    made = plan(
        DEEPGRAM,
        schedule=[schedule(models=["who/ever"]), schedule(corpora=["nowhere"]), schedule()],
    )
    with pytest.raises(UserError) as told:
        lines_of(made)
    assert told.value.exit_code == CONFIG_EXIT_CODE
    assert str(told.value).splitlines() == [
        "schedule[2].name: 'own' is the name of another schedule",
        "schedule[3].name: 'own' is the name of another schedule",
        f"schedule[1].models: 'who/ever' is not configured; allowed: {DEEPGRAM}",
        "schedule[2].corpora: 'nowhere' is not configured; allowed: calls, talks",
    ]


def test_a_model_without_a_key_may_be_named_and_is_left_out() -> None:
    made = plan(DEEPGRAM, GLADIA, schedule=[schedule(models=[GLADIA])])
    unkeyed = replace(made, targets=made.targets[:1], skipped=("gladia: no key",))
    assert assignments_of(unkeyed) == ()
    with pytest.raises(UserError, match="gladia: no key\nschedule: none of them") as told:
        require_work(unkeyed)
    assert told.value.exit_code == CONFIG_EXIT_CODE


def test_without_a_model_there_is_nothing_to_do() -> None:
    made = replace(plan(DEEPGRAM), targets=(), skipped=("deepgram: no key",))
    with pytest.raises(UserError, match="deepgram: no key\nthere is no model left"):
        require_work(made)


@given(st.integers(1, 7), st.integers(0, 10**10), st.integers(1, 30))
def test_by_turns_all_clips_come_equally_often(clips: int, first_s: int, runs: int) -> None:
    made = plan(DEEPGRAM, GLADIA, schedule=[schedule(clips=clips)])
    job = Job("own", GLADIA, "talks")
    counts: Counter[int] = Counter(dict.fromkeys(range(5, 10), 0))
    for nth in range(runs):
        pairs = pairs_of_job(made, job, (first_s + 60 * nth) * SECOND)
        assert {pair.target for pair in pairs} == {1}
        assert len(pairs) == len(set(pairs)) == min(clips, 5)
        counts.update(pair.recording for pair in pairs)
    assert set(counts) == set(range(5, 10)), "clips of another corpus"
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_run_is_expected_to_cost_its_longest_clips_and_the_silence_behind_them() -> None:
    priced = {"name": DEEPGRAM, "price_usd_per_1000_min": 60.0}
    made = plan(DEEPGRAM, model=[priced], schedule=[schedule(clips=2)])
    longer = tuple(
        replace(
            one, clip=replace(clip_of(1.0 + nth % 5), name=one.clip.name, corpus=one.clip.corpus)
        )
        for nth, one in enumerate(made.recordings)
    )
    made = replace(made, recordings=longer)
    assert [one.cost_usd for one in assignments_of(made)] == [
        pytest.approx(cost_usd(5.0 + 4.0 + 2 * TRAILING_S, 60.0))
    ] * 2


@pytest.mark.parametrize(
    ("spending", "asks"),
    [
        ({}, False),
        ({"day_usd": 1.0}, True),
        ({"month_usd": 1.0}, True),
        ({"provider": [{"name": "deepgram", "day_usd": 1.0}]}, True),
        ({"provider": [{"name": "gladia", "day_usd": 1.0}]}, False),
    ],
)
def test_where_money_is_limited_a_price_has_to_be_known(
    spending: dict[str, Any], asks: bool
) -> None:
    made = plan(DEEPGRAM, spending=spending)
    if not asks:
        assert assignments_of(made)
        return
    with pytest.raises(UserError, match="the price of deepgram/nova-3 is not known") as told:
        assignments_of(made)
    assert told.value.exit_code == CONFIG_EXIT_CODE


def test_what_costs_nothing_has_a_price_of_zero() -> None:
    free = {"name": DEEPGRAM, "price_usd_per_1000_min": 0}
    made = plan(DEEPGRAM, model=[free], spending={"day_usd": 1.0})
    assert {one.cost_usd for one in assignments_of(made)} == {0.0}


def test_amounts_and_limits_are_those_of_the_file() -> None:
    made = plan(
        DEEPGRAM,
        spending={"day_usd": 2, "provider": [{"name": "deepgram", "month_usd": 9}]},
        daemon={"jobs": 3, "jobs_per_provider": 2, "start_within_s": 7},
    ).settings
    assert overall_of(made) == Allowance(2, None)
    assert allowance_of(made, "deepgram") == Allowance(None, 9)
    assert allowance_of(made, "gladia") == Allowance()
    assert limits_of(made) == Limits(3, 2, 7 * SECOND)


@pytest.mark.parametrize(
    ("names", "daemon", "streams"),
    [
        ((DEEPGRAM,), {}, 1),
        ((DEEPGRAM, GLADIA), {}, 2),
        ((DEEPGRAM, GLADIA), {"jobs": 1}, 1),
        ((DEEPGRAM,), {"jobs_per_provider": 5}, 2),
        ((DEEPGRAM, GLADIA), {"jobs_per_provider": 5, "jobs": 3}, 3),
    ],
)
def test_there_are_no_more_streams_than_the_limits_and_the_runs_allow(
    names: tuple[str, ...], daemon: dict[str, Any], streams: int
) -> None:
    assert most_streams(plan(*names, daemon=daemon)) == streams
