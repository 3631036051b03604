"""A small buffer between somebody who pushes audio and a sound card that pulls it.

Their clocks differ, and the pushes come a little early or late. It waits until ``TARGET_MS`` are
there, then gives what it is asked for. Where it runs dry it gives silence and waits again; where
too much has come it lets go of the oldest. No clock, no device; any two threads.
"""

import threading

SAMPLE_BYTES = 2
TARGET_MS = 60
"""So much is kept; a push may be so late before it is heard."""
MOST_MS = 200
"""More than this is cut back to the target."""
PAUSE_MS = 500
"""Who pushes nothing for so long had nothing to say: no fault of anybody."""


class Jitter:
    """s16le mono in, s16le mono out."""

    def __init__(self, rate_hz: int) -> None:
        self.underflows = 0
        """How often a piece came too late, and silence was heard within the sound."""
        self.overflows = 0
        """How often the oldest was let go of."""
        self._target = rate_hz * TARGET_MS // 1000 * SAMPLE_BYTES
        self._most = rate_hz * MOST_MS // 1000 * SAMPLE_BYTES
        self._pause = rate_hz * PAUSE_MS // 1000 * SAMPLE_BYTES
        self._held = bytearray()
        self._filling = True
        self._silence: int | None = None
        """How many bytes of silence were given since it ran dry; None: it has not."""
        self._lock = threading.Lock()  # held for microseconds: the card does not wait for a push

    @property
    def is_empty(self) -> bool:
        """All that was pushed has been pulled."""
        return not self._held

    def push(self, pcm: bytes) -> None:
        """Put more behind what is there."""
        with self._lock:
            if self._silence is not None and self._silence < self._pause:
                self.underflows += 1
            self._silence = None
            self._held += pcm
            if len(self._held) > self._most:
                del self._held[: len(self._held) - self._target]
                self.overflows += 1
            if len(self._held) >= self._target:
                self._filling = False

    def finish(self) -> None:
        """Nothing will follow: give what is there without waiting for more."""
        self._filling = False

    def pull(self, size: int) -> bytes:
        """Exactly so many bytes, silence where there is nothing."""
        with self._lock:
            if self._filling:
                self._count_silence(size)
                return bytes(size)
            pcm = bytes(self._held[:size])
            del self._held[:size]
            if len(pcm) < size:
                self._filling = True
                self._silence = size - len(pcm)
            return pcm.ljust(size, b"\0")

    def _count_silence(self, size: int) -> None:
        if self._silence is not None:
            self._silence += size
