"""Each kind of file gives its samples, and a broken one a reason."""

import subprocess
import sys
from collections.abc import Iterable
from io import BytesIO

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from pacer import decode
from pacer.decode import ENCODINGS, ClipError, RawFormat, Samples, opened
from tests.pacer.wav import SPEECH, chunk, fmt, riff, wav

TONE = np.stack([np.sin(np.arange(24_000) * f) * 0.3 for f in (0.05, 0.08)], axis=1)
"""Half a second of two tones at 48 kHz, one on each channel."""


def decoded(content: bytes, raw: RawFormat | None = None) -> tuple[Samples, list[str]]:
    with opened(content, raw) as sound:
        blocks = list(sound.blocks())
        return np.concatenate(blocks), sound.remarks()


def refused(content: bytes, raw: RawFormat | None = None) -> str:
    with pytest.raises(ClipError) as caught:
        decoded(content, raw)
    return str(caught.value)


def written(
    kind: str, subtype: str, samples: NDArray[np.float64] = TONE, rate_hz: int = 48_000
) -> bytes:
    file = BytesIO()
    soundfile.write(file, samples, rate_hz, format=kind, subtype=subtype)
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "subtype", "error"),
    [
        ("WAV", "PCM_U8", 2**-7),
        ("WAV", "PCM_16", 2**-15),
        ("WAV", "PCM_24", 2**-23),
        ("WAV", "PCM_32", 2**-31),
        ("WAV", "FLOAT", 2**-24),
        ("WAV", "DOUBLE", 0),
        ("WAV", "ULAW", 2**-6),
        ("WAV", "ALAW", 2**-6),
        ("WAV", "IMA_ADPCM", 2**-5),
        ("WAVEX", "PCM_24", 2**-23),
        ("W64", "PCM_16", 2**-15),
        ("RF64", "PCM_16", 2**-15),
        ("AIFF", "PCM_24", 2**-23),
        ("AU", "ULAW", 2**-6),
        ("CAF", "ALAC_16", 2**-15),
        ("NIST", "PCM_16", 2**-15),
        ("FLAC", "PCM_24", 2**-23),
        ("OGG", "VORBIS", 0.1),
        ("OGG", "OPUS", 0.1),
        ("MP3", "MPEG_LAYER_III", 0.1),
    ],
)
def test_every_kind_of_file_gives_its_samples_in_their_places(
    kind: str, subtype: str, error: float
) -> None:
    found, remarks = decoded(written(kind, subtype))
    assert remarks == []
    assert len(found) - len(TONE) in range(2048 if subtype == "IMA_ADPCM" else 1)
    middle = slice(2_000, 22_000)
    assert np.abs(found[middle] - TONE[middle]).max() <= error


@pytest.mark.parametrize("kind", [("OGG", "VORBIS"), ("OGG", "OPUS"), ("MP3", "MPEG_LAYER_III")])
def test_the_size_of_the_blocks_changes_no_sample(
    kind: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = written(*kind)
    whole, _ = decoded(content)
    monkeypatch.setattr(decode, "BLOCK_SAMPLES", 2_000)
    assert np.array_equal(decoded(content)[0], whole)


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_bare_samples_are_read_as_they_are_said_to_be(encoding: str) -> None:
    subtype, endian, size = ENCODINGS[encoding]
    file = BytesIO()
    soundfile.write(file, TONE, 8000, format="RAW", subtype=subtype, endian=endian)
    assert len(file.getvalue()) == TONE.size * size
    with opened(file.getvalue(), RawFormat(encoding, 8000, 2)) as sound:
        found = np.concatenate(list(sound.blocks()))
        assert (sound.rate_hz, sound.channels, sound.remarks()) == (8000, 2, [])
    assert np.abs(found - TONE).max() < 0.02


def test_bare_samples_have_the_order_of_bytes_that_is_said() -> None:
    half = {
        "s8": "40",
        "u8": "c0",
        "s16le": "0040",
        "s16be": "4000",
        "s24le": "000040",
        "s24be": "400000",
        "s32le": "00000040",
        "s32be": "40000000",
        "f32le": "0000003f",
        "f32be": "3f000000",
        "f64le": "000000000000e03f",
        "f64be": "3fe0000000000000",
    }
    assert half.keys() == ENCODINGS.keys() - {"mulaw", "alaw"}
    for encoding, written_so in half.items():
        found, _ = decoded(bytes.fromhex(written_so), RawFormat(encoding))
        assert found.tolist() == [[0.5]], encoding


def test_mu_law_and_a_law_follow_g711() -> None:
    mu, _ = decoded(b"\x00\x80\x7f\xff\xf0", RawFormat("mulaw", 8000, 1))
    assert (mu[:, 0] * 32768).tolist() == [-32124, 32124, 0, 0, 120]
    a, _ = decoded(b"\x2a\xaa\x55\xd5", RawFormat("alaw", 8000, 1))
    assert (a[:, 0] * 32768).tolist() == [-32256, 32256, -8, 8]


def test_bytes_that_make_no_whole_sample_are_left_out_and_said() -> None:
    found, remarks = decoded(bytes(10) + b"\1\2\3", RawFormat("s16le", 16_000, 2))
    assert len(found) == 3
    assert remarks == ["It ends in the middle of a sample; left out: 1 of its bytes."]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (wav(), "WAV"),
        (wav(size=0xFFFFFFFF), "WAV"),
        (b"ID3\x03\0\0\0\0\0\x02ab" + wav(), "tagged"),
        (written("FLAC", "PCM_16"), "FLAC"),
        (written("OGG", "VORBIS"), "Ogg"),
        (written("AIFF", "PCM_16"), "AIFF"),
        (written("NIST", "PCM_16"), "NIST SPHERE"),
        (written("AU", "PCM_16"), "AU"),
        (written("RF64", "PCM_16"), "RF64"),
        (written("W64", "PCM_16"), "W64"),
        (written("CAF", "PCM_16"), "CAF"),
    ],
)
def test_a_header_is_never_taken_for_samples(content: bytes, kind: str) -> None:
    known, _ = decoded(content)
    found, remarks = decoded(content, RawFormat("mulaw", 8000, 1))
    assert np.array_equal(found, known)
    said = f"It was given as bare samples, but is a {kind} file and was read as such."
    assert remarks[0] == said


