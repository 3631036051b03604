"""Word errors of one text against another: counted, added, and shown word by word.

    the cat sat on the     mat
        cat is  on the big mat      1 deletion, 1 substitution, 1 insertion: 3 / 6

The number of words is the reference's alone. The error count is the same in both directions:
the two texts are always aligned in one order, so that swapping them only swaps the names of
deletions and insertions.

Method: METHOD.md section 5.
"""

from dataclasses import dataclass
from enum import StrEnum

from scoring.alignment import Step, aligned
from scoring.normalize.shape import Normalizer, Token


@dataclass(frozen=True, slots=True)
class WordErrors:
    """Counts that add up; a rate is only ever made of sums."""

    reference_words: int = 0
    substitutions: int = 0
    insertions: int = 0
    deletions: int = 0

    def __add__(self, other: "WordErrors") -> "WordErrors":
        return WordErrors(
            self.reference_words + other.reference_words,
            self.substitutions + other.substitutions,
            self.insertions + other.insertions,
            self.deletions + other.deletions,
        )

    @property
    def errors(self) -> int:
        return self.substitutions + self.insertions + self.deletions

    @property
    def rate(self) -> float | None:
        """The word error rate; None where the reference has no words: undefined, not 0."""
        return self.errors / self.reference_words if self.reference_words else None


class Outcome(StrEnum):
    """What became of some words of the reference."""

    EQUAL = "equal"
    SUBSTITUTED = "substituted"
    DELETED = "deleted"
    INSERTED = "inserted"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an alignment: what the reference has and what the hypothesis has for it."""

    outcome: Outcome
    reference: tuple[Token, ...]
    hypothesis: tuple[Token, ...]
    rule: str | None = None
    """Which pair rule or reading made them equal, where their texts are not."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two texts side by side."""

    reference: str
    hypothesis: str
    rows: tuple[Row, ...]

    @property
    def errors(self) -> WordErrors:
        """The counts."""
        tally = dict.fromkeys(Outcome, 0)
        for row in self.rows:
            tally[row.outcome] += 1
        return WordErrors(
            sum(len(row.reference) for row in self.rows),
            tally[Outcome.SUBSTITUTED],
            tally[Outcome.INSERTED],
            tally[Outcome.DELETED],
        )


def score(reference: str, hypothesis: str, normalizer: Normalizer) -> WordErrors:
    """The errors in the hypothesis, counted in words of the normalised texts."""
    return align(reference, hypothesis, normalizer).errors


def align(reference: str, hypothesis: str, normalizer: Normalizer) -> Alignment:
    """The two texts word by word, with the fewest errors."""
    ours, theirs = normalizer.tokens(reference), normalizer.tokens(hypothesis)
    swapped = [token.text for token in theirs] < [token.text for token in ours]
    first, second = (theirs, ours) if swapped else (ours, theirs)
    rows = []
    for step in aligned(first, second, normalizer):
        row = _row(step, first, second)
        rows.append(_turned(row) if swapped else row)
    return Alignment(reference, hypothesis, tuple(rows))


def _row(step: Step, first: tuple[Token, ...], second: tuple[Token, ...]) -> Row:
    left = first[step.first : step.first + step.first_words]
    right = second[step.second : step.second + step.second_words]
    if step.equal:
        return Row(Outcome.EQUAL, left, right, step.rule)
    if left and right:
        return Row(Outcome.SUBSTITUTED, left, right)
    return Row(Outcome.DELETED if left else Outcome.INSERTED, left, right)


def _turned(row: Row) -> Row:
    swap = {Outcome.DELETED: Outcome.INSERTED, Outcome.INSERTED: Outcome.DELETED}
    return Row(swap.get(row.outcome, row.outcome), row.hypothesis, row.reference, row.rule)
