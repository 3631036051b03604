"""The overall chapter: when there is one figure over all corpora, and which."""

from fractions import Fraction

import pytest

from tests.daemon.reporting.sampled import LATEST, SAMPLE, about, chapters, in_corpus

PLACES = [one.name for one in LATEST.corpora]
STAND_INS = dict(zip(PLACES, "xyz", strict=True))


def test_without_a_corpus_there_is_no_overall_figure_and_that_is_said() -> None:
    *_, whole = chapters([SAMPLE])
    assert whole.lines == ()
    assert whole.notes == (f"no overall figure, without {', '.join(PLACES)}: a/quick",)


def test_with_stand_ins_the_overall_figure_is_weighted_and_has_another_name() -> None:
    samples = [in_corpus("x", time_ms=200.0), in_corpus("y", "good day to me", time_ms=300.0)]
    samples.append(in_corpus("z", "good day me", time_ms=500.0))
    *_, whole = chapters(samples, about(stand_ins=STAND_INS))
    (only,) = whole.lines
    assert whole.title.startswith("WER weighted as in AA-WER v2.2 (x in place of AA-AgentTalk")
    assert only.wer.value == pytest.approx(float(Fraction(1, 4) * Fraction(1, 4) + Fraction(1, 8)))
    assert only.time.mean.value == 300.0
    assert only.wer.n == 3


def test_two_stand_ins_do_not_make_up_for_the_third() -> None:
    *_, whole = chapters([in_corpus("x"), in_corpus("y")], about(stand_ins=STAND_INS))
    assert whole.lines == ()
    assert f"without {PLACES[2]}" in whole.notes[0]


def test_a_part_of_a_published_corpus_does_not_stand_for_it() -> None:
    corpus, *_, whole = chapters([in_corpus(place) for place in PLACES])
    assert whole.lines == ()
    assert any("is the name of a published corpus" in note for note in corpus.notes)
