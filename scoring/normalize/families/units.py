"""Units of measure in full: 16 GB, 120 mmHg, 95 mg/dL, 20 °C, 5'10", 3 sq ft; and percent."""

from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import (
    SILENT,
    is_close,
    is_joined,
    is_number,
    listed,
    merged,
    opened,
    regapped,
    renamed,
    with_readings,
)

RULE = "units"
DIMENSIONS = listed(
    "tall long wide deep thick high by x diameter across away from above below apart square"
)
"""Words after which an "in" behind a number was inches."""
SAID_PER = "per"
PERHAPS = frozenset({"us"})
"""Units that are words as well, even after a number."""
ANY_CASE = listed(
    "kg kgs lb lbs mg mcg ml km kms cm hr hrs mins oz ft mph kph bps bpm yrs rpm psi gb mb tb kwh"
)
"""Units that are nothing else in any case: KG, Hrs."""
CAPITALS = frozenset("AVWJN")
"""Units of one capital letter, which may be a part of a code: they get the unit as a reading."""


def percent(tokens: list[Token], tables: Tables) -> list[Token]:
    """%, per cent and pct are percent."""
    out: list[Token] = []
    for token in tokens:
        if token.text == "%":
            out.append(regapped(renamed(token, "percent", "percent", kind=Kind.WORD), " "))
        elif (
            token.text in ("cent", "centage")
            and out
            and out[-1].text == "per"
            and is_joined(token.gap)
        ):
            text = "per" + token.text
            out[-1] = merged([out[-1], token], text, "percent", kind=Kind.WORD)
        elif token.text == "pct":
            out.append(renamed(token, "percent", "percent"))
        else:
            out.append(token)
    return out


