"""The model files, and the network's two forms: explicit memory, one model for all streams."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.vad.signals import clip, noise, speech, square, zeros
from vad.endpoint import WINDOW_SAMPLES
from vad.silero import (
    PACKAGE,
    SEQUENCE_MODEL,
    STEP_MODEL,
    Floats,
    Model,
    ModelError,
    ModelFile,
    SequenceModel,
    StepModel,
    load_model,
    model_folder,
    new_stream,
    read_model,
    samples_of,
)
from vad.survey import hear_all

ROOT = Path(__file__).parents[2]
OFFICIAL = {
    # The first windows of what the official package says; the whole is in test_reference.py.
    "zeros": (zeros(32_000), [0.0017, 0.0069, 0.0089, 0.0079, 0.0059, 0.006]),
    "noise": (noise(32_000), [0.0074, 0.006, 0.0092, 0.015, 0.0145, 0.0093]),
    "square": (square(32_000), [0.0009, 0.0021, 0.0039, 0.0031, 0.0024, 0.0018]),
}


@pytest.fixture(scope="module")
def step() -> StepModel:
    return StepModel.load()


@pytest.fixture(scope="module")
def sequence() -> SequenceModel:
    return SequenceModel.load()


def said(rate_hz: int = 16_000) -> Floats:
    return samples_of(clip(speech(rate_hz), rate_hz).pcm)


def windows_of(samples: Floats, rate_hz: int = 16_000) -> Floats:
    size = WINDOW_SAMPLES[rate_hz]
    return samples[: len(samples) // size * size].reshape(-1, size)


def one_by_one(model: StepModel, windows: Floats, rate_hz: int = 16_000) -> list[float]:
    state, heard = new_stream(rate_hz), []
    for window in windows:
        probability, state = model.step(window, state)
        heard.append(probability)
    return heard


@pytest.mark.parametrize("sound", OFFICIAL)
@pytest.mark.parametrize("form", ["step", "sequence"])
def test_both_forms_say_what_the_official_package_says(
    sound: str, form: str, request: pytest.FixtureRequest
) -> None:
    model: Model = request.getfixturevalue(form)
    samples, official = OFFICIAL[sound]
    heard, _ = hear_all(samples_of(clip(samples).pcm), 16_000, model)
    assert len(heard) == 63
    assert heard[: len(official)] == pytest.approx(official, abs=1e-4)


@pytest.mark.parametrize("rate_hz", [16_000, 8_000])
def test_speech_is_heard_with_near_certainty(step: StepModel, rate_hz: int) -> None:
    # A window that reaches the network without the end of the one before stays below 0.01.
    assert max(one_by_one(step, windows_of(said(rate_hz), rate_hz), rate_hz)) > 0.9


def test_both_forms_give_the_same(step: StepModel, sequence: SequenceModel) -> None:
    mixed = np.concatenate([said(), samples_of(clip(noise(5_000)).pcm), said()])
    by_step, step_state = hear_all(mixed, 16_000, step)
    at_once, sequence_state = hear_all(mixed, 16_000, sequence)
    assert np.abs(by_step - at_once).max() <= 1e-5
    assert np.abs(step_state.memory - sequence_state.memory).max() <= 1e-4
    assert np.array_equal(step_state.context, sequence_state.context)


def test_either_form_goes_on_where_the_other_stopped(
    step: StepModel, sequence: SequenceModel
) -> None:
    whole = windows_of(said())
    first, state = sequence.hear(whole[:20].ravel(), new_stream(16_000))
    second, state = step.hear(whole[20:40].ravel(), state)
    third, _ = sequence.hear(whole[40:].ravel(), state)
    joined = np.concatenate([first, second, third])
    assert joined == pytest.approx(one_by_one(step, whole), abs=1e-5)


def test_a_long_clip_in_pieces_is_the_clip_at_once(
    step: StepModel, sequence: SequenceModel
) -> None:
    long = np.tile(said(), 5)  # 328 windows: two whole pieces and a part
    by_step, _ = hear_all(long, 16_000, step)
    in_pieces, _ = hear_all(long, 16_000, sequence)
    assert in_pieces == pytest.approx(by_step, abs=1e-5)


def test_the_memory_that_a_long_clip_takes_is_bounded() -> None:
    # All 18750 windows at once would take 800 MB.
    code = """
