"""When a force may be said: what a provider needs around it, as a pure decision.

    endpoint ─ (too soon after the last one? wait) ─ zero ─ (silence it needs first) ─ message

Silence before the message is part of how this provider is forced, so the watch runs from before it.
"""

from dataclasses import dataclass

from measure.records import SECOND
from providers.facts import Forcing


@dataclass(slots=True)
class Forcer:
    """The forces of one stream. ``audio_ms`` is always how much audio has been sent."""

    forcing: Forcing
    count: int = 0
    due_ns: int | None = None
    """When the force became due that has not been begun."""
    waited: bool = False
    """It became due too soon after the last one."""
    said_at_ms: float | None = None
    """How much audio had been sent when the last force was said."""
    _said_ns: int | None = None
    _say_at_ms: float | None = None

    def may_begin(self, now_ns: int, due_ns: int) -> bool:
        """A force is due: whether it may begin, or has to wait for the gap to the last one."""
        if self.due_ns is None:
            self.due_ns = due_ns
        gap_ns = round(self.forcing.min_gap_s * SECOND)
        early = self._said_ns is not None and now_ns - self._said_ns < gap_ns
        self.waited = self.waited or early
        return not early

    def begin(self, audio_ms: float) -> float:
        """It begins: at how much audio its message is to be said, after silence where need be."""
        since_ms = audio_ms - (self.said_at_ms or 0.0)
        lacking_ms = self.forcing.min_buffered_ms - since_ms
        self._say_at_ms = audio_ms + max(self.forcing.silence_before_ms, lacking_ms, 0.0)
        return self._say_at_ms

    def owes(self, audio_ms: float) -> bool:
        """It has begun, and with so much audio its message is due."""
        return self._say_at_ms is not None and audio_ms >= self._say_at_ms

    @property
    def begun(self) -> bool:
        """It has begun, and its message has not been said."""
        return self._say_at_ms is not None

    def said(self, audio_ms: float, now_ns: int) -> None:
        """Its message has been said."""
        self.count += 1
        self.said_at_ms, self._said_ns = audio_ms, now_ns
        self._say_at_ms = self.due_ns = None
        self.waited = False

    def wants_silence(self, audio_ms: float) -> bool:
        """So much silence as this provider is to have behind a force has not been sent yet."""
        enough_ms = self.forcing.silence_after_ms
        if enough_ms is None or self.said_at_ms is None:
            return True
        return audio_ms - self.said_at_ms < enough_ms
