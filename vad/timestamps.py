"""Where speech is in a recording that is there as a whole: Silero's ``get_speech_timestamps``.

Unlike the live detector it may look ahead: it drops speech that is too short, splits speech that
is too long, closes what is open at the end and keeps neighbours from overlapping. For people and
for cutting; a measurement never uses it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from vad.endpoint import HYSTERESIS, window_samples

LOWEST_SILENCE_THRESHOLD = 0.01
"""Silero's own: however low the threshold, a window below this is silence."""


@dataclass(frozen=True, slots=True)
class TimestampSettings:
    """How speech is told from silence, with Silero's own published defaults."""

    threshold: float = 0.5
    """A window at least this probable is speech."""
    neg_threshold: float | None = None
    """A window below it is silence; None: ``threshold - 0.15``, at least 0.01."""
    min_silence_ms: float = 100
    """How long it must be silent before speech has ended."""
    speech_pad_ms: float = 30
    """By how much speech is widened on either side."""
    min_speech_ms: float = 250
    """Speech that is no longer than this is dropped."""
    max_speech_s: float = math.inf
    """Speech that is longer than this is split."""
    min_silence_at_max_ms: float = 98
    """A silence longer than this is where it may be split."""
    longest_silence_at_max: bool = True
    """Split at the longest such silence; else at the last one."""


@dataclass(frozen=True, slots=True)
class Speech:
    """One stretch of speech, in samples; ``end_sample`` is the first that no longer belongs."""

    start_sample: int
    end_sample: int


def speech_timestamps(
    probabilities: Iterable[float],
    samples: int,
    rate_hz: int,
    settings: TimestampSettings = TimestampSettings(),
) -> tuple[Speech, ...]:
    """All speech in a recording of ``samples``, of which each window has its probability."""
    splitter = _Splitter(rate_hz, settings)
    for probability in probabilities:
        splitter.push(probability)
    found = splitter.finish(samples)
    return _widened(found, samples, rate_hz * settings.speech_pad_ms / 1000)


class _Splitter:
    """One pass over the windows; keeps stretches ``(start, end)`` before they are widened."""

    def __init__(self, rate_hz: int, settings: TimestampSettings) -> None:
        self._window = window_samples(rate_hz)
        self._threshold = settings.threshold
        self._silence_below = (
            max(settings.threshold - HYSTERESIS, LOWEST_SILENCE_THRESHOLD)
            if settings.neg_threshold is None
            else settings.neg_threshold
        )
        self._min_silence = rate_hz * settings.min_silence_ms / 1000
        self._min_speech = rate_hz * settings.min_speech_ms / 1000
        self._min_gap = rate_hz * settings.min_silence_at_max_ms / 1000
        pads = 2 * (rate_hz * settings.speech_pad_ms / 1000)
        self._max_speech = rate_hz * settings.max_speech_s - self._window - pads
        self._take_longest = settings.longest_silence_at_max
        self._found: list[tuple[int, int]] = []
        self._next = 0
        self._close()

    def _close(self) -> None:
        self._open_since(None)

    def _open_since(self, start: int | None) -> None:
        self._start = start
        self._silent_since: int | None = None
        self._longest_gap: tuple[int, int] | None = None
        self._last_gap: int | None = None
        """Where the last silence began at which speech may be split."""
        self._resumed: int | None = None
        """Where speech went on after it."""

    def push(self, probability: float) -> None:
        at = self._next
        self._next += self._window
        speech = probability >= self._threshold
        if speech:
            self._end_silence(at)
        if self._start is None:
            if speech:
                self._start = at
            return
        if at - self._start > self._max_speech and not self._split(at, self._start):
            return
        if probability < self._silence_below:
            self._hear_silence(at)

    def finish(self, samples: int) -> list[tuple[int, int]]:
        """All stretches, once the recording has ended."""
        if self._start is not None and samples - self._start > self._min_speech:
            self._found.append((self._start, samples))
        self._close()
        return self._found

    def _end_silence(self, at: int) -> None:
        if self._silent_since is None:
            return
        silence = at - self._silent_since
        longest = 0 if self._longest_gap is None else self._longest_gap[1] - self._longest_gap[0]
        if silence > self._min_gap and silence > longest:
            self._longest_gap = (self._silent_since, at)
        self._silent_since = None
        if self._last_gap is not None and self._resumed is None:
            self._resumed = at

    def _split(self, at: int, start: int) -> bool:
        """Cut speech that has become too long; whether this window still has to be judged."""
        if self._take_longest and self._longest_gap is not None:
            end, resumed = self._longest_gap
            self._found.append((start, end))
            self._open_since(resumed)
            return True
        if self._last_gap is not None:
            self._found.append((start, self._last_gap))
            self._open_since(self._resumed)
            return True
        self._found.append((start, at))
        self._close()
        return False

    def _hear_silence(self, at: int) -> None:
        if self._start is None:  # the split has just closed it
            return
        if self._silent_since is None:
            self._silent_since = at
        silence = at - self._silent_since
        if not self._take_longest and silence > self._min_gap:
            self._last_gap, self._resumed = self._silent_since, None
        if silence < self._min_silence:
            return
        if self._silent_since - self._start > self._min_speech:
            self._found.append((self._start, self._silent_since))
        self._close()


def _widened(found: list[tuple[int, int]], samples: int, pad: float) -> tuple[Speech, ...]:
    """Each stretch, wider by ``pad``; where there is no room, neighbours meet in the middle."""
    if not found:
        return ()
    starts = [int(max(0, found[0][0] - pad))]
    ends = []
    for (_, end), (start, _) in pairwise(found):
        gap = start - end
        close = gap < 2 * pad
        ends.append(end + gap // 2 if close else int(min(samples, end + pad)))
        starts.append(int(max(0, start - (gap // 2 if close else pad))))
    ends.append(int(min(samples, found[-1][1] + pad)))
    return tuple(map(Speech, starts, ends))
