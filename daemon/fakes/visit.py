"""What happened on one connection to a fake, each message with the moment it came or went."""

from collections.abc import Callable
from dataclasses import dataclass, field

from daemon.clock import now_ns
from providers.codec import HttpRequest

MESSAGES = ("text", "binary")


@dataclass(frozen=True, slots=True)
class Stamped:
    """Something that came or went at ``at_ns``."""

    at_ns: int
    kind: str
    """text, binary, ping, pong, close, end; for a request its method, for its answer http."""
    payload: bytes = field(default=b"", repr=False)

    @property
    def text(self) -> str:
        return self.payload.decode()


Tell = Callable[["Visit", str, Stamped], None]
"""Is told of all that is heard and said, as it happens: on which visit, which of both, what."""


class Visit:
    """What happened on one connection, each with its moment. It only grows."""

    def __init__(self, number: int = 1, tell: Tell | None = None, *, keeps: bool = True) -> None:
        """``keeps``: all of it; else only counts, and what was heard last."""
        self.number = number
        self.connected_ns = now_ns()
        self.requests: list[HttpRequest] = []
        self.heard: list[Stamped] = []
        """What the other side sent."""
        self.said: list[Stamped] = []
        """What the fake sent; stamped once the stream has taken it."""
        self.audio = bytearray()
        """All samples that came, in whatever wrapping."""
        self.audio_bytes = 0
        self.messages_heard = 0
        self.messages_said = 0
        self.closes: list[tuple[str, bytes]] = []
        """Every Close: heard or said, and what was in it."""
        self._tell = tell
        self._keeps = keeps

    def hear(self, kind: str, payload: bytes = b"") -> None:
        stamped = Stamped(now_ns(), kind, payload)
        self.messages_heard += kind in MESSAGES
        self._note(self.heard, "heard", stamped)

    def hear_audio(self, pcm: bytes) -> None:
        """The samples in the message that was heard last."""
        self.audio_bytes += len(pcm)
        if self._keeps:
            self.audio += pcm

    def end(self) -> None:
        """The connection is over, in order or not, whoever ended it."""
        if not self.heard or self.heard[-1].kind != "end":
            self.hear("end")

    def say(self, kind: str, payload: bytes = b"") -> None:
        self.messages_said += kind in MESSAGES
        self._note(self.said, "said", Stamped(now_ns(), kind, payload))

    def _note(self, kept: list[Stamped], side: str, stamped: Stamped) -> None:
        if stamped.kind == "close":
            self.closes.append((side, stamped.payload))
        if not self._keeps:
            kept.clear()
        kept.append(stamped)
        if self._tell is not None:
            self._tell(self, side, stamped)
