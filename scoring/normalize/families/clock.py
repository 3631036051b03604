"""Times of day: 7:00pm is 7 pm, ten thirty a m is 10:30 am, 5 o'clock keeps its word."""

import re

from scoring.normalize.families.forms import plain
from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import CARDINAL, is_close, is_number, merged, renamed, with_readings

RULE = "clock"
CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
WHOLE = re.compile(r"(\d{1,2})([0-5]\d)")
DOTTED = re.compile(r"(\d{1,2})\.([0-5]\d)")
HOURS = 24
HALF_DAY = 12


def clock(tokens: list[Token], tables: Tables) -> list[Token]:
    """Every time of day in one form, its half of the day a word of its own."""
    out: list[Token] = []
    for token in tokens:
        if out and is_close(token.gap):
            if token.text == "clock" and out[-1].text in ("o", "0"):
                out[-1] = merged([out[-1], token], "oclock", RULE, kind=Kind.WORD)
                continue
            if token.text == "m" and out[-1].text in ("a", "p") and _timed(out[:-1]):
                letter = out.pop()
                token = merged([letter, token], letter.text + "m", RULE, kind=Kind.WORD)
        if token.text in ("am", "pm") and _timed(out):
            out[-1] = _before_half_day(out[-1])
            if token.kind is not Kind.WORD:
                token = renamed(token, token.text, RULE, kind=Kind.WORD)
        out.append(_plain(token) if is_number(token) and ":" in token.text else token)
    return out


def _timed(before: list[Token]) -> bool:
    return bool(before) and (is_number(before[-1]) or before[-1].text == "oclock")


def _plain(token: Token) -> Token:
    """10:30 as it is, 07:30 as 7:30, 10:00 as 10."""
    found = CLOCK.fullmatch(token.text)
    if found is None or int(found[1]) > HOURS:
        return token
    hour = str(int(found[1]))
    if found[3]:
        return token
    if found[2] == "00" and hour != "0":
        readings = [f"{hour} oclock", token.text]
        if int(hour) > HALF_DAY or found[1][0] == "0":
            readings.append(found[1] + "00")
        return renamed(token, hour, RULE, readings=readings, flags=[CARDINAL])
    readings = [f"0{hour}:{found[2]}", f"0{hour}{found[2]}"] if found[1][0] == "0" else []
    return renamed(token, f"{hour}:{found[2]}", RULE, readings=readings)


def _before_half_day(token: Token) -> Token:
    """A number before am or pm is a time, however it is written."""
    for form in (token.text, *sorted(token.readings)):
        if CLOCK.fullmatch(form):
            return _plain(renamed(token, form, RULE, readings=[token.text]))
    found = DOTTED.fullmatch(token.text) or WHOLE.fullmatch(token.text)
    if found and 0 < int(found[1]) <= HOURS and CARDINAL not in token.flags:
        return _plain(renamed(token, f"{found[1]}:{found[2]}", RULE, readings=[token.text]))
    if found and "." in token.text and 0 < int(found[1]) <= HOURS:
        return _plain(renamed(token, f"{found[1]}:{found[2]}", RULE, readings=[token.text]))
    return with_readings(token, RULE, [plain(token.text)]) if token.text.isdecimal() else token
