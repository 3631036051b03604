"""A whole clip heard beforehand: where speech starts and ends in it, and when one can know.

It gives what a live detector fires over the same audio, edge for edge. A clip that ends before the
detector has decided is followed by digital silence until it has, as a measurement does too.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from measure.records import AudioClip, VoiceSettings
from vad.endpoint import Edge, EdgeKind, EndpointDetector, edges, window_samples
from vad.silero import Floats, Model, StreamState, load_model, new_stream, samples_of

SILENCE_LIMIT_MS = 5_000
"""How much silence, beyond what the settings ask for, the detector is given to decide the end."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the voice-activity detector makes of one clip."""

    clip_sha256: str
    rate_hz: int
    samples: int
    settings: VoiceSettings
    edges: tuple[Edge, ...]
    """Starts and ends by turns, in the order in which they fire; the last one is an end."""
    padding_ms: float
    """The digital silence after the clip that it took to decide the last end; 0 where none."""
    probabilities: Floats = field(repr=False, compare=False)
    """One a window of the clip, of which silence completes the last."""

    @property
    def starts(self) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.kind is EdgeKind.START)

    @property
    def ends(self) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.kind is EdgeKind.END)

    @property
    def has_speech(self) -> bool:
        return bool(self.edges)


def last_end(survey: Survey) -> Edge | None:
    """The end of the clip's last speech; None where there is no speech."""
    return survey.edges[-1] if survey.edges else None


def survey(clip: AudioClip, model: Model, settings: VoiceSettings) -> Survey:
    """Hear the whole of ``clip``, at 8 or 16 kHz (else ValueError); 1 ms for each second of it."""
    detector = EndpointDetector(clip.rate_hz, settings)
    probabilities, state = hear_all(samples_of(clip.pcm), clip.rate_hz, model)
    found = [
        *edges(detector, probabilities.tolist()),
        *_decided_in_silence(detector, model, state, settings.min_silence_ms),
    ]
    unfinished = detector.flush(clip.samples)
    if unfinished is not None:
        found.append(unfinished)
    return Survey(
        clip.sha256,
        clip.rate_hz,
        clip.samples,
        settings,
        tuple(found),
        _padding_ms(found, clip.samples),
        probabilities,
    )


def hear_all(samples: Floats, rate_hz: int, model: Model) -> tuple[Floats, StreamState]:
    """One probability a window from the very beginning; silence completes the last window."""
    missing = -len(samples) % window_samples(rate_hz)
    whole = np.concatenate([samples, np.zeros(missing, np.float32)])
    return model.hear(whole, new_stream(rate_hz))


class Surveyor:
    """Surveys clips, each only once under the same settings.

    Loads a model when the first clip of its rate comes: raises ModelError then. May be used from
    any thread; should two ask for the same clip at once, both hear it and nothing is lost.
    """

    def __init__(self) -> None:
        self._models: dict[int, Model] = {}
        self._surveys: dict[tuple[str, int, VoiceSettings], Survey] = {}

    def survey(self, clip: AudioClip, settings: VoiceSettings) -> Survey:
        """The survey of ``clip``. It takes the time of computing: keep it off a paced loop."""
        known_by = (clip.sha256, clip.rate_hz, settings)
        if known_by not in self._surveys:
            self._surveys[known_by] = survey(clip, self._model(clip.rate_hz), settings)
        return self._surveys[known_by]

    def _model(self, rate_hz: int) -> Model:
        if rate_hz not in self._models:
            self._models[rate_hz] = load_model(rate_hz)
        return self._models[rate_hz]


def _decided_in_silence(
    detector: EndpointDetector, model: Model, state: StreamState, min_silence_ms: int
) -> list[Edge]:
    """What fires in the digital silence after the clip, until no speech is open."""
    silence = np.zeros(window_samples(state.rate_hz), np.float32)
    window_ms = len(silence) * 1000 / state.rate_hz
    found: list[Edge] = []
    for _ in range(math.ceil((min_silence_ms + SILENCE_LIMIT_MS) / window_ms)):
        if not detector.speaking:
            break
        probabilities, state = model.hear(silence, state)
        found.extend(edges(detector, probabilities.tolist()))
    return found


def _padding_ms(found: list[Edge], samples: int) -> float:
    if not found:
        return 0.0
    padding = max(0, found[-1].fired_at_sample - samples)
    return padding * 1000 / found[-1].rate_hz
