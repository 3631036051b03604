"""What one stream hears: audio and forces in, partials and finals out. No threads, no sockets.

    samples ─> windows of 32 ms ─> detector ─ speech? ─> engine ─> text
                                      └─ not yet: the last 0.5 s are kept

The engine is asked only about audio in which the detector heard speech: shown silence, a model
invents words. Everything is counted in windows, so the texts do not depend on how the audio was
cut into messages.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from daemon.local.engines.shape import EngineStream, Samples
from daemon.local.protocol import RATE_HZ, Final, Partial
from measure.records import VoiceSettings
from vad.endpoint import EndpointDetector, window_samples
from vad.silero import StepModel, new_stream

WINDOW_SAMPLES = window_samples(RATE_HZ)
"""What the detector judges at once."""
WINDOW_MS = WINDOW_SAMPLES * 1000 // RATE_HZ


class Detector(Protocol):
    """Tells speech from silence; it remembers what it has heard of this one stream."""

    def probability(self, window: Samples) -> float:
        """How probable it is that there is speech in the next window, float32[512]."""


class Silero:
    """The project's own detector."""

    def __init__(self, model: StepModel) -> None:
        self._model = model
        self._state = new_stream(RATE_HZ)

    def probability(self, window: Samples) -> float:
        probability, self._state = self._model.step(window, self._state)
        return probability


@dataclass(frozen=True, slots=True)
class Ending:
    """A segment that lasts ``after_ms`` or longer ends by itself at a pause of ``pause_ms``."""

    after_ms: int
    pause_ms: int


@dataclass(frozen=True, slots=True)
class HearingSettings:
    """When a stream's segments begin and end, and how often partials are made."""

    endings: tuple[Ending, ...] = (Ending(after_ms=8_000, pause_ms=150),)
    """Where segments end by themselves; a model's cost grows with their length."""
    longest_ms: int = 24_000
    """A segment this long ends at once, wherever that is."""
    threshold: float = 0.5
    """A window at least this probable is speech."""
    pre_roll_ms: int = 500
    """How much of the audio before the first speech window belongs to the segment."""
    partials: bool = True
    partial_every_ns: int = 300_000_000
    """The shortest time from one partial, or the begin of speech, to the next."""
    partial_backoff: float = 1.5
    """Nor does the next one begin before this many times the cost of the last."""


@dataclass(slots=True)
class Segment:
    """What is being said, from the last final on."""

    number: int
    samples: int = 0
    """How many the engine was given: none before the first speech."""
    partial: str = ""
    """What the client was told of it so far."""
    news: bool = False
    """There was speech since the last partial."""
    partial_cost_ns: int = 0


class Hearing:
    """One stream of audio on its way through detector and engine.

    Everything may raise what the engine raises. ``now_ns`` is the clock by which partials are
    spaced; finals do not depend on it.
    """

    def __init__(
        self,
        stream: EngineStream,
        detector: Detector,
        settings: HearingSettings,
        now_ns: Callable[[], int],
    ) -> None:
        self._stream = stream
        self._detector = detector
        self._settings = settings
        self._now_ns = now_ns
        self._window = np.zeros(WINDOW_SAMPLES, np.float32)
        self._filled = 0
        self._settled = 0
        """How many samples of the unfinished window a force has taken already."""
        self._pre_roll: deque[Samples] = deque(maxlen=-(-settings.pre_roll_ms // WINDOW_MS))
        self._pauses = tuple(
            EndpointDetector(RATE_HZ, VoiceSettings(settings.threshold, ending.pause_ms))
            for ending in settings.endings
        )
        self._segment = Segment(0)
        self._partial_ns = 0
        """From when the time to the next partial counts."""

    def hear(self, samples: Samples) -> list[Final]:
        """Take the next audio, float32[any]. Gives the segments that ended in it by themselves."""
        finals = []
        while samples.size:
            taken = samples[: WINDOW_SAMPLES - self._filled]
            samples = samples[taken.size :]
            self._window[self._filled : self._filled + taken.size] = taken
            self._filled += taken.size
            if self._filled == WINDOW_SAMPLES:
                finals += self._judge()
        return finals

    def force(self) -> list[Final]:
        """Settle what was heard up to the last sample: always one final, also with no text."""
        self._take_unfinished_window()
        return self._cut(forced=True)

    def finish(self) -> list[Final]:
        """Settle what is left at the end of the stream."""
        self._take_unfinished_window()
        return self._cut(forced=False)

    @property
    def partial_due_ns(self) -> int | None:
        """From when on a partial is wanted; None while there is nothing new to tell."""
        if not (self._settings.partials and self._segment.news):
            return None
        backoff_ns = round(self._settings.partial_backoff * self._segment.partial_cost_ns)
        return self._partial_ns + max(self._settings.partial_every_ns, backoff_ns)

    def partial(self) -> list[Partial]:
        """What the segment sounds like so far; nothing where that has not changed."""
        segment, begun_ns = self._segment, self._now_ns()
        text = self._stream.partial()
        self._partial_ns = self._now_ns()
        segment.partial_cost_ns = self._partial_ns - begun_ns
        segment.news = False
        if not text or text == segment.partial:
            return []
        segment.partial = text
        return [Partial(segment.number, text)]

    def close(self) -> None:
        """Give back what the engine holds for this stream."""
        self._stream.close()

    def _judge(self) -> list[Final]:
        """Deal with a window that is complete."""
        probability = self._detector.probability(self._window)
        unsettled = self._window[self._settled :].copy()
        self._filled = self._settled = 0
        for pause in self._pauses:
            pause.push(probability)
        speech = probability >= self._settings.threshold
        if not (speech or self._segment.samples):
            self._pre_roll.append(unsettled)
            return []
        if not self._segment.samples:
            self._begin()
        self._segment.news |= speech
        self._feed(unsettled)
        return self._cut(forced=False) if self._ends_here() else []

    def _begin(self) -> None:
        """Speech was heard: what came just before it belongs to the segment."""
        self._partial_ns = self._now_ns()
        while self._pre_roll:
            self._feed(self._pre_roll.popleft())

    def _feed(self, samples: Samples) -> None:
        self._stream.feed(samples)
        self._segment.samples += samples.size

    def _take_unfinished_window(self) -> None:
        """Where there was speech, what came after it belongs to it up to the last sample."""
        if self._segment.samples and self._settled < self._filled:
            self._feed(self._window[self._settled : self._filled].copy())
            self._settled = self._filled

    def _ends_here(self) -> bool:
        """Whether the segment, in which there was speech, ends with this window by itself."""
        lasts_ms = self._segment.samples * 1000 / RATE_HZ
        return lasts_ms >= self._settings.longest_ms or any(
            lasts_ms >= ending.after_ms and not pause.speaking
            for ending, pause in zip(self._settings.endings, self._pauses, strict=True)
        )

    def _cut(self, *, forced: bool) -> list[Final]:
        """End the segment. Without text it is told only as an answer, or to take a partial back."""
        ended = self._segment
        text = self._stream.finish() if ended.samples else ""
        if not (forced or text or ended.partial):
            self._segment = Segment(ended.number)
            return []
        self._segment = Segment(ended.number + 1)
        return [Final(ended.number, text, forced)]
