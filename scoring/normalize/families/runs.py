"""Which tokens may be one number: a run of number words and digits with little between them."""

from scoring.normalize.families.vocabulary import (
    NUMBERS,
    SCALES,
    SMALL,
    Item,
    Sort,
    has_thousands,
    is_single,
    item_at,
)
from scoring.normalize.shape import Kind, Token
from scoring.normalize.tokens import is_close, is_joined, listed

MIN_PAUSED_DIGITS = 4
"""Digits with commas between all of them are one code from this length; less is a list."""
MAX_ITEMS = 48
"""A longer run is taken in pieces: no number is that long, but some texts are all digits."""
POINTED = listed(
    "the this that one a which every each my your our his her their final first last starting"
    " end price case main key no any some what whole selling data focal turning another"
)
"""Words after which a point is a thing."""
CODE_WORDS = listed(
    "point extension code pin zip number room ext postcode prefix suffix area route batch"
)
"""Words after which an "oh" is a zero."""


def run_at(tokens: list[Token], at: int, before: list[Token]) -> list[Item]:
    """The number words and digits that belong together from here on; none if none begins."""
    first = item_at(tokens, at)
    if first is None or not _may_begin(tokens, first, before):
        return []
    items = [first]
    while not items[-1].ordinal and len(items) < MAX_ITEMS:
        nxt = item_at(tokens, items[-1].last + 1)
        if nxt is None or not _may_follow(tokens, items, nxt):
            break
        items.append(nxt)
    return _without_lists(tokens, trimmed(items))


def trimmed(items: list[Item]) -> list[Item]:
    """Without the words at its end that only ever lead to a number."""
    while items and items[-1].sort in (Sort.AND, Sort.POINT, Sort.TIMES):
        items = items[:-1]
    return items


def _may_begin(tokens: list[Token], item: Item, before: list[Token]) -> bool:
    if item.sort in (Sort.HUNDRED, Sort.SCALE, Sort.AND):
        return False
    if item.sort is Sort.POINT:
        return _is_leading_point(tokens, item, before)
    following = item_at(tokens, item.last + 1)
    close = following is not None and is_joined(tokens[following.first].gap)
    if item.sort is Sort.OH:
        spelled = tokens[item.first].text == "o" and bool(before) and len(before[-1].text) == 1
        return bool(close and following and _leads_code(tokens, following, before)) and not spelled
    if item.sort is Sort.TIMES:
        more = item_at(tokens, item.last + 2)
        digits = bool(close and following and is_single(following))
        coded = item.value > 2 or (more is not None and is_single(more)) or _ends_code(before)
        return digits and coded
    return True


def _is_leading_point(tokens: list[Token], point: Item, before: list[Token]) -> bool:
    """The one of "point five percent", "point five million"; not of "at this point five"."""
    if tokens[point.first].text != "point" or (before and before[-1].text in POINTED):
        return False
    at = point.last + 1
    while (item := item_at(tokens, at)) and item.sort in NUMBERS and is_joined(tokens[at].gap):
        at += 1
    end = tokens[at].text if at < len(tokens) and is_joined(tokens[at].gap) else ""
    return at > point.last + 1 and (end in SCALES or end in ("percent", "per", "%"))


def _leads_code(tokens: list[Token], following: Item, before: list[Token]) -> bool:
    """An "oh" here is a zero: two more digits follow, or a word before asks for a code."""
    more = item_at(tokens, following.last + 1)
    digits = following.sort in (Sort.DIGIT, Sort.OH, Sort.TIMES) and not following.ordinal
    two = more is not None and more.sort in SMALL | {Sort.OH, Sort.TIMES, Sort.HUNDRED}
    near = two and more is not None and is_joined(tokens[more.first].gap)
    return digits and (near or _ends_code(before))


def _ends_code(before: list[Token]) -> bool:
    return bool(before) and (before[-1].text in CODE_WORDS or before[-1].kind is Kind.LETTERS)


def _may_follow(tokens: list[Token], items: list[Item], nxt: Item) -> bool:
    last = items[-1]
    gap = tokens[nxt.first].gap
    if "," in gap:
        return gap.strip() == "," and is_single(last) and is_single(nxt) and not nxt.ordinal
    if Sort.WRITTEN in (last.sort, nxt.sort):
        return _written_follows(tokens, last, nxt, gap)
    return is_joined(gap) and _word_follows(tokens, items, nxt)


