"""Recordings: what is scored as a whole, and how parts become calls."""

from dataclasses import replace

import pytest

from daemon.reporting.samples import Sample
from exporters.report_table import Estimate
from scoring.rejoin import part_name
from tests.daemon.reporting.sampled import CALL, FAILED, SAMPLE, VOIDED, line, part


def test_word_errors_are_weighted_by_seconds() -> None:
    wrong = replace(SAMPLE, clip="two", audio_s=30.0, text="good day to me")
    found = line(SAMPLE, wrong)
    assert found.wer.value == pytest.approx(30 * 0.25 / 40)
    assert found.wer.n == 2


def test_the_first_partial_has_word_errors_of_its_own() -> None:
    assert line(SAMPLE).first_partial_wer.value == 0.5


def test_each_measurement_of_a_recording_weighs_as_much_as_another() -> None:
    wrong = replace(SAMPLE, clip="two", text="good day to me")
    found = line(SAMPLE, SAMPLE, SAMPLE, wrong)
    assert found.wer.value == pytest.approx(0.25 / 4)


def test_parts_are_joined_to_the_call_before_they_are_scored() -> None:
    found = line(part(2, "standing by today"), part(1, "thank you for"))
    assert (found.wer.value, found.wer.n) == (0.0, 1)


def test_a_number_across_a_cut_is_one_number() -> None:
    first = part(1, "revenue grew twenty", call_reference="revenue grew 25%")
    second = part(2, "five percent", call_reference="revenue grew 25%")
    assert line(first, second).wer.value == 0.0


@pytest.mark.parametrize("lost", [FAILED, VOIDED])
def test_a_lost_part_makes_the_call_incomplete_and_that_is_said(lost: Sample) -> None:
    first = part(1, "thank you for")
    second = replace(lost, clip="call 7 (part 2 of 2)", reference=None, call_reference=CALL)
    found = line(first, replace(second, part=part_name(second.clip)))
    assert found.wer == Estimate(None, 0)
    assert "1 calls incomplete, a part was lost: they have no score" in found.notes


def test_a_call_whose_reference_was_not_recorded_has_no_score_and_that_is_said() -> None:
    found = line(*(part(n, "thank you", call_reference=None) for n in (1, 2)))
    assert found.wer == Estimate(None, 0)
    assert "1 calls without a recorded reference: they have no score" in found.notes


def test_parts_of_different_runs_are_not_mixed() -> None:
    first, second = part(1, "thank you for"), part(2, "standing by today", run_id="another")
    assert line(first, second).wer.value is None


def test_a_call_that_was_measured_twice_in_a_run_is_two_calls() -> None:
    once = [part(1, "thank you for"), part(2, "standing by today")]
    again = [part(1, "thank you for", time_ms=400.0), part(2, "", time_ms=400.0)]
    found = line(*once, *again)
    assert (found.wer.value, found.wer.n) == (0.25, 1)
    assert found.time.mean.n == 2


def test_the_next_time_does_not_take_the_place_of_what_is_not_counted() -> None:
    lost = replace(VOIDED, clip="call 7 (part 2 of 2)", reference=None, wall_ns=1)
    lost = replace(lost, part=part_name(lost.clip), call_reference=CALL)
    again = [part(1, "thank you", wall_ns=2), part(2, "standing by today", wall_ns=3)]
    found = line(part(1, "thank you for"), lost, *again)
    assert found.wer.value == pytest.approx(1 / 6)
    assert "1 calls incomplete, a part was lost: they have no score" in found.notes


def test_a_call_weighs_as_long_as_all_its_parts() -> None:
    call = [part(1, "thank you for", audio_s=10.0), part(2, "", audio_s=20.0)]
    found = line(*call, replace(SAMPLE, audio_s=10.0))
    assert found.wer.value == pytest.approx(0.5 * 30 / 40)


def test_an_empty_reference_has_no_rate_and_its_words_are_counted() -> None:
    found = line(SAMPLE, replace(SAMPLE, clip="two", reference="", text="three more words"))
    assert (found.wer.value, found.wer.n) == (0.0, 1)
    assert any("in which 3 words were inserted" in note for note in found.notes)
