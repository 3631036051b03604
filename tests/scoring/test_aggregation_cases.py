"""Every worked example of weights, calls, latencies, speed factors and prices, to the digit."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from measure.events import Tick
from measure.records import SECOND, Verdict
from scoring.normalize import NORMALIZERS
from scoring.price.shape import Price
from scoring.price.speech_to_text import (
    AudioTime,
    Plan,
    ProcessingTime,
    Subscription,
    TokenRates,
    Transcribed,
)
from scoring.rejoin import Call, Part, joined, score_call
from scoring.speed import bar_of_points, point, speed_factor
from scoring.weigh import (
    Scored,
    across,
    call_latency,
    corpus_rate,
    latencies,
    mean,
    time_weighted_rate,
)
from scoring.words import Outcome, WordErrors, align
from tests.measure.stories import FALLBACK, NEXT, ZERO, final, forced, partial, read, spoken

Case = dict[str, Any]
PATH = Path(__file__).parent / "cases" / "aggregation.json"
CASES: list[Case] = json.loads(PATH.read_text(encoding="utf-8"))["cases"]
EXACT: list[Case] = json.loads(PATH.read_text(encoding="utf-8"), parse_float=Decimal)["cases"]
"""The same with every digit as it is written: prices are not floats."""
WEIGHTS = {
    "agenttalk": Fraction(1, 2),
    "voxpopuli": Fraction(1, 4),
    "earnings22": Fraction(1, 4),
}
DIGITS = 1e-15
"""The examples ask for 1e-9; their own floats may be off by the last bit."""
SPEECHBENCH, NONE = NORMALIZERS["speechbench"], NORMALIZERS["none"]
TESTED = {
    "wer", "wer_text", "wer_time_weighted", "chunk_rejoin", "aa_wer", "latency", "speed_factor",
    "price",
}  # fmt: skip


def of_kind(*kinds: str, cases: list[Case] = CASES) -> pytest.MarkDecorator:
    chosen = [case for case in cases if case["kind"] in kinds]
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])


def only(*ids: str) -> pytest.MarkDecorator:
    chosen = [case for case in CASES if case["id"] in ids]
    assert len(chosen) == len(ids)
    return pytest.mark.parametrize("case", chosen, ids=ids)


def scored(sample: Case) -> Scored:
    inserted = sample.get("inserted", 0)
    errors = WordErrors(sample["N"], substitutions=sample["errors"], insertions=inserted)
    return Scored(errors, sample["duration_s"])


def same(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return found == pytest.approx(expected, abs=DIGITS)


def test_no_kind_of_example_is_left_out() -> None:
    assert {case["kind"] for case in CASES} == TESTED
    assert len(CASES) == 61


@of_kind("wer")
def test_words_are_counted(case: Case) -> None:
    expected = case["expected"]
    alignment = align(case["inputs"]["ref"], case["inputs"]["hyp"], NONE)
    errors = alignment.errors
    assert (errors.errors, errors.reference_words) == (expected["errors"], expected["N"])
    assert same(errors.rate, expected["wer"])
    assert sum(row.outcome is Outcome.EQUAL for row in alignment.rows) == expected["hits"]
    split = (errors.substitutions, errors.deletions, errors.insertions)
    if expected["split_unique"]:
        assert split == (expected["S"], expected["D"], expected["I"])


@of_kind("wer_text")
def test_texts_are_normalised_first(case: Case) -> None:
    found = align(case["inputs"]["ref"], case["inputs"]["hyp"], SPEECHBENCH).errors
    assert (found.errors, found.reference_words) == (0, case["expected"]["N"])


@of_kind("wer_time_weighted")
def test_rates_are_weighted_by_time(case: Case) -> None:
    found = corpus_rate([scored(sample) for sample in case["inputs"]["samples"]])
    expected = case["expected"]
    assert same(found.rate, expected["wer"])
    if "samples_used" in expected:
        assert found.recordings == expected["samples_used"]
        assert found.without_reference == expected["empty_reference_samples"]
        assert found.words_without_reference == expected["insertions_on_empty_references"]


def call_of(case: Case) -> tuple[Call, list[Part]]:
    given = case["inputs"]
    parts = [Part(one["chunk_index"], one["hyp"]) for one in given["chunks"]]
    count = given.get("expected_chunks", len(parts))
    return Call(case["id"], given["call_reference"], given["call_duration_s"], count), parts


@only("chunk-1-number-across-boundary", "chunk-2-empty-chunk")
def test_parts_are_joined_before_they_are_normalised(case: Case) -> None:
    call, parts = call_of(case)
    expected = case["expected"]
    assert joined(call.name, call.parts, parts).text == expected["joined_hypothesis"]
    found = score_call(call, parts, SPEECHBENCH)
    assert found is not None
    assert found.errors.errors == expected["errors"]
    assert found.audio_s == call.audio_s
    if "wer" in expected:
        assert same(found.errors.rate, expected["wer"])
        assert found.errors == WordErrors(
            expected["N"], expected["S"], expected["I"], expected["D"]
        )


@only("chunk-3-missing-chunk")
def test_a_lost_part_makes_the_call_incomplete(case: Case) -> None:
    call, parts = call_of(case)
    whole = joined(call.name, call.parts, parts)
    assert not whole.complete
    assert list(whole.missing) == case["expected"]["missing_chunks"]
    assert score_call(call, parts, SPEECHBENCH) is None


@only("chunk-4-calls-weighted")
def test_a_call_weighs_as_long_as_it_was(case: Case) -> None:
    calls = [scored(call) for call in case["inputs"]["calls"]]
    assert same(time_weighted_rate(calls), case["expected"]["wer"])


@only("aa-1", "aa-2", "aa-3", "aa-4", "aa-5-missing")
def test_corpora_have_their_weights_and_none_stands_in_for_another(case: Case) -> None:
    assert same(across(case["inputs"], WEIGHTS), case["expected"]["aa_wer"])


@only("aa-6-two-levels")
def test_rates_are_weighted_within_and_then_across_corpora(case: Case) -> None:
    rates = {
        name: time_weighted_rate([scored(sample) for sample in samples])
        for name, samples in case["inputs"].items()
    }
    expected = case["expected"]
    assert all(same(rate, expected[name]) for name, rate in rates.items())
    assert same(across(rates, WEIGHTS), expected["aa_wer"])


@only("aa-7-partial-transcripts")
def test_finals_and_first_partials_are_two_figures(case: Case) -> None:
    for name, expected in case["expected"].items():
        assert same(across(case["inputs"][name], WEIGHTS), expected)


@only("lat-1-mean-over-samples", "lat-2-missing", "lat-3-negative-clamped")
def test_each_sample_counts_once_and_a_missing_one_is_no_zero(case: Case) -> None:
    found = latencies(case["inputs"]["time_to_final_s"])
    expected = case["expected"]
    assert same(found.mean, expected["mean_s"])
    assert found.measured == expected.get("measured", found.measured)
    assert found.missing == expected.get("missing", 0)


@only("lat-4-chunks-then-call")
def test_a_call_is_one_sample_the_mean_of_its_parts(case: Case) -> None:
    calls = {name: call_latency(parts) for name, parts in case["inputs"]["chunks"].items()}
    expected = case["expected"]
    assert all(same(calls[name], value) for name, value in expected["per_call_s"].items())
    assert same(mean(value for value in calls.values() if value), expected["dataset_mean_s"])


@only("lat-5-across-sets")
def test_latencies_of_corpora_have_the_same_weights(case: Case) -> None:
    figures = {name: case["inputs"][f"{name}_s"] for name in WEIGHTS}
    assert same(across(figures, WEIGHTS), case["expected"]["overall_s"])


def at(seconds: float) -> int:
    return ZERO + round(seconds * SECOND)


@only("lat-6-first-partial")
def test_the_first_event_of_each_kind_counts(case: Case) -> None:
    events = [
        (partial if kind == "partial" else final)(at(after), f"word {after}")
        for kind, after in case["inputs"]["events_after_signal_s"]
    ]
    found = read(NEXT, [*forced(), *events])
    expected = case["expected"]
    assert found.time_to_first_partial_ns == round(expected["time_to_first_partial_s"] * SECOND)
    assert found.time_to_final_ns == round(expected["time_to_final_s"] * SECOND)


@only("lat-7-fallback", "lat-8-fallback", "lat-9-fallback")
def test_without_a_force_the_steps_of_the_fallback_decide(case: Case) -> None:
    given, expected = case["inputs"], case["expected"]
    texts = given.get("text", {})
    story = [
        *(final(at(one), texts.get(str(one), f"w {one}")) for one in given["natural_finals_s"]),
        *(
            partial(at(one), texts.get(str(one), f"w {one}"))
            for one in given["partials_before_2s"] + given["partials_after_2s"]
        ),
    ]
    told = sorted(story, key=lambda event: event.at_ns)
    found = read(FALLBACK, [*spoken(), *told, Tick(at(10))])
    assert found.time_to_final_ns == round(expected["at_s"] * SECOND)
    assert (found.verdict is Verdict.NATURAL_FINAL) is (expected["chosen"] == "final")
    if "text" in expected:
        assert found.transcript == expected["text"]


@only("sf-1-single")
def test_a_speed_factor_is_audio_over_response(case: Case) -> None:
    given = case["inputs"]
    found = speed_factor(given["audio_s"], given["response_s"])
    assert found == case["expected"]["speed_factor"]


@only("sf-2-point", "sf-3-point-outlier", "sf-4-too-few", "sf-7-failed")
def test_a_point_is_the_median_of_what_was_measured(case: Case) -> None:
    given, expected = case["inputs"], case["expected"]
    factors = [s and speed_factor(given["audio_s"], s) for s in given["response_s"]]
    found = point(factors)
    assert found.value == expected["point"]
    assert found.failures == expected.get("failures", 0)
    assert found.complete is expected.get("complete", len([f for f in factors if f]) == 4)
    if isinstance(expected.get("measurements"), list):
        assert factors == expected["measurements"]


@only("sf-5-bar")
def test_a_bar_may_be_the_median_of_seven_points(case: Case) -> None:
    found = [point(day).value for day in case["inputs"]["days"]]
    assert found == case["expected"]["points"]
    assert bar_of_points(dict(enumerate(found)), today=6).value == case["expected"]["bar"]
    every = [value for day in case["inputs"]["days"] for value in day]
    assert point(every).value == case["alternative"]["median_of_all_28_measurements"]


@only("sf-6-window")
def test_only_the_last_seven_days_count(case: Case) -> None:
    by_day = {int(day): value for day, value in case["inputs"]["points"].items()}
    found = bar_of_points(by_day, today=case["inputs"]["now_day"])
    assert found.value == case["expected"]["bar"]
    assert found.measurements == len(case["expected"]["days_used"])


PER_S = {"usd_per_second": 1, "usd_per_minute": 60, "usd_per_hour": 3600}


def of_time(given: Case) -> AudioTime:
    name = next(name for name in PER_S if name in given)
    return AudioTime(given[name], PER_S[name], given.get("billing_block_s"))


def of_tokens(given: Case) -> Price:
    kinds = {"audio_input": "audio_in", "text_input": "text_in", "output": "text_out"}
    prices = {ours: given[f"usd_per_m_{theirs}"] / 10**6 for theirs, ours in kinds.items()}
    used = {ours: given[f"{theirs}_tokens"] for theirs, ours in kinds.items()}
    used["reasoning"] = given.get("reasoning_tokens_reported_separately", 0)
    prices["reasoning"] = prices["text_out"]
    run = Transcribed(audio_s=given["audio_minutes"] * 60, tokens=used)
    return TokenRates(prices).price([run])


def of_plans(given: Case) -> Price:
    plans = tuple(
        Plan(
            one["name"],
            one["monthly_usd"],
            one["included_min"],
            one.get("max_min_per_day"),
            one.get("overage_usd_per_min"),
        )
        for one in given["plans"]
    )
    return Subscription(plans, given["minutes"], given.get("days", 30)).price()


def priced(given: Case) -> Price:
    match given["model"]:
        case "audio_duration":
            return of_time(given).price()
        case "processing_time":
            runs = [Transcribed(one["audio_s"], one["processing_s"]) for one in given["samples"]]
            return ProcessingTime(given["usd_per_processing_s"]).price(runs)
        case "tokens":
            return of_tokens(given)
        case _:
            return of_plans(given)


def close(found: Fraction | None, expected: Decimal | None) -> bool:
    if found is None or expected is None:
        return found is None and expected is None
    return abs(found - Fraction(expected)) < Fraction(1, 10**14)


@of_kind("price", cases=EXACT)
def test_a_price_comes_out_to_the_digit(case: Case) -> None:
    given, expected = case["inputs"], case["expected"]
    found = priced(given)
    if "billing_block_s" in given:
        assert close(found.usd, case["alternative"]["list_price_without_rounding"])
        billed = of_time(given).with_blocks(given["sample_durations_s"])
        assert close(billed, expected["usd_per_1000_min"])
        return
    assert close(found.usd, expected["usd_per_1000_min"])
    if "plan" in expected:
        assert found.plan == (expected["plan"] or "")
