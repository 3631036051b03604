"""Number words and digits made into numbers, each one token.

    two thousand eight     ─> 2008          nineteen ninety nine ─> 1999, or 19.99, or "19 99"
    four one five, oh one  ─> 41501         one point two four   ─> 1.24
    303 775 4498           ─> 3037754498    twenty-first         ─> 21st

What is said in several small numbers may be written in several ways; the token carries them all as
readings.
"""

import re

from scoring.normalize.families.cardinals import Group, grouped, scaled_text
from scoring.normalize.families.forms import (
    MAX_PARTITIONED,
    ordinal_ending,
    partitions,
    short_forms,
    written_forms,
)
from scoring.normalize.families.runs import run_at, trimmed
from scoring.normalize.families.vocabulary import VOCABULARY, Item, Sort
from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import CARDINAL, SPELLED, WRITTEN, listed, merged, renamed

RULE = "numbers"
DOTTED_PHONE = re.compile(r"\d{3}\.\d{3}\.\d{4}")
BARE_ORDINALS = {"hundredth": "100th", "thousandth": "1000th", "millionth": "1000000th"}
MONTHS = listed(
    "january february march april may june july august september october november december"
)


def numbers(tokens: list[Token], tables: Tables) -> list[Token]:
    """Every run of number words and digits as the numbers that it says."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if (
            token.kind is not Kind.NUMBER
            and token.text not in VOCABULARY
            and token.text not in ("a", "half")
        ):
            out.append(token)
            at += 1
            continue
        made, stop = _number_at(tokens, at, out)
        if stop == at:
            out.append(_alone(token))
            at += 1
        else:
            out.extend(made)
            at = stop
    return out


def _number_at(tokens: list[Token], at: int, before: list[Token]) -> tuple[list[Token], int]:
    """The tokens of the run that begins here, and where it stops; stops at once if none does."""
    items = run_at(tokens, at, before)
    split = bool(before) and before[-1].text == "between"
    while items:
        made = _made(tokens, items, before, split=split and _one_and(items))
        if made is not None:
            return made, items[-1].last + 1
        items = trimmed(items[:-1])
    return [], at


def _one_and(items: list[Item]) -> bool:
    return sum(item.sort is Sort.AND for item in items) == 1


def _made(
    tokens: list[Token], items: list[Item], before: list[Token], *, split: bool
) -> list[Token] | None:
    points = [n for n, item in enumerate(items) if item.sort is Sort.POINT]
    head = items[: points[0]] if points else items
    groups = grouped(head, split_at_and=split)
    if groups is None:
        return None
    if not points:
        return _sequences(tokens, items, groups, before)
    if not groups:
        groups = [Group("0", 0, 1)]
    return _pointed(tokens, items, groups, points, before)


def _pointed(
    tokens: list[Token],
    items: list[Item],
    groups: list[Group],
    points: list[int],
    before: list[Token],
) -> list[Token] | None:
    """One point twenty-four dot three; one point five million."""
    scale = 0
    end = len(items)
    while end > points[-1] + 1 and items[end - 1].sort is Sort.SCALE:
        scale += items[end - 1].value
        end -= 1
    stops = [*points[1:], end]
    parts = [_digits(items[a + 1 : b]) for a, b in zip(points, stops, strict=True)]
    if any(part is None for part in parts) or (scale and len(points) > 1):
        return None
    whole = len(groups)
    while whole and _is_simple(groups, whole - 1):
        whole -= 1
    whole = min(whole, len(groups) - 1)
    earlier = _sequences(tokens, items, groups[:whole], before)
    text = "".join(g.text for g in groups[whole:]) + "." + ".".join(p for p in parts if p)
    flags = [CARDINAL]
    if scale:
        text = scaled_text(text, scale)
    first = items[groups[whole].first].first
    span = tokens[first : items[-1].last + 1]
    return [*earlier, merged(span, text, RULE, kind=Kind.NUMBER, flags=flags)]


def _digits(items: list[Item]) -> str | None:
    """The digits of what was said after a point; None where that holds a scale."""
    if any(item.sort is Sort.SCALE or item.ordinal for item in items):
        return None
    groups = grouped(items)
    if groups is None or any(group.word for group in groups):
        return None
    return "".join(group.text for group in groups)


def _is_simple(groups: list[Group], at: int) -> bool:
    """The number may be a part of a longer code."""
    group = groups[at]
    if group.word or group.ordinal:
        return False
    return not group.scaled or _is_code_hundred(groups, at)


def _is_code_hundred(groups: list[Group], at: int) -> bool:
    """The eight hundred of "one eight hundred five five five", the nine of "oh nine hundred"."""
    group = groups[at]
    if len(group.text) != 3 or not group.text.endswith("00") or group.stop - group.first != 2:
        return False
    if at and groups[at - 1].text == "0":
        return True
    singles = sum(len(other.text) == 1 and not other.word for other in groups)
    return singles >= 3


def _sequences(
    tokens: list[Token], items: list[Item], groups: list[Group], before: list[Token]
) -> list[Token]:
    """The groups as tokens; neighbours that may be one code are one token."""
    out: list[Token] = []
    at = 0
    while at < len(groups):
        stop = at + 1
        if _is_simple(groups, at):
            while stop < len(groups) and _is_simple(groups, stop):
                stop += 1
        previous = out or before
        parts = _dated(groups[at:stop], previous)
        out.extend([_token(tokens, items, part) for part in parts])
        at = stop
    return out


def _dated(groups: list[Group], before: list[Token]) -> list[list[Group]]:
    """A year after a day or a quarter is a number of its own: Q three twenty twenty-four."""
    if len(groups) < 2 or not before or len(groups[0].text) > 2:
        return [groups]
    last = before[-1]
    if last.text not in MONTHS and not (len(last.text) == 1 and last.text.isalpha()):
        return [groups]
    year = "".join(group.text for group in groups[1:])
    is_year = len(year) == 4 and year[:2] in ("18", "19", "20", "21") and len(groups[1].text) > 1
    return [groups[:1], groups[1:]] if is_year else [groups]


def _token(tokens: list[Token], items: list[Item], groups: list[Group]) -> Token:
    span = tokens[items[groups[0].first].first : items[groups[-1].stop - 1].last + 1]
    if len(groups) > 1:
        return _joined(tokens, items, groups, span)
    group = groups[0]
    if group.word:
        return span[0]
    if group.ordinal:
        return _ordinal(span, group)
    if len(span) == 1 and span[0].kind is Kind.NUMBER:
        return _leading_zero(span[0])
    flags = [CARDINAL] if group.scaled else [SPELLED] if group.repeated else []
    readings = short_forms(group.text) if group.scaled else []
    if items[group.first].sort is Sort.ONE:
        readings.append(f"a {group.text}")  # a hundred percent cotton shirt, a 100% cotton shirt
    return merged(span, group.text, RULE, kind=Kind.NUMBER, readings=readings, flags=flags)


def _alone(token: Token) -> Token:
    """A token that is no part of a run."""
    if token.kind is Kind.NUMBER:
        return _leading_zero(token)
    if token.text in BARE_ORDINALS:
        return renamed(token, token.text, RULE, readings=[BARE_ORDINALS[token.text]])
    return token


def _leading_zero(token: Token) -> Token:
    if len(token.text) == 2 and token.text[0] == "0":
        return renamed(token, token.text, RULE, readings=[f"oh {token.text[1]}"])
    if DOTTED_PHONE.fullmatch(token.text):
        return renamed(token, token.text.replace(".", ""), RULE, readings=[token.text])
    return token


def _ordinal(span: list[Token], group: Group) -> Token:
    text = group.text + ordinal_ending(int(group.text))
    readings = []
    if span[-1].text == "second":
        if len(span) == 1:
            return renamed(span[0], "second", RULE, kind=Kind.ORDINAL, readings=["2nd"])
        readings = [f"{int(group.text) - 2} second"]
    return merged(span, text, RULE, kind=Kind.ORDINAL, readings=readings)


def _joined(
    tokens: list[Token], items: list[Item], groups: list[Group], span: list[Token]
) -> Token:
    texts = _with_zeros(groups)
    text = "".join(texts)
    gaps = [tokens[items[group.first].first].gap.strip() for group in groups[1:]]
    written = all(items[group.first].sort is Sort.WRITTEN for group in groups)
    singles = all(len(group.text) == 1 or group.repeated for group in groups)
    readings = {" ".join(texts)} if singles and not written else set(partitions(texts))
    flags = [WRITTEN] if written else [SPELLED] if singles else []
    if "-" in gaps and written and len(texts) <= MAX_PARTITIONED + 1:
        readings |= {f" {mark} ".join(texts) for mark in ("dash", "hyphen")}
        if len(texts) == 2:
            readings.add(f"{texts[0]} to {texts[1]}")
    if ("-" not in gaps or not written) and (not singles or len(texts) < len(groups)):
        readings |= written_forms(texts, slashed=not written)
    return merged(span, text, RULE, kind=Kind.NUMBER, readings=readings, flags=flags)


def _with_zeros(groups: list[Group]) -> list[str]:
    """Ten | oh | five is ten | 05; all else as it is."""
    texts = [group.text for group in groups]
    if len(texts) == 3 and texts[1] == "0" and len(texts[2]) == 1 and texts[2] != "0":
        return [texts[0], texts[1] + texts[2]]
    return texts
