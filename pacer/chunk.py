"""Frames of 20 ms put together to the piece of audio that a provider wants to be sent."""

from measure.records import Frame

STEP_MS = 20
"""How much audio a frame holds, the last one of a clip excepted."""


class Chunker:
    """Collects frames and gives a chunk when its last 20 ms have come."""

    def __init__(
        self,
        *,
        rate_hz: int,
        chunk_ms: int,
        min_chunk_ms: int = 0,
        max_chunk_ms: int | None = None,
    ) -> None:
        """``chunk_ms`` is rounded up to whole frames, but never beyond ``max_chunk_ms``."""
        most = -(-chunk_ms // STEP_MS) if max_chunk_ms is None else max_chunk_ms // STEP_MS
        self._frames_in_one = max(1, min(-(-chunk_ms // STEP_MS), most))
        self._rate_hz = rate_hz
        self._min_bytes = min_chunk_ms * rate_hz // 1000 * 2
        self._waiting: list[Frame] = []

    def add(self, frame: Frame) -> Frame | None:
        """The chunk that ``frame`` completes, if it does.

        Frames are counted, not their bytes: the short last frame of a clip must not wait for more.
        """
        self._waiting.append(frame)
        return self.flush() if len(self._waiting) >= self._frames_in_one else None

    def flush(self) -> Frame | None:
        """What has come so far, at once; filled up with silence to the provider's minimum.

        The silence is no part of the clip: the chunk's place is that of its last frame.
        """
        if not self._waiting:
            return None
        last = self._waiting[-1]
        pcm = b"".join(frame.pcm for frame in self._waiting)
        padding = all(frame.padding for frame in self._waiting)
        self._waiting = []
        filled = pcm.ljust(self._min_bytes, b"\0")
        filled_ms = (len(filled) - len(pcm)) // 2 * 1000 / self._rate_hz
        return Frame(last.index, filled, last.audio_ms, padding, filled_ms)
