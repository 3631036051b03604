"""Every word that the status page uses of a closed list is explained on it."""

from exporters.glossary import MISSED, VERDICTS
from exporters.metric_table import CLOSED, OTHER
from measure.records import OUR_FAULT, Verdict


def test_every_verdict_is_explained() -> None:
    assert set(VERDICTS) == set(Verdict)


def test_what_does_not_count_is_said_of_just_those_that_are_our_fault() -> None:
    assert {v for v, means in VERDICTS.items() if "not counted" in means} == OUR_FAULT


def test_every_reason_for_a_run_that_was_missed_is_said() -> None:
    assert set(MISSED) == set(CLOSED["why"]) - {OTHER}
