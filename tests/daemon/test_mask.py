"""No spelling of a key is left, and no word of what was said is taken for one."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.mask import MASK, SHORTEST, masked

KEY = 'canary/"6f1d"+ö of=thirty&chars'


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        json.dumps(KEY),
        json.dumps(KEY, ensure_ascii=False),
        json.dumps(KEY).replace("/", "\\/"),
        quote(KEY, safe=""),
    ],
)
def test_a_key_is_found_however_it_is_spelled(spelled: str) -> None:
    for said in (f"refused: {spelled}!", f"refused: {spelled}!".encode()):
        rest = masked(said, KEY)
        text = rest.decode() if isinstance(rest, bytes) else rest
        assert text.strip('"') in (f"refused: {MASK}!", f'refused: "{MASK}"!')


def test_each_part_of_a_key_of_several_is_a_secret() -> None:
    key = "AKIAIOSFODNN7:wJalrXUtnFEMI/K7MDENG:session-token-1"
    said = "no access for AKIAIOSFODNN7 with session-token-1, wJalrXUtnFEMI/K7MDENG"
    assert masked(said, key) == f"no access for {MASK} with {MASK}, {MASK}"


@pytest.mark.parametrize("key", ["", "x", "any", "1234567"])
def test_what_is_too_short_to_be_a_secret_changes_no_transcript(key: str) -> None:
    said = '{"text": "any of x, many of 1234567"}'
    assert masked(said, key) == said


@given(st.text(min_size=SHORTEST, max_size=80), st.text(max_size=40), st.text(max_size=40))
def test_nothing_of_a_key_is_left_whatever_it_is(key: str, before: str, after: str) -> None:
    for spelled in (key, json.dumps(key), quote(key, safe="", errors="replace")):
        left = masked(f"{before}{spelled}{after}", key)
        assert left.count(key) <= (before + MASK + after).count(key)
