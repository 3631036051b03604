"""Fractions: two thirds is 2/3, one and a quarter is 1.25, two and a half million is 2500000."""

from decimal import Decimal

from scoring.normalize.families.cardinals import scaled_text
from scoring.normalize.families.forms import plain, short_forms
from scoring.normalize.families.vocabulary import SCALES
from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import (
    CARDINAL,
    WRITTEN,
    is_close,
    is_joined,
    is_number,
    listed,
    merged,
    renamed,
)

RULE = "fractions"
PARTS = {
    "thirds": 3, "quarters": 4, "fourths": 4, "fifths": 5, "sixths": 6, "sevenths": 7, "eighths": 8,
    "ninths": 9, "tenths": 10, "twelfths": 12, "sixteenths": 16, "twentieths": 20,
    "thirtyseconds": 32, "hundredths": 100, "thousandths": 1000,
}  # fmt: skip
PART = {
    "half": 2, "quarter": 4, "3rd": 3, "4th": 4, "5th": 5, "6th": 6, "7th": 7, "8th": 8, "9th": 9,
    "10th": 10, "12th": 12, "16th": 16,
}  # fmt: skip
LONGEST = 5
"""Characters of a fraction that a whole number may precede: 3/4, 15/16."""
DECIMALS = frozenset({2, 4, 5, 8, 10, 16, 20})
"""Parts that end as a decimal."""
PERIODS = listed(
    "last past next first previous prior these those following remaining recent consecutive"
    " other of final all sequential straight over"
)
"""Before "three quarters" they make it three quarters of a year each."""
BARE = {
    "1/2": ["half", "a half", "half a", "half an", "0.5"],
    "1/4": ["quarter", "a quarter", "0.25"],
    "3/4": ["0.75"],
    "1/3": ["a 3rd"],
}
DECIMAL_PARTS = {"0.5": ["half", "a half", "half a"], "0.25": ["a quarter"]}


def fractions(tokens: list[Token], tables: Tables) -> list[Token]:
    """What was said in parts, what was written with a slash, and both after a whole number."""
    return _scaled(_mixed(_parts(tokens)))


def _parts(tokens: list[Token]) -> list[Token]:
    out: list[Token] = []
    for _at, token in enumerate(tokens):
        whole = out[-1] if out else None
        if whole is not None and is_number(whole) and is_joined(token.gap):
            parts = _denominator(whole, token, out[-2].text if len(out) > 1 else "")
            if parts and int(whole.text) < max(parts, 2) * 4:
                text = f"{int(whole.text)}/{parts}"
                out[-1] = merged(
                    [whole, token], text, RULE, kind=Kind.NUMBER, readings=BARE.get(text, ())
                )
                continue
        out.append(_written(token) if is_number(token) else token)
    return out


def _written(token: Token) -> Token:
    """A fraction or a decimal with what else may be said for it."""
    if "/" in token.text:
        return _slashed(token)
    if token.text.startswith("0.") and WRITTEN in token.flags:
        point = f"point {token.text[2:]}"
        return renamed(
            token, token.text, RULE, readings=[point, *DECIMAL_PARTS.get(token.text, ())]
        )
    return token


def _denominator(whole: Token, token: Token, before: str) -> int | None:
    if not whole.text.isdecimal() or len(whole.text) > 3 or not int(whole.text):
        return None
    if token.text in ("quarters", "quarter") and whole.text == "3":
        return 4 if before not in PERIODS else None
    if token.text == "quarters":
        return None
    if whole.text == "1" and token.raw[:1].isalpha():
        return PART.get(token.text)
    return PARTS.get(token.text)


def _slashed(token: Token) -> Token:
    """What else may be said for 24/7, 120/80, 04/12/1987."""
    parts = token.text.split("/")
    bare = [plain(part) for part in parts]
    readings = {"".join(parts), "".join(bare), "/".join(bare)}
    if not _is_proper(bare):
        readings.add(" ".join(bare))  # no fraction: 24/7, 9/11
    if len(parts) == 2:
        readings |= {f" {word} ".join(bare) for word in ("over", "slash", "out of")}
    return renamed(token, token.text, RULE, readings=[*readings, *BARE.get(token.text, ())])


def _is_proper(parts: list[str]) -> bool:
    """Above and below of something like 3/4: no date, no 24/7."""
    if len(parts) != 2 or any(len(part) > 2 for part in parts):
        return False
    return int(parts[0]) < int(parts[1]) and int(parts[1]) in PART.values()


def _mixed(tokens: list[Token]) -> list[Token]:
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        whole = tokens[at]
        found = _fraction_after(tokens, at) if is_number(whole) and whole.text.isdecimal() else None
        if found is None:
            out.append(whole)
            at += 1
            continue
        top, bottom, stop = found
        span = tokens[at:stop]
        if bottom in DECIMALS:
            value = Decimal(whole.text) + Decimal(top) / Decimal(bottom)
            out.append(merged(span, f"{value:f}", RULE, kind=Kind.NUMBER, flags=[CARDINAL]))
        else:
            out.append(whole)
            out.append(merged(span[1:], f"{top}/{bottom}", RULE, kind=Kind.NUMBER))
        at = stop
    return out


def _fraction_after(tokens: list[Token], at: int) -> tuple[int, int, int] | None:
    """(above, below, where it ends) of "and a half", "and three quarters", 1/4."""
    place = at + 1
    joined = place < len(tokens) and tokens[place].text == "and" and is_close(tokens[place].gap)
    place += joined
    if place >= len(tokens) or not is_joined(tokens[place].gap):
        return None
    token = tokens[place]
    if is_number(token) and token.text.count("/") == 1:
        if len(token.text) > LONGEST:
            return None
        top, bottom = (int(part) for part in token.text.split("/"))
        proper = 0 < top < bottom <= 64
        return (top, bottom, place + 1) if proper and (joined or is_close(token.gap)) else None
    if joined and token.text == "a" and place + 1 < len(tokens):
        part = PART.get(tokens[place + 1].text)
        if part and tokens[place + 1].raw[:1].isalpha():
            return 1, part, place + 2
    return None


def _scaled(tokens: list[Token]) -> list[Token]:
    """2.5 | million, where the number was made of a fraction."""
    out: list[Token] = []
    for token in tokens:
        number = out[-1] if out else None
        if (
            number is not None
            and token.text in SCALES
            and is_close(token.gap)
            and RULE in number.rules
            and number.text.replace(".", "").isdecimal()
        ):
            text = scaled_text(number.text, SCALES[token.text])
            readings = short_forms(text)
            out[-1] = merged(
                [number, token], text, RULE, kind=Kind.NUMBER, readings=readings, flags=[CARDINAL]
            )
            continue
        out.append(token)
    return out
