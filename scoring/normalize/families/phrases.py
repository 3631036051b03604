"""Short forms that are read another way: B2B, World War II."""

from scoring.normalize.families.forms import ordinal_ending
from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import (
    is_capitalised,
    is_close,
    is_number,
    listed,
    merged,
    with_readings,
)

RULE = "phrases"
ROMAN = {
    "II": "2", "III": "3", "IV": "4", "VI": "6", "VII": "7", "VIII": "8", "IX": "9", "XI": "11",
    "XII": "12", "XIII": "13", "XIV": "14", "XV": "15", "XVI": "16", "XVII": "17",
    "XX": "20", "XXI": "21",
}  # fmt: skip
ONE_LETTER = {"I": "1", "V": "5", "X": "10"}
COUNTED = listed(
    "war phase part tier type title chapter volume act level class article annex stage"
)
"""What a single Roman letter may count."""
CODE_TOKENS = 3


def phrases(tokens: list[Token], tables: Tables) -> list[Token]:
    """Codes whose 2 is said "to" get that reading; Roman numbers after a name get theirs."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        code = _code(tokens, at, tables)
        if code is not None:
            out.append(code)
            at += CODE_TOKENS
            continue
        out.append(_read(tokens, at))
        at += 1
    return out


def _code(tokens: list[Token], at: int, tables: Tables) -> Token | None:
    span = tokens[at : at + CODE_TOKENS]
    if len(span) < CODE_TOKENS or len(span[0].text) != 1 or not is_number(span[1]):
        return None
    said = tables.phrases.get(" ".join(token.text for token in span))
    if said is None or not all(is_close(token.gap) for token in span[1:]):
        return None
    text = "".join(token.text for token in span)
    apart = " ".join(token.text for token in span)
    return merged(span, text, RULE, kind=Kind.WORD, readings=[*said, apart])


def _read(tokens: list[Token], at: int) -> Token:
    token = tokens[at]
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if token.text == "v" and after is not None and is_number(after) and not after.gap:
        return with_readings(token, RULE, ["version"])
    counted = bool(at) and tokens[at - 1].text in COUNTED and token.raw in ONE_LETTER
    if not counted and (token.raw not in ROMAN or not at or not is_capitalised(tokens[at - 1])):
        return token
    value = ONE_LETTER[token.raw] if counted else ROMAN[token.raw]
    return with_readings(token, RULE, [value, f"the {value}{ordinal_ending(int(value))}"])
