"""A price list of one's own: read exactly, before the shipped one, all its mistakes at once."""

from fractions import Fraction
from pathlib import Path

import pytest

from daemon.errors import UserError
from daemon.prices import price_lists
from scoring.price import Kind, price_of, shipped_prices

ENTRY = """
[[price]]
model = "local/pocketsphinx"
kind = "speech_to_text"
charging = "audio_time"
usd = 0.0043
date = 2026-11-02
source = "a list"
"""


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "prices.toml"
    path.write_bytes(content)
    return path


def test_without_a_list_there_is_the_shipped_one() -> None:
    assert price_lists(None) == shipped_prices()


def test_ones_own_price_goes_first_and_keeps_its_digits(tmp_path: Path) -> None:
    lists = price_lists(written(tmp_path, ENTRY.encode()))
    found = price_of("local/pocketsphinx", Kind.SPEECH_TO_TEXT, lists)
    assert found is not None
    assert found.price().usd == Fraction("4.3")
    assert price_of("local/moonshine-tiny", Kind.SPEECH_TO_TEXT, lists) is not None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "is not UTF-8 text (byte 0)"),
        (b"[[price", "is not TOML"),
        (ENTRY.replace("0.0043", "-1").encode() + b"x = 1\n", "price[1].x: there is no such value"),
    ],
)
def test_what_is_wrong_with_a_list_is_told_with_its_file(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(UserError) as error:
        price_lists(path)
    lines = str(error.value).splitlines()
    assert lines[0].startswith(f"{path}: {said}")
    assert all(line.startswith(f"{path}: ") for line in lines)


def test_a_list_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        price_lists(tmp_path / "none.toml")
