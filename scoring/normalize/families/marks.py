"""Marks that are said: symbols, signs before numbers, hyphens between them."""

from scoring.normalize.families.vocabulary import NUMBERS, item_at
from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import (
    CARDINAL,
    RANGE,
    TECHNICAL,
    bridged,
    follower,
    is_close,
    is_number,
    listed,
    opened,
    regapped,
    renamed,
    with_readings,
)

SYMBOLS = {
    "&": "and", "+": "plus", "=": "equals", "<": "less than", ">": "greater than", "@": "at",
    "\u00d7": "times", "÷": "divided by", "±": "plus or minus", "§": "section", "-": "minus",
}  # fmt: skip
ALSO = {
    "\u00d7": ["by", "x"], "&": ["ampersand"], "=": ["equal", "is"], "+": ["positive"],
    "-": ["negative"],
}  # fmt: skip
CODE_WORDS = listed(
    "number account code id reference ref confirmation order case ticket claim policy member"
    " phone boeing airbus model call dial pin serial tracking invoice mobile cell fax routing"
    " sort ssn security zip"
)
"""Words after which digits with a hyphen between them are one code."""
DAYS = listed(
    "monday tuesday wednesday thursday friday saturday sunday january february march april"
    " may june july august september october november december"
)
MIN_CODE_DIGITS = 3


def symbols(tokens: list[Token], tables: Tables) -> list[Token]:
    """Each symbol as the word that is said for it; those of money and measure come later."""
    out: list[Token] = []
    carried: str | None = None
    for at, token in enumerate(tokens):
        if token.kind is Kind.SYMBOL:
            made = _symbol(tokens, at)
            if not made:
                carried = token.gap if carried is None else bridged(carried, token.gap)
                continue
        else:
            made = [token]
        if carried is not None:
            made = [regapped(made[0], bridged(carried, made[0].gap)), *made[1:]]
            carried = None
        out.extend(made)
    return out


def _symbol(tokens: list[Token], at: int) -> list[Token]:
    token = tokens[at]
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    attached = after is not None and not after.gap
    if token.text == "#":
        return [_hash(token, tokens[at - 1] if at else None, after)]
    if token.text == "*":
        dialled = attached and after is not None and is_number(after)
        alone = (dialled or not attached) and (not token.gap or token.gap[-1:].isspace())
        star = renamed(token, "star", "symbols", kind=Kind.WORD, readings=["asterisk", "times"])
        return [star] if alone else []
    if token.text not in SYMBOLS:
        return [token]
    first, *others = opened(token, SYMBOLS[token.text].split(), "symbols", kind=Kind.WORD)
    return [with_readings(first, "symbols", ALSO.get(token.text, ())), *others]


def _hash(token: Token, before: Token | None, after: Token | None) -> Token:
    if before is not None and not token.gap and len(before.text) == 1:
        return renamed(token, "sharp", "symbols", kind=Kind.WORD, readings=["hash"])
    if after is not None and is_close(after.gap) and is_number(after):
        also = ["hash", "pound", "hashtag"]
        return renamed(token, "number", "symbols", kind=Kind.WORD, readings=also)
    if after is not None and not after.gap:
        return renamed(token, "hashtag", "symbols", kind=Kind.WORD, readings=["hash", "number"])
    return renamed(token, "pound", "symbols", kind=Kind.WORD, readings=["hash", "number"])


def signs(tokens: list[Token], tables: Tables) -> list[Token]:
    """-12 and negative twelve are minus 12; minus the fees is not."""
    out: list[Token] = []
    for at, token in enumerate(tokens):
        amount = is_number(token) or token.text in tables.money_signs
        if amount and _is_signed(token, out, tables):
            gap = token.gap[:-1]
            token = regapped(token, "")
            if out and out[-1].text in tables.money_signs:  # $-5
                money = out.pop()
                out.append(regapped(follower(money, "minus", "signs"), money.gap))
                token, gap = money, money.gap
                out.extend([regapped(money, ""), regapped(tokens[at], "")])
                continue
            out.append(regapped(follower(token, "minus", "signs"), gap or " "))
        elif token.text in ("negative", "minus", "positive") and _leads_number(tokens, at, tables):
            token = _said_sign(token)
        out.append(token)
    return out


def _is_signed(token: Token, before: list[Token], tables: Tables) -> bool:
    if not token.gap.endswith("-") or token.gap.endswith("--") or TECHNICAL in token.flags:
        return False
    return not before or token.gap[-2:-1] in tuple(" \t\n([\"'") or _follows_money(before, tables)


def _follows_money(before: list[Token], tables: Tables) -> bool:
    return before[-1].text in tables.money_signs


