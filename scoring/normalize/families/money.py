"""Amounts of money: the number, then the currency as a word of its own.

$71.50                          ─> 71.50 dollars
seventy-one dollars fifty cents ─> 71.50 dollars
$2-3 billion                    ─> 2 to 3000000000 dollars
"""

from decimal import Decimal

from scoring.normalize.families.cardinals import scaled_text
from scoring.normalize.families.forms import short_forms
from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import (
    CARDINAL,
    RANGE,
    follower,
    is_close,
    is_joined,
    is_number,
    merged,
    regapped,
    renamed,
)

RULE = "money"
HUNDREDTHS = 100
CODE_LETTERS = 3
"""Of a code that stands by itself: USD."""


def amounts(tokens: list[Token], tables: Tables) -> list[Token]:
    """Letters that multiply the number before them: $5M, 2bn, 1.5B."""
    out: list[Token] = []
    for at, token in enumerate(tokens):
        number = out[-1] if out else None
        power = tables.amounts.get(token.raw) if number is not None else None
        if (
            power
            and number is not None
            and is_number(number)
            and _multiplies(tokens, at, out, tables)
        ):
            text = scaled_text(number.text, power)
            out[-1] = merged(
                [number, token], text, "amounts", kind=Kind.NUMBER,
                readings=[f"{number.text} {token.text}", *short_forms(text)], flags=[CARDINAL],
            )  # fmt: skip
        else:
            out.append(token)
    return out


def _multiplies(tokens: list[Token], at: int, before: list[Token], tables: Tables) -> bool:
    token, number = tokens[at], before[-1]
    if not number.text.replace(".", "", 1).isdecimal():
        return False
    if token.raw in tables.always_amounts:
        return is_close(token.gap)
    if _is_money(tokens, at, before, tables):
        return is_close(token.gap)
    return not token.gap and "." in number.text and (token.raw.isupper() or token.raw == "k")


def _is_money(tokens: list[Token], at: int, before: list[Token], tables: Tables) -> bool:
    """The number has a currency, before it or after the letter."""
    place = len(before) - 2
    if place >= 1 and RANGE in before[place].flags:
        place -= 2
    if place >= 0 and before[place].text in tables.money_signs:
        return True
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    return following is not None and following.text in tables.currencies and not tokens[at].gap


def money(tokens: list[Token], tables: Tables) -> list[Token]:
    """Signs and codes as words after the amount; pence and cents added to their pounds."""
    return _rates(_with_minor(_behind(tokens, tables), tables), tables)


def _rates(tokens: list[Token], tables: Tables) -> list[Token]:
    """9.99 dollars/month."""
    out: list[Token] = []
    for token in tokens:
        if token.gap == "/" and out and out[-1].text in tables.currencies:
            out.append(follower(token, "per", RULE, readings=["a", "an", "each", "slash"]))
            said = tables.units.get(token.text, token.text)
            short = renamed(token, tables.singular.get(said, said.removesuffix("s")), RULE)
            token = regapped(short if said != token.text else token, " ")
        out.append(token)
    return out


