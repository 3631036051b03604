"""From a file to what is streamed: one channel, one rate, 16 bits, nothing lost unsaid."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from measure.records import AudioClip
from pacer import clips, decode
from pacer.clips import ClipError, RawFormat, clip_from_samples, load_clip
from tests.pacer.wav import SPEECH, chunk, fmt, riff, wav

AUDIO = Path(__file__).parents[2].parent / "shared" / "audio"
shared = pytest.mark.skipif(not AUDIO.is_dir(), reason="the shared recordings are not here")

Loaded = Callable[..., AudioClip]


class Options(TypedDict, total=False):
    """What ``load_clip`` can be told."""

    rate_hz: int
    channels: str
    raw: RawFormat | None
    name: str | None
    reference: str | None
    corpus: str


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """The clip of a file with these contents."""

    def load(content: bytes, **options: Unpack[Options]) -> AudioClip:
        path = tmp_path / "clip.wav"
        path.write_bytes(content)
        return load_clip(path, **options)

    return load


def refused(path: Path, **options: Unpack[Options]) -> str:
    with pytest.raises(ClipError) as caught:
        load_clip(path, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


def pcm(samples: NDArray[Any]) -> list[int]:
    return [int(sample) for sample in samples]


def heard(clip: AudioClip) -> NDArray[np.int16]:
    return np.frombuffer(clip.pcm, dtype="<i2")


def stereo(*channels: list[int], bits: int = 16) -> bytes:
    """Columns of 16-bit samples -> a file with as many channels."""
    body = np.array(channels, dtype="<i2").T.tobytes()
    return riff(chunk(b"fmt ", fmt(channels=len(channels), bits=bits)), chunk(b"data", body))


def tone(rate_hz: int, seconds: float = 0.5, hertz: float = 997) -> NDArray[np.float64]:
    return np.sin(np.arange(round(rate_hz * seconds)) / rate_hz * 2 * np.pi * hertz) * 0.5


def of_floats(samples: NDArray[np.float64], rate_hz: int = 16_000) -> bytes:
    file = BytesIO()
    soundfile.write(file, samples, rate_hz, format="WAV", subtype="DOUBLE")
    return file.getvalue()


def of_24_bits(values: list[int]) -> bytes:
    body = b"".join(value.to_bytes(3, "little", signed=True) for value in values)
    return riff(chunk(b"fmt ", fmt(bits=24)), chunk(b"data", body))


# What a clip is


def test_a_clip_says_where_it_comes_from(loaded: Loaded) -> None:
    clip = loaded(wav(), reference="good day", corpus="mine")
    assert (clip.name, clip.reference, clip.corpus) == ("clip.wav", "good day", "mine")
    assert clip.source == "WAV PCM_16, 16000 Hz, 1 channel"
    assert clip.remarks == ()
    assert loaded(wav(), name="greeting").name == "greeting"


def test_16_bits_pass_bit_for_bit(loaded: Loaded) -> None:
    every = np.arange(-32768, 32768, dtype=np.int16)
    assert loaded(wav(every)).pcm == every.astype("<i2").tobytes()


def test_the_hash_is_of_the_samples_and_the_rate(loaded: Loaded) -> None:
    clip = loaded(wav())
    assert clip.sha256 == sha256(clip.pcm + b"16000").hexdigest()
    bare = SPEECH.astype("<i2").tobytes()
    assert loaded(bare, raw=RawFormat()).sha256 == clip.sha256
    slower = loaded(bare, raw=RawFormat(rate_hz=8_000), rate_hz=8_000)
    assert slower.pcm == clip.pcm
    assert slower.sha256 != clip.sha256


# To 16 bits


def nearest(value: int) -> int:
    """The 16-bit step nearest to a 24-bit value; of two as near the even one."""
    step, over = divmod(value, 256)
    up = over > 128 or (over == 128 and step % 2)
    return min(step + bool(up), 32767)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.integers(-(2**23), 2**23 - 1)
        | st.builds(
            lambda step, tip: step * 256 + tip,
            st.integers(-32767, 32766),
            st.sampled_from([127, 128, 129]),
        ),
        min_size=1,
        max_size=50,
    )
)
def test_24_bits_go_to_the_nearest_step(loaded: Loaded, values: list[int]) -> None:
    assert pcm(heard(loaded(of_24_bits(values)))) == [nearest(value) for value in values]


def test_the_largest_24_bit_value_is_not_clipped_with_a_remark(loaded: Loaded) -> None:
    clip = loaded(of_24_bits([2**23 - 1, 5]))
    assert pcm(heard(clip)) == [32767, 0]
    assert clip.remarks == ()


def test_floats_over_full_scale_are_clipped_and_counted(loaded: Loaded) -> None:
    clip = loaded(of_floats(np.array([0.5, 1.0, 1.5, -1.0, -5.25, 0])))
    assert pcm(heard(clip)) == [16384, 32767, 32767, -32768, -32768, 0]
    assert clip.remarks == ("Clipped: 2 samples over full scale (peak 5.25).",)


def test_8_bits_are_unsigned(loaded: Loaded) -> None:
    content = riff(chunk(b"fmt ", fmt(bits=8)), chunk(b"data", b"\x00\x80\xff"))
    assert pcm(heard(loaded(content))) == [-32768, 0, 32512]


# Channels


def test_two_channels_are_mixed_at_equal_weight(loaded: Loaded) -> None:
    clip = loaded(stereo([1000, 30_000, -4], [3000, 30_000, -8]))
    assert pcm(heard(clip)) == [2000, 30_000, -6]
    assert clip.source == "WAV PCM_16, 16000 Hz, 2 channels (mix)"
    assert clip.remarks == ("2 channels were mixed at equal weight.",)


@pytest.mark.parametrize(("policy", "taken"), [("left", [1, 2]), ("right", [3, 4])])
def test_one_of_several_channels_can_be_taken(
    loaded: Loaded, policy: str, taken: list[int]
) -> None:
    clip = loaded(stereo([1, 2], [3, 4], [5, 6]), channels=policy)
    assert pcm(heard(clip)) == taken
    assert clip.source.endswith(f"3 channels ({policy})")
    assert clip.remarks == (f"Of 3 channels the {policy} one was taken.",)


def test_many_channels_are_mixed_at_equal_weight(loaded: Loaded) -> None:
    assert pcm(heard(loaded(stereo(*([n * 40] for n in range(8)))))) == [140]


@pytest.mark.parametrize("policy", ["mix", "left", "right"])
def test_for_a_single_channel_the_policy_does_not_matter(loaded: Loaded, policy: str) -> None:
    assert loaded(wav(), channels=policy) == loaded(wav())


def test_a_silent_channel_in_a_mix_is_said(loaded: Loaded) -> None:
    clip = loaded(stereo([100, 200], [0, 0]))
    assert pcm(heard(clip)) == [50, 100]
    assert clip.remarks[1] == "Digital silence in channel 2 makes the mix quieter."
    assert len(loaded(stereo([100, 200], [0, 0]), channels="left").remarks) == 1


def test_a_clip_of_nothing_but_digital_silence_is_said(loaded: Loaded) -> None:
    silence = "All of it is digital silence."
    assert loaded(wav(np.zeros(9, np.int16))).remarks == (silence,)
    assert loaded(stereo([100, 200], [0, 0]), channels="right").remarks[1:] == (silence,)
    assert loaded(stereo([0, 0], [0, 0])).remarks[1:] == (silence,)


# Rates


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 22_050, 44_100, 48_000, 96_000])
@pytest.mark.parametrize("to_hz", [8_000, 16_000, 24_000])
def test_another_rate_is_the_same_sound_at_the_same_places(
    loaded: Loaded, rate_hz: int, to_hz: int
) -> None:
    sound = tone(rate_hz)
    clip = loaded(of_floats(sound, rate_hz), rate_hz=to_hz)
    assert clip.rate_hz == to_hz
    assert abs(clip.samples - len(sound) * to_hz / rate_hz) <= 0.5
    inside = slice(to_hz // 20, -to_hz // 20)  # the ends ring
    difference = heard(clip)[inside] / 32768 - tone(to_hz)[: clip.samples][inside]
    assert np.abs(difference).max() < 0.001


@pytest.mark.parametrize("samples", [1_001, 1_600, 4_407])
@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 16_000, 44_100, 48_000])
def test_durations_agree_at_all_rates(loaded: Loaded, samples: int, rate_hz: int) -> None:
    content = of_floats(tone(rate_hz, seconds=1)[:samples], rate_hz)
    for to_hz in (8_000, 16_000, 24_000):
        assert abs(loaded(content, rate_hz=to_hz).audio_s - samples / rate_hz) < 1 / to_hz


def test_the_size_of_the_blocks_does_not_show_in_the_resampled_sound(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = of_floats(tone(44_100), 44_100)
    whole = loaded(content)
    monkeypatch.setattr(decode, "BLOCK_SAMPLES", 999)
    assert loaded(content) == whole


def test_a_clip_shorter_than_one_sample_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tick.wav"
    path.write_bytes(of_floats(np.ones(1), 48_000))
    assert refused(path) == f"{path}: shorter than one sample at 16000 Hz"


def test_a_rate_nobody_streams_at_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    path.write_bytes(wav())
    assert refused(path, rate_hz=0) == "0 Hz: it must be 4000 to 384000 Hz"


def test_a_policy_that_is_none_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, channels="both") == (
        "channels 'both': it must be one of mix, left, right"
    )


# Files


def test_what_is_no_file_is_refused_in_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "missing.wav"
    assert refused(missing) == f"{missing}: no such file or directory"
    assert refused(tmp_path) == f"{tmp_path}: a directory, not a file"
    assert refused(Path("a\0b.wav")) == "a\\x00b.wav: no file can have this name"
    assert refused(Path("x" * 300)).endswith(": file name too long")
    empty = tmp_path / "empty.wav"
    empty.touch()
    assert refused(empty) == f"{empty}: an empty file"


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.wav"
    os.mkfifo(pipe)
    assert refused(pipe) == f"{pipe}: a device or a pipe, not a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.wav"
    path.write_bytes(wav())
    path.chmod(0)
    assert refused(path) == f"{path}: permission denied"


def test_a_file_too_large_for_the_memory_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.wav"
    with path.open("wb") as file:
        file.truncate((2 << 30) + 1)  # takes no room on the disk
    assert refused(path) == f"{path}: larger than 2 GiB; cut it into parts"


def test_a_name_of_several_lines_makes_no_error_of_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines \udcff.wav"
    path.write_bytes(b"RIFF")
    assert refused(path).endswith(r"two\nlines \udcff.wav: a RIFF file, but not a WAVE")


def test_bare_samples_named_wav_get_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "bare.wav"
    path.write_bytes(SPEECH.astype("<i2").tobytes())
    assert "give it as raw with encoding, rate and channels" in refused(path)
    assert pcm(heard(load_clip(path, raw=RawFormat()))) == pcm(SPEECH)


def test_a_wav_file_given_as_bare_samples_is_streamed_without_its_header(loaded: Loaded) -> None:
    clip = loaded(wav(), raw=RawFormat("s16le", 8_000, 2))
    assert clip.pcm == loaded(wav()).pcm
    assert "but is a WAV file" in clip.remarks[0]


def test_the_name_of_a_file_does_not_decide_how_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "really_a_wav.raw"
    path.write_bytes(wav())
    assert pcm(heard(load_clip(path))) == pcm(SPEECH)


def test_what_was_mended_is_said_with_the_clip(loaded: Loaded) -> None:
    clip = loaded(wav(size=0xFFFFFFFF))
    assert pcm(heard(clip)) == pcm(SPEECH)
    assert "before the length was known" in clip.remarks[0]


seeds = [
    wav(SPEECH[:200]),
    of_floats(tone(16_000)[:100]),
    stereo([1, 2, 3], [4, 5, 6]),
    of_24_bits([1, 2, 3]),
    *(
        (file := BytesIO(), soundfile.write(file, tone(16_000)[:400], 16_000, format=kind))[
            0
        ].getvalue()
        for kind in ("FLAC", "AIFF", "AU", "CAF", "NIST", "OGG", "W64", "RF64", "VOC")
    ),
]
changes = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f", b"\x80\0\0\0", b"data"])
        | st.binary(min_size=1, max_size=8),
    ),
    max_size=8,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    derandomize=True,
    max_examples=1_000,
)
@given(
    st.sampled_from(seeds) | st.binary(max_size=100),
    changes,
    st.integers(0, 4_000) | st.just(1 << 20),
    st.none() | st.sampled_from([RawFormat(), RawFormat("f64be", 8_000, 3), RawFormat("mulaw")]),
)
def test_no_file_however_broken_ends_in_anything_but_a_clip_or_one_line(
    loaded: Loaded,
    content: bytes,
    changes: list[tuple[int, bytes]],
    end: int,
    raw: RawFormat | None,
) -> None:
    broken = bytearray(content)
    for at, instead in changes:
        broken[at : at + len(instead)] = instead
    clip, line = None, ""
    try:
        clip = loaded(bytes(broken[:end]), raw=raw)
    except ClipError as error:
        line = str(error)
    assert line.isprintable()
    if clip is not None:
        assert 0 < len(clip.pcm) == 2 * clip.samples
        assert all(remark.isprintable() for remark in clip.remarks)


# Samples in memory


def test_samples_in_memory_become_a_clip() -> None:
    whole = clip_from_samples("tone", SPEECH, rate_hz=16_000, reference="-", source="made")
    assert pcm(heard(whole)) == pcm(SPEECH)
    assert (whole.reference, whole.source, whole.remarks) == ("-", "made", ())
    floats = clip_from_samples("tone", (SPEECH / 32768).astype(np.float32), rate_hz=16_000)
    assert (floats.pcm, floats.sha256) == (whole.pcm, whole.sha256)
    loud = clip_from_samples("loud", np.array([2.0, -3.0]), rate_hz=16_000)
    assert loud.remarks == ("Clipped: 2 samples over full scale (peak 3).",)


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        (np.zeros(0, np.int16), "it must be one row, not empty"),
        (np.zeros((2, 2), np.int16), "it must be one row, not empty"),
        (np.zeros(2, np.int32), "samples of type int32"),
        (np.array([0.0, np.nan]), "NaN or infinite"),
    ],
)
def test_samples_that_cannot_be_streamed_are_refused(samples: NDArray[Any], why: str) -> None:
    with pytest.raises(ClipError, match=why):
        clip_from_samples("x", samples, rate_hz=16_000)


# The shared recordings


@shared
def test_every_shared_recording_lasts_as_long_as_its_manifest_says() -> None:
    for entry in json.loads((AUDIO / "MANIFEST.json").read_text()):
        path = AUDIO / entry["file"]
        if not entry["decodes_with_soundfile"] or entry["sample_rate"] > 384_000:
            assert refused(path)
        elif entry["duration_s"] == 0:
            assert "holds no samples" in refused(path)
        else:
            raw = RawFormat() if path.suffix == ".raw" else None
            for rate_hz in (8_000, 16_000, 24_000):
                clip = load_clip(path, raw=raw, rate_hz=rate_hz)
                assert clip.audio_s == pytest.approx(entry["duration_s"], abs=2e-4)


MALFORMED = {
    "zero_channels.wav": "0 channels",
    "zero_rate.wav": "0 Hz",
    "unknown_codec.wav": "codec 0x1234",
    "mp3_in_wav.wav": "MP3",
    "nan_float.wav": "sample 0 (0.000 s) of channel 1 is not a number",
    "empty.wav": "empty",
    "header_only_12.wav": "data chunk",
    "text.wav": "no audio file",
}
LENGTHS = {"truncated_data.wav": 14_489, "truncated_mid_sample.wav": 14_490}
AS_IT_IS = {"ok.wav", "list_before_data.wav", "extensible.wav", "big_endian_rifx.wav"}


@shared
def test_every_malformed_recording_is_recovered_whole_or_refused_with_its_reason() -> None:
    ok = load_clip(AUDIO / "malformed" / "ok.wav")
    for name, _ in json.loads((AUDIO / "malformed" / "EXPECTED.json").read_text()):
        path = AUDIO / "malformed" / name
        if name in MALFORMED:
            assert MALFORMED[name] in refused(path)
            continue
        clip = load_clip(path)
        assert clip.samples == LENGTHS.get(name, 28_979), name
        assert bool(clip.remarks) == (name not in AS_IT_IS), name
        if "float" not in name:
            assert clip.pcm == ok.pcm[: len(clip.pcm)], name


@shared
def test_telephone_recordings_in_a_law_and_mu_law_hold_the_same_speech() -> None:
    a = load_clip(AUDIO / "malformed" / "alaw8k.wav", rate_hz=8_000)
    mu = load_clip(AUDIO / "malformed" / "ulaw8k.raw", rate_hz=8_000, raw=RawFormat("mulaw", 8_000))
    assert a.samples == mu.samples == 14_490
    assert np.corrcoef(heard(a), heard(mu))[0, 1] > 0.999


def test_the_limits_are_those_that_are_documented() -> None:
    assert (clips.MAX_BYTES, decode.MAX_S) == (2 << 30, 4 * 3600)
