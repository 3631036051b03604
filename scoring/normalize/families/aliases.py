"""Names that a list says are the same name, written as the first of their group."""

from collections.abc import Iterable, Mapping, Sequence

from scoring.normalize.shape import Token
from scoring.normalize.tokens import merged, opened

RULE = "aliases"
Names = Mapping[tuple[str, ...], tuple[str, ...]]
"""The words of a name, and the words it is written with instead."""


def aliased(tokens: list[Token], names: Names, longest: int) -> list[Token]:
    """Whole words only; the possessive follows its name."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        for length in range(min(longest, len(tokens) - at), 0, -1):
            span = tokens[at : at + length]
            words, tail = _stem(span)
            said = names.get(words)
            if said is not None:
                out.extend(_renamed(span, (*said[:-1], said[-1] + tail)))
                at += length
                break
        else:
            out.append(tokens[at])
            at += 1
    return out


def _stem(span: Sequence[Token]) -> tuple[tuple[str, ...], str]:
    words = tuple(token.text for token in span)
    if words[-1].endswith("'s"):
        return (*words[:-1], words[-1][:-2]), "'s"
    return words, ""


def _renamed(span: Sequence[Token], said: Sequence[str]) -> list[Token]:
    whole = merged(span, " ".join(said), RULE, kind=span[0].kind)
    return opened(whole, list(said), RULE)


def names_of(groups: Iterable[Sequence[tuple[str, ...]]]) -> Names:
    """Each spelling with the first one of its group."""
    return {name: group[0] for group in groups for name in group[1:] if name and group[0]}
