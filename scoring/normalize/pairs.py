"""What is the same in two texts though its words are divided differently.

    hard coded = hardcoded      4 1 5 5 5 5 = 415555      95 110 = 95 to 110      45 cents = $0.45

Looked for only where two texts differ, and only between neighbours in one text: so that a part is
never taken for apart, nor 19, 20 for 1920.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from scoring.normalize.shape import Kind, Region, Same, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import CARDINAL, RANGE, SILENT, SPELLED, WRITTEN, is_joined, is_number

MAX_WORDS = 6
MIN_RANGE_DIGITS = 3
"""The ends of what was taken for a range may still be the parts of a code from this length on."""
MAX_SHIFT = 60
"""How far apart in their regions two places may lie and still be compared."""
JOIN = "join"
READING = "readings"
CENTS = "cents"
MARKS_BETWEEN = {"-": ("dash", "hyphen", "minus"), "/": ("slash", "or")}
Span = tuple[int, int]
Key = tuple[str, str]
"""How two spans are compared, and the text that must be equal."""


def same_spans(
    first: Sequence[Token], second: Sequence[Token], region: Region, tables: Tables
) -> Iterator[Same]:
    """Every pair of spans within the region that says the same in other words."""
    places: dict[Key, list[Span]] = {}
    for start in range(region.reference_start, region.reference_stop):
        for length, key in _keys(first, start, region.reference_stop, tables):
            places.setdefault(key, []).append((start, length))
    for start in range(region.hypothesis_start, region.hypothesis_stop):
        for length, key in _keys(second, start, region.hypothesis_stop, tables):
            for other, words in places.get(key, ()):
                if words == length == 1 and key[0] != JOIN:
                    continue
                shift = (other - region.reference_start) - (start - region.hypothesis_start)
                if abs(shift) > MAX_SHIFT:
                    continue
                ours, theirs = first[other : other + words], second[start : start + length]
                rule = _rule(key[0], ours, theirs, tables)
                if rule:
                    yield Same(other, words, start, length, rule)


def _keys(
    tokens: Sequence[Token], start: int, stop: int, tables: Tables
) -> Iterator[tuple[int, Key]]:
    """(words, key) of every span that begins here."""
    token = tokens[start]
    for reading in token.readings:
        if " " in reading:
            yield 1, (READING, reading)
    for word in MARKS_BETWEEN.get(token.gap, ()):
        yield 1, (READING, f"{word} {token.text}")
    joined, spaced = "", []
    plain = ""
    for place in range(start, min(stop, start + MAX_WORDS)):
        here = tokens[place]
        length = place - start + 1
        joined += here.text.replace("'", "")
        spaced.append(here.text)
        yield length, (JOIN, joined)
        if length > 1:
            yield length, (READING, " ".join(spaced))
        if SILENT in here.flags:
            spaced.pop()
        plain += _as_said(here)
        if plain != joined:
            yield length, (JOIN, plain)
        if RANGE in here.flags:
            joined = joined.removesuffix("to")
    yield from _cents(tokens, start, stop, tables)


def _as_said(token: Token) -> str:
    """The letters of a number word: secondhand is second and hand."""
    letters = token.raw.lower().replace("-", "").replace(" ", "")
    said = token.kind in (Kind.NUMBER, Kind.ORDINAL) and letters.isalpha()
    return letters if said else token.text.replace("'", "")


_WITH_CENTS = re.compile(r"\d+\.\d\d")
_TWO_DIGITS = re.compile(r"[1-9]\d")


def _cents(
    tokens: Sequence[Token], start: int, stop: int, tables: Tables
) -> Iterator[tuple[int, Key]]:
    """45 cents and 0.45 dollars; 4 pounds 50 and 4.50 pounds."""
    if start + 1 >= stop or not (is_number(tokens[start]) or tokens[start].text == "a"):
        return
    said = tokens[start + 1].text
    number = "1" if tokens[start].text == "a" else tokens[start].text
    unit = tables.singular.get(said, said)
    if said in tables.money_minor and number.isdecimal():
        for major in tables.money_minor[said]:
            amount = number.zfill(3)
            singular = tables.singular.get(major, major)
            yield 2, (CENTS, f"{amount[:-2]}.{amount[-2:]} {singular}")
    if said not in tables.currencies:
        return
    if _WITH_CENTS.fullmatch(number):
        yield 2, (CENTS, f"{number} {unit}")
    if number.isdecimal() and start + 2 < stop:
        rest = tokens[start + 2]
        if _TWO_DIGITS.fullmatch(rest.text) and is_joined(rest.gap):
            yield 3, (CENTS, f"{number}.{rest.text} {unit}")


def _rule(how: str, ours: Sequence[Token], theirs: Sequence[Token], tables: Tables) -> str | None:
    """By which rule the two spans are the same; None where they only look it."""
    if [t.text for t in ours] == [t.text for t in theirs]:
        return None
    if how == READING and _is_exclaimed(ours, theirs):
        return None
    if how != JOIN:
        return how
    texts = [t.text for t in (*ours, *theirs) if RANGE not in t.flags]
    if all(text.isdecimal() for text in texts):
        return (
            "digits"
            if _is_code(ours) and _is_code(theirs) and _is_regrouped(ours, theirs)
            else None
        )
    one, many = sorted((ours, theirs), key=len)
    initials = one[0].raw.isupper() and all(token.gap.strip() == "." for token in many[1:])
    paused = initials or any(SPELLED in token.flags for token in one)
    if not (_is_unbroken(ours) and _is_unbroken(theirs)) and not paused:
        return None
    if len(one) == len(many) == 1:
        return "numbers"
    if any(character.isdecimal() for text in texts for character in text) and not _is_spoken_join(
        one, many
    ):
        return None
    if _is_spelled(one, many):
        return "letters"
    if len(one) > 1:
        return None
    return "compounds" if _is_camel(one[0], many) or is_compound(many, tables) else None


def _is_camel(one: Token, many: Sequence[Token]) -> bool:
    """iOS, PayPal, IPv: the capitals inside show the parts."""
    raw = one.raw
    if not raw.isalpha() or raw[1:].islower() or len(raw) != sum(len(t.text) for t in many):
        return False
    places = accumulate(len(token.text) for token in many[:-1])
    return all(raw[place - 1].isupper() != raw[place].isupper() for place in places)


def _is_exclaimed(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """The "oh" of "oh, two" is no zero."""
    return any(span[0].text == "oh" and not _is_unbroken(span) for span in (ours, theirs))


def _is_spoken_join(one: Sequence[Token], many: Sequence[Token]) -> bool:
    """Digits on one side only, which stand for words: first hand and firsthand."""
    return len(one) == 1 and one[0].text.isalpha() and not any(t.raw[:1].isdecimal() for t in many)


def _is_unbroken(span: Sequence[Token]) -> bool:
    return all(is_joined(token.gap) or token.gap == "/" for token in span[1:])


def _is_code(span: Sequence[Token]) -> bool:
    """Digits that may be parts of one code: no quantity, and no range of small numbers."""
    if len(span) == 1:
        return RANGE not in span[0].flags
    if RANGE in span[0].flags or RANGE in span[-1].flags:
        return False
    ranged = any(RANGE in token.flags for token in span)
    if ranged and any(len(token.text) < MIN_RANGE_DIGITS for token in span if is_number(token)):
        return False
    return not any(CARDINAL in token.flags for token in span)


def _is_regrouped(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """The digits only group differently.

    With pauses between them only if they were spelled; a range only against a code, which is
    written or spelled: 383-960 against 383960, not against three eighty-three nine sixty.
    """
    for span, other in ((ours, theirs), (theirs, ours)):
        spelled = len(other) == 1 and SPELLED in other[0].flags
        coded = spelled or (len(other) == 1 and WRITTEN in other[0].flags)
        if any(RANGE in token.flags for token in span) and not coded:
            return False
        if not spelled and not _is_unbroken(span):
            return False
    return True


def _is_spelled(one: Sequence[Token], many: Sequence[Token]) -> bool:
    """Letters, said one by one on either side."""

    def lettered(token: Token) -> bool:
        return len(token.text) == 1 or token.kind is Kind.LETTERS

    if all(map(lettered, many)):
        return len(one) > 1 or len(many) > 2 or one[0].kind is Kind.LETTERS or one[0].raw.isupper()
    return (
        len(many) > 1
        and any(map(lettered, many))
        and all(map(lettered, one))
        and all(token.raw.isupper() or lettered(token) for token in many)
    )


def is_compound(parts: Sequence[Token], tables: Tables) -> bool:
    """The parts may be written as one word without saying something else."""
    words = [token.raw.lower() if token.raw.isalpha() else token.text for token in parts]
    apart = " ".join(words)
    if "-".join(words) in tables.hyphen_matters or apart in tables.compounds_refused:
        return False
    if apart in tables.compounds_allowed:
        return True
    if any("'" in word for word in words[:-1]):
        return False
    if all(token.gap == "-" for token in parts[1:]):
        return True
    if any(len(word) == 1 for word in words[1:]):
        return False
    if len(words[0]) == 1 and not _is_initial(parts[0], parts[1], tables):
        return False
    verb = words[0] in tables.verb_beginnings and words[-1].endswith(tables.verb_endings)
    if not verb and tables.function_words.intersection(words[:-1]):
        return False
    return words[-1] not in tables.function_words or words[-1] in tables.last_parts


def _is_initial(letter: Token, word: Token, tables: Tables) -> bool:
    """The e of e mail, the O of O Brien."""
    if letter.text == "o":
        return word.raw[:1].isupper()
    return letter.text in tables.compound_letters
