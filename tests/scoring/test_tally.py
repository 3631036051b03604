from collections import Counter

from scoring.normalize.speechbench import SPEECHBENCH
from scoring.tally import NOTHING, Scorer, Tally, TextPair, effects, total
from scoring.words import WordErrors

PAIRS = [
    TextPair("a", "the cat sat", "the bat sat"),
    TextPair("b", "the dog", "dog"),
    TextPair("c", "", "noise here"),
]


def tally() -> Tally:
    found, scorer = Tally(), Scorer(SPEECHBENCH)
    for pair in PAIRS:
        found.add(scorer.align(pair))
    return found


def test_counts_are_added_over_the_pairs_that_have_a_reference() -> None:
    assert tally().errors == total(PAIRS, SPEECHBENCH) == WordErrors(5, 1, 0, 1)


def test_a_pair_without_a_reference_is_counted_apart() -> None:
    found = tally()
    assert (found.pairs, found.without_reference, found.words_without_reference) == (3, 1, 2)


def test_confusions_are_what_was_taken_for_what() -> None:
    assert tally().confusions == Counter({("cat", "bat"): 1, ("the", NOTHING): 1})


def test_aliases_of_one_pair_do_not_reach_another() -> None:
    scorer = Scorer(SPEECHBENCH)
    assert scorer.score(TextPair(1, "Ann", "Anne", (("Ann", "Anne"),))).errors == 0
    assert scorer.score(TextPair(2, "Ann", "Anne")).errors == 1


def test_the_worth_of_a_rule_is_the_errors_without_it() -> None:
    pairs = [TextPair("a", "five colours", "5 colors")]
    worth = effects(pairs, SPEECHBENCH, ["numbers", "spelling", "money"])
    assert worth == {"numbers": 1, "spelling": 1, "money": 0}
