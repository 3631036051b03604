"""Keys and tokens do not survive; ordinary words do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.redact import GONE, LONGEST, redacted, redacted_text

CANARY = "canary-1234567890"


@pytest.mark.parametrize(
    "name",
    [
        *("authorization", "Authorization", "proxy-authorization", "cookie", "set-cookie"),
        *("api_key", "x-api-key", "xi-api-key", "key", "apikey", "Ocp-Apim-Subscription-Key"),
        *("token", "access_token", "sessiontoken", "client_secret", "password", "credential"),
    ],
)
def test_what_a_secret_name_holds_is_gone(name: str) -> None:
    assert redacted({name: CANARY}) == {name: GONE}
    assert redacted({"headers": [{name: [CANARY]}]}) == {"headers": [{name: GONE}]}


@pytest.mark.parametrize(
    "name", ["token_count", "keyboard", "monkey", "key_variable", "keys", "billed_tokens", "event"]
)
def test_names_that_only_sound_like_it_keep_what_they_hold(name: str) -> None:
    assert redacted({name: 17}) == {name: 17}


LEAKS = [
    f"wss://api.example.com/v1/listen?model=x&token={CANARY} refused",
    f"https://user:{CANARY}@example.com/a",
    f"https://{CANARY}@example.com/a",
    f"wss://example.com/#{CANARY}",
    f"Authorization: Token {CANARY}",
    f"authorization={CANARY}",
    f"{{'Authorization': 'Bearer {CANARY}'}}",
    f'{{"xi-api-key": "{CANARY}"}}',
    f"HTTP 401, Bearer {CANARY} is not valid",
    f"Token {CANARY}",
    f"api_key={CANARY}&x=1",
    f"apikey: {CANARY}",
    f"the password={CANARY}",
]


@pytest.mark.parametrize("text", LEAKS)
def test_a_secret_in_a_text_is_gone(text: str) -> None:
    assert CANARY not in redacted_text(text)
    assert GONE in redacted_text(text) or "user" in text or "@" in text


@pytest.mark.parametrize(
    "text",
    [
        "the token of the stream was late",
        "a basic misunderstanding",
        "wss://api.example.com/v1/listen refused",
        "Close 1008, no Bearer given",
        "monkey: banana",
        "what? nothing # at all",
        "",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redacted_text(text) == text


def test_none_says_that_there_is_no_secret() -> None:
    assert redacted({"api_key": None}) == {"api_key": None}


def test_a_text_longer_than_any_line_is_cut() -> None:
    assert len(redacted_text("x" * 10**6)) == LONGEST + 1


pieces = ["://", "a", "?", "key", "=", " ", "token", "-", "@", "bearer ", "1", "[", "'", '"', "\n"]
noise = st.lists(st.sampled_from(pieces), max_size=40).map("".join)


@settings(deadline=None)
@given(noise, st.sampled_from(LEAKS), noise)
def test_no_text_around_it_brings_a_secret_back(before: str, leak: str, after: str) -> None:
    assert CANARY not in redacted_text(f"{before} {leak} {after}")
