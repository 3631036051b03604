"""The survey of a whole clip: the live detector's edges, known before the clip starts."""

from dataclasses import replace

import numpy as np
import pytest

from measure.records import AudioClip, VoiceSettings
from tests.vad.signals import Samples, beckett, clip, noise, speech, zeros
from vad.endpoint import Edge, EdgeKind
from vad.silero import Floats, Model, SequenceModel, StepModel, StreamState
from vad.survey import SILENCE_LIMIT_MS, Surveyor, last_end, survey

CUT = 6_400
"""Where ``speech`` is cut for a clip that ends in speech: 0.4 s, in the first syllable."""


@pytest.fixture(scope="module")
def model() -> SequenceModel:
    return SequenceModel.load()


@pytest.fixture(scope="module")
def step() -> StepModel:
    return StepModel.load()


def short(edges: tuple[Edge, ...]) -> list[tuple[str, int, int]]:
    return [(edge.kind.value, edge.sample, edge.fired_at_sample) for edge in edges]


def test_it_finds_each_start_and_each_end_with_the_place_where_it_is_known(model: Model) -> None:
    found = survey(clip(speech()), model, VoiceSettings())
    assert short(found.edges) == [
        ("start", 4_640, 5_632),
        ("end", 13_280, 15_360),
        ("start", 18_976, 19_968),
        ("end", 21_984, 24_064),
    ]
    assert found.has_speech
    assert found.padding_ms == 0
    assert [(edge.audio_ms, edge.known_ms) for edge in found.starts] == [(290, 352), (1186, 1248)]
    assert [(edge.audio_ms, edge.known_ms) for edge in found.ends] == [(830, 960), (1374, 1504)]
    assert last_end(found) == found.ends[-1]


def test_it_finds_the_same_in_a_recording_as_the_official_iterator(model: Model) -> None:
    assert short(survey(beckett(), model, VoiceSettings()).edges) == [
        ("start", 5_152, 6_144),
        ("end", 19_936, 22_016),
        ("start", 29_728, 30_720),
        ("end", 45_536, 47_616),
        ("start", 55_840, 56_832),
        ("end", 67_552, 69_632),
        ("start", 77_856, 78_848),
        ("end", 90_080, 92_160),
        ("start", 106_016, 107_008),
        ("end", 118_752, 120_832),
        ("start", 130_080, 131_072),
        ("end", 142_816, 144_896),
    ]


def test_it_hears_8_khz_with_the_step_model(step: StepModel) -> None:
    found = survey(clip(speech(8_000), 8_000), step, VoiceSettings())
    assert short(found.edges) == [
        ("start", 2_320, 2_816),
        ("end", 7_152, 8_192),
        ("start", 9_488, 9_984),
        ("end", 14_320, 15_360),
    ]
    assert found.ends[0].audio_ms == 894


@pytest.mark.parametrize("sound", [zeros(32_000), noise(16_000), zeros(1), zeros(0)])
def test_a_clip_without_speech_has_no_end(model: Model, sound: Samples) -> None:
    found = survey(clip(sound), model, VoiceSettings())
    assert not found.has_speech
    assert found.edges == found.starts == found.ends == ()
    assert last_end(found) is None
    assert found.padding_ms == 0


def test_a_clip_that_ends_too_early_is_followed_by_the_silence_that_it_takes(model: Model) -> None:
    found = survey(clip(speech()[:CUT]), model, VoiceSettings())
    assert short(found.ends) == [("end", 8_160, 10_240)]
    assert not found.ends[0].at_eof
    assert found.padding_ms == (10_240 - CUT) / 16


@pytest.mark.parametrize("samples", [CUT, 8_000, 13_000, 15_000, 22_500])
@pytest.mark.parametrize("min_silence_ms", [0, 100, 500])
def test_the_silence_it_took_is_neither_too_little_nor_too_much(
    model: Model, samples: int, min_silence_ms: int
) -> None:
    settings = VoiceSettings(min_silence_ms=min_silence_ms)
    short_clip = speech()[:samples]
    found = survey(clip(short_clip), model, settings)
    padding = round(found.padding_ms * 16)
    enough = survey(clip(np.concatenate([short_clip, zeros(padding)])), model, settings)
    assert enough.edges == found.edges
    assert enough.padding_ms == 0
    if padding:
        less = survey(clip(np.concatenate([short_clip, zeros(padding - 1)])), model, settings)
        assert less.padding_ms == 1 / 16


