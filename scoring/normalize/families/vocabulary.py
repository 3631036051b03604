"""The words of which numbers are made, and what each adds."""

from dataclasses import dataclass
from enum import StrEnum

from scoring.normalize.shape import Kind, Token
from scoring.normalize.tokens import CARDINAL, is_close, ordered


class Sort(StrEnum):
    """What part a word plays in a number."""

    DIGIT = "digit"
    TEEN = "teen"
    TENS = "tens"
    HUNDRED = "hundred"
    SCALE = "scale"
    AND = "and"
    OH = "oh"
    TIMES = "times"
    """double, triple: the next digit so many times."""
    POINT = "point"
    ONE = "a"
    """"a" before hundred and thousand."""
    HALF = "half"
    """"half a" before million."""
    WRITTEN = "written"
    DECIMAL = "decimal"


@dataclass(frozen=True, slots=True)
class Item:
    """One word of a number, as it stands in the run."""

    sort: Sort
    value: int
    text: str
    """Its digits, where it is one number by itself."""
    ordinal: bool = False
    first: int = 0
    last: int = 0
    """The tokens it is made of, the last one included."""


DIGITS = ordered("zero one two three four five six seven eight nine")
TEENS = ordered("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
TENS = ordered("twenty thirty forty fifty sixty seventy eighty ninety")
SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "quadrillion": 15}
ORDINAL_DIGITS = ordered("zeroth first second third fourth fifth sixth seventh eighth ninth")
ORDINAL_TEENS = ordered(
    "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth"
    " nineteenth"
)
ORDINAL_TENS = ordered(
    "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
)


def _vocabulary() -> dict[str, Item]:
    words: dict[str, Item] = {}
    for ordinal, digits, teens, tens in (
        (False, DIGITS, TEENS, TENS),
        (True, ORDINAL_DIGITS, ORDINAL_TEENS, ORDINAL_TENS),
    ):
        for value, word in enumerate(digits):
            words[word] = Item(Sort.DIGIT, value, str(value), ordinal)
        for value, word in enumerate(teens, 10):
            words[word] = Item(Sort.TEEN, value, str(value), ordinal)
        for value, word in enumerate(tens, 2):
            words[word] = Item(Sort.TENS, value * 10, str(value * 10), ordinal)
    words["nought"] = words["naught"] = words["zero"]
    words["fourty"] = words["forty"]
    words["ninty"] = words["ninety"]
    for ordinal, ending in ((False, ""), (True, "th")):
        words["hundred" + ending] = Item(Sort.HUNDRED, 100, "", ordinal)
        for word, power in SCALES.items():
            words[word + ending] = Item(Sort.SCALE, power, "", ordinal)
    words["and"] = Item(Sort.AND, 0, "")
    words["oh"] = words["o"] = Item(Sort.OH, 0, "0")
    words["point"] = words["dot"] = Item(Sort.POINT, 0, "")
    for times, word in enumerate(("double", "triple", "quadruple"), 2):
        words[word] = Item(Sort.TIMES, times, "")
    return words


VOCABULARY = _vocabulary()
SMALL = frozenset({Sort.DIGIT, Sort.TEEN, Sort.TENS})
NUMBERS = SMALL | {Sort.WRITTEN, Sort.OH}


def item_at(tokens: list[Token], at: int) -> Item | None:
    """What the token is as a part of a number, looked at by itself; None: no part of one."""
    if at >= len(tokens):
        return None
    token = tokens[at]
    if token.kind is Kind.NUMBER:
        return _written(token, at)
    if token.kind is Kind.SYMBOL:
        return None
    word = VOCABULARY.get(token.text)
    if word is None:
        return _article(tokens, at) if token.text in ("a", "half") else None
    return Item(word.sort, word.value, word.text, word.ordinal, at, at)


def _written(token: Token, at: int) -> Item | None:
    if token.text.isdecimal() and token.text.isascii():
        return Item(Sort.WRITTEN, int(token.text[:18]), token.text, first=at, last=at)
    whole, _, fraction = token.text.partition(".")
    if whole.isdecimal() and fraction.isdecimal():
        return Item(Sort.DECIMAL, 0, token.text, first=at, last=at)
    return None


def _article(tokens: list[Token], at: int) -> Item | None:
    """The "a" of "a hundred", the "half a" of "half a million"."""
    half = tokens[at].text == "half"
    scale = at + 1 + half
    if scale >= len(tokens) or not all(is_close(t.gap) for t in tokens[at + 1 : scale + 1]):
        return None
    if half and tokens[at + 1].text != "a":
        return None
    word = VOCABULARY.get(tokens[scale].text)
    if word is None or word.ordinal or word.sort not in (Sort.HUNDRED, Sort.SCALE):
        return None
    if half:
        return None if word.value < 6 else Item(Sort.HALF, 0, "0.5", first=at, last=at + 1)
    return Item(Sort.ONE, 1, "1", first=at, last=at)


def is_single(item: Item) -> bool:
    """One digit, said or written."""
    digit = item.sort in (Sort.DIGIT, Sort.OH) and not item.ordinal
    return digit or item.sort is Sort.TIMES or (item.sort is Sort.WRITTEN and len(item.text) == 1)


def has_thousands(token: Token) -> bool:
    """Written with marks between its thousands."""
    return CARDINAL in token.flags
