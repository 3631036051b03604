"""Manifests that disagree with the audio, and the hash of a corpus."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.corpora import CallEntry, Entry
from scoring.corpora.checksum import corpus_sha256
from scoring.corpora.lengths import call_disagreement, disagreement

ENTRY = Entry("a", "a.wav", "x", "m:1")


def said(length: str, start: str | None = None) -> Entry:
    return replace(
        ENTRY, duration_s=Decimal(length), start_s=None if start is None else Decimal(start)
    )


@pytest.mark.parametrize(
    ("length", "audio_s"),
    [("12.5", 12.5), ("12.50", 12.41), ("12.5", 12.6), ("875", 875.9), ("1E+1", 10.9), ("0", 0.1)],
)
def test_a_manifest_may_have_rounded(length: str, audio_s: float) -> None:
    assert disagreement(said(length), audio_s) is None


@pytest.mark.parametrize(("length", "audio_s"), [("12.50", 12.61), ("875", 876.2), ("1E+1", 12)])
def test_both_figures_are_told_where_they_differ(length: str, audio_s: float) -> None:
    expected = f"the manifest says {length} s, the audio lasts {audio_s:.3f} s"
    assert disagreement(said(length), audio_s) == expected


def test_a_stretch_must_lie_within_its_file() -> None:
    assert disagreement(said("1.5", "2.0"), 3.5) is None
    assert disagreement(said("1.5", "2.25"), 3.5) == (
        "the manifest says 2.25 to 3.75 s, the audio lasts 3.500 s"
    )


def test_who_says_nothing_is_not_wrong() -> None:
    assert disagreement(ENTRY, 3.0) is None
    assert call_disagreement(CallEntry("c", ""), 3.0, 2) is None


def test_a_call_is_as_long_as_its_parts() -> None:
    call = CallEntry("c", "", Decimal("60.00"))
    assert call_disagreement(call, 60.15, 2) is None
    assert call_disagreement(call, 58.0, 2) == (
        "the manifest says 60.00 s, its 2 parts last 58.000 s"
    )


contents = st.tuples(st.text(), st.text(), st.none() | st.text())


@given(st.lists(contents))
def test_the_order_of_recordings_does_not_change_the_hash(
    corpus: list[tuple[str, str, str | None]],
) -> None:
    shuffled = sorted(corpus, key=lambda one: repr(one)[::-1])
    assert corpus_sha256(shuffled) == corpus_sha256(corpus)


@given(st.lists(contents, unique=True), st.lists(contents, unique=True))
def test_another_corpus_has_another_hash(
    one: list[tuple[str, str, str | None]], other: list[tuple[str, str, str | None]]
) -> None:
    assert (corpus_sha256(one) == corpus_sha256(other)) is (set(one) == set(other))


def test_a_corrected_reference_makes_another_corpus() -> None:
    assert corpus_sha256([("a", "0", "yes")]) != corpus_sha256([("a", "0", "no")])
    assert corpus_sha256([("ab", "c", None)]) != corpus_sha256([("a", "bc", None)])
    assert corpus_sha256([("a", "0", None)]) != corpus_sha256([("a", "0", "")])
