"""Words and their errors: A18 to A20."""

import pytest

from exporters.prometheus import Metrics
from exporters.settings import Stream
from scoring.normalize import NORMALIZERS
from scoring.tally import Tally, TextPair
from scoring.tally import total as total_of_pairs
from scoring.weigh import Scored, time_weighted_rate, total
from scoring.words import WordErrors, align, score
from tests.exporters.records import finished
from tests.exporters.test_prometheus import value

NORMAL = NORMALIZERS["speechbench"]


def words(text: str) -> list[str]:
    return [token.text for token in NORMAL.tokens(text)]


def equal(one: str, other: str) -> bool:
    return score(one, other, NORMAL).errors == 0 == score(other, one, NORMAL).errors


# A18


def test_a18_a_large_number_said_twice_stays_two_numbers() -> None:
    assert words("twelve million twelve million") == ["12000000", "12000000"]
    assert not equal("twelve million twelve million", "24000000")


def test_a18_one_dollar_keeps_its_currency() -> None:
    assert equal("$1", "one dollar")
    assert not equal("$1", "one")
    assert not equal("one dollar", "one")


# A19


@pytest.mark.parametrize(("one", "other"), [("CO 2", "c o 2"), ("c o 2", "CO2"), ("CO2", "CO 2")])
def test_a19_a_formula_is_the_same_however_it_is_spaced(one: str, other: str) -> None:
    assert equal(one, other)


def test_a19_another_formula_is_another_word() -> None:
    assert not equal("CO2", "CO")
    assert not equal("CO2", "CO3")


# A20

EMPTY = {
    "empty reference": ("", "good day", WordErrors(0, 0, 2, 0), None),
    "empty hypothesis": ("good day", "", WordErrors(2, 0, 0, 2), 1.0),
    "both empty": ("", "", WordErrors(0, 0, 0, 0), None),
}


@pytest.mark.parametrize("which", EMPTY)
def test_a20_empty_texts_have_a_defined_result(which: str) -> None:
    reference, hypothesis, counts, rate = EMPTY[which]
    found = score(reference, hypothesis, NORMAL)
    assert found == counts
    assert found.rate == rate


def test_a20_sums_are_of_counts_and_what_has_no_rate_is_counted_apart() -> None:
    texts = [("good day", "good"), ("", "some noise here"), ("red green blue white", "red green")]
    pairs = [TextPair(nth, *pair) for nth, pair in enumerate(texts)]
    assert total_of_pairs(pairs, NORMAL) == WordErrors(6, 0, 0, 3)
    tally = Tally()
    for reference, hypothesis in texts:
        tally.add(align(reference, hypothesis, NORMAL))
    assert tally.errors.rate == 0.5
    assert (tally.without_reference, tally.words_without_reference) == (1, 3)
    scored = [Scored(score(*pair, NORMAL), 10.0) for pair in texts]
    assert total(scored) == WordErrors(6, 0, 3, 3)
    assert time_weighted_rate(scored) == 0.5
    assert time_weighted_rate([scored[1]]) is None


def test_a20_an_empty_reference_publishes_insertions_and_no_rate() -> None:
    counts = {"reference_words": 0, "substitutions": 0, "insertions": 3, "deletions": 0}
    metrics = Metrics([Stream("local", "tiny", "files", "forced")])
    metrics.take(finished(score=counts, first_partial_score=None))
    labels = {"provider": "local", "model": "tiny", "dataset": "files", "mode": "streaming"}
    labels["transcript"] = "final"
    assert value(metrics, "word_errors_total", **labels, operation="insertion") == 3
    assert value(metrics, "wer_audio_seconds_total", **labels) == 0
    assert value(metrics, "reference_words_total", **labels) == 0
