"""What many pairs of texts have in common: their errors in sum, and which words they are.

A reference without words has no rate; it is counted apart, and so are the words said instead.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scoring.normalize import Normalizer
from scoring.normalize.speechbench import STAGES, SpeechbenchNormalizer
from scoring.words import Alignment, Outcome, Row, WordErrors, align, score

NOTHING = ""
"""Stands for the word that is not there: ("the", NOTHING) is a deletion."""
Confusion = tuple[str, str]
"""A word of the reference and what was said to be there instead."""


@dataclass(frozen=True, slots=True)
class TextPair:
    """A reference and a hypothesis of the same recording."""

    name: str | int
    reference: str
    hypothesis: str
    aliases: tuple[tuple[str, ...], ...] = ()
    """Spellings that are taken for one name in this pair."""


@dataclass(slots=True)
class Tally:
    """The sum of many alignments."""

    errors: WordErrors = field(default_factory=WordErrors)
    pairs: int = 0
    without_reference: int = 0
    """Pairs whose reference has no words: they are part of no rate."""
    words_without_reference: int = 0
    """Words inserted in those."""
    confusions: Counter[Confusion] = field(default_factory=Counter)

    def add(self, alignment: Alignment) -> None:
        """Take in one more pair."""
        errors = alignment.errors
        self.pairs += 1
        if not errors.reference_words:
            self.without_reference += 1
            self.words_without_reference += errors.insertions
            return
        self.errors += errors
        self.confusions.update(confusions(alignment.rows))


def confusions(rows: Iterable[Row]) -> list[Confusion]:
    """Every error of an alignment as the words that were taken for one another."""
    return [(_said(row, 0), _said(row, 1)) for row in rows if row.outcome is not Outcome.EQUAL]


def _said(row: Row, side: int) -> str:
    tokens = row.hypothesis if side else row.reference
    return tokens[0].text if tokens else NOTHING


class Scorer:
    """One normaliser, and the same one with each list of aliases that was asked for."""

    def __init__(self, normalizer: Normalizer) -> None:
        self._plain = normalizer
        self._with_aliases: dict[tuple[tuple[str, ...], ...], Normalizer] = {}

    def normalizer(self, pair: TextPair) -> Normalizer:
        """The normaliser for one pair."""
        if not pair.aliases:
            return self._plain
        if pair.aliases not in self._with_aliases:
            self._with_aliases[pair.aliases] = self._plain.with_aliases(pair.aliases)
        return self._with_aliases[pair.aliases]

    def align(self, pair: TextPair) -> Alignment:
        """Its two texts, word by word."""
        return align(pair.reference, pair.hypothesis, self.normalizer(pair))

    def score(self, pair: TextPair) -> WordErrors:
        """Its errors."""
        return score(pair.reference, pair.hypothesis, self.normalizer(pair))


def total(pairs: Iterable[TextPair], normalizer: Normalizer) -> WordErrors:
    """The errors of many pairs in sum; those without reference words left out."""
    scorer = Scorer(normalizer)
    found = (scorer.score(pair) for pair in pairs)
    return sum((errors for errors in found if errors.reference_words), WordErrors())


def effects(
    pairs: Sequence[TextPair], normalizer: SpeechbenchNormalizer, stages: Sequence[str] = STAGES
) -> Mapping[str, int]:
    """How many errors more there would be without each stage; below 0 where it does harm."""
    now = total(pairs, normalizer).errors
    return {s: total(pairs, normalizer.without(s)).errors - now for s in stages}
