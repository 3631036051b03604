"""How long after it was spoken each word was shown, where a provider says when it was spoken."""

from collections.abc import Iterator
from statistics import median_low

from measure.definitions.retelling import Replayed
from measure.definitions.value import SHARED, Measured, Missing, Value
from measure.words import Word, Words

NO_WORD_TIMES = "this provider gives no word times that can be read here"

Shown = dict[str, list[tuple[int, Word]]]
"""By a word's text without case: each showing of it, the earliest first."""


def word_emission(told: Replayed) -> Value:
    """The median word's time from its last sound leaving this host to its being shown.

    A word is one that a final settled; it was shown with the first message, partial or final, that
    has it at its place. Where its last sound stands is the provider's own word.
    """
    if told.read_words is None:
        return Missing(NO_WORD_TIMES if told.transcripts is not None else SHARED)
    read = ((message.at_ns, told.read_words(message.raw)) for message in told.messages)
    messages = [(at_ns, words) for at_ns, words in read if words is not None]
    emitted_ns = list(_emitted_ns(told, messages))
    return Measured(median_low(emitted_ns)) if emitted_ns else Missing("no final with word times")


def _emitted_ns(told: Replayed, messages: list[tuple[int, Words]]) -> Iterator[int]:
    shown: Shown = {}
    for at_ns, said in messages:
        for word in said.words:
            shown.setdefault(word.text.casefold(), []).append((at_ns, word))
            spoken_ns = told.sent_ns(word.end_ms) if said.final else None
            if spoken_ns is not None:
                yield _first_shown_ns(word, shown) - spoken_ns


def _first_shown_ns(word: Word, shown: Shown) -> int:
    """The earliest showing of this word at this place; the final itself is one of them."""
    same = shown[word.text.casefold()]
    return next(at_ns for at_ns, other in same if other is word or other.overlaps(word))
