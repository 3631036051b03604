"""Live audio, in pieces of any size: the edges of speech, as they fire."""

from collections.abc import Sequence

import numpy as np

from measure.records import VoiceSettings
from vad.endpoint import Edge, EndpointDetector, window_samples
from vad.silero import Floats, StepModel, StreamState, new_stream, samples_of

SAMPLE_BYTES = 2


class LiveDetector:
    """Hears one stream of 16-bit little-endian mono samples; fires what a survey would find."""

    def __init__(self, model: StepModel, rate_hz: int, settings: VoiceSettings) -> None:
        self._model = model
        self._window_bytes = window_samples(rate_hz) * SAMPLE_BYTES
        self._endpoint = EndpointDetector(rate_hz, settings)
        self._state = new_stream(rate_hz)
        self._waiting = bytearray()
        self._taken_bytes = 0

    @property
    def speaking(self) -> bool:
        """Speech has started and its end is not decided."""
        return self._endpoint.speaking

    @property
    def samples(self) -> int:
        """How many have come in."""
        return self._taken_bytes // SAMPLE_BYTES

    def hear(self, pcm: bytes) -> tuple[Edge, ...]:
        """All edges that fire with this piece, in order: both, if speech starts and ends in it."""
        return hear_together(self._model, [(self, pcm)])[0]

    def flush(self) -> tuple[Edge, ...]:
        """What the end of the audio makes known; nothing may be heard after it.

        Silence completes the last window; speech still open ends with the last sample.
        """
        samples = self.samples
        fired = self.hear(bytes(-len(self._waiting) % self._window_bytes))
        unfinished = self._endpoint.flush(samples)
        return fired if unfinished is None else (*fired, unfinished)

    # What follows is for hear_together alone: it steps many streams in one call of the model.

    @property
    def state(self) -> StreamState:
        """What the network remembers of this stream."""
        return self._state

    @property
    def ready(self) -> bool:
        """A whole window waits."""
        return len(self._waiting) >= self._window_bytes

    def take(self, pcm: bytes) -> None:
        """Put ``pcm`` behind what waits."""
        self._waiting += pcm
        self._taken_bytes += len(pcm)

    def next_window(self) -> Floats:
        """The window that waits longest; it waits no more."""
        window = samples_of(bytes(self._waiting[: self._window_bytes]))
        del self._waiting[: self._window_bytes]
        return window

    def judge(self, probability: float, state: StreamState) -> Edge | None:
        """The edge that fires with the window just heard, if one does."""
        self._state = state
        return self._endpoint.push(probability)


def hear_together(
    model: StepModel, pieces: Sequence[tuple[LiveDetector, bytes]]
) -> list[tuple[Edge, ...]]:
    """What fires in each of several streams with its next piece; cheaper than one by one.

    All streams have one rate, and each appears once.
    """
    fired: list[list[Edge]] = [[] for _ in pieces]
    for detector, pcm in pieces:
        detector.take(pcm)
    while rows := [row for row, (detector, _) in enumerate(pieces) if detector.ready]:
        ready = [pieces[row][0] for row in rows]
        windows = np.stack([detector.next_window() for detector in ready])
        heard, states = model.step_batch(windows, [detector.state for detector in ready])
        for row, detector, probability, state in zip(
            rows, ready, heard.tolist(), states, strict=True
        ):
            edge = detector.judge(probability, state)
            if edge is not None:
                fired[row].append(edge)
    return [tuple(edges) for edges in fired]
