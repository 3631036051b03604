import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.normalize.fold import folded
from tests.scoring.laws import LAW


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("we\u2019re \u2018in\u2019", "we're 'in'"),
        (
            "caf\u00e9 cafe\u0301 S\u00e3o Ma\u0142gorzata S\u00f8ren",
            "cafe cafe Sao Malgorzata Soren",
        ),
        ("15\u201320 \u221212", "15-20 -12"),
        ("no\u2014yes", "no--yes"),
        ("1\u00bd \u00bc", "1 1/2 1/4"),
        ("\uff11\uff12 \ufb01nal", "12 final"),
        ("ten\u00a0minutes ten\u200b minutes", "ten minutes ten minutes"),
        ("40 m\u00b2", "40 m\u00b2"),
        ("5 \u00b5g 20\u2103", "5 ug 20\u00b0C"),
    ],
)
def test_what_looks_alike_becomes_one(text: str, plain: str) -> None:
    assert folded(text).text == plain


def test_a_place_is_found_again_in_the_original() -> None:
    text = "na\u00efve\u200b 1\u00bd cups"
    plain = folded(text)
    start = plain.text.index("cups")
    assert text[slice(*plain.span(start, start + 4))] == "cups"


@LAW
@given(st.text(st.characters(), max_size=30))
def test_every_piece_of_the_folded_text_comes_from_the_original(text: str) -> None:
    plain = folded(text)
    for place in range(len(plain.text)):
        start, end = plain.span(place, place + 1)
        assert 0 <= start < end <= len(text)
