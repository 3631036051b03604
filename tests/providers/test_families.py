"""What codecs share: addresses, deltas put together, audio in other clothes."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.families import Segments, address, base64_of, compact, float32_of

SETTINGS = {"rate": "16000", "language": "en"}


def addressed(url: str) -> str:
    return address(url, SETTINGS, path="/v1/listen", who="Acme")


def test_an_address_gets_the_path_and_the_settings() -> None:
    assert addressed("wss://acme") == "wss://acme/v1/listen?rate=16000&language=en"
    assert addressed("ws://acme:80/") == "ws://acme:80/v1/listen?rate=16000&language=en"


def test_what_an_address_says_itself_stays() -> None:
    said = addressed("wss://acme/mine?language=fr&x=#part")
    assert said == "wss://acme/mine?rate=16000&language=fr&x="


def test_settings_may_come_more_than_once() -> None:
    said = address("ws://a", [("k", "one two"), ("k", "&")], path="/", who="Acme")
    assert said == "ws://a/?k=one%20two&k=%26"


@pytest.mark.parametrize(
    "url", ["", "canary", "http://canary", "wss://", "ws://[canary", "ws://h:canary", "ws://h:0"]
)
def test_a_wrong_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(
        ValueError, match=r"Acme: the address must be ws://HOST… or wss://HOST…"
    ) as no:
        addressed(url)
    assert "canary" not in str(no.value)


def test_pieces_are_put_behind_those_of_their_segment() -> None:
    segments = Segments()
    assert segments.add("good") == "good"
    assert segments.add(" day") == "good day"
    assert segments.add("other", "2") == "other"
    assert segments.add("one", "2", joiner=" ") == "other one"
    assert segments.add("", "2", joiner=" ") == "other one"
    assert segments.so_far("2") == "other one"
    assert segments.take() == "good day"
    assert segments.take() == segments.so_far() == ""
    assert segments.add("new", joiner=" ") == "new"


@given(samples=st.lists(st.integers(-32_768, 32_767)))
def test_samples_become_floats_and_are_the_same_again(samples: list[int]) -> None:
    floats = float32_of(struct.pack(f"<{len(samples)}h", *samples))
    values = struct.unpack(f"<{len(samples)}f", floats)
    assert [round(value * 32_768) for value in values] == samples
    assert all(-1 <= value < 1 for value in values)


def test_audio_and_objects_become_text() -> None:
    assert base64_of(b"\1\2\3") == "AQID"
    assert compact({"a": ["é", 1]}) == '{"a":["é",1]}'