def units(tokens: list[Token], tables: Tables) -> list[Token]:
    """Each abbreviation as the words it stands for, in the number that goes before it."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        made, taken = _unit(tokens, at, out, tables)
        if not taken:
            made, taken = [_also(tokens[at], tables)], 1
        out.extend(made)
        at += taken
    return out


def _also(token: Token, tables: Tables) -> Token:
    said = tables.unit_readings.get(token.text) if token.kind is not Kind.NUMBER else None
    return with_readings(token, RULE, [said]) if said else token


def _unit(
    tokens: list[Token], at: int, before: list[Token], tables: Tables
) -> tuple[list[Token], int]:
    """The words of the unit that begins here and how many tokens it took; none without one."""
    token = tokens[at]
    number = before[-1] if before and is_number(before[-1]) and is_joined(token.gap) else None
    if token.text == "°" or (number is not None and token.text in ("degree", "degrees")):
        return _degrees(tokens, at, number, tables)
    if number is not None and token.text == "x":
        factor = at + 1 < len(tokens) and is_number(tokens[at + 1]) and is_close(tokens[at + 1].gap)
        readings = ["by", "times"] if factor else ["times"] if not token.gap else []
        return [with_readings(token, RULE, readings)] if readings else [token], 1
    if is_number(token):
        return _feet_and_inches(tokens, at, number, tables)
    pair = _pair(tokens, at, number, tables)
    if pair:
        return _words(token, pair, number, tables), 2
    said = _said(tokens, at, number, before, tables)
    if said is None:
        return _perhaps(tokens, at, number, before, tables)
    words = _words(token, said, number, tables)
    return _per(tokens, at, words, tables)


def _said(
    tokens: list[Token], at: int, number: Token | None, before: list[Token], tables: Tables
) -> str | None:
    token = tokens[at]
    key = token.text if token.raw not in tables.units and token.text in ANY_CASE else token.raw
    rate = at + 1 < len(tokens) and tokens[at + 1].gap == "/" and tokens[at + 1].raw in tables.units
    if number is None:
        known = token.raw in tables.units_anywhere and not _is_code(tokens, at)
        unit_rate = rate and token.raw in tables.units and len(token.raw) > 1
        return tables.units[token.raw] if known or unit_rate else None
    if key not in tables.units or key in CAPITALS or key in PERHAPS or _is_code(tokens, at):
        return None
    if token.raw == "in":
        return "inches" if not token.gap else None
    if len(token.raw) == 1 and token.gap == "-":
        return None  # 10-k, 5-s
    return tables.units[key]


def _is_code(tokens: list[Token], at: int) -> bool:
    """Digits follow: GB29, and the T of seven four T nine, but not the h of 3 h 20 m."""
    if at + 1 >= len(tokens) or not is_number(tokens[at + 1]):
        return False
    if not tokens[at + 1].gap:
        return True
    timed = at + 2 < len(tokens) and tokens[at + 2].text in ("m", "min", "mins", "s", "sec", "secs")
    return len(tokens[at].text) == 1 and is_close(tokens[at + 1].gap) and not timed


def _perhaps(
    tokens: list[Token], at: int, number: Token | None, before: list[Token], tables: Tables
) -> tuple[list[Token], int]:
    """12 V may be volts, and a code as well; 3 in may be inches."""
    token = tokens[at]
    unsure = token.raw in CAPITALS or token.raw in PERHAPS
    if token.raw == "in" and number is not None and _is_inches(tokens, at, before):
        return [with_readings(token, RULE, ["inches", "inch"])], 1
    if number is None or not unsure or token.gap == "-":
        return [], 0
    plural = tables.units[token.raw]
    return [with_readings(token, RULE, [plural, plural.removesuffix("s")])], 1


def _is_inches(tokens: list[Token], at: int, before: list[Token]) -> bool:
    """5 ft 10 in, 3 in long, 3in: not 5 in the morning."""
    if tokens[at].gap == "-" and at + 1 < len(tokens) and tokens[at + 1].gap == "-":
        return False  # 1-in-5
    if not tokens[at].gap or at + 1 == len(tokens) or tokens[at + 1].gap.strip():
        return True
    feet = len(before) > 1 and before[-2].text in ("feet", "foot")
    return feet or tokens[at + 1].text in DIMENSIONS


def _pair(tokens: list[Token], at: int, number: Token | None, tables: Tables) -> str | None:
    """Sq ft."""
    if number is None or at + 1 >= len(tokens):
        return None
    gap = tokens[at + 1].gap
    close = is_close(gap) or gap.strip() == "."
    return tables.squared.get(f"{tokens[at].text} {tokens[at + 1].text}") if close else None


def _words(token: Token, said: str, number: Token | None, tables: Tables) -> list[Token]:
    """The unit in the plural, or in the singular after one; either matches the other."""
    first, *others = opened(regapped(token, " "), said.split(), RULE, kind=Kind.WORD)
    tokens = [first, *others]
    place = _head(said)
    plural = tokens[place].text
    singular = tables.singular.get(plural, plural.removesuffix("s"))
    text = singular if number is not None and number.text == "1" else plural
    readings = [singular, plural, token.text] if len(token.text) == 1 else [singular, plural]
    tokens[place] = renamed(tokens[place], text, RULE, readings=readings)
    return tokens


def _head(said: str) -> int:
    """Which word of the unit takes the plural: miles per hour, kilowatt hours."""
    words = said.split()
    for word in ("per", "of"):
        if word in words:
            return words.index(word) - 1
    return len(words) - 1


def _per(
    tokens: list[Token], at: int, words: list[Token], tables: Tables
) -> tuple[list[Token], int]:
    """mg/dL: what follows a slash is for one of it."""
    taken = 1
    while at + taken < len(tokens) and tokens[at + taken].gap == "/":
        below = tokens[at + taken]
        said = tables.units.get(below.raw) or tables.units.get(below.text)
        if said is None:
            break
        per, *others = opened(regapped(below, " "), [SAID_PER, *said.split()], RULE)
        last = others[-1]
        singular = tables.singular.get(last.text, last.text.removesuffix("s"))
        others[-1] = renamed(last, singular, RULE, readings=[last.text])
        words = [*words, per, *others]
        taken += 1
    return words, taken


def _degrees(
    tokens: list[Token], at: int, number: Token | None, tables: Tables
) -> tuple[list[Token], int]:
    """° C, °C, degrees C."""
    token = tokens[at]
    made = [token]
    if token.text == "°":
        text = "degree" if number is not None and number.text == "1" else "degrees"
        plain = regapped(renamed(token, text, RULE, kind=Kind.WORD), " ")
        made = [with_readings(plain, RULE, ["degree", "degrees"])]
    if at + 1 < len(tokens) and is_close(tokens[at + 1].gap):
        said = tables.degrees.get(tokens[at + 1].raw.upper())
        if said:
            scale = renamed(tokens[at + 1], said, RULE, kind=Kind.WORD)
            return [*made, regapped(scale, " ")], 2
    return made, 1


def _feet_and_inches(
    tokens: list[Token], at: int, number: Token | None, tables: Tables
) -> tuple[list[Token], int]:
    r"""5'10\": five foot ten, or five feet ten inches."""
    token = tokens[at]
    if at + 1 >= len(tokens) or tokens[at + 1].gap != "'" or not is_number(tokens[at + 1]):
        return [], 0
    inches = regapped(tokens[at + 1], " ")
    said = [f"{inches.text} inches", f"{inches.text} inch"]
    feet = [
        renamed(unit, unit.text, RULE, flags=[SILENT])
        for unit in _words(token, "feet", token, tables)
    ]
    return [token, *feet, with_readings(inches, RULE, said)], 2
