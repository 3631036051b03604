"""What a normaliser gives: tokens that know where they came from and what else they may stand for.

"$71.50" ─> Token("71.50", 0, 6), Token("dollars", 0, 6, readings={"dollar", "dollars"})
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

NO_READINGS: frozenset[str] = frozenset()


class Kind(StrEnum):
    """What a token is made of; the rules ask for it."""

    WORD = "word"
    LETTERS = "letters"
    """Letters that are said one by one: a spelled name, an acronym."""
    NUMBER = "number"
    ORDINAL = "ordinal"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """One word as it is counted, with its place in the text that was given."""

    text: str
    """The canonical form."""
    start: int
    end: int
    """Where it stands in the original text, as a slice."""
    raw: str = ""
    """How it was written there, case kept."""
    gap: str = " "
    """What stood between it and the token before it: "" for none, else space and marks."""
    kind: Kind = Kind.WORD
    readings: frozenset[str] = NO_READINGS
    """Other forms that it may just as well stand for; one of several words has spaces inside."""
    flags: frozenset[str] = NO_READINGS
    """What a later rule must know: "spelled", "grouped", "written", ..."""
    rules: tuple[str, ...] = field(default=(), compare=False)
    """The families that made it what it is, in order."""

    def matches(self, other: "Token") -> bool:
        """One of the readings of each is the same. Not transitive, and must not be."""
        if self.text == other.text or other.text in self.readings or self.text in other.readings:
            return True
        return bool(self.readings) and not self.readings.isdisjoint(other.readings)


@dataclass(frozen=True, slots=True)
class Same:
    """Some tokens of the one text that say the same as some of the other, by ``rule``."""

    reference: int
    reference_words: int
    hypothesis: int
    hypothesis_words: int
    rule: str


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of both texts in which they differ, as two slices."""

    reference_start: int
    reference_stop: int
    hypothesis_start: int
    hypothesis_stop: int


class Normalizer(Protocol):
    """A way to say what counts as the same word."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def data_sha256(self) -> str:
        """Of the tables that it reads and the settings it was given; empty where there are none."""

    @property
    def signature(self) -> str:
        """Name, version and the beginning of the hash: "speechbench 1 a1b2c3"."""

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The words of one text. Never raises, whatever the text holds."""

    def same(
        self, reference: Sequence[Token], hypothesis: Sequence[Token], region: Region
    ) -> Iterable[Same]:
        """What is the same within the region though its words are divided differently."""

    def with_aliases(self, groups: Iterable[Sequence[str]]) -> "Normalizer":
        """The same normaliser that also takes the spellings within each group for one."""
