"""The figures that the normaliser has to reach, on pairs that were written before it."""

import pytest

from scoring.normalize.speechbench import SPEECHBENCH
from scoring.words import score
from tests.scoring.normalize.case_files import errors_of, judged, rows, scored_cases, texts

FILES = ("normalizer_dev", "normalizer_generated", "own", "families")


def test_every_example_of_the_method_comes_out() -> None:
    examples = [row for row in scored_cases("normalizer_dev") if row["source"] == "seed"]
    assert len(examples) == 105
    assert judged(examples).wrong == ()


def test_the_authored_pairs_reach_99_percent_each_way() -> None:
    verdicts = judged(scored_cases("normalizer_dev"))
    assert min(verdicts.equal, verdicts.unequal) >= 0.99, verdicts.wrong


def test_the_generated_pairs_reach_995_permille_each_way() -> None:
    verdicts = judged(scored_cases("normalizer_generated"))
    assert min(verdicts.equal, verdicts.unequal) >= 0.995, verdicts.wrong


@pytest.mark.parametrize("held_out", [False, True])
def test_our_own_pairs_reach_98_percent_each_way(held_out: bool) -> None:
    verdicts = judged(row for row in rows("own") if row["held_out"] == held_out)
    assert min(verdicts.equal, verdicts.unequal) >= 0.98, verdicts.wrong


def test_there_are_at_least_300_pairs_of_our_own() -> None:
    assert len(rows("own")) >= 300


def test_our_own_unequal_pairs_cost_what_they_should() -> None:
    counted = [row for row in rows("own") if errors_of(row).errors == row["errors"]]
    assert len(counted) / len(rows("own")) >= 0.98


def test_the_pairs_of_each_family_come_out() -> None:
    assert judged(rows("families")).wrong == ()


@pytest.mark.parametrize("group", rows("normalizer_invariance"), ids=lambda row: row["id"])
def test_the_same_wrong_value_costs_the_same_in_every_format(group: dict[str, list[str]]) -> None:
    errors = {score(r, h, SPEECHBENCH).errors for r in group["refs"] for h in group["hyps"]}
    words = {len(SPEECHBENCH.tokens(reference)) for reference in group["refs"]}
    assert len(errors) == len(words) == 1
    assert errors != {0}


def test_normalising_a_normalised_text_changes_hardly_any() -> None:
    every = texts(*FILES)
    again = [
        text for text in every if SPEECHBENCH.text(SPEECHBENCH.text(text)) != SPEECHBENCH.text(text)
    ]
    assert len(again) / len(every) <= 0.01


def test_a_text_without_its_capitals_and_marks_is_the_same_text() -> None:
    # what a recogniser without punctuation gives; texts with marks that are said are left out
    marks = set("[]<>@/_#{}♪()-.:,'\"")
    plain = [t for t in texts("own", "families") if not marks.intersection(t.rstrip(".?!"))]
    kept = [t for t in plain if score(t, t.lower().rstrip(".?!"), SPEECHBENCH).errors == 0]
    assert len(plain) > 500
    assert len(kept) / len(plain) >= 0.995
