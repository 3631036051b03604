"""How often a provider took back words that it had already shown."""

from itertools import pairwise

from measure.definitions.retelling import Replayed
from measure.definitions.value import SHARED, Measured, Missing, Value


def corrections(told: Replayed) -> Value:
    """The partials that do not go on from what stood there before them.

    Compared are words without case and without the punctuation around them: a full stop or a
    capital that is added later takes no word back. Where words are written together, characters
    are compared.
    """
    said = told.said
    if said is None:
        return Missing(SHARED)
    if not any(one.text for one in said):
        return Missing("no text")
    shown = [(_words(one.utterance, told.rule.joiner), one.transcript.final) for one in said]
    return Measured(
        sum(
            not final and now[: len(before)] != before
            for (before, _), (now, final) in pairwise(shown)
        )
    )


def _words(text: str, joiner: str) -> list[str]:
    pieces = text.split() if joiner.strip() != joiner else list("".join(text.split()))
    words = (_bare(piece) for piece in pieces)
    return [word for word in words if word]


def _bare(word: str) -> str:
    """Without case, and without what is no letter or number at either end."""
    inside = [index for index, char in enumerate(word) if char.isalnum()]
    return word[inside[0] : inside[-1] + 1].casefold() if inside else ""