import resource
import numpy as np
from vad.silero import SequenceModel, new_stream
model, state = SequenceModel.load(), new_stream(16000)
model.hear(np.zeros(512, np.float32), state)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.hear(np.broadcast_to(np.float32(0), 600 * 16000), state)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(after - before)
"""
    grown = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, timeout=60
    )
    assert int(grown.stdout) < 100_000  # KiB


@pytest.mark.parametrize("rate_hz", [16_000, 8_000])
def test_a_batch_gives_each_stream_what_it_would_get_alone(step: StepModel, rate_hz: int) -> None:
    windows = windows_of(said(rate_hz), rate_hz)
    offsets = (0, 7, 23, 31)  # the streams are at different places of the same sound
    alone = np.array(
        [one_by_one(step, np.roll(windows, -offset, axis=0), rate_hz) for offset in offsets]
    )
    states = tuple(new_stream(rate_hz) for _ in offsets)
    for i in range(len(windows)):
        rows = np.stack([windows[(i + offset) % len(windows)] for offset in offsets])
        together, states = step.step_batch(rows, states)
        # No difference at all was measured; other processors may round in another order.
        assert together == pytest.approx(alone[:, i], abs=1e-6)


def test_streams_that_share_a_model_do_not_hear_each_other(step: StepModel) -> None:
    windows = windows_of(said())
    other = samples_of(clip(noise(512)).pcm)
    state, disturber, heard = new_stream(16_000), new_stream(16_000), []
    for window in windows:
        probability, state = step.step(window, state)
        _, disturber = step.step(other, disturber)
        heard.append(probability)
    assert heard == one_by_one(step, windows)


def test_a_step_changes_no_memory_it_was_given(step: StepModel) -> None:
    windows = windows_of(said())
    _, before = step.hear(windows[:12].ravel(), new_stream(16_000))
    first = step.step(windows[12], before)
    step.step(windows[30], before)
    assert step.step(windows[12], before)[0] == first[0]


@pytest.mark.parametrize(
    ("rate_hz", "samples"), [(16_000, 511), (16_000, 513), (16_000, 256), (8_000, 512), (8_000, 0)]
)
def test_a_wrong_window_is_refused_with_the_right_size(
    step: StepModel, rate_hz: int, samples: int
) -> None:
    expected = f"a window at {rate_hz} Hz has {WINDOW_SAMPLES[rate_hz]} samples"
    with pytest.raises(ValueError, match=expected):
        step.step(np.zeros(samples, np.float32), new_stream(rate_hz))


@pytest.mark.parametrize("form", ["step", "sequence"])
def test_a_part_of_a_window_is_refused(form: str, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(form)
    with pytest.raises(ValueError, match="are not whole windows"):
        model.hear(np.zeros(600, np.float32), new_stream(16_000))


@pytest.mark.parametrize("form", ["step", "sequence"])
def test_nothing_heard_is_nothing_said(form: str, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(form)
    heard, _ = model.hear(np.empty(0, np.float32), new_stream(16_000))
    assert len(heard) == 0


@pytest.mark.parametrize("kind", [np.int16, np.float64])
@pytest.mark.parametrize("form", ["step", "sequence"])
def test_samples_that_are_no_float32_are_refused(
    form: str, kind: type[np.generic], request: pytest.FixtureRequest
) -> None:
    model: Model = request.getfixturevalue(form)
    with pytest.raises(ValueError, match="samples must be float32 from -1 to 1"):
        model.hear(np.zeros(512, kind).view(), new_stream(16_000))


@pytest.mark.parametrize("rate_hz", [0, 11_025, 48_000])
def test_other_rates_are_refused(rate_hz: int) -> None:
    with pytest.raises(ValueError, match="heard at 8000 or 16000 Hz"):
        new_stream(rate_hz)
    with pytest.raises(ValueError, match="heard at 8000 or 16000 Hz"):
        load_model(rate_hz)


def test_the_sequence_model_refuses_8_khz(sequence: SequenceModel) -> None:
    with pytest.raises(ValueError, match="hears 16000 Hz, not 8000"):
        sequence.hear(np.zeros(256, np.float32), new_stream(8_000))


def test_a_batch_of_two_rates_is_refused(step: StepModel) -> None:
    with pytest.raises(ValueError, match="streams of one rate"):
        step.step_batch(np.zeros((2, 512), np.float32), [new_stream(16_000), new_stream(8_000)])


def test_full_scale_is_minus_one() -> None:
    assert samples_of(b"\x00\x80\x00\x00\xff\x7f").tolist() == [-1.0, 0.0, 32767 / 32768]


@pytest.mark.parametrize("file", [STEP_MODEL, SEQUENCE_MODEL])
def test_a_missing_model_says_what_to_install(file: ModelFile, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"{file.name}: No such file.*install {PACKAGE}") as raised:
        read_model(file, tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("file", [STEP_MODEL, SEQUENCE_MODEL])
def test_an_altered_model_is_refused_with_both_hashes(file: ModelFile, tmp_path: Path) -> None:
    altered = bytearray(read_model(file, model_folder()))
    altered[len(altered) // 2] ^= 1
    (tmp_path / file.name).write_bytes(altered)
    with pytest.raises(ModelError, match=r"sha256 is [0-9a-f]{64}, ") as raised:
        read_model(file, tmp_path)
    assert f"expected {file.sha256}" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "silero_vad", None)  # as Python marks what is not there
    with pytest.raises(ModelError, match=f"not installed: install {PACKAGE}"):
        StepModel.load()
