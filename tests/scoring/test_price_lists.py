"""Price lists: read exactly, refused with every mistake, and never older than they say."""

import tomllib
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import CATALOG
from scoring.price import Kind, PriceError, price_of, prices_in, rounded, shipped_prices
from scoring.price.lists import CHARGING, Listed
from scoring.price.shape import Price, cost
from scoring.price.speech_to_text import AudioTime, Plan, Subscription, TokenRates, Transcribed
from scoring.price.text_to_speech import Spoken

HEAD = """
[[price]]
model = "a/b"
kind = "speech_to_text"
date = 2026-11-02
source = "https://example.com/pricing"
"""
MINUTE = HEAD + 'charging = "audio_time"\nusd = 0.0043\n'
SPEAKING = HEAD.replace("speech_to_text", "text_to_speech")


def read(text: str, *, shipped: bool = False) -> tuple[Listed, ...]:
    return prices_in(tomllib.loads(text, parse_float=Decimal), shipped=shipped)


def refused(text: str) -> list[str]:
    with pytest.raises(PriceError) as error:
        read(text)
    return str(error.value).splitlines()


def test_a_price_is_what_is_written_to_the_last_digit() -> None:
    (one,) = read(MINUTE)
    assert one.price().usd == Fraction(43, 10)
    assert (one.date, one.source) == (date(2026, 11, 2), "https://example.com/pricing")


def test_a_price_says_when_and_where_it_was_read() -> None:
    (own,), (shipped,) = read(MINUTE), read(MINUTE, shipped=True)
    said = "as read on 2026-11-02 at https://example.com/pricing"
    assert own.provenance == f"{said} (your list)"
    assert shipped.provenance == f"{said} (shipped with speechbench, may have changed since)"


def test_what_is_shipped_is_marked_so_and_is_about_models_that_there_are() -> None:
    shipped = shipped_prices()
    assert shipped
    assert all(one.shipped for one in shipped)
    assert {one.model for one in shipped} <= set(CATALOG)


def test_the_users_list_goes_before_the_one_that_is_shipped() -> None:
    own = read(MINUTE.replace("a/b", "local/pocketsphinx"))
    found = price_of("local/pocketsphinx", Kind.SPEECH_TO_TEXT, [*own, *shipped_prices()])
    assert found is not None
    assert not found.shipped
    assert price_of("local/pocketsphinx", Kind.TEXT_TO_SPEECH, own) is None


TOKENS = "usd_per_token = { text_out = 0.00001 }\n"
PLANS = {
    Kind.SPEECH_TO_TEXT: '[[price.plans]]\nname = "p"\nmonthly_usd = 24\n',
    Kind.TEXT_TO_SPEECH: '[[price.plans]]\nname = "p"\nmonthly_usd = 24\ncredits_per_month = 9\n'
    "credits_per_character = 0.5\n",
}
VALUES = {
    "audio_time": "usd = 1\nblock_s = 15\n",
    "processing_time": "usd_per_s = 0.001\n",
    "tokens": TOKENS,
    "subscription": "",
    "open_weights": "",
    "per_character": "usd = 16\n",
    "output_time": "usd = 0.015\nper_s = 60\n",
    "bytes": "usd = 15\n",
    "inference_time": "usd_per_s = 0.000575\n",
    "speech_dialogue": TOKENS,
}
SYNTHESIS_TOKENS = "characters_per_text_token = 4\naudio_tokens_per_s = 25\n"
EVERY = [(kind, charging) for kind, known in CHARGING.items() for charging in known]


@pytest.mark.parametrize(("kind", "charging"), EVERY)
def test_every_way_of_charging_can_be_written(kind: Kind, charging: str) -> None:
    values = VALUES[charging]
    if charging == "subscription":
        values = PLANS[kind]
    elif charging == "tokens" and kind is Kind.TEXT_TO_SPEECH:
        values = SYNTHESIS_TOKENS
    head = HEAD.replace("speech_to_text", kind.value)
    (one,) = read(f'{head}charging = "{charging}"\n{values}')
    assert one.charging.charging == charging
    found = one.price()
    assert (found.usd is None) is bool(found.reason)


def test_there_are_four_ways_to_charge_for_hearing_and_eight_for_speaking() -> None:
    own = {"open_weights"}
    assert len(CHARGING[Kind.SPEECH_TO_TEXT].keys() - own) == 4
    assert len(CHARGING[Kind.TEXT_TO_SPEECH]) == 8