def _leads_number(tokens: list[Token], at: int, tables: Tables) -> bool:
    if at + 1 >= len(tokens) or not is_close(tokens[at + 1].gap):
        return False
    nxt = tokens[at + 1]
    item = item_at(tokens, at + 1)
    said = item is not None and not item.ordinal and (item.sort in NUMBERS or item.text == "1")
    return said or is_number(nxt) or nxt.text in tables.money_signs


def _said_sign(token: Token) -> Token:
    if token.text == "positive":
        return with_readings(token, "signs", ["plus"])
    return token if token.text == "minus" else renamed(token, "minus", "signs")


def ranges(tokens: list[Token], tables: Tables) -> list[Token]:
    """15-20 is 15 to 20, where the two can be the ends of a range; else the hyphen groups."""
    out: list[Token] = []
    for at, token in enumerate(tokens):
        if at and token.gap == ":" and is_number(token) and is_number(tokens[at - 1]):
            out.append(with_readings(token, "ranges", [f"to {token.text}"]))  # a ratio of 2:1
        elif not at or not (token.gap == "-" or (token.gap == ".-" and token.text in DAYS)):
            out.append(token)
        elif (token.text in DAYS and tokens[at - 1].text in DAYS) or _is_next_code(tokens, at):
            out.append(with_readings(token, "ranges", [f"to {token.text}"]))
        elif is_number(_amount(tokens, at, tables)):
            out.extend(_ends(tokens, _low(tokens, at, tables), at, tables))
        else:
            out.append(token)
    return out


def _is_next_code(tokens: list[Token], at: int) -> bool:
    """The second Q of Q1-Q3."""
    if at < 2 or at + 1 >= len(tokens):
        return False
    same = tokens[at - 2].text == tokens[at].text and tokens[at].text.isalpha()
    return same and is_number(tokens[at - 1]) and is_number(tokens[at + 1])


def _amount(tokens: list[Token], at: int, tables: Tables) -> Token:
    """The number at this place, behind its currency sign if it has one."""
    money = tokens[at].text in tables.money_signs and at + 1 < len(tokens)
    return tokens[at + 1] if money else tokens[at]


def _low(tokens: list[Token], at: int, tables: Tables) -> int | None:
    """Where the number before the hyphen is, before its percent sign or its unit if it has one."""
    place = at - 1
    unit = tokens[place].raw in tables.units and tokens[place].gap != "-"
    unit = unit or tokens[place].text in ("am", "pm")
    marked = place and (tokens[place].kind is Kind.SYMBOL or not tokens[place].gap or unit)
    if marked and not is_number(tokens[place]) and is_number(tokens[place - 1]):
        place -= 1
    if not is_number(tokens[place]) or "/" in tokens[place].text:
        return None
    coded = place and tokens[place].gap == "-"
    lettered = place and not tokens[place].gap and tokens[place - 1].raw[-1:].isalnum()
    return None if coded or lettered else place


def _ends(tokens: list[Token], low: int | None, at: int, tables: Tables) -> list[Token]:
    token, high = tokens[at], _amount(tokens, at, tables)
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    chain = following is not None and following.gap == "-" and is_number(following)
    if low is None or chain or TECHNICAL in token.flags:
        return [token]
    if _is_range(tokens, low, high):
        joint = follower(token, "to", "ranges", readings=["through", "dash"], flags=[RANGE])
        return [joint, regapped(token, " ")]
    if len(tokens[low].text) <= 2 and len(high.text) <= 2 and token is high:
        return [_scored(token)]
    return [token]


def _scored(token: Token) -> Token:
    """The second number of 2-0, 10-4 and 9-5: apart from the first, and perhaps a "to" before."""
    apart = regapped(token, ", ")
    return with_readings(apart, "ranges", [f"to {token.text}", f"dash {token.text}"])


def _is_range(tokens: list[Token], low: int, high: Token) -> bool:
    first = tokens[low]
    if ":" in first.text and ":" in high.text:
        return True
    a, b = _value(first.text), _value(high.text)
    if a is None or b is None or a >= b:
        return False
    marked = CARDINAL in first.flags | high.flags or "." in first.text + high.text
    if marked or len(first.text) < MIN_CODE_DIGITS:
        return len(high.text) <= MIN_CODE_DIGITS or marked
    if len(first.text) == 4 and len(high.text) == 4:
        return 1900 <= a < b <= 2100
    near = {token.text for token in tokens[max(0, low - 3) : low]}
    return len(first.text) == len(high.text) == MIN_CODE_DIGITS and not near & CODE_WORDS


def _value(text: str) -> float | None:
    """A number that can be an end of a range; None for a code with a zero before it."""
    whole, _, rest = text.partition(".")
    if (
        not whole.isdecimal()
        or (rest and not rest.isdecimal())
        or (len(whole) > 1 and whole[0] == "0")
    ):
        return None
    return float(text)
