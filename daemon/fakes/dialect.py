"""How one provider hears and speaks: the shape that the protocol part of every fake has."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from providers.codec import Message


@dataclass(frozen=True, slots=True)
class Audio:
    """The next samples, 16-bit little-endian mono."""

    pcm: bytes


@dataclass(frozen=True, slots=True)
class Force:
    """Make final what was heard."""


@dataclass(frozen=True, slots=True)
class Finish:
    """No more audio; say what is left and close."""


@dataclass(frozen=True, slots=True)
class Alive:
    """Something that only says that the other side is there."""


ALIVE = Alive()


@dataclass(frozen=True, slots=True)
class Wrong:
    """What the provider does not put up with: it closes, with this code and reason."""

    code: int
    reason: str


Order = Audio | Force | Finish | Alive | Wrong


@dataclass(frozen=True, slots=True)
class Reply:
    """Something that is answered at once, and what it means besides."""

    messages: tuple[Message, ...]
    order: Order = ALIVE


class Dialect(Protocol):
    """How one provider hears and speaks on one stream: messages only, no time, no socket."""

    rate_hz: int
    forces: bool
    """It has a force; where not, the faults of a final befall the finals in the script's lines."""
    idle_s: float | None
    """How long it waits for audio or a sign of life."""
    subprotocol: str | None

    def greeting(self) -> Iterable[Message] | Wrong:
        """What it says first, or why it goes on no further."""

    def heard(self, message: Message) -> Order | Reply:
        """What one message means to it."""

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        """One transcript, in as many messages as it takes; none where it was not asked for."""

    def speech(self, *, starts: bool, audio_ms: float) -> Iterable[Message]:
        """That speech starts or ends here; nothing where that was not asked for."""

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        """What it says when it is told to finish."""

    def idle(self) -> Wrong:
        """How it closes when nothing has come for ``idle_s``."""
