"""What holds for every two texts, whatever is in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.normalize.speechbench import SPEECHBENCH
from scoring.words import align, score
from tests.scoring.laws import LAW
from tests.scoring.normalize.case_files import texts

_PIECES = (
    "one two three ten twenty thirty hundred thousand million and point dot oh double half a"
    " quarter third second first 5 10 2.5 1,000 007 $ % - / : am pm dollars cents percent to 1/2"
    " 10:30 O s M k °C negative x # st 's it's Dr. St. [music] <unk> U.S. c o in m plus @"
    " a.b@c.com /v1 hard coded re-sign co-op e mail A B C"
)
PIECES = st.sampled_from(_PIECES.split())
HUGE = "9" * 5000
"""More digits than Python turns into an integer."""
GAPS = st.sampled_from([" ", " ", " ", "", "-", ", ", ". "])
spoken = st.lists(st.tuples(PIECES, GAPS), max_size=14).map(
    lambda pairs: "".join(piece + gap for piece, gap in pairs)
)
known = st.sampled_from(texts("own", "families"))
anything = st.text(st.characters(), max_size=40)
every_text = st.one_of(spoken, known, anything)


@LAW
@given(every_text, every_text)
def test_errors_are_the_same_in_both_directions(one: str, two: str) -> None:
    there, back = score(one, two, SPEECHBENCH), score(two, one, SPEECHBENCH)
    assert there.substitutions == back.substitutions
    assert (there.deletions, there.insertions) == (back.insertions, back.deletions)


@LAW
@given(every_text, every_text)
def test_the_number_of_words_is_the_references_alone(reference: str, hypothesis: str) -> None:
    words = len(SPEECHBENCH.tokens(reference))
    assert score(reference, hypothesis, SPEECHBENCH).reference_words == words


@LAW
@given(every_text)
def test_a_text_has_no_errors_against_itself(text: str) -> None:
    assert score(text, text, SPEECHBENCH).errors == 0


@LAW
@given(every_text)
def test_one_real_word_more_is_one_error(text: str) -> None:
    errors = score(text, text + " banana", SPEECHBENCH)
    assert (errors.errors, errors.insertions) == (1, 1)


@LAW
@given(every_text)
def test_every_token_has_text_and_its_place_lies_within_the_original(text: str) -> None:
    for token in SPEECHBENCH.tokens(text):
        assert token.text
        assert 0 <= token.start < token.end <= len(text)


@LAW
@given(every_text, every_text)
def test_the_alignment_holds_every_token_once_and_in_order(one: str, two: str) -> None:
    rows = align(one, two, SPEECHBENCH).rows
    assert tuple(t for row in rows for t in row.reference) == SPEECHBENCH.tokens(one)
    assert tuple(t for row in rows for t in row.hypothesis) == SPEECHBENCH.tokens(two)


@LAW
@given(every_text)
def test_white_space_says_nothing(text: str) -> None:
    spaced = "  " + text.replace(" ", "\n \t") + "\n"
    assert [t.text for t in SPEECHBENCH.tokens(spaced)] == [
        t.text for t in SPEECHBENCH.tokens(text)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{} am", "{}/2", "{0}/{0}", "${}.50", "5 dollars and {} cents", "{} million", "{} thirds",
        "1-{}", "June {}", "{}st", "{}s", "{} point {}", "one {} twelve", "5/{}/7", "{} 12",
        "0{} am",
    ],
)  # fmt: skip
def test_a_number_of_any_length_is_one_that_can_be_compared(text: str) -> None:
    long = text.format(HUGE, HUGE)
    assert score(long, long + " banana", SPEECHBENCH).errors == 1


@pytest.mark.parametrize("piece", ["one million ", "1 ", "one ", "x/", "-", "[a ", "A. ", "1,"])
def test_a_long_monotonous_text_is_read_like_any_other(piece: str) -> None:
    text = piece * 3000
    assert score(text, text + "banana", SPEECHBENCH).errors == 1
