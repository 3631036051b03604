"""The parts of a long recording put together again, before anything is normalised.

    "revenue grew twenty" + "five percent"  ->  "revenue grew twenty five percent" = 25 %

A part that was lost makes the call incomplete: what was said in it is nobody's error.

Method: METHOD.md section 6.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scoring.normalize import Normalizer
from scoring.weigh import Scored
from scoring.words import score

JOINER = " "
_NAMED = re.compile(r"(?s)(?P<call>.*) \(part (?P<number>[1-9]\d*) of (?P<parts>[1-9]\d*)\)")


class RejoinError(ValueError):
    """Parts that do not belong together; says which."""


@dataclass(frozen=True, slots=True)
class PartName:
    """Which part of which call a clip is; how its name says so."""

    call: str
    index: int
    """Counted from 0."""
    parts: int
    """How many the call has."""

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.parts:
            raise RejoinError(
                f"{self.call}: part {self.index + 1} of {self.parts}; "
                f"it must be one of 1 to {self.parts}"
            )

    def __str__(self) -> str:
        return f"{self.call} (part {self.index + 1} of {self.parts})"


def part_name(clip: str) -> PartName | None:
    """What a clip's name says of itself; None where it is no part. The call's name may be any."""
    found = _NAMED.fullmatch(clip)
    if found is None or int(found["number"]) > int(found["parts"]):
        return None
    return PartName(found["call"], int(found["number"]) - 1, int(found["parts"]))


@dataclass(frozen=True, slots=True)
class Part:
    """The transcript of one part."""

    index: int
    """Counted from 0, in the order in which they were said."""
    text: str | None
    """Empty where nothing was heard; None where the part was lost and nobody knows."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A call's transcript, or which of its parts are missing."""

    text: str | None
    """None where a part is missing."""
    missing: tuple[int, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.missing

    def __str__(self) -> str:
        if self.text is not None:
            return self.text
        numbers = ", ".join(str(index + 1) for index in self.missing)
        return f"incomplete: part {numbers} was lost"


@dataclass(frozen=True, slots=True)
class Call:
    """A recording that was sent in parts."""

    name: str
    reference: str
    """Of the whole."""
    audio_s: float
    """Of the whole, which is its weight."""
    parts: int


def joined(call: str, parts: int, heard: Iterable[Part]) -> Joined:
    """The raw texts in the order of their parts, one blank between; empty ones add nothing.

    Raises RejoinError for a part that is there twice or belongs to another call.
    """
    texts: dict[int, str | None] = {}
    for part in heard:
        if not 0 <= part.index < parts:
            raise RejoinError(f"{call}: part {part.index + 1}, but it has only {parts}")
        if part.index in texts:
            raise RejoinError(f"{call}: part {part.index + 1} is there twice")
        texts[part.index] = part.text
    missing = tuple(index for index in range(parts) if texts.get(index) is None)
    if missing:
        return Joined(None, missing)
    pieces = ((texts[index] or "").strip() for index in range(parts))
    return Joined(JOINER.join(piece for piece in pieces if piece))


def score_call(call: Call, heard: Iterable[Part], normalizer: Normalizer) -> Scored | None:
    """The call's errors against its whole reference; None where a part is missing.

    Raises RejoinError as ``joined`` does.
    """
    whole = joined(call.name, call.parts, heard)
    if whole.text is None:
        return None
    return Scored(score(call.reference, whole.text, normalizer), call.audio_s)
