"""What a definition gives for one session: a value, or why there is none."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from measure.definitions.retelling import Replayed
from measure.records import OUR_FAULT


class Unit(StrEnum):
    """What a value counts."""

    NANOSECONDS = "ns"
    TIMES = "times"


@dataclass(frozen=True, slots=True)
class Measured:
    """A value, signed as it came out."""

    value: int
    from_ns: int | None = None
    """Of a duration: the moment at which it begins."""
    to_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no value; ``reason`` says why in a few words, the same for all such sessions."""

    reason: str


Value = Measured | Missing


@dataclass(frozen=True, slots=True)
class Definition:
    """One way of making a number from what happened."""

    says: str
    """In one sentence, for people."""
    unit: Unit
    rule: Callable[[Replayed], Value]
    published_from: int | None = None
    """A smaller value is published as this one and counted apart; None: as it is."""

    def of(self, told: Replayed) -> Value:
        """Its value for one session. What was our own fault has none under any definition."""
        if told.reading.verdict in OUR_FAULT:
            return Missing(told.reading.verdict.value)
        return self.rule(told)


SHARED = "several turns in one stream"
"""Why there is none where it cannot be said which turn a transcript belongs to."""


def between(from_ns: int | None, to_ns: int | None, no_start: str, no_end: str) -> Value:
    """The time from one moment to another, or which of them there was not."""
    if from_ns is None:
        return Missing(no_start)
    if to_ns is None:
        return Missing(no_end)
    return Measured(to_ns - from_ns, from_ns, to_ns)
