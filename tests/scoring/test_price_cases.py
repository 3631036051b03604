"""Every worked example of prices, throughput and speed factors of whole requests, to the digit."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from scoring.price import speech_to_text as stt
from scoring.price import text_to_speech as tts
from scoring.price.shape import rounded
from scoring.speed import (
    DAY_S,
    BarReading,
    Timed,
    bar,
    characters,
    points,
    speed_factor,
    throughput,
    throughput_median,
)

Case = dict[str, Any]
PATH = Path(__file__).parent / "cases" / "prices_and_speed.json"
CASES: dict[str, list[Case]] = json.loads(PATH.read_text(encoding="utf-8"), parse_float=Decimal)


def cases(section: str, *ids: str) -> pytest.MarkDecorator:
    chosen = [case for case in CASES[section] if not ids or case["id"] in ids]
    assert chosen
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])


def same_digits(found: Fraction | float | None, expected: Decimal | int | None) -> bool:
    """All the digits that the example gives."""
    if found is None or expected is None:
        return found is expected
    places = max(6, -int(Decimal(expected).as_tuple().exponent))
    return rounded(Fraction(found), places) == Decimal(expected)


def whole(number: Decimal | int) -> int:
    return int(number)


def plan_of(given: Case) -> tts.Plan:
    names = {
        "annual_usd_total": "annual_usd",
        "chars_per_month": "characters_per_month",
        "chars_per_year": "characters_per_year",
        "credits_per_char": "credits_per_character",
    }
    return tts.Plan(**{names.get(name, name): value for name, value in given.items()})


def spoken(given: Case) -> tts.Spoken:
    used: dict[str, int] = {k: given[k] for k in ("text_in", "audio_out", "text_out") if k in given}
    used["reasoning"] = given.get("reasoning_separate", 0)
    return tts.Spoken(given["chars"], given.get("inference_s", 0), used)


def synthesis(charging: str, given: Case) -> tuple[tts.Charging, list[tts.Spoken]]:
    match charging:
        case "per_character":
            return tts.PerCharacter(given["usd"], given["per_chars"]), []
        case "subscription":
            plans = tuple(plan_of(plan) for plan in given["plans"])
            return tts.Subscription(plans, given["utilisation"]), []
        case "token":
            return token_rates(given), []
        case "output_duration":
            pace = given["chars_per_minute"]
            return tts.OutputTime(given["usd"], given["per_seconds"], pace), []
        case "bytes":
            return tts.PerByte(given["usd"], given["per_bytes"]), []
        case "inference_time":
            runs = [spoken(run) for run in given["runs"]]
            return tts.InferenceTime(given["usd_per_second"]), runs
        case "speech_dialogue_model":
            runs = [spoken(prompt) for prompt in given["prompts"]]
            return tts.SpeechDialogue(given["usd_per_token"]), runs
        case _:
            paid = given["paid_api"]
            return tts.OpenWeights(synthesis(paid["charging"], paid)[0] if paid else None), []


def token_rates(given: Case) -> tts.TokenRates:
    return tts.TokenRates(
        given["chars_per_text_token"],
        given["audio_tokens_per_second"],
        given["usd_per_text_token"],
        given["usd_per_audio_token"],
        given.get("usd_per_text_token_batch"),
        given.get("usd_per_audio_token_batch"),
        given["chars_per_minute"],
    )


@cases("price_tts")
def test_a_million_characters_cost_what_the_example_says(case: Case) -> None:
    charging, runs = synthesis(case["charging"], case["input"])
    found = charging.price(runs)
    assert same_digits(found.usd, case["expect_usd_per_1m_chars"])
    assert found.plan == case.get("chosen", "")
    if "error" in case:
        assert found.reason == case["error"]
    if case["id"] == "tts-token-no-batch":
        assert any("No batch price" in remark for remark in found.remarks)


@cases("price_tts", "tts-token-batch")
def test_the_parts_of_a_token_price_are_those_of_the_example(case: Case) -> None:
    rates, parts = token_rates(case["input"]), case["parts"]
    assert rates.text_tokens == parts["text_tokens"]
    assert rounded(rates.audio_s, 6) == parts["audio_seconds"]
    assert rounded(rates.audio_tokens, 4) == parts["audio_tokens"]


def transcribed(given: Case) -> stt.Transcribed:
    used: dict[str, int] = {k: given[k] for k in ("audio_in", "text_in", "text_out") if k in given}
    used["reasoning"] = given.get("reasoning_separate", 0)
    return stt.Transcribed(given["audio_s"], given.get("processing_s", 0), used)


def transcription(charging: str, given: Case) -> tuple[Any, list[stt.Transcribed]]:
    runs = [transcribed(run) for run in given.get("runs", ())]
    match charging:
        case "audio_duration":
            return stt.AudioTime(given["usd"], given["per_seconds"]), runs
        case "processing_time":
            return stt.ProcessingTime(given["usd_per_second"]), runs
        case "token":
            return stt.TokenRates(given["usd_per_token"]), runs
        case _:
            plans = tuple(
                stt.Plan(
                    plan["name"],
                    plan["upfront_usd"],
                    plan["minutes_per_month"],
                    plan.get("minutes_per_day"),
                    plan.get("overage_usd_per_minute"),
                )
                for plan in given["plans"]
            )
            days = given.get("days_per_month", 30)
            return stt.Subscription(plans, given["needed_minutes"], days), runs


@cases("price_stt")
def test_a_thousand_minutes_cost_what_the_example_says(case: Case) -> None:
    charging, runs = transcription(case["charging"], case["input"])
    found = charging.price(runs)
    assert same_digits(found.usd, case["expect_usd_per_1000_min"])
    assert found.plan == case.get("chosen", "")


ENDS = {
    "tp-url": "t_download_end",
    "tp-stream": "t_last_byte",
    "tp-b64": "t_last_body_byte",
    "tp-poll": "t_download_end",
}
"""The moment at which everything had been received."""


@cases("throughput", *ENDS)
def test_throughput_counts_until_the_sound_itself_is_there(case: Case) -> None:
    seconds = case[ENDS[case["id"]]] - case["t_request"]
    found = throughput(case["prompt_chars"], float(seconds))
    assert same_digits(found, case["expect_cps"])


@cases("throughput", "tp-median-3d", "tp-median-3d-one-second-later")
def test_throughput_is_the_median_of_three_days(case: Case) -> None:
    observed = next(c["observations"] for c in CASES["throughput"] if "observations" in c)
    timed = [
        Timed(float(one["t_s"]), None if one["cps"] is None else float(one["cps"]))
        for one in observed
    ]
    found = throughput_median(timed, now_s=case["now_s"])
    assert found.value == case["expect_median"]
    if case["id"] == "tp-median-3d":
        assert found.measurements + found.failures == case["expect_n"] + 1
        assert found.measurements == case["expect_n"]
    else:
        assert found.measurements == case["expect_n"]
    assert found.failures == 1


@cases("throughput", "tp-chars-unicode")
def test_characters_are_composed_code_points(case: Case) -> None:
    assert characters(case["text"]) == case["expect_chars_code_points"]
    assert len(case["text"].encode()) == case["utf8_bytes"]


@cases("speed_factor", "sf-basic", "sf-poll")
def test_everything_until_the_transcript_is_there_is_response_time(case: Case) -> None:
    seconds = case.get("response_s") or case["t_transcript_received"] - case["t_upload_start"]
    assert same_digits(speed_factor(case["audio_s"], float(seconds)), case["expect"])


@cases("speed_factor", "sf-series")
def test_both_readings_of_a_bar_come_out(case: Case) -> None:
    days = case["per_day_measurements"]
    timed = [
        Timed(day * DAY_S + slot * DAY_S / 4, float(value))
        for day, values in enumerate(days)
        for slot, value in enumerate(values)
    ]
    found = [one.value for one in points(timed).values()]
    assert found == [float(value) for value in case["expect_points"]]
    now_s = 7 * DAY_S - 1
    assert bar(timed, now_s=now_s).value == case["expect_bar_7d_raw_median"]
    by_points = bar(timed, now_s=now_s, reading=BarReading.POINTS)
    assert by_points.value == case["alternative_bar_median_of_points"]
    assert by_points.complete


def test_no_section_of_the_examples_is_left_out() -> None:
    tested = {case["id"] for case in CASES["throughput"]}
    assert tested == {*ENDS, "tp-median-3d", "tp-median-3d-one-second-later", "tp-chars-unicode"}
    assert {case["id"] for case in CASES["speed_factor"]} == {"sf-basic", "sf-poll", "sf-series"}
    assert (len(CASES["price_tts"]), len(CASES["price_stt"])) == (18, 8)
