"""Lets a person hear what is streamed, while it is measured.

    session ─┐
    session ─┼─ frames ─> one of them ─ at the loudspeaker's rate ─> loudspeaker, another process
    session ─┘

One stream is heard at a time: the first that began. When it has left, the next frame of any other
is heard, and then that stream. What is measured does not depend on any of this.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import trio

from daemon.sound import loudspeaker
from measure.events import Event, Xrun
from measure.records import Frame
from pacer.resample import LiveResampler

SETTLED_MS = 100.0
"""An underflow that is told before so much of a stream was handed over is the gap before it."""
LOOK_S = 0.1
XRUNS = {
    "underflow": "output_underflow",
    "overflow": "output_overflow",
    "dropped": "output_overflow",
}
"""What a loudspeaker tells, as it is named in events."""


class Speaker(Protocol):
    """Lets sound be heard."""

    @property
    def ended(self) -> str | None:
        """Why nothing is heard any more, in one line; None while it is."""

    def play(self, pcm: bytes) -> None:
        """Let s16le mono be heard. Never waits, never raises."""


class StreamMonitor:
    """Knows whose stream is heard, and tells that session what goes wrong with its sound."""

    def __init__(self, speaker: Speaker, rate_hz: int, now_ns: Callable[[], int]) -> None:
        """``speaker`` takes sound at ``rate_hz``."""
        self._speaker = speaker
        self._rate_hz = rate_hz
        self._now_ns = now_ns
        self._heard: _Heard | None = None

    def hear(
        self, session_id: str, frame: Frame, rate_hz: int, told: Callable[[Event], None]
    ) -> None:
        """The next frame of a session, which is heard if no other session is."""
        if self._heard is None:
            self._heard = _Heard(session_id, rate_hz, self._rate_hz, told)
        if self._heard.session_id == session_id and self._speaker.ended is None:
            self._speaker.play(self._heard.take(frame))

    def leave(self, session_id: str) -> None:
        """Nothing more comes of this session."""
        if self._heard is not None and self._heard.session_id == session_id:
            self._heard = None

    def note_xrun(self, what: str) -> None:
        """The loudspeaker had nothing in time, or too much."""
        heard = self._heard
        if heard is None or (what == "underflow" and heard.taken_ms <= SETTLED_MS):
            return
        heard.told(Xrun(self._now_ns(), XRUNS[what], heard.audio_ms))

    async def say_if_gone(self, say: Callable[[str], None]) -> None:
        """One line when the loudspeaker has disappeared; until then it waits."""
        while self._speaker.ended is None:  # noqa: ASYNC110  another process tells it
            await trio.sleep(LOOK_S)
        say(f"{self._speaker.ended}; measuring goes on unheard")


class _Heard:
    """The stream that is heard."""

    def __init__(
        self, session_id: str, rate_hz: int, wanted_hz: int, told: Callable[[Event], None]
    ) -> None:
        self.session_id = session_id
        self.told = told
        self.taken_ms = 0.0
        """How much of it there was to hear."""
        self.audio_ms = 0.0
        """How far its audio has come."""
        self._rate_hz = rate_hz
        self._resampler = None if rate_hz == wanted_hz else LiveResampler(rate_hz, wanted_hz)

    def take(self, frame: Frame) -> bytes:
        """The next frame, as the loudspeaker takes it."""
        self.audio_ms = frame.audio_ms
        self.taken_ms += len(frame.pcm) // 2 * 1000 / self._rate_hz
        return frame.pcm if self._resampler is None else self._resampler.resample(frame.pcm)


@asynccontextmanager
async def monitor_on(
    device: str | None, rate_hz: int, now_ns: Callable[[], int]
) -> AsyncIterator[StreamMonitor]:
    """A monitor on an output device, None: the default one. Raises UserError.

    ``rate_hz`` is best that of the streams: what has another rate is resampled in this process.
    """
    async with loudspeaker(device, rate_hz, lambda what, _: monitor.note_xrun(what)) as speaker:
        monitor = StreamMonitor(speaker, rate_hz, now_ns)
        yield monitor
