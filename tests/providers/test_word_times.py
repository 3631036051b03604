"""The words of a message with their places, where a provider gives them."""

import json

import pytest

from measure.words import Word, Words
from providers import CATALOG
from providers.deepgram import words_of
from providers.word_times import WORD_TIMES


def results(words: object, *, is_final: object = True) -> str:
    channel = {"alternatives": [{"transcript": "good day", "words": words}]}
    return json.dumps({"type": "Results", "is_final": is_final, "channel": channel})


GOOD = {"word": "good", "start": 0.5, "end": 0.75, "confidence": 0.9, "punctuated_word": "Good"}


def test_words_have_their_places_in_milliseconds() -> None:
    assert words_of(results([GOOD, {**GOOD, "word": "day", "start": 1, "end": 2}])) == Words(
        (Word("good", 500.0, 750.0), Word("day", 1000, 2000)), final=True
    )


def test_words_of_a_partial_are_not_final() -> None:
    words = words_of(results([GOOD], is_final=False))
    assert words is not None
    assert not words.final


@pytest.mark.parametrize(
    "message",
    [
        results([]),
        results("good"),
        results([GOOD], is_final="yes"),
        results([{"word": "good"}]),
        results([7, {**GOOD, "start": "0"}]),
        '{"type": "Metadata"}',
        "}{ this is no message",
        b"\xff\x00",
        "",
    ],
)
def test_what_has_no_words_with_times_says_none(message: str | bytes) -> None:
    assert words_of(message) is None


def test_whoever_gives_word_times_is_in_the_catalogue() -> None:
    assert set(WORD_TIMES) <= {model.partition("/")[0] for model in CATALOG}
