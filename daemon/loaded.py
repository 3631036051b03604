"""Recordings in memory, as they come from files and corpora before they are surveyed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from measure.records import AudioClip

if TYPE_CHECKING:  # only parts of calls have one
    from scoring.rejoin import Call

HEARD_RATE_HZ = 16_000
"""The rate at which the detector hears every clip."""

AtRate = dict[int, AudioClip]
"""One recording at every rate that is needed."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One recording, in memory."""

    at_rate: AtRate
    call: "Call | None" = None
    """The recording that it is a part of; its reference is there."""
