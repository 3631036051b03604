"""Lines: what is counted of one model on one corpus, and how the sum is signed."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from daemon.reporting.samples import Sample
from scoring.profiles import PROFILES
from scoring.signature import parsed
from tests.daemon.reporting.sampled import (
    FAILED,
    SAMPLE,
    SAMPLES,
    SIGNATURE,
    VOIDED,
    about,
    chapters,
    line,
)


def test_our_own_fault_is_excluded_and_counted() -> None:
    found = line(SAMPLE, VOIDED)
    assert (found.answered, found.failed, found.voided) == (1, 0, 1)
    assert found.success.value == 1.0


def test_a_failure_is_counted_against_success() -> None:
    found = line(SAMPLE, SAMPLE, SAMPLE, FAILED)
    assert (found.success.value, found.success.n, found.failed) == (0.75, 4, 1)
    assert found.success.low is not None


def test_a_model_that_never_answered_is_there_without_figures() -> None:
    found = line(FAILED, FAILED)
    assert (found.wer.value, found.time.mean.value, found.success.value) == (None, None, 0.0)


def test_what_answered_before_zero_is_counted_apart() -> None:
    assert line(replace(SAMPLE, early=True, time_ms=0.0), SAMPLE).early == 1


def test_how_many_recordings_were_scored_is_said_where_it_is_not_all() -> None:
    found = line(SAMPLE, replace(FAILED, clip="two"))
    assert "word errors of 1 of 2 recordings" in found.notes


def test_the_signature_says_how_the_sum_was_made() -> None:
    worse = replace(SAMPLE, signature=SIGNATURE.replace("0.08/0.41ms", "0.20/1.50ms"))
    made = parsed(line(SAMPLE, worse).signature)
    assert made.norm.startswith("speechbench ")
    assert (made.window, made.host) == ("a day", "a")
    assert made.error == "0.20/1.50ms@8 fit"


def test_another_version_of_the_method_has_another_normaliser_in_its_signature() -> None:
    norms = {
        parsed(chapters([SAMPLE], about(PROFILES[name]))[0].lines[0].signature).norm
        for name in ("AA-WER v2.2", "AA-WER v2.1", "AA-WER v2.0")
    }
    assert len(norms) == 3


def test_what_was_made_differently_can_be_kept_apart() -> None:
    moved = replace(SAMPLE, signature=SIGNATURE.replace("host a", "host b"), time_ms=900.0)
    corpus, _ = chapters([SAMPLE, moved])
    assert [one.label for one in corpus.lines] == ["a/quick (1)", "a/quick (2)"]
    assert [parsed(one.signature).host for one in corpus.lines] == ["a", "b"]
    assert "the rows were made differently: host" in corpus.notes


def test_two_contents_of_one_corpus_can_be_kept_apart() -> None:
    other = replace(SAMPLE, signature=SIGNATURE.replace("1111", "3333"))
    corpus, _ = chapters([SAMPLE, other])
    assert [one.label for one in corpus.lines] == ["a/quick (1)", "a/quick (2)"]
    assert "the rows were made differently: corpus" in corpus.notes


@given(st.lists(SAMPLES, min_size=1, max_size=12))
def test_every_session_is_counted_once(samples: list[Sample]) -> None:
    corpus, *_ = chapters(samples)
    assert sum(one.answered + one.failed + one.voided for one in corpus.lines) == len(samples)