def test_a_broken_file_given_as_bare_samples_is_refused_not_played() -> None:
    assert "data chunk" in refused(b"RIFF\x04\0\0\0WAVE", RawFormat())
    assert refused(b"fLaC" + bytes(100), RawFormat())


def test_a_raw_format_that_cannot_be_is_refused() -> None:
    with pytest.raises(ClipError, match="raw encoding 'mp3': it must be one of s8, u8, s16le"):
        RawFormat("mp3")
    with pytest.raises(ClipError, match="1 to 64"):
        RawFormat(channels=0)
    with pytest.raises(ClipError, match="0 Hz: it must be 4000 to 384000 Hz"):
        RawFormat(rate_hz=0)


def floats(values: Iterable[float], channels: int = 1) -> bytes:
    body = np.array(list(values), dtype="<f4").tobytes()
    return riff(chunk(b"fmt ", fmt(3, channels=channels, bits=32)), chunk(b"data", body))


def test_what_is_no_number_is_refused_with_its_place() -> None:
    found = refused(floats([0, 0, 0, float("nan"), float("nan"), 0], channels=2))
    assert found.startswith("sample 1 (0.000 s) of channel 2 is not a number;")


def test_the_place_of_what_is_no_number_counts_from_the_start_of_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decode, "BLOCK_SAMPLES", 100)
    found = refused(floats([0.0] * 16_000 + [float("-inf")]))
    assert found.startswith("sample 16000 (1.000 s) of channel 1 is infinite;")


def test_what_is_far_beyond_all_sound_is_refused() -> None:
    assert "channel 1 is -3e+38 times full scale" in refused(floats([0.5, -3e38]))


@pytest.mark.parametrize("rate_hz", [1, 3_999, 384_001, 1_092_676])
def test_rates_at_which_nobody_records_are_refused(rate_hz: int) -> None:
    content = riff(chunk(b"fmt ", fmt(rate_hz=rate_hz)), chunk(b"data", bytes(100)))
    assert refused(content) == f"{rate_hz} Hz: it must be 4000 to 384000 Hz"


def test_a_clip_may_be_as_long_as_the_limit_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MAX_S", 3600)
    raw = RawFormat("u8", 4_000)
    assert len(decoded(bytes(3600 * 4_000), raw)[0]) == 3600 * 4_000
    assert refused(bytes(3600 * 4_000 + 1), raw) == "longer than 1 h; cut it into parts"


def test_what_a_header_promises_in_vain_is_said() -> None:
    tone = written("AIFF", "PCM_16")
    found, remarks = decoded(tone[: len(tone) // 2])
    assert len(found) == pytest.approx(len(TONE) / 2, abs=50)
    assert "A size in the header is wrong: FORM" in remarks[0]


def test_a_stream_that_breaks_off_is_refused() -> None:
    tone = written("FLAC", "PCM_16")
    assert refused(tone[: len(tone) // 2]).startswith("it cannot be decoded: flac decoder")


def test_what_is_no_audio_gets_a_way_out() -> None:
    found = refused(b"this is not audio\n")
    assert found.startswith("no audio file that is known; if it holds bare samples, give it as raw")


def test_a_sample_dump_never_reaches_the_decoder() -> None:
    assert refused(b"\xf0\x7e\0\x01" + bytes(100)) == "a MIDI sample dump, which holds no speech"


def test_a_seek_out_of_the_file_breaks_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    aiff = written("AIFF", "PCM_16").replace(b"SSND", b"\0\0\0\0")  # the decoder looks before 0
    assert refused(aiff) == "it cannot be decoded: its header is broken"
    assert capfd.readouterr() == ("", "")


def test_channels_that_hold_nothing_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "BLOCK_SAMPLES", 2_000)
    silent = TONE * [0, 1]
    silent[-2_000:] = 0
    with opened(written("WAV", "PCM_16", silent), None) as sound:
        for _ in sound.blocks():
            pass
        assert sound.loud.tolist() == [False, True]


def test_the_samples_of_a_plain_file_are_what_was_written() -> None:
    found, _ = decoded(wav())
    assert (found[:, 0] * 32768).astype(np.int16).tolist() == SPEECH.tolist()


_WITHOUT_NEW_CODE = """
import ctypes, sys
import soundfile
from pacer.decode import RawFormat, opened
set_mdwe, refuse_exec_gain = 65, 1
if ctypes.CDLL(None).prctl(set_mdwe, refuse_exec_gain, 0, 0, 0) != 0:
    sys.exit(77)
for content, raw in ((bytes(3200), RawFormat()), (sys.stdin.buffer.read(), None)):
    with opened(content, raw) as sound:
        assert sum(len(block) for block in sound.blocks()) == 1600
"""


def test_no_code_is_made_while_it_decodes() -> None:
    """So that a unit may forbid that: MemoryDenyWriteExecute=yes."""
    buffer = BytesIO()
    soundfile.write(buffer, np.zeros(1600), 16_000, format="FLAC")
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_NEW_CODE],
        input=buffer.getvalue(),
        capture_output=True,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip("this kernel cannot be asked for that")
    assert done.returncode == 0, done.stderr.decode()