def _written_follows(tokens: list[Token], last: Item, nxt: Item, gap: str) -> bool:
    if nxt.sort is not Sort.WRITTEN:
        if not is_joined(gap) or nxt.ordinal:
            return False
        if nxt.sort is Sort.POINT:
            return _leads_fraction(tokens, nxt)
        return nxt.sort in (Sort.HUNDRED, Sort.SCALE) or (
            not has_thousands(tokens[last.first])
            and (nxt.sort in SMALL or _zero_between(tokens, [last], nxt))
        )
    if has_thousands(tokens[nxt.first]) or _has_letters_after(tokens, nxt):
        return last.sort is Sort.POINT
    if last.sort is not Sort.WRITTEN:
        return is_joined(gap) and last.sort in NUMBERS | {Sort.POINT, Sort.SCALE}
    if has_thousands(tokens[last.first]) or gap.strip() not in ("", "-", ")", ")-"):
        return False
    if _has_letters_before(tokens, last) and is_close(gap):
        return False
    same = last.text == nxt.text and last.text.endswith("00") and len(last.text) > 2
    return not same and not (last.text.endswith("000") and nxt.text.endswith("000"))


def _has_letters_after(tokens: list[Token], item: Item) -> bool:
    """The digits of 4K, 3D, 20mm."""
    after = item.last + 1
    return after < len(tokens) and not tokens[after].gap and tokens[after].raw[:1].isalpha()


def _has_letters_before(tokens: list[Token], item: Item) -> bool:
    """The digits of Q3, B22."""
    at = item.first
    return at > 0 and not tokens[at].gap and tokens[at - 1].raw[-1:].isalpha()


def _word_follows(tokens: list[Token], items: list[Item], nxt: Item) -> bool:
    last = items[-1]
    if nxt.ordinal:
        after_tens = last.sort is Sort.TENS and nxt.sort is Sort.DIGIT
        return (
            after_tens
            or last.sort in (Sort.HUNDRED, Sort.SCALE, Sort.AND)
            or (last.sort in SMALL and nxt.sort in (Sort.HUNDRED, Sort.SCALE))
        )
    if nxt.sort is Sort.AND:
        following = item_at(tokens, nxt.last + 1)
        said = following is not None and following.sort in SMALL
        return said and last.sort in (Sort.HUNDRED, Sort.SCALE)
    if nxt.sort is Sort.POINT:
        return last.sort in NUMBERS | {Sort.HUNDRED} and _leads_fraction(tokens, nxt)
    if nxt.sort is Sort.OH:
        return _zero_between(tokens, items, nxt)
    if nxt.sort is Sort.TIMES:
        following = item_at(tokens, nxt.last + 1)
        return following is not None and is_single(following) and last.sort in NUMBERS
    if nxt.sort is Sort.HUNDRED:
        return last.sort in SMALL or last.sort is Sort.ONE
    if nxt.sort is Sort.SCALE:
        return last.sort is not Sort.AND and last.sort is not Sort.POINT
    if last.sort in (Sort.DECIMAL, Sort.HALF):
        return False
    return nxt.sort in SMALL


def _leads_fraction(tokens: list[Token], point: Item) -> bool:
    following = item_at(tokens, point.last + 1)
    if following is None or following.ordinal or following.sort not in NUMBERS:
        return False
    return is_joined(tokens[following.first].gap)


def _zero_between(tokens: list[Token], items: list[Item], oh: Item) -> bool:
    """An "oh" among digits."""
    if oh.sort is not Sort.OH or items[-1].sort not in NUMBERS | {Sort.POINT, Sort.TIMES}:
        return False
    if items[-1].sort is Sort.TIMES:
        return True
    following = item_at(tokens, oh.last + 1)
    near = following is not None and is_joined(tokens[following.first].gap)
    if near and following is not None and following.sort in NUMBERS | {Sort.TIMES}:
        return not following.ordinal
    return items[-1].sort is Sort.POINT or (len(items) > 1 and all(map(is_single, items[-2:])))


def _without_lists(tokens: list[Token], items: list[Item]) -> list[Item]:
    """Cut at the first comma, unless the run is a code read out with pauses."""
    commas = [n for n, item in enumerate(items) if n and "," in tokens[item.first].gap]
    if not commas:
        return items
    if all(map(is_single, items)) and len(items) >= MIN_PAUSED_DIGITS:
        return items
    return trimmed(items[: commas[0]])
