"""What is known of clips beforehand is what is heard in them, and holds for nothing else."""

from dataclasses import replace

import pytest

from measure.records import AudioClip, VoiceSettings
from pacer.builtin import builtin_clips
from vad.known import MODEL_SHA256, RATE_HZ, SETTINGS, SPEECH, known_edges
from vad.silero import SEQUENCE_MODEL, load_model
from vad.survey import Surveyor, known_survey, survey

CLIPS = builtin_clips(RATE_HZ)


def test_each_built_in_clip_is_known_and_no_other() -> None:
    assert list(SPEECH) == [clip.sha256 for clip in CLIPS]


def test_it_is_known_under_the_usual_settings_and_by_the_model_that_is_used() -> None:
    assert VoiceSettings() == SETTINGS
    assert SEQUENCE_MODEL.sha256 == MODEL_SHA256


def test_what_is_known_is_what_is_heard() -> None:
    model = load_model(RATE_HZ)
    for clip in CLIPS:
        assert known_survey(clip, VoiceSettings()) == survey(clip, model, VoiceSettings())


def test_a_surveyor_of_known_clips_hears_nothing() -> None:
    found = [Surveyor().survey(clip, VoiceSettings()) for clip in CLIPS]
    assert not any(len(one.probabilities) for one in found)


@pytest.mark.parametrize(
    "settings",
    [
        VoiceSettings(threshold=0.51),
        VoiceSettings(min_silence_ms=101),
        VoiceSettings(speech_pad_ms=31),
    ],
)
def test_under_other_settings_a_clip_is_heard(settings: VoiceSettings) -> None:
    found = Surveyor().survey(CLIPS[0], settings)
    assert found.settings == settings
    assert len(found.probabilities)


def other_samples() -> AudioClip:
    (clip,) = builtin_clips(8_000)[:1]
    return clip


@pytest.mark.parametrize("clip", [other_samples(), replace(CLIPS[0], rate_hz=8_000)])
def test_other_samples_and_other_rates_are_heard(clip: AudioClip) -> None:
    assert known_survey(clip, VoiceSettings()) is None


def test_nothing_is_known_of_what_another_model_hears() -> None:
    clip = CLIPS[0]
    assert known_edges(clip.sha256, RATE_HZ, SETTINGS, MODEL_SHA256) is not None
    assert known_edges(clip.sha256, RATE_HZ, SETTINGS, "0" * 64) is None
