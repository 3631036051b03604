"""Files as they are in the wild: A14 to A17."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from measure.records import AudioClip
from pacer.clips import RawFormat, load_clip
from tests.pacer.wav import SPEECH, chunk, fmt, riff, wav

PCM_GUID = bytes.fromhex("0100000000001000800000aa00389b71")


def loaded(folder: Path, content: bytes, **how: object) -> AudioClip:
    path = folder / "clip.wav"
    path.write_bytes(content)
    return load_clip(path, **how)  # type: ignore[arg-type]


def samples(clip: AudioClip) -> NDArray[np.int16]:
    return np.frombuffer(clip.pcm, "<i2")


# A14


@pytest.mark.parametrize("size", [0xFFFF_FFFF, 0x7FFF_FFFF])
def test_a14_a_wav_file_from_a_pipe_is_as_long_as_its_samples(size: int, tmp_path: Path) -> None:
    body = chunk(b"fmt ", fmt()) + chunk(b"data", SPEECH.astype("<i2").tobytes(), size=size)
    clip = loaded(tmp_path, riff(body, size=size))
    assert clip.audio_s == pytest.approx(0.1, abs=0.001)
    assert samples(clip).tolist() == SPEECH.tolist()
    assert len(clip.remarks) == 1
    assert "length" in clip.remarks[0] or "size" in clip.remarks[0].lower()


# A15

STEPS = [0, 1, -1, 127, 128, -128, 129, 255, 256, 384, 8_388_607, -8_388_608]
"""24-bit samples; 256 of their steps are one step of 16 bits."""
ROUNDED = [round(step / 256) for step in STEPS]
"""To the nearest, of two as near the even one; what is over full scale is clipped."""
ROUNDED[STEPS.index(8_388_607)] = 32_767
BYTES_24 = b"".join(step.to_bytes(3, "little", signed=True) for step in STEPS)


def test_a15_24_bits_become_16_by_the_stated_rounding_and_are_never_sent_as_they_are(
    tmp_path: Path,
) -> None:
    clip = loaded(tmp_path, riff(chunk(b"fmt ", fmt(bits=24)), chunk(b"data", BYTES_24)))
    assert samples(clip).tolist() == ROUNDED
    assert clip.samples == len(STEPS)


def test_a15_an_extensible_header_is_read_as_what_it_holds(tmp_path: Path) -> None:
    more = (22).to_bytes(2, "little") + (24).to_bytes(2, "little") + bytes(4) + PCM_GUID
    head = chunk(b"fmt ", fmt(0xFFFE, bits=24, more=more))
    clip = loaded(tmp_path, riff(head, chunk(b"data", BYTES_24)))
    assert samples(clip).tolist() == ROUNDED


def test_a15_floats_become_16_bits_by_the_same_rounding(tmp_path: Path) -> None:
    floats = np.array([0.0, 0.5, -0.5, 1.0, -1.0, 0.5 / 32768, 1.5 / 32768], "<f4")
    head = chunk(b"fmt ", fmt(3, bits=32))
    clip = loaded(tmp_path, riff(head, chunk(b"data", floats.tobytes())))
    assert samples(clip).tolist() == [0, 16_384, -16_384, 32_767, -32_768, 0, 2]


# A16


def test_a16_a_wav_file_given_as_bare_samples_is_read_without_its_header(tmp_path: Path) -> None:
    clip = loaded(tmp_path, wav(), raw=RawFormat("s16le", 16_000, 1))
    assert samples(clip).tolist() == SPEECH.tolist()
    assert any("given as bare samples, but is a WAV file" in remark for remark in clip.remarks)


def test_a16_bare_samples_are_read_as_they_are(tmp_path: Path) -> None:
    pcm = SPEECH.astype("<i2").tobytes()
    clip = loaded(tmp_path, pcm, raw=RawFormat("s16le", 16_000, 1))
    assert clip.pcm == pcm


# A17

LEFT = (np.sin(np.arange(1600) * 0.1) * 12_000).astype("<i2")


def stereo(left: NDArray[np.int16], right: NDArray[np.int16]) -> bytes:
    both = np.stack([left, right], axis=1).astype("<i2").tobytes()
    return riff(chunk(b"fmt ", fmt(channels=2)), chunk(b"data", both))


@pytest.mark.parametrize(("policy", "share"), [("mix", 0.5), ("left", 1.0), ("right", 0.0)])
def test_a17_what_becomes_of_two_channels_is_chosen_and_said(
    policy: str, share: float, tmp_path: Path
) -> None:
    clip = loaded(tmp_path, stereo(LEFT, np.zeros_like(LEFT)), channels=policy)
    assert samples(clip).tolist() == np.rint(LEFT * share).astype(int).tolist()
    assert f"({policy})" in clip.source
    assert any(policy in remark or "mixed" in remark for remark in clip.remarks)


def test_a17_by_default_both_are_mixed_at_equal_weight_and_a_silent_one_is_told(
    tmp_path: Path,
) -> None:
    clip = loaded(tmp_path, stereo(LEFT, np.zeros_like(LEFT)))
    assert samples(clip).tolist() == np.rint(LEFT / 2).astype(int).tolist()
    assert any("equal weight" in remark for remark in clip.remarks)
    assert any("silence in channel 2" in remark for remark in clip.remarks)
