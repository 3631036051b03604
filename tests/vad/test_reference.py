"""Equal to the official package on its stored results, for every setting that was stored.

Recordings and results lie beside the repository or in an installed package; what is not there is
skipped. tests/vad/signals.py makes the synthetic ones.
"""

import hashlib
import importlib.util
import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from measure.records import VoiceSettings
from tests.vad.signals import beckett, clip, noise, square, zeros
from vad.endpoint import EndpointDetector, edges
from vad.silero import STEP_MODEL, Floats, Model, SequenceModel, StepModel, samples_of
from vad.survey import hear_all
from vad.timestamps import TimestampSettings, speech_timestamps

SHARED = Path(__file__).parents[2].parent / "shared"
RESULTS = SHARED / "vad_reference"
NAMES = (
    "ami_ES2011a_headset0_40-46",
    "austen_0870",
    "beckett",
    "cards_005",
    "fleurs_ja_jp_000595",
    "google_audio",
    "google_commercial_mono",
    "libri_1088-134315-0000",
    "libri_1088-134315-0000_rvb",
    "libri_2412-153948-0000",
    "sm_audio_08_16kHz",
    "syn_noise_2s",
    "syn_square_200hz_2s",
    "syn_zeros_2s",
    "vosk_test8k",
)
AT_8_KHZ = ("google_commercial_mono", "vosk_test8k")
MADE = {"syn_noise_2s": noise, "syn_square_200hz_2s": square, "syn_zeros_2s": zeros}
OUR_WORDS = {
    "threshold": "threshold",
    "neg_threshold": "neg_threshold",
    "min_silence_duration_ms": "min_silence_ms",
    "speech_pad_ms": "speech_pad_ms",
    "min_speech_duration_ms": "min_speech_ms",
    "max_speech_duration_s": "max_speech_s",
    "min_silence_at_max_speech": "min_silence_at_max_ms",
    "use_max_poss_sil_at_max_speech": "longest_silence_at_max",
}
TAIL_S = 1.0
"""The longest silence that was put behind a recording."""

Stored = dict[str, Any]


def stored(name: str) -> Stored:
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"the stored results are not there: {path.name}")
    results: Stored = json.loads(path.read_text(encoding="utf-8"))
    return results


def recording(name: str, results: Stored) -> Floats:
    if name in MADE:
        made = clip(MADE[name](results["samples"]))
        assert made.sha256 == results["sha256"]
        return samples_of(made.pcm)
    path = next(filter(Path.is_file, places(results["file"])), None)
    if path is None:
        pytest.skip(f"the recording is not there: {results['file']}")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == results["sha256"]
    samples, rate_hz = soundfile.read(path, dtype="float32")
    assert rate_hz == results["sample_rate"]
    read: Floats = samples
    return read


def places(file: str) -> Iterator[Path]:
    yield SHARED / "audio" / file
    spec = importlib.util.find_spec("moonshine_voice")
    if spec is not None and spec.submodule_search_locations:
        yield Path(spec.submodule_search_locations[0]) / "assets" / file


@cache
def step() -> StepModel:
    return StepModel.load()


@cache
def sequence() -> SequenceModel:
    return SequenceModel.load()


def in_our_words(settings: Stored) -> dict[str, Any]:
    return {OUR_WORDS[name]: value for name, value in settings.items()}


def models(rate_hz: int) -> list[Model]:
    return [step(), sequence()] if rate_hz == 16_000 else [step()]


@pytest.mark.parametrize("name", NAMES)
def test_the_official_results_come_out(name: str) -> None:
    results = stored(name)
    samples, rate_hz = recording(name, results), results["sample_rate"]
    tailed = np.concatenate([samples, np.zeros(int(TAIL_S * rate_hz), np.float32)])
    for model in models(rate_hz):
        heard, _ = hear_all(tailed, rate_hz, model)
        own = heard[: math.ceil(len(samples) / results["window"])]
        assert own == pytest.approx(results["probabilities"], abs=1e-4)
        check_timestamps(own.tolist(), results)
        check_events(heard.tolist(), results)
    assert len(results["timestamps"]) == 14
    assert len(results["iterator"]) == 12


def check_timestamps(probabilities: list[float], results: Stored) -> None:
    for run in results["timestamps"]:
        settings = TimestampSettings(**in_our_words(run["settings"]))
        found = speech_timestamps(
            probabilities, results["samples"], results["sample_rate"], settings
        )
        assert [[speech.start_sample, speech.end_sample] for speech in found] == run["speech"]


def check_events(probabilities: list[float], results: Stored) -> None:
    rate_hz, window = results["sample_rate"], results["window"]
    for run in results["iterator"]:
        detector = EndpointDetector(rate_hz, VoiceSettings(**in_our_words(run["settings"])))
        heard = results["samples"] + int(run["tail_silence_s"] * rate_hz)
        fired = edges(detector, probabilities[: math.ceil(heard / window)])
        assert [[e.kind.value, e.sample, e.fired_at_sample] for e in fired] == run["events"]


@pytest.mark.parametrize(
    ("settings", "official"),
    [
        (
            TimestampSettings(threshold=0.3),
            "4640-20448 29216-45536 55840-68064 77344-90080 106016-119264 129568-143328",
        ),
        (
            TimestampSettings(neg_threshold=0.15),
            "5152-20448 29728-45536 55840-68064 77856-90080 106016-119264 130080-143328",
        ),
        (TimestampSettings(min_silence_ms=1000, speech_pad_ms=200), "2432-92800 103296-145536"),
        (
            TimestampSettings(max_speech_s=1.5, min_silence_at_max_ms=30, min_silence_ms=2000),
            "5152-29152 29728-53728 55840-67552 77856-101856 106016-130016 130080-154080",
        ),
    ],
)
def test_official_timestamps_come_out_where_only_the_recording_is_there(
    settings: TimestampSettings, official: str
) -> None:
    sound = beckett()
    heard, _ = hear_all(samples_of(sound.pcm), 16_000, sequence())
    found = speech_timestamps(heard.tolist(), sound.samples, 16_000, settings)
    assert " ".join(f"{s.start_sample}-{s.end_sample}" for s in found) == official


@pytest.mark.parametrize("name", [name for name in NAMES if name not in AT_8_KHZ])
def test_both_forms_of_the_network_agree(name: str) -> None:
    samples = recording(name, stored(name))
    (by_step, _), (at_once, _) = (hear_all(samples, 16_000, m) for m in (step(), sequence()))
    assert np.abs(by_step - at_once).max() <= 1e-5


def test_the_results_were_made_with_the_model_that_is_used() -> None:
    assert stored("INDEX")["model_sha256"] == STEP_MODEL.sha256
