"""What is the same though its words are divided differently, and what is not."""

import pytest

from scoring.normalize.speechbench import SPEECHBENCH
from scoring.words import Outcome, align, score

SAME = {
    "compounds": [
        ("hard coded", "hardcoded"),
        ("up-front", "upfront"),
        ("re-boot", "reboot"),
        ("iOS", "i OS"),
    ],
    "digits": [("415, 555, 0132", "four one five five five five oh one three two")],
    "letters": [("in D. C.", "in DC"), ("S-M-I-T-H, DOB", "S M I T H D O B")],
    "readings": [("2019, 2020 were", "2019 2020 were"), ("the car's ready", "the car is ready")],
    "cents": [("$0.45", "45 cents"), ("£4.50", "four pounds fifty")],
}
DIFFERENT = [
    ("a part of it", "apart of it"),
    ("it may be", "it maybe"),
    ("to get her", "together"),
    ("re-sign", "resign"),
    ("the therapist", "the the rapist"),
    ("19, 20, 21", "1920, 21"),
    ("five hundred five hundred", "500500"),
    ("a cargo ship", "a car go ship"),
    ("15-20 minutes", "1520 minutes"),
    ("$0.45", "45 dollars"),
    ("John's car", "John is car"),
]


@pytest.mark.parametrize(
    ("rule", "one", "two"), [(rule, *pair) for rule, pairs in SAME.items() for pair in pairs]
)
def test_it_is_the_same_and_the_row_says_why(rule: str, one: str, two: str) -> None:
    alignment = align(one, two, SPEECHBENCH)
    assert alignment.errors.errors == 0
    assert rule in {row.rule for row in alignment.rows}


@pytest.mark.parametrize(("one", "two"), DIFFERENT)
def test_it_is_not_the_same(one: str, two: str) -> None:
    assert score(one, two, SPEECHBENCH).errors > 0


def test_two_words_for_one_are_one_row_and_no_error() -> None:
    rows = align("hard coded values", "hardcoded values", SPEECHBENCH).rows
    assert [len(row.reference) for row in rows] == [2, 1]
    assert {row.outcome for row in rows} == {Outcome.EQUAL}


def test_a_compound_in_a_stretch_of_errors_is_still_found() -> None:
    errors = score("we saw the web site fail", "he was a website flail", SPEECHBENCH)
    assert errors.errors == 4
    assert errors.reference_words == 6
