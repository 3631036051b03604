"""Making tokens out of tokens: what every family of rules does, said once.

Each new token remembers the family that made it and the place it came from.
"""

from collections.abc import Iterable, Sequence

from scoring.normalize.shape import NO_READINGS, Kind, Token

DOTTED = "dotted"
"""A full stop followed."""
QUOTED = "quoted"
"""A single quotation mark, or an apostrophe, followed."""
WRITTEN = "written"
"""A number in digits, as the text had it."""
SPELLED = "spelled"
"""Said digit by digit or letter by letter."""
CARDINAL = "cardinal"
"""A number with its scale said or its thousands marked: it never runs into its neighbours."""
RANGE = "range"
"""A "to" that was written as a hyphen."""
SILENT = "silent"
"""A word for a mark that is often not said: the feet of 6'1\"."""
TECHNICAL = "technical"
"""A part of an address, a path, a file's name."""


def listed(words: str) -> frozenset[str]:
    """The words of a short list, written in one string."""
    return frozenset(words.split())


def ordered(words: str) -> tuple[str, ...]:
    """The words of a short list whose order counts."""
    return tuple(words.split())


def renamed(
    token: Token,
    text: str,
    rule: str,
    *,
    kind: Kind | None = None,
    readings: Iterable[str] = (),
    flags: Iterable[str] = (),
) -> Token:
    """The same token under another text; readings and flags are added to what it has."""
    return Token(
        text,
        token.start,
        token.end,
        token.raw,
        token.gap,
        kind or token.kind,
        (token.readings | frozenset(readings)) - {text} if readings else token.readings,
        token.flags | frozenset(flags) if flags else token.flags,
        (*token.rules, rule),
    )


def with_readings(token: Token, rule: str, readings: Iterable[str]) -> Token:
    """The same token that may stand for more."""
    return renamed(token, token.text, rule, readings=readings)


def opened(
    token: Token, texts: Sequence[str], rule: str, *, kind: Kind | None = None
) -> list[Token]:
    """Several words in the place of one."""
    first = renamed(token, texts[0], rule, kind=kind)
    return [first, *(follower(token, text, rule, kind=kind or token.kind) for text in texts[1:])]


def follower(
    token: Token,
    text: str,
    rule: str,
    *,
    kind: Kind = Kind.WORD,
    readings: Iterable[str] = (),
    flags: Iterable[str] = (),
) -> Token:
    """One more word that comes from the same place."""
    return Token(
        text,
        token.start,
        token.end,
        token.raw,
        " ",
        kind,
        frozenset(readings) - {text},
        frozenset(flags),
        (*token.rules, rule),
    )


def merged(
    tokens: Sequence[Token],
    text: str,
    rule: str,
    *,
    kind: Kind,
    readings: Iterable[str] = (),
    flags: Iterable[str] = (),
) -> Token:
    """One word in the place of several."""
    first = tokens[0]
    seen: dict[str, None] = {}
    for token in tokens:
        seen.update(dict.fromkeys(token.rules))
    return Token(
        text,
        first.start,
        tokens[-1].end,
        first.raw + "".join(token.gap + token.raw for token in tokens[1:]),
        first.gap,
        kind,
        (frozenset(readings) - {text}) or NO_READINGS,
        frozenset(flags),
        (*seen, rule),
    )


def regapped(token: Token, gap: str) -> Token:
    """The same token with something else before it."""
    return Token(
        token.text,
        token.start,
        token.end,
        token.raw,
        gap,
        token.kind,
        token.readings,
        token.flags,
        token.rules,
    )


def bridged(before: str, after: str) -> str:
    """What lies between two tokens when the one between them is gone."""
    both = before + after
    if both.strip(" ,\t\n") == "":
        return ", " if "," in both else " "
    return both


def is_close(gap: str) -> bool:
    """Nothing but white space between two tokens, or nothing at all."""
    return not gap or gap.isspace()


def is_joined(gap: str) -> bool:
    """White space, a single hyphen, or nothing."""
    return gap == "-" or is_close(gap)


def is_capitalised(token: Token) -> bool:
    """Written with a capital."""
    return token.raw[:1].isupper()


def is_number(token: Token) -> bool:
    """Digits, with whatever stands inside a number."""
    return token.kind is Kind.NUMBER
