from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from scoring.normalize import NORMALIZERS
from scoring.words import Outcome, WordErrors, align, score
from tests.scoring.laws import LAW

NONE = NORMALIZERS["none"]
words = st.lists(st.sampled_from("abcd"), max_size=40)


def test_the_example_of_the_method_costs_three_of_six_words() -> None:
    errors = score("the cat sat on the mat", "cat is on the big mat", NONE)
    assert (errors.errors, errors.reference_words, errors.rate) == (3, 6, 0.5)


def test_counts_add_and_the_rate_is_made_of_the_sums() -> None:
    total = WordErrors(10, 1, 0, 0) + WordErrors(2, 0, 2, 0)
    assert total == WordErrors(12, 1, 2, 0)
    assert total.rate == 3 / 12


def test_an_empty_reference_has_counted_insertions_and_no_rate() -> None:
    errors = score("", "two words", NONE)
    assert errors == WordErrors(0, 0, 2, 0)
    assert errors.rate is None


def test_an_empty_hypothesis_deletes_every_word() -> None:
    assert score("two words", "", NONE) == WordErrors(2, 0, 0, 2)


def test_two_empty_texts_have_no_errors_and_no_rate() -> None:
    assert (score("", "", NONE), score("", "", NONE).rate) == (WordErrors(), None)


@LAW
@given(words, words)
def test_the_errors_are_the_edit_distance(reference: list[str], hypothesis: list[str]) -> None:
    errors = score(" ".join(reference), " ".join(hypothesis), NONE)
    assert errors.errors == Levenshtein.distance(reference, hypothesis)
    assert errors.reference_words == len(reference)


@LAW
@given(words, words)
@example(["b", "d", "a", "b"], ["a", "b", "a"])
def test_swapping_the_texts_swaps_deletions_and_insertions(one: list[str], two: list[str]) -> None:
    there, back = (score(" ".join(a), " ".join(b), NONE) for a, b in ((one, two), (two, one)))
    assert there.substitutions == back.substitutions
    assert (there.deletions, there.insertions) == (back.insertions, back.deletions)


@LAW
@given(words, words)
def test_the_alignment_shows_every_word_once_and_in_order(one: list[str], two: list[str]) -> None:
    rows = align(" ".join(one), " ".join(two), NONE).rows
    assert [token.text for row in rows for token in row.reference] == one
    assert [token.text for row in rows for token in row.hypothesis] == two


@pytest.mark.parametrize("seed", range(5))
def test_a_long_hopeless_text_is_aligned_with_the_fewest_errors(seed: int) -> None:
    random = Random(seed)
    reference, hypothesis = (
        [random.choice("abcdefgh") for _ in range(random.randrange(300, 600))] for _ in range(2)
    )
    errors = score(" ".join(reference), " ".join(hypothesis), NONE)
    assert errors.errors == Levenshtein.distance(reference, hypothesis)


def test_each_row_says_what_became_of_its_words() -> None:
    rows = align("a b c", "a x c d", NONE).rows
    assert [row.outcome for row in rows] == [
        Outcome.EQUAL,
        Outcome.SUBSTITUTED,
        Outcome.EQUAL,
        Outcome.INSERTED,
    ]
