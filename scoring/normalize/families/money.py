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
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        stop = _amount_end(tokens, at + 1)
        sign = tables.money_signs.get(token.text)
        code = (
            tables.money_codes.get(token.text.upper()) if not sign and len(token.raw) == 3 else None
        )
        if sign and stop > at + 1:
            before = out[-1] if out and not token.gap else None
            named = tables.money_codes.get(before.raw.upper()) if before is not None else None
            gap = token.gap
            if named and before is not None:
                gap = out.pop().gap
            amount = [regapped(tokens[at + 1], gap), *tokens[at + 2 : stop]]
            out.extend(_numbers(amount))
            if out[-1].text == "1":
                out[-1] = renamed(out[-1], "1", RULE, readings=["a"])
            currency = _currency(token, sign, amount[-1], tables)
            if named and before is not None:
                currency = _named(before, token, named, currency)
            out.append(currency)
            at = stop
        elif code and stop > at + 1:
            amount = [regapped(tokens[at + 1], token.gap), *tokens[at + 2 : stop]]
            out.extend([*_numbers(amount), *_coded(token, code, amount[-1], tables)])
            at = stop
        elif code and out and is_number(out[-1]):
            out.extend(_coded(token, code, out[-1], tables))
            at += 1
        elif sign and out and is_number(out[-1]):  # 45¢, 20€
            out.append(regapped(_currency(token, sign, out[-1], tables), " "))
            at += 1
        else:
            out.append(renamed(token, sign, RULE, kind=Kind.WORD) if sign else token)
            at += 1
    return out


def _amount_end(tokens: list[Token], at: int) -> int:
    """Where the amount that begins here ends: a number, or the two ends of a range."""
    if at >= len(tokens) or not is_number(tokens[at]) or not is_close(tokens[at].gap):
        return at
    ranged = at + 2 < len(tokens) and RANGE in tokens[at + 1].flags and is_number(tokens[at + 2])
    return at + 3 if ranged else at + 1


def _numbers(tokens: list[Token]) -> list[Token]:
    """The amount; in a range the last number is the one that stands before the currency."""
    return [*tokens[:-1], _cents(tokens[-1])]


def _cents(token: Token) -> Token:
    """Two places after the point, or none."""
    whole, _, rest = token.text.partition(".")
    if not whole.isdecimal() or not rest.isdecimal() or len(rest) > 2:
        return token
    text = whole if not int(rest) else f"{whole}.{rest.ljust(2, '0')}"
    return token if text == token.text else renamed(token, text, RULE)


def _currency(token: Token, plural: str, number: Token, tables: Tables) -> Token:
    singular = tables.singular.get(plural, plural)
    text = singular if number.text == "1" else plural
    return follower(token, text, RULE, readings=[singular, plural])


def _named(code: Token, sign: Token, said: str, currency: Token) -> Token:
    """US$ is dollars, and "US dollars" too; CA$ is Canadian dollars and no other."""
    spelled = f"{code.text} {sign.text}"
    if said == currency.text or (said.endswith(" " + currency.text) and code.text == "us"):
        readings = [*currency.readings, f"{code.text} {currency.text}"]
        return merged([code, sign], currency.text, RULE, kind=Kind.WORD, readings=readings)
    readings = [spelled, f"{code.text} dollars", said]
    return merged([code, sign], said.replace(" ", ""), RULE, kind=Kind.WORD, readings=readings)


def _coded(code: Token, said: str, number: Token, tables: Tables) -> list[Token]:
    """USD 5 and 5 USD."""
    *names, plural = said.split()
    token = _currency(code, plural, number, tables)
    readings = {*token.readings, code.text} | ({f"us {plural}"} if code.text == "usd" else set())
    token = renamed(token, token.text, RULE, readings=readings)
    return [*(follower(code, name, RULE) for name in names), token]


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
            out[-1] = renamed(
                currency, tables_plural(currency, tables), RULE, readings=[currency.text]
            )
            at += joined
            continue
        out.append(_plain_amount(token, tokens, at, tables))
        at += 1
    return out


def tables_plural(currency: Token, tables: Tables) -> str:
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
    if not number.isdecimal() or not 0 < int(number) < HUNDREDTHS or len(number) > 2:
        return None
    unit = tokens[place + 1].text if place + 1 < len(tokens) else ""
    if unit in tables.money_minor and not tables.money_minor[unit].isdisjoint(
        _majors(before[-1], tables)
    ):
        return place + 2 - at, place
    return None


def _majors(currency: Token, tables: Tables) -> set[str]:
    return {currency.text, tables_plural(currency, tables)}


def shared(tokens: list[Token], tables: Tables) -> list[Token]:
    """6 percent to 8 percent is 6 to 8 percent: what both ends share is said once."""
    out: list[Token] = []
    for at, token in enumerate(tokens):
        ends = tokens[at + 1 : at + 4]
        both = (
            (token.text == "percent" or token.text in tables.currencies)
            and bool(out)
            and is_number(out[-1])
            and len(ends) == 3
            and ends[0].text == "to"
            and is_number(ends[1])
            and ends[2].matches(token)
        )
        signed = (
            (token.text == "percent" or token.text in tables.currencies)
            and bool(out)
            and is_number(out[-1])
            and len(tokens) > at + 4
            and ends[0].text == "to"
            and ends[1].text in ("minus", "plus")
            and is_number(ends[2])
            and tokens[at + 4].matches(token)
        )
        if not both and not signed:
            out.append(token)
    return out