def test_a_long_wait_for_silence_does_not_run_into_the_limit(model: Model) -> None:
    settings = VoiceSettings(min_silence_ms=2 * SILENCE_LIMIT_MS)
    found = survey(clip(speech()), model, settings)
    assert [edge.at_eof for edge in found.ends] == [False]
    assert found.padding_ms > SILENCE_LIMIT_MS


def test_an_end_that_silence_never_brings_is_declared_at_the_end_of_the_clip(model: Model) -> None:
    # Below a threshold of 0.15 no probability is low enough for silence.
    found = survey(clip(speech()), model, VoiceSettings(threshold=0.1))
    assert last_end(found) == Edge(EdgeKind.END, 33_600, 33_600, 16_000, at_eof=True)
    assert found.padding_ms == 0


def test_it_keeps_one_probability_for_each_window_of_the_clip(model: Model) -> None:
    found = survey(clip(speech()[:CUT]), model, VoiceSettings())
    assert len(found.probabilities) == 13  # 12 whole windows and a part


@pytest.mark.parametrize("made", [clip(speech()), clip(speech()[:CUT]), clip(noise(9_000))])
@pytest.mark.parametrize("min_silence_ms", [0, 100, 500])
def test_both_models_give_one_survey(
    model: Model, step: StepModel, made: AudioClip, min_silence_ms: int
) -> None:
    settings = VoiceSettings(min_silence_ms=min_silence_ms)
    by_sequence, by_step = survey(made, model, settings), survey(made, step, settings)
    assert by_sequence == by_step
    assert by_sequence.probabilities == pytest.approx(by_step.probabilities, abs=1e-5)


def test_both_models_give_one_survey_of_a_recording(model: Model, step: StepModel) -> None:
    recording = beckett()
    by_sequence = survey(recording, model, VoiceSettings())
    by_step = survey(recording, step, VoiceSettings())
    assert by_sequence == by_step
    assert by_sequence.probabilities == pytest.approx(by_step.probabilities, abs=1e-5)


def test_a_clip_at_another_rate_is_refused(model: Model) -> None:
    with pytest.raises(ValueError, match="heard at 8000 or 16000 Hz, not at 44100"):
        survey(clip(zeros(100), 44_100), model, VoiceSettings())


def test_a_surveyor_hears_each_clip_once_under_the_same_settings() -> None:
    surveyor = Surveyor()
    first = surveyor.survey(clip(speech()), VoiceSettings())
    assert surveyor.survey(clip(speech()), VoiceSettings()) is first
    other = surveyor.survey(clip(speech()), VoiceSettings(min_silence_ms=500))
    assert len(other.ends) == 1
    assert surveyor.survey(clip(speech()[:CUT]), VoiceSettings()) != first
    assert surveyor.survey(clip(speech()), VoiceSettings()) is first


def test_the_same_samples_at_another_rate_are_another_clip() -> None:
    surveyor, sound = Surveyor(), clip(speech())
    at_16 = surveyor.survey(sound, VoiceSettings())
    at_8 = surveyor.survey(replace(sound, rate_hz=8_000), VoiceSettings())
    assert (at_16.rate_hz, at_8.rate_hz) == (16_000, 8_000)


class Endless:
    """A network that hears speech in everything, also in silence."""

    def __init__(self) -> None:
        self.heard = 0

    def hear(self, samples: Floats, state: StreamState) -> tuple[Floats, StreamState]:
        self.heard += len(samples)
        return np.ones(len(samples) // 512, np.float32), state


def test_a_model_that_hears_speech_in_silence_is_not_asked_forever() -> None:
    endless = Endless()
    found = survey(clip(zeros(5_120)), endless, VoiceSettings())
    assert short(found.edges) == [("start", 0, 512), ("end", 5_120, 5_120)]
    assert found.ends[0].at_eof
    assert endless.heard < 5_120 + (SILENCE_LIMIT_MS + 200) * 16


class Restless:
    """A network that hears speech in a clip, then a second of silence, then speech again."""

    def __init__(self) -> None:
        self.said = iter([1.0] * 10 + [0.0] * 31 + [1.0] * 1000)

    def hear(self, samples: Floats, state: StreamState) -> tuple[Floats, StreamState]:
        return np.array([next(self.said) for _ in range(len(samples) // 512)], np.float32), state


def test_once_the_end_is_decided_no_more_silence_is_heard() -> None:
    found = survey(clip(zeros(5_120)), Restless(), VoiceSettings())
    assert short(found.edges) == [("start", 0, 512), ("end", 5_600, 7_680)]
