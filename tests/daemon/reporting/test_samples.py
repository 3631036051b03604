"""Samples of recorded sessions: what is taken of a session, and how it is published."""

from dataclasses import replace

from daemon.reporting.samples import Sample, samples_of
from daemon.rescoring import told_under
from measure.definitions import METHOD
from measure.events import Event, Tick
from measure.records import MS, Endpoint
from measure.replay import Recorded
from scoring.rejoin import part_name
from tests.measure.stories import DEADLINE, MARKED, ZERO, forced_final, partial, recorded
from tests.measure.stories import forced as forced_story


def told_session(*events: Event, clip: str = "day", reference: str | None = "good") -> Recorded:
    """A recorded session in which these happened, before zero and after it."""
    before = [event for event in events if event.at_ns <= ZERO]
    after = [event for event in events if event.at_ns > ZERO]
    session = recorded(MARKED, [*forced_story(*before), *after])
    names = {"run_id": "r", "model": "a/b", "dataset": "files", "signature": "s"}
    numbers = {"audio_ms": 1000.0, "wall_unix_ns": 5}
    session.started.update({**names, **numbers, "clip": clip, "reference": reference})
    return session


def taken(*events: Event, clip: str = "day", reference: str | None = "good") -> Sample:
    """Its sample."""
    session = told_session(*events, clip=clip, reference=reference)
    (sample,) = samples_of(session, told_under(session, {}), METHOD)
    return sample


def test_what_was_final_before_zero_is_published_as_zero() -> None:
    early = taken(forced_final(ZERO - 40 * MS, "good"), forced_final(ZERO + 20 * MS, ""))
    assert (early.time_ms, early.early, early.valid) == (0.0, True, True)
    later = taken(forced_final(ZERO + 40 * MS, "good"))
    assert (later.time_ms, later.early) == (40.0, False)


def test_a_session_that_failed_has_no_first_partial_and_no_text() -> None:
    failed = taken(partial(ZERO + 30 * MS, "good"), Tick(DEADLINE))
    assert (failed.valid, failed.voided, failed.verdict) == (False, False, "no_final")
    assert (failed.first_partial_ms, failed.first_partial_text, failed.text) == (None, None, None)


def test_a_first_partial_counts_from_zero() -> None:
    found = taken(partial(ZERO + 30 * MS, "good"), forced_final(ZERO + 90 * MS, "good day"))
    assert (found.first_partial_ms, found.first_partial_text) == (30.0, "good")


def test_a_recording_with_a_reference_of_its_own_is_no_part_whatever_its_name() -> None:
    name, answer = "day (part 1 of 2)", forced_final(ZERO + 40 * MS, "good")
    assert taken(answer, clip=name).part is None
    assert taken(answer, clip=name, reference=None).part == part_name(name)


def test_a_reference_does_not_say_where_turns_begin() -> None:
    session = told_session(forced_final(ZERO + 40 * MS, "good"))
    (turn,) = told_under(session, {})
    of_many = replace(turn, rule=replace(turn.rule, endpoint=Endpoint.EVERY))
    references = [one.reference for one in samples_of(session, [turn, of_many], METHOD)]
    assert references == ["good", None]
