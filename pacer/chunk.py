"""Frames of 20 ms put together to the piece of audio that a provider wants to be sent."""

from measure.records import Frame


class Chunker:
    """Collects frames and gives a chunk when its last 20 ms have come."""

    def __init__(self, *, rate_hz: int, chunk_ms: int, min_chunk_ms: int = 0) -> None:
        self._rate_hz = rate_hz
        self._chunk_bytes = _bytes(chunk_ms, rate_hz)
        self._min_bytes = _bytes(min_chunk_ms, rate_hz)
        self._waiting: list[Frame] = []
        self._waiting_bytes = 0

    def add(self, frame: Frame) -> Frame | None:
        """The chunk that ``frame`` completes, if it does."""
        self._waiting.append(frame)
        self._waiting_bytes += len(frame.pcm)
        return self.flush() if self._waiting_bytes >= self._chunk_bytes else None

    def flush(self) -> Frame | None:
        """What has come so far, at once; filled up with silence to the provider's minimum.

        The silence is no part of the clip: the chunk's place is that of its last frame.
        """
        if not self._waiting:
            return None
        last = self._waiting[-1]
        pcm = b"".join(frame.pcm for frame in self._waiting)
        padding = all(frame.padding for frame in self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        return Frame(last.index, pcm.ljust(self._min_bytes, b"\0"), last.audio_ms, padding)


def _bytes(audio_ms: int, rate_hz: int) -> int:
    return audio_ms * rate_hz // 1000 * 2
