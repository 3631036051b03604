"""An open stream of a sound card: what was opened, and whether the device is still there."""

import time
from dataclasses import dataclass
from typing import Any

from pacer.jitter import Jitter
from pacer.resample import LiveResampler
from pacer.sound_device import SoundError

BLOCKS_PER_S = 50
LOOK_NS = 100_000_000
SILENT_LOOKS = 10
"""A device that was not heard of in so many looks is gone. Looks, because after a stop of the whole
host the clock alone would say so of every device."""
START_LOOKS = 50
"""Its first block may take longer."""
MAX_AHEAD_S = 5
"""What delivers so much more sound than time has passed is no microphone."""

Foreign = Any
"""What sounddevice makes: it has no types."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What was really opened."""

    device: str
    rate_hz: int
    channels: int
    latency_ms: float
    """As the driver claims: from the air to the block, or from ``play`` to the air."""


class Pulse:
    """That PortAudio still calls us."""

    def __init__(self) -> None:
        self.beats = 0
        self.finished = False
        """It says that it will call no more."""

    def finish(self) -> None:
        """Called by PortAudio."""
        self.finished = True


class DeviceStream:
    """An open stream of PortAudio, either way."""

    def __init__(self, what: str, opened: Opened, stream: Foreign, pulse: Pulse) -> None:
        self.opened = opened
        self._what = what
        self._stream = stream
        self._pulse = pulse
        self._seen = 0
        self._looks = 0
        self.started_ns = self._looked_ns = 0

    def start(self) -> None:
        """Let it run. Raises SoundError."""
        self.started_ns = self._looked_ns = time.monotonic_ns()
        try:
            self._stream.start()
        except Exception as error:  # its own, or whatever a driver throws
            raise SoundError(f"the {self._what} does not start: {reason_of(error)}") from error

    def why_ended(self, now_ns: int) -> str | None:
        """One line where the device is gone; None while it lives. To be asked often."""
        if self._pulse.finished:
            return f"the {self._what} has disappeared: its stream has ended"
        if now_ns - self._looked_ns < LOOK_NS:
            return None
        self._looked_ns = now_ns
        return self._runs_ahead(now_ns) or self._fell_silent()

    def _fell_silent(self) -> str | None:
        self._looks = 0 if self._pulse.beats != self._seen else self._looks + 1
        self._seen = self._pulse.beats
        most = SILENT_LOOKS if self._seen else START_LOOKS
        if self._looks < most:
            return None
        what_happened = "has disappeared:" if self._seen else "was opened, but"
        silent_s = most * LOOK_NS / 1e9
        return f"the {self._what} {what_happened} nothing came from it for {silent_s:g} s"

    def _runs_ahead(self, now_ns: int) -> str | None:
        ahead_s = self._pulse.beats / BLOCKS_PER_S - (now_ns - self.started_ns) / 1e9
        if ahead_s < MAX_AHEAD_S:
            return None
        return f"the {self._what} is no sound card: it runs faster than time"


class DeviceSpeaker(DeviceStream):
    """An open loudspeaker."""

    def __init__(
        self,
        what: str,
        opened: Opened,
        stream: Foreign,
        pulse: Pulse,
        jitter: Jitter,
        rate_hz: int,
    ) -> None:
        super().__init__(what, opened, stream, pulse)
        self.jitter = jitter
        self._resampler = None
        if opened.rate_hz != rate_hz:
            self._resampler = LiveResampler(rate_hz, opened.rate_hz)

    def play(self, pcm: bytes) -> None:
        """Put s16le mono behind what is to be heard."""
        if self._resampler is not None:
            pcm = self._resampler.resample(pcm)
        self.jitter.push(pcm)


def reason_of(error: Exception) -> str:
    """The host's own words where it has any."""
    if len(error.args) > 2 and error.args[2][2]:
        return str(error.args[2][2])
    return str(error.args[0]).rpartition(": ")[2] if error.args else type(error).__name__
