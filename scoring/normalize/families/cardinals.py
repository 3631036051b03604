"""Which words of a run of number words belong to one number.

    two thousand twenty three        ─> 2023
    twelve million twelve million    ─> 12000000 | 12000000
    nineteen ninety nine             ─> 19 | 99

As few numbers as possible; a scale never stands alone; scales fall; tens keep their units.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from scoring.normalize.families.vocabulary import SMALL, Item, Sort

HOPELESS = 1000
"""More numbers than any run can have: a division that is not allowed."""
NO_LIMIT = 99


@dataclass(frozen=True, slots=True)
class Group:
    """One number of a run."""

    text: str
    first: int
    stop: int
    """Its items, as a slice of the run."""
    scaled: bool = False
    """A hundred, a thousand, … was said: it is a quantity, not a part of a code."""
    ordinal: bool = False
    word: bool = False
    """Not a number: an "and" between two of them."""
    repeated: bool = False
    """double, triple"""


def grouped(items: list[Item], *, split_at_and: bool = False) -> list[Group] | None:
    """The numbers of a run; None where a scale is left alone."""
    best: list[tuple[int, Group | None]] = [(0, None)] * (len(items) + 1)
    for at in range(len(items) - 1, -1, -1):
        choices = [
            (best[group.stop][0] + 1, -group.stop, group)
            for group in _groups(items, at)
            if not (split_at_and and _crosses_and(items, group)) and not _cuts_code(items, group)
        ]
        if choices:
            cost, _, chosen = min(choices, key=lambda choice: choice[:2])
            best[at] = (cost, chosen)
        else:
            best[at] = (HOPELESS, None)
    if best[0][0] >= HOPELESS:
        return None
    found = []
    at = 0
    while at < len(items):
        following = best[at][1]
        if following is None:
            return None
        found.append(following)
        at = following.stop
    return found


def _crosses_and(items: list[Item], group: Group) -> bool:
    inside = items[group.first : group.stop]
    return len(inside) > 1 and any(item.sort is Sort.AND for item in inside)


def _cuts_code(items: list[Item], group: Group) -> bool:
    """Eight hundred five | five five: digits after a hundred are read out one by one."""
    if group.stop - group.first < 3 or group.stop >= len(items):
        return False
    before, last, after = items[group.stop - 2], items[group.stop - 1], items[group.stop]
    digits = last.sort is Sort.DIGIT and after.sort in (Sort.DIGIT, Sort.OH)
    return digits and before.sort is Sort.HUNDRED and not after.ordinal


def _groups(items: list[Item], at: int) -> Iterator[Group]:
    """Every number that may begin here."""
    item = items[at]
    if item.sort is Sort.AND:
        yield Group("and", at, at + 1, word=True)
    elif item.sort is Sort.OH:
        yield Group("0", at, at + 1)
    elif item.sort is Sort.TIMES and at + 1 < len(items):
        yield Group(items[at + 1].text * item.value, at, at + 2, repeated=True)
    elif item.sort in (Sort.DECIMAL, Sort.HALF):
        yield from _decimals(items, at)
    elif item.sort is Sort.WRITTEN and len(item.text) > 1 and item.text[0] == "0":
        yield Group(item.text, at, at + 1)
    elif item.sort is not Sort.HUNDRED and item.sort is not Sort.SCALE:
        for stop, value, scaled in _cardinals(items, at, NO_LIMIT):
            only_written = item.sort is Sort.WRITTEN and stop == at + 1
            text = item.text if only_written else str(value)
            yield Group(text, at, stop, scaled, items[stop - 1].ordinal)


def _decimals(items: list[Item], at: int) -> Iterator[Group]:
    """2.5 | million."""
    if items[at].sort is Sort.DECIMAL:
        yield Group(items[at].text, at, at + 1, scaled=True)
    if at + 1 < len(items) and items[at + 1].sort is Sort.SCALE:
        text = scaled_text(items[at].text, items[at + 1].value)
        yield Group(text, at, at + 2, scaled=True)


def scaled_text(number: str, power: int) -> str:
    """The number times ten to the power, in digits: 2.5 and 6 give 2500000."""
    return f"{Decimal(number).scaleb(power).normalize():f}"


def _cardinals(items: list[Item], at: int, limit: int) -> Iterator[tuple[int, int, bool]]:
    """(stop, value, whether scaled) of every cardinal from here with scales below the limit."""
    for stop, value, scaled in _below_thousand(items, at):
        yield stop, value, scaled
        if stop >= len(items) or items[stop - 1].ordinal:
            continue
        scale = items[stop]
        if scale.sort is not Sort.SCALE or scale.value >= limit:
            continue
        whole = value * 10**scale.value
        yield stop + 1, whole, True
        if scale.ordinal:
            continue
        rest = stop + 1
        if rest < len(items) and items[rest].sort is Sort.AND:
            rest += 1
        if rest < len(items):
            for end, more, _ in _cardinals(items, rest, scale.value):
                plain = items[rest].sort is Sort.WRITTEN and end == rest + 1
                if more < 10**scale.value and not plain and more:
                    yield end, whole + more, True


def _below_thousand(items: list[Item], at: int) -> Iterator[tuple[int, int, bool]]:
    stop, value = _below_hundred(items, at)
    if stop == at:
        return
    yield stop, value, False
    if stop >= len(items) or items[stop].sort is not Sort.HUNDRED or items[stop - 1].ordinal:
        return
    if not 0 < value < 100:
        return
    yield stop + 1, value * 100, True
    if items[stop].ordinal:
        return
    rest = stop + 1
    if rest < len(items) and items[rest].sort is Sort.AND:
        rest += 1
    if rest < len(items) and items[rest].sort in SMALL:
        end, more = _below_hundred(items, rest)
        if more:
            yield end, value * 100 + more, True


def _below_hundred(items: list[Item], at: int) -> tuple[int, int]:
    """(stop, value); the stop is the start where there is no number. Tens keep their units."""
    item = items[at]
    if item.sort is Sort.TENS and not item.ordinal and at + 1 < len(items):
        unit = items[at + 1]
        if unit.sort is Sort.DIGIT and unit.value:
            return at + 2, item.value + unit.value
    if item.sort in SMALL or item.sort in (Sort.ONE, Sort.WRITTEN):
        return at + 1, item.value
    return at, 0
