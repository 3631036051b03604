"""An engine and a detector that can be foretold: a loud sample value is a word, its name "w12"."""

from collections.abc import Callable

import numpy as np

from daemon.local.engines.shape import EngineError, EngineStream, Samples
from daemon.local.protocol import RATE_HZ

STEP = 500
"""What a word's number is multiplied with to give its sample value."""
QUIET = 3
"""Words up to this one are heard as silence, and not understood either."""
MS = RATE_HZ // 1000


def pcm(*pieces: tuple[int, float]) -> bytes:
    """Words and how long each is held, in ms; word 0 is silence."""
    return b"".join(np.full(round(ms * MS), word * STEP, "<i2").tobytes() for word, ms in pieces)


def samples(*pieces: tuple[int, float]) -> Samples:
    """The same as the engine and the detector get it."""
    return np.frombuffer(pcm(*pieces), "<i2").astype(np.float32) / np.float32(32768)


def words(heard: Samples) -> list[str]:
    """What is said in ``heard``: each change to another loud value is a word."""
    values = np.rint(heard * 32768 / STEP).astype(int)
    changes = np.flatnonzero(np.diff(values, prepend=-1))
    return [f"w{value}" for value in values[changes] if value > QUIET]


class LoudIsSpeech:
    """Silence, speech, or (word 3) something in between."""

    def probability(self, window: Samples) -> float:
        loudest = np.rint(np.abs(window).max() * 32768 / STEP)
        return 1.0 if loudest > QUIET else 0.4 if loudest == QUIET else 0.0


class ScriptedStream:
    """Writes down what it is fed."""

    def __init__(self, understand: Callable[[Samples], str]) -> None:
        self._understand = understand
        self.fed: list[Samples] = []
        """Of the segment that is open."""
        self.settled: list[Samples] = []
        """Every segment that was finished."""
        self.asked = 0
        """How many partials were wanted."""
        self.closed = False

    def feed(self, samples: Samples) -> None:
        self.fed.append(samples)

    def partial(self) -> str:
        self.asked += 1
        return self._understand(np.concatenate(self.fed))

    def finish(self) -> str:
        segment = np.concatenate(self.fed)
        self.fed = []
        self.settled.append(segment)
        return self._understand(segment)

    def close(self) -> None:
        self.closed = True


def spoken(segment: Samples) -> str:
    """The words of a segment."""
    return " ".join(words(segment))


class ScriptedEngine:
    """Understands every stream by the same rule."""

    model = "scripted"

    def __init__(self, understand: Callable[[Samples], str] = spoken) -> None:
        self._understand = understand
        self.streams: list[ScriptedStream] = []
        self.closed = False

    def open_stream(self) -> EngineStream:
        self.streams.append(ScriptedStream(self._understand))
        return self.streams[-1]

    def close(self) -> None:
        self.closed = True


def fails_at(word: str) -> Callable[[Samples], str]:
    """A rule that understands all but one word, at which the engine fails."""

    def understand(segment: Samples) -> str:
        if word in words(segment):
            raise EngineError(f"cannot hear {word}")
        return spoken(segment)

    return understand
