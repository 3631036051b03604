"""From probabilities to the start and the end of speech. Pure: no model, no audio, no clock.

The detector decides as Silero's ``VADIterator`` does, to the sample::

    speech   ······███████·█████████···············
                  start           end   |
                                  |<--->|  the silence waited for
                                        fired: only here it is known

So each edge has two places: where it is, and where it fired.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from measure.records import VoiceSettings

WINDOW_SAMPLES = {16_000: 512, 8_000: 256}
"""How much audio one probability speaks of, by sample rate in Hz: 32 ms at both."""
HYSTERESIS = 0.15
"""How far below the threshold a window must be to count as silence; fixed by Silero."""


def window_samples(rate_hz: int) -> int:
    """The size of one window. Raises ValueError at a rate for which there is no model."""
    if rate_hz not in WINDOW_SAMPLES:
        raise ValueError(f"voice activity is heard at 8000 or 16000 Hz, not at {rate_hz}")
    return WINDOW_SAMPLES[rate_hz]


class EdgeKind(StrEnum):
    """Which edge of speech."""

    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True)
class Edge:
    """Speech starts or ends at ``sample``, as was known once ``fired_at_sample`` had been heard."""

    kind: EdgeKind
    sample: int
    """Widened by the padding: a start lies before its first window, an end after its last."""
    fired_at_sample: int
    rate_hz: int
    at_eof: bool = False
    """The audio ended in speech; the end was declared there, not heard."""

    @property
    def audio_ms(self) -> float:
        """Its place in the audio."""
        return self.sample * 1000 / self.rate_hz

    @property
    def known_ms(self) -> float:
        """The place up to which a live detector must have heard the audio to know of it."""
        return self.fired_at_sample * 1000 / self.rate_hz


class EndpointDetector:
    """Tells one stream's probabilities, window after window, into edges of speech."""

    def __init__(self, rate_hz: int, settings: VoiceSettings) -> None:
        self._rate_hz = rate_hz
        self._window = window_samples(rate_hz)
        self._threshold = settings.threshold
        self._silence_below = settings.threshold - HYSTERESIS
        # Fractions of a sample are kept until an edge is reported, as Silero does.
        self._min_silence = rate_hz * settings.min_silence_ms / 1000
        self._pad = rate_hz * settings.speech_pad_ms / 1000
        self._heard = 0
        self._started_at: int | None = None
        self._silent_since: int | None = None

    @property
    def speaking(self) -> bool:
        """Speech has started and its end is not decided."""
        return self._started_at is not None

    def push(self, probability: float) -> Edge | None:
        """The edge that fires with the next window, if one does."""
        self._heard += self._window
        if probability >= self._threshold:
            self._silent_since = None
            return None if self.speaking else self._start()
        if probability < self._silence_below and self.speaking:
            return self._silence()
        return None  # in between nothing changes: silence already begun goes on

    def flush(self, samples: int) -> Edge | None:
        """The end of speech that runs into the end of the audio, after ``samples`` of it."""
        if self._started_at is None:
            return None
        # Speech may have been found only in a last window that silence had to complete.
        fired_at = max(samples, self._started_at)
        self._started_at = self._silent_since = None
        return Edge(EdgeKind.END, samples, fired_at, self._rate_hz, at_eof=True)

    def _start(self) -> Edge:
        self._started_at = self._heard
        sample = int(max(0, self._heard - self._pad - self._window))
        return Edge(EdgeKind.START, sample, self._heard, self._rate_hz)

    def _silence(self) -> Edge | None:
        if self._silent_since is None:
            self._silent_since = self._heard  # the end of the first silent window, as Silero counts
        if self._heard - self._silent_since < self._min_silence:
            return None
        sample = int(self._silent_since + self._pad - self._window)
        self._started_at = self._silent_since = None
        return Edge(EdgeKind.END, sample, self._heard, self._rate_hz)


def edges(detector: EndpointDetector, probabilities: Iterable[float]) -> Iterator[Edge]:
    """What ``detector`` makes of ``probabilities``, in order."""
    for probability in probabilities:
        edge = detector.push(probability)
        if edge is not None:
            yield edge
