"""A job begins at its moment or is missed for a reason; a provider that refuses is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.admission import (
    FIRST_PAUSE_NS,
    LONGEST_PAUSE_NS,
    Hindrance,
    Limits,
    Pauses,
    Running,
    is_over,
)
from daemon.schedule import Due, Job
from measure.faults import Fault, FaultKind, Whose
from measure.records import SECOND

REFUSED = Fault(Whose.PROVIDER, FaultKind.QUOTA)
NOVA = Job("daily", "deepgram/nova-3", "calls")
FLUX = Job("daily", "deepgram/flux", "calls")
OTHER = Job("daily", "gladia/solaria-1", "calls")


def running(*jobs: Job) -> Running:
    now = Running()
    for job in jobs:
        now.begin(job)
    return now


def test_two_models_of_one_provider_never_run_together_unless_allowed() -> None:
    assert running(NOVA).hinders(FLUX, Limits(jobs=5)) is Hindrance.PROVIDER_BUSY
    assert running(NOVA).hinders(FLUX, Limits(jobs=5, jobs_per_provider=2)) is None
    assert running(NOVA).hinders(OTHER, Limits(jobs=5)) is None


def test_no_more_jobs_run_than_this_host_is_allowed() -> None:
    assert running(NOVA).hinders(OTHER, Limits(jobs=1)) is Hindrance.TOO_MANY


def test_a_job_that_has_not_ended_does_not_begin_again() -> None:
    limits = Limits(jobs=5, jobs_per_provider=5)
    assert running(NOVA).hinders(NOVA, limits) is Hindrance.STILL_RUNNING


def test_what_has_ended_hinders_nobody() -> None:
    now = running(NOVA)
    now.end(NOVA)
    assert now.hinders(NOVA, Limits()) is None
    assert len(now) == 0


def test_a_job_waits_for_its_turn_for_a_moment_and_is_then_missed() -> None:
    limits = Limits(start_within_ns=30 * SECOND)
    assert not is_over(Due(1000 * SECOND, NOVA), 1030 * SECOND, limits)
    assert is_over(Due(1000 * SECOND, NOVA), 1030 * SECOND + 1, limits)


def test_each_refusal_doubles_the_pause_up_to_a_day() -> None:
    pauses, now_ns, lengths = Pauses(), 0, []
    for _ in range(14):
        until_ns = pauses.refused("deepgram", REFUSED, now_ns)
        assert until_ns is not None
        lengths.append((until_ns - now_ns) // FIRST_PAUSE_NS)
        now_ns = until_ns
    assert lengths == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440, 1440]
    assert LONGEST_PAUSE_NS == 1440 * FIRST_PAUSE_NS


def test_a_provider_is_left_alone_for_as_long_as_it_asks() -> None:
    pauses = Pauses()
    asked = Fault(Whose.PROVIDER, FaultKind.RATE, retry_after_s=3600)
    assert pauses.refused("deepgram", asked, 0) == 3600 * SECOND
    assert pauses.until_ns("deepgram") == 3600 * SECOND
    assert pauses.until_ns("gladia") == 0


def test_an_answer_ends_the_series() -> None:
    pauses = Pauses()
    pauses.refused("deepgram", REFUSED, 0)
    pauses.refused("deepgram", REFUSED, 0)
    pauses.answered("deepgram")
    assert pauses.until_ns("deepgram") == 0
    assert pauses.refused("deepgram", REFUSED, 0) == FIRST_PAUSE_NS


@pytest.mark.parametrize("kind", set(FaultKind) - {FaultKind.AUTH, FaultKind.QUOTA, FaultKind.RATE})
def test_a_failure_that_is_no_refusal_pauses_nothing(kind: FaultKind) -> None:
    pauses = Pauses()
    assert pauses.refused("deepgram", Fault(Whose.PROVIDER, kind), 0) is None
    assert pauses.until_ns("deepgram") == 0


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=60))
def test_a_pause_never_ends_earlier_than_was_said(asked_s: list[int]) -> None:
    pauses, until_ns = Pauses(), 0
    for seconds in asked_s:
        fault = Fault(Whose.PROVIDER, FaultKind.RATE, retry_after_s=seconds)
        said_ns = pauses.refused("deepgram", fault, 0)
        assert said_ns is not None
        assert said_ns >= max(until_ns, seconds * SECOND)
        until_ns = said_ns
