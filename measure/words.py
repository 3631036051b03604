"""Words with their places in the audio, as some providers give them beside their transcripts."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """One word and where it stands in the audio that was sent."""

    text: str
    start_ms: float
    end_ms: float

    def overlaps(self, other: "Word") -> bool:
        """They stand at the same place, though an edge may have moved."""
        return self.start_ms < other.end_ms and other.start_ms < self.end_ms


@dataclass(frozen=True, slots=True)
class Words:
    """What one message says with times."""

    words: tuple[Word, ...]
    final: bool


ReadWords = Callable[[str | bytes], Words | None]
"""Reads one message of a provider; None where it says no words with times. Never raises."""
