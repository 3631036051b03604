import pytest

from scoring.normalize.lexer import lexed
from scoring.normalize.shape import Kind
from scoring.normalize.tables import tables


def words(text: str) -> list[str]:
    return [token.text for token in lexed(text, tables())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, I'm here.", "hello i'm here"),
        ("the employees' rights", "the employees rights"),
        ("10:30 1,249.99 5/8 .5", "10:30 1249.99 5/8 0.5"),
        ("F-150 20mm AT&T", "f 150 20 mm at & t"),
        ("U.S. a.m. A.I.", "us am ai"),
        ("j_smith@example.org", "j underscore smith at example dot org"),
        ("https://api.example.com/v2", "https colon slash slash api dot example dot com slash v 2"),
        ("call /v1/users now", "call slash v 1 slash users now"),
        ("UserController.java and Node.js", "usercontroller dot java and node dot js"),
        ("acme.com's page", "acme dot com's page"),
        ("pip install --upgrade", "pip install dash dash upgrade"),
        ("and/or", "and or"),
        ("an A- rating", "an a - rating"),
        ("src/main.rs", "src slash main dot rs"),
        ("C:\\temp", "c colon backslash temp"),
    ],
)
def test_a_text_falls_into_its_words_numbers_and_marks(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    "text", ["Open the file. Java is here", "done.It works", "It ended.Then we left", "St.Louis"]
)
def test_the_end_of_a_sentence_is_no_dot(text: str) -> None:
    assert "dot" not in words(text)


def test_what_lies_between_is_kept_as_the_gap() -> None:
    tokens = lexed("(303) 775-4498", tables())
    assert [token.gap for token in tokens] == ["(", ") ", "-"]
    assert {token.kind for token in tokens} == {Kind.NUMBER}


def test_every_token_knows_its_place() -> None:
    text = "Email jo_k@acme.io, at 10:30!"
    for token in lexed(text, tables()):
        assert text[token.start : token.end] == token.raw
