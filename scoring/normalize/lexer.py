"""A text divided into words, numbers and the marks that are said; the rest is what lies between.

"at 10:30, $5-10 (no)"  ─>  at | 10:30 | $ | 5 | 10 | no      gaps  "" " " ", " "" "-" " ("
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.technical import SPANS, is_technical, technical_tokens
from scoring.normalize.tokens import CARDINAL, DOTTED, QUOTED, WRITTEN

LEXER_RULE = "case"
WORD = r"[^\W\d_]+(?:'[^\W\d_]+)*"
PLAIN = (
    (
        "acronym",
        r"\bPh\.D(?:\.|\b)|\b(?:[A-Za-z]\.){2,}[A-Za-z]?(?!\w)|\b[A-Za-z]\.[A-Za-z](?![\w.'])",
    ),
    ("clock", r"(?<![\d:])\d{1,2}:\d{2}(?::\d{2})?(?![\d:])"),
    ("slashed", r"\d+(?:/\d+)+"),
    ("number", r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)*|(?<![\w.])\.\d+"),
    ("word", WORD),
    ("grade", r"(?<=\b[A-Da-d])-(?![\w-])"),
    ("symbol", r"[&+=<>%°#$€£¥₹₩₽₺₴₦₱₪¢@\u00d7÷±§*]"),
)


def _pattern(parts: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in parts))


SIMPLE = _pattern(PLAIN)
FULL = _pattern((*SPANS, *PLAIN))
"""Slower, for texts in which something may be technical."""
MAYBE_TECHNICAL = re.compile(
    r"[@_\\]|/[A-Za-z.~]|(?<!\S)-{1,2}[A-Za-z]|[^\s.]\.[A-Za-z]|(?<!\S)\.[A-Za-z]|:\d"
)
POSSESSIVE = re.compile(r"'s\b")
TECHNICAL_NAMES = frozenset(name for name, _ in SPANS)
KINDS = {
    "clock": Kind.NUMBER,
    "slashed": Kind.NUMBER,
    "number": Kind.NUMBER,
    "symbol": Kind.SYMBOL,
    "grade": Kind.SYMBOL,
}
NUMBER_FLAGS = frozenset({WRITTEN})
MARKED_FLAGS = frozenset({WRITTEN, CARDINAL})
NO_FLAGS: frozenset[str] = frozenset()
WORD_FLAGS = {".": frozenset({DOTTED}), "'": frozenset({QUOTED})}
RULES = (LEXER_RULE,)


def lexed(text: str, tables: Tables, *, technical: bool = True) -> list[Token]:
    """The tokens of a folded text, in order."""
    pattern = FULL if technical and MAYBE_TECHNICAL.search(text) else SIMPLE
    return list(_tokens(text, pattern, tables))


def _tokens(text: str, pattern: re.Pattern[str], tables: Tables) -> Iterator[Token]:
    place = 0
    last = 0
    while found := pattern.search(text, place):
        name, span = str(found.lastgroup), found[0]
        if name in TECHNICAL_NAMES:
            if is_technical(name, span, tables):
                made = technical_tokens(span, found.start(), text[last : found.start()])
                place = last = found.end()
                if POSSESSIVE.match(text, place) and made:
                    made[-1] = _possessive(made[-1])
                    place = last = place + 2
                yield from made
                continue
            found = SIMPLE.search(text, found.start())
            if found is None:
                return
            name, span = str(found.lastgroup), found[0]
        token = _token(name, span, found.start(), text[last : found.start()], text)
        place = last = found.end()
        if name == "acronym" and POSSESSIVE.match(text, place):
            token = _possessive(token)
            place = last = place + 2
        yield token


def _token(name: str, span: str, start: int, gap: str, text: str) -> Token:
    end = start + len(span)
    if name == "word":
        lower = span.lower()
        flags = WORD_FLAGS.get(text[end : end + 1], NO_FLAGS)
        rules = () if lower == span else RULES
        return Token(lower, start, end, span, gap, Kind.WORD, NO_FLAGS, flags, rules)
    if name == "number":
        flags = MARKED_FLAGS if "," in span else NUMBER_FLAGS
        return Token(_digits(span), start, end, span, gap, Kind.NUMBER, NO_FLAGS, flags)
    if name == "acronym":
        letters = span.replace(".", "").lower()
        return Token(letters, start, end, span, gap, Kind.LETTERS, NO_FLAGS, NO_FLAGS, ("letters",))
    return Token(span, start, end, span, gap, KINDS[name], NO_FLAGS, NUMBER_FLAGS)


def _possessive(token: Token) -> Token:
    """acme.com's, the U.K.'s."""
    return replace(token, text=token.text + "'s", end=token.end + 2, raw=token.raw + "'s")


def _digits(span: str) -> str:
    """A number without the marks between its thousands."""
    plain = span.replace(",", "")
    return "0" + plain if plain.startswith(".") else plain
