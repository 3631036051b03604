"""Ordinals and decades as they are written: 21st, 1990s; and decades as they are said."""

from scoring.normalize.families.forms import ordinal_ending
from scoring.normalize.families.numbers import MONTHS
from scoring.normalize.families.vocabulary import TENS
from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import (
    RANGE,
    WRITTEN,
    is_capitalised,
    is_close,
    is_joined,
    is_number,
    merged,
    renamed,
    with_readings,
)

RULE = "ordinals"
DECADES = {word[:-1] + "ies": f"{value}0s" for value, word in enumerate(TENS, 2)}
LAST_CENTURY = "1900"
MAX_DAY = 31


def ordinals(tokens: list[Token], tables: Tables) -> list[Token]:
    """Digits with their ending made one token: before number words are read."""
    out: list[Token] = []
    for token in tokens:
        before = out[-1] if out else None
        if before is not None and is_number(before) and before.text.isdecimal():
            if not token.gap and token.text in ("st", "nd", "rd", "th"):
                out[-1] = _ordinal(before, token)
                continue
            if token.gap in ("", "'") and token.text == "s" and before.text.endswith("0"):
                out[-1] = _decade(before, token)
                continue
        out.append(token)
    return out


def _ordinal(number: Token, ending: Token) -> Token:
    text = number.text + ordinal_ending(int(number.text[-2:]))
    readings = ["second"] if text == "2nd" else []
    return merged([number, ending], text, RULE, kind=Kind.ORDINAL, readings=readings)


def _decade(number: Token, ending: Token) -> Token:
    text = number.text + "s"
    readings = []
    if len(number.text) == 2:
        readings = [f"{number.text} seconds", f"{number.text} second"]
        if number.gap.endswith("'"):
            readings.append("19" + text)
    return merged([number, ending], text, RULE, kind=Kind.ORDINAL, readings=readings)


def decades(tokens: list[Token], tables: Tables) -> list[Token]:
    """The nineties, the nineteen nineties, the nineteen hundreds, the twenty tens."""
    out: list[Token] = []
    for token in tokens:
        before = out[-1] if out else None
        century = before is not None and is_number(before) and is_joined(token.gap)
        said = _decade_words(token.text, before.text if century and before else None)
        if said is None:
            out.append(token)
        elif said == DECADES.get(token.text):
            out.append(renamed(token, said, RULE, kind=Kind.ORDINAL))
        elif before is not None:
            out[-1] = merged([before, token], said, RULE, kind=Kind.ORDINAL)
    return out


def _decade_words(word: str, before: str | None) -> str | None:
    century = before is not None and before.isdecimal() and len(before) == 2 and before >= "15"
    if word in DECADES:
        return f"{before}{DECADES[word]}" if century else DECADES[word]
    if word == "hundreds" and century:
        return f"{before}00s"
    if word == "tens" and century:
        return f"{before}10s"
    return "2000s" if word == "thousands" and before == "2" else None


def dates(tokens: list[Token], tables: Tables) -> list[Token]:
    """June 3 is read June third, and 3 June the third of June; so is the end of June 3-5."""
    out = list(tokens)
    for at, token in enumerate(tokens):
        if not _is_day(token):
            continue
        before = at and _is_month(tokens[at - 1]) and _is_day_gap(tokens[at - 1], token.gap)
        after = at + 1 < len(tokens) and _is_month(tokens[at + 1]) and is_close(tokens[at + 1].gap)
        ends = at > 1 and RANGE in tokens[at - 1].flags and out[at - 2] is not tokens[at - 2]
        if before or after or ends:
            ordinal = f"{int(token.text)}{ordinal_ending(int(token.text))}"
            out[at] = with_readings(token, "dates", [ordinal])
    return out


def _is_day(token: Token) -> bool:
    """A number in digits that a month may have."""
    written = is_number(token) and WRITTEN in token.flags and token.text.isdecimal()
    return written and len(token.text) <= 2 and 0 < int(token.text) <= MAX_DAY


def _is_day_gap(month: Token, gap: str) -> bool:
    """Nothing between month and day but the full stop of an abbreviation."""
    return is_close(gap) or (gap.strip() == "." and len(month.raw) < len(month.text))


def _is_month(token: Token) -> bool:
    return token.text in MONTHS and (token.text not in ("may", "march") or is_capitalised(token))
