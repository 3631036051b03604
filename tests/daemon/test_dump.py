"""A configuration as it is in force: it reads back as the same, and holds no secret."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from daemon.config import Settings
from daemon.dump import dumped, masked_address

SECRET = "canary-1f6b"
WORDS = st.text("abcdefghij-_.~", min_size=1, max_size=12)


def test_the_built_in_settings_read_back_as_themselves() -> None:
    assert Settings.model_validate(tomllib.loads(dumped(Settings()))) == Settings()


def test_a_full_configuration_reads_back_as_itself() -> None:
    settings = Settings.model_validate(
        {
            "model": [{"name": "deepgram/nova-3", "url": "wss://eu.example:8443/v1"}],
            "clip": [{"path": "a.wav", "reference": 'say "yes"\nand 世界'}],
            "schedule": [{"name": "own", "times_a_day": 4, "models": ["deepgram/nova-3"]}],
            "spending": {"provider": [{"name": "deepgram", "day_usd": 1.5}]},
            "journal": {"directory": "/a b/c", "max_age_days": 90},
        }
    )
    assert Settings.model_validate(tomllib.loads(dumped(settings))) == settings


@given(WORDS, WORDS, WORDS, WORDS)
def test_whatever_an_address_carries_is_left_out(
    user: str, host: str, path: str, name: str
) -> None:
    url = f"wss://{user}:{SECRET}@{host}:8443/{path}?{name}={SECRET}&empty=#{SECRET}"
    shown = masked_address(url)
    assert SECRET not in shown
    assert host in shown
    assert f"/{path}?" in shown


def test_an_address_with_no_secret_is_shown_as_it_is() -> None:
    assert masked_address("wss://eu.example:8443/v1/listen") == "wss://eu.example:8443/v1/listen"


def test_a_token_in_the_address_of_a_model_is_not_dumped() -> None:
    url = f"wss://eu.example/v1?token={SECRET}"
    settings = Settings.model_validate({"model": [{"name": "deepgram/nova-3", "url": url}]})
    assert SECRET not in dumped(settings)
    assert "eu.example" in dumped(settings)