def test_open_weights_may_be_sold_as_a_service() -> None:
    paid = 'charging = "open_weights"\npaid = { charging = "per_character", usd = 0.65 }\n'
    (one,) = read(SPEAKING + paid)
    assert one.price().usd == Fraction(65, 100)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MINUTE.replace("usd = 0.0043", ""), "price[1].usd: it is missing"),
        (
            MINUTE + "usb = 1\n",
            "price[1].usb: there is no such value; allowed: usd, per_s, block_s",
        ),
        (MINUTE.replace("0.0043", "-1"), "price[1].usd: it must be a number that is not below 0"),
        (MINUTE.replace("0.0043", "nan"), "price[1].usd: it must be a number that is not below 0"),
        (MINUTE.replace("0.0043", "true"), "price[1].usd: it must be a number (it is True)"),
        (MINUTE.replace("0.0043", '"1"'), "price[1].usd: it must be a number (it is '1')"),
        (MINUTE + "per_s = 0\n", "price[1].per_s 0: it must be above 0"),
        (MINUTE.replace("2026-11-02", '"2026"'), "price[1].date: write the day on which it was"),
        (MINUTE.replace("2026-11-02", "2026-11-02T10:00:00"), "price[1].date: write the day"),
        (
            MINUTE.replace('"https://example.com/pricing"', '""'),
            "price[1].source: it must be given",
        ),
        (
            MINUTE.replace("speech_to", "music_to"),
            "price[1].kind: it must be one of speech_to_text",
        ),
        (
            MINUTE.replace("audio_time", "per_word"),
            "price[1].charging: it must be one of audio_time",
        ),
        (MINUTE + MINUTE, "price: a/b is there twice for speech_to_text"),
        ("price = 3", "price: write each entry as [[price]]"),
        ("price = [3]", "price[1].it must be a table"),
        ("[prices]", "prices: there is no such table; allowed: price"),
        (HEAD + 'charging = "subscription"\nplans = []\n', "price[1].plans: write each plan as"),
        (
            HEAD + 'charging = "subscription"\nplans = [1]\n',
            "price[1].plans[1]: it must be a table",
        ),
        (
            HEAD + 'charging = "subscription"\nplans = [{}]\n',
            "price[1].plans[1].name: it is missing",
        ),
        (HEAD + 'charging = "tokens"\nusd_per_token = 3\n', "price[1].usd_per_token: it must be"),
        (SPEAKING + 'charging = "open_weights"\npaid = 1\n', "price[1].paid: it must be a table"),
        (
            SPEAKING + 'charging = "subscription"\n[[price.plans]]\nname = "p"\n',
            "price[1].plan p: no characters_per_month",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, said: str) -> None:
    assert refused(text)[0].startswith(said)


def test_all_mistakes_are_told_at_once() -> None:
    text = MINUTE.replace("0.0043", "-1") + "x = 1\n" + MINUTE.replace("date", "dates")
    assert [line.split(":")[0] for line in refused(text)] == [
        "price[1].x",
        "price[1].usd",
        "price[2].date",
    ]


def test_a_token_that_was_used_and_has_no_price_is_no_gift() -> None:
    run = Transcribed(60, tokens={"audio_in": 10, "reasoning": 5, "text_in": 0})
    with pytest.raises(PriceError, match="tokens without a price: reasoning"):
        TokenRates({"audio_in": 1}).price([run])


def test_what_was_not_measured_has_no_price_and_says_so() -> None:
    found = TokenRates({"audio_in": 1}).price([])
    assert (found.usd, found.reason) == (None, "no token use was measured")
    with pytest.raises(PriceError, match="a missing price needs a reason"):
        Price(None)
    with pytest.raises(PriceError, match="audio_s 0: it must be above 0"):
        TokenRates({}).price([Transcribed(0)])


def test_blocks_only_round_up() -> None:
    charging = AudioTime(Decimal("0.024"), 60, 15)
    assert charging.with_blocks([15, 30]) == charging.price().usd == 24
    assert charging.with_blocks([]) is None
    assert "whole blocks of 15 s" in charging.price().remarks[0]


@pytest.mark.parametrize(
    ("usd", "shown"),
    [("0.125", "0.13"), ("0.12499", "0.12"), ("0", "0.00"), ("1234567.895", "1234567.90")],
)
def test_half_a_cent_goes_up(usd: str, shown: str) -> None:
    assert str(rounded(Fraction(usd))) == shown


amounts = st.decimals(0, 10_000, places=4)


@given(amounts, st.lists(st.decimals(1, 10_000, places=2), min_size=1, max_size=9))
def test_blocks_never_make_it_cheaper(usd: Decimal, lengths: list[Decimal]) -> None:
    charging = AudioTime(usd, 60, 15)
    listed, billed = charging.price().usd, charging.with_blocks(lengths)
    assert listed is not None
    assert billed is not None
    assert billed >= listed


plans = st.builds(
    Plan,
    st.just("p"),
    amounts,
    st.none() | st.integers(0, 2_000),
    st.none() | st.integers(0, 100),
    st.none() | st.decimals(0, 1, places=3),
)


@given(st.lists(plans, min_size=1, max_size=6))
def test_no_plan_that_can_do_the_work_costs_less_in_advance(many: list[Plan]) -> None:
    able = [plan for plan in many if plan.extra_minutes(Fraction(1_000), 30) is not None]
    found = Subscription(tuple(many)).price()
    if not able:
        assert found.usd is None
    else:
        assert found.usd is not None
        assert found.usd >= min(Fraction(plan.monthly_usd) for plan in able)


@given(st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 10**6)), amounts, amounts)
def test_the_cost_of_tokens_adds_up(used: dict[str, int], a: Decimal, b: Decimal) -> None:
    prices: dict[str, Any] = {"a": a, "b": b}
    apart = sum((cost({kind: count}, prices) for kind, count in used.items()), Fraction())
    assert cost(used, prices) == apart


def test_what_was_spoken_has_characters() -> None:
    assert Spoken(500).tokens == {}