def _behind(tokens: list[Token], tables: Tables) -> list[Token]:
    """Every sign and code of a currency as a word after its amount."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        stop = _amount_end(tokens, at + 1)
        sign = tables.money_signs.get(token.text)
        code = (
            tables.money_codes.get(token.text.upper()) if len(token.raw) == CODE_LETTERS else None
        )
        after_amount = bool(out) and is_number(out[-1])
        if (sign or code) and stop > at + 1:
            currency = _taken_code(token, out, tables) if sign else None
            gap = currency.gap if currency else token.gap
            out.extend(_numbers([regapped(tokens[at + 1], gap), *tokens[at + 2 : stop]]))
            out.extend(_said(currency or token, sign, code, out[-1], tables))
            at = stop
            continue
        if after_amount and (sign or code):  # 45¢, 5 USD
            out.extend(_said(regapped(token, " "), sign, code, out[-1], tables))
        else:
            out.append(renamed(token, sign, RULE, kind=Kind.WORD) if sign else token)
        at += 1
    return out


def _taken_code(sign: Token, out: list[Token], tables: Tables) -> Token | None:
    """US$ and CA$ as one token; the code is taken from what came before."""
    if not out or sign.gap or out[-1].raw.upper() not in tables.money_codes:
        return None
    code = out.pop()
    said = tables.money_codes[code.raw.upper()]
    plain = tables.money_signs[sign.text]
    if code.text == "us" or said == plain:
        readings = [f"{code.text} {plain}"]
        return merged([code, sign], plain, RULE, kind=Kind.WORD, readings=readings)
    readings = [f"{code.text} {sign.text}", f"{code.text} {plain}", said]
    return merged([code, sign], said.replace(" ", ""), RULE, kind=Kind.WORD, readings=readings)


def _said(
    token: Token, sign: str | None, code: str | None, number: Token, tables: Tables
) -> list[Token]:
    """The words of a currency after this number."""
    if sign and token.kind is Kind.WORD:  # US$, already in words
        plural, named = token.text, token.readings
    else:
        plural, named = (sign or str(code)).rpartition(" ")[2], frozenset[str]()
    names = [] if sign else str(code).split()[:-1]
    singular = tables.singular.get(plural, plural)
    readings = {singular, plural, *named}
    if code and not sign:
        readings |= {token.text} | ({f"us {plural}"} if token.text == "usd" else set())
    text = singular if number.text == "1" else plural
    currency = follower(token, text, RULE, readings=readings)
    return [*(follower(token, name, RULE) for name in names), currency]


def _amount_end(tokens: list[Token], at: int) -> int:
    """Where the amount that begins here ends: a number, or the two ends of a range."""
    if at >= len(tokens) or not is_number(tokens[at]) or not is_close(tokens[at].gap):
        return at
    ranged = at + 2 < len(tokens) and RANGE in tokens[at + 1].flags and is_number(tokens[at + 2])
    return at + 3 if ranged else at + 1


def _numbers(tokens: list[Token]) -> list[Token]:
    """The amount; in a range the last number is the one that stands before the currency."""
    last = _cents(tokens[-1])
    if last.text == "1":
        last = renamed(last, "1", RULE, readings=["a"])  # $1 may have been "a dollar"
    return [*tokens[:-1], last]


def _cents(token: Token) -> Token:
    """Two places after the point, or none."""
    whole, _, rest = token.text.partition(".")
    if not whole.isdecimal() or not rest.isdecimal() or len(rest) > 2:
        return token
    text = whole if not int(rest) else f"{whole}.{rest.ljust(2, '0')}"
    return token if text == token.text else renamed(token, text, RULE)


def _with_minor(tokens: list[Token], tables: Tables) -> list[Token]:
    """71 dollars and 50 cents is 71.50 dollars."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        taken = _minor(tokens, at, out, tables)
        if taken:
            joined = taken[0]
            major, currency = out[-2], out[-1]
            cents = Decimal(tokens[taken[1]].text) / HUNDREDTHS
            text = f"{Decimal(major.text) + cents:.2f}"
            span = [major, currency, *tokens[at : at + joined]]
            out[-2] = merged(span, text, RULE, kind=Kind.NUMBER, flags=[CARDINAL])
            out[-1] = renamed(currency, _plural(currency, tables), RULE, readings=[currency.text])
            at += joined
            continue
        out.append(_plain_amount(token, tokens, at, tables))
        at += 1
    return out


def _plural(currency: Token, tables: Tables) -> str:
    """A currency's word after more than one."""
    plurals = {singular: plural for plural, singular in tables.singular.items()}
    return plurals.get(currency.text, currency.text)


def _plain_amount(token: Token, tokens: list[Token], at: int, tables: Tables) -> Token:
    """12.5 dollars as 12.50 dollars."""
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    said = following is not None and following.text in tables.currencies
    return _cents(token) if said and is_number(token) else token


def _minor(
    tokens: list[Token], at: int, before: list[Token], tables: Tables
) -> tuple[int, int] | None:
    """How many tokens the cents take, and which of them is their number."""
    if len(before) < 2 or not is_number(before[-2]) or before[-1].text not in tables.currencies:
        return None
    if before[-1].text in tables.money_minor or not before[-2].text.isdecimal():
        return None
    place = at + (tokens[at].text == "and")
    if place >= len(tokens) or not is_number(tokens[place]) or not is_joined(tokens[place].gap):
        return None
    number = tokens[place].text
    if not number.isdecimal() or len(number) > 2 or not int(number):
        return None
    unit = tokens[place + 1].text if place + 1 < len(tokens) else ""
    if unit in tables.money_minor and not tables.money_minor[unit].isdisjoint(
        _majors(before[-1], tables)
    ):
        return place + 2 - at, place
    return None


def _majors(currency: Token, tables: Tables) -> set[str]:
    return {currency.text, _plural(currency, tables)}


def shared(tokens: list[Token], tables: Tables) -> list[Token]:
    """6 percent to 8 percent is 6 to 8 percent: what both ends share is said once."""
    return [t for at, t in enumerate(tokens) if not _is_said_again(tokens, at, tables)]


def _is_said_again(tokens: list[Token], at: int, tables: Tables) -> bool:
    """A percent or a currency stands here, and again after "to" and another number."""
    token = tokens[at]
    if token.text != "percent" and token.text not in tables.currencies:
        return False
    if not at or not is_number(tokens[at - 1]):
        return False
    ends = tokens[at + 1 : at + 5]
    if not ends or ends[0].text != "to":
        return False
    signed = len(ends) > 1 and ends[1].text in ("minus", "plus")
    rest = ends[1 + signed : 3 + signed]
    return len(rest) == 2 and is_number(rest[0]) and rest[1].matches(token)
