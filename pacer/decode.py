"""The bytes of any audio file -> blocks of its samples, whatever it is and whoever wrote it.

bytes ─what is it?─> header put right ─libsndfile─> float64[n, channels], checked
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import BinaryIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from pacer.riff import RiffError, is_riff, mended

MIN_RATE_HZ, MAX_RATE_HZ = 4_000, 384_000
MAX_S = 4 * 3600
"""A longer clip is refused: nobody wants to wait for it, and it would fill the memory."""
MAX_RAW_CHANNELS = 64
MISSING_S = 0.05
"""Less than this may lack at the end unsaid: MP3 headers count what decoders leave out."""
ABSURD = 1e9
"""A sample this far beyond full scale is no sound, and breaks the arithmetic."""
BLOCK_SAMPLES = 1 << 20
"""How many samples of all channels are held at once."""
ENCODINGS = {
    "s8": ("PCM_S8", "FILE", 1),
    "u8": ("PCM_U8", "FILE", 1),
    "s16le": ("PCM_16", "LITTLE", 2),
    "s16be": ("PCM_16", "BIG", 2),
    "s24le": ("PCM_24", "LITTLE", 3),
    "s24be": ("PCM_24", "BIG", 3),
    "s32le": ("PCM_32", "LITTLE", 4),
    "s32be": ("PCM_32", "BIG", 4),
    "f32le": ("FLOAT", "LITTLE", 4),
    "f32be": ("FLOAT", "BIG", 4),
    "f64le": ("DOUBLE", "LITTLE", 8),
    "f64be": ("DOUBLE", "BIG", 8),
    "mulaw": ("ULAW", "FILE", 1),
    "alaw": ("ALAW", "FILE", 1),
}
"""How bare samples may be written: libsndfile's words for it, and the bytes of one sample."""
SIGNATURES = {
    b"RIFF": "WAV",
    b"RIFX": "WAV",
    b"RF64": "RF64",
    b"riff\x2e\x91\xcf\x11": "W64",
    b"fLaC": "FLAC",
    b"OggS\x00": "Ogg",
    b"FORM": "AIFF",
    b"NIST_1A": "NIST SPHERE",
    b".snd": "AU",
    b"caff\x00\x01": "CAF",
    b"ID3\x02": "tagged",
    b"ID3\x03": "tagged",
    b"ID3\x04": "tagged",
}
"""How files begin that are more than bare samples."""
SAMPLE_DUMP = b"\xf0\x7e"
"""How MIDI sample dumps begin. libsndfile reports their faults on our stdout, so it gets none."""
BROKEN_HEADER = frozenset({7, 12, 24, 29})
"""libsndfile's errors that mean only this, and say it in words that mislead."""

Samples = NDArray[np.float64]


class ClipError(ValueError):
    """A file that cannot be streamed. One line: which, what is wrong, what to do."""


@dataclass(frozen=True, slots=True)
class RawFormat:
    """How to read a file of bare samples, which says nothing of itself. Raises ClipError."""

    encoding: str = "s16le"
    """One of ENCODINGS."""
    rate_hz: int = 16_000
    channels: int = 1

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            allowed = ", ".join(ENCODINGS)
            raise ClipError(f"raw encoding {self.encoding!r}: it must be one of {allowed}")
        if not 1 <= self.channels <= MAX_RAW_CHANNELS:
            raise ClipError(f"{self.channels} raw channels: it must be 1 to {MAX_RAW_CHANNELS}")
        check_rate(self.rate_hz)

    @property
    def frame_bytes(self) -> int:
        """How many bytes one sample of all channels takes."""
        return ENCODINGS[self.encoding][2] * self.channels


def check_rate(rate_hz: int) -> None:
    """Raises ClipError where nobody records speech at this rate."""
    if not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        raise ClipError(f"{rate_hz} Hz: it must be {MIN_RATE_HZ} to {MAX_RATE_HZ} Hz")


class Sound:
    """A file that is being decoded, and what is noticed meanwhile."""

    def __init__(self, file: soundfile.SoundFile, mended: tuple[str, ...] = ()) -> None:
        check_rate(file.samplerate)
        self._file, self._mended = file, mended
        self.rate_hz: int = file.samplerate
        self.channels: int = file.channels
        self.frames = 0
        """How many samples of each channel have been read."""
        self.loud: NDArray[np.bool_] = np.zeros(self.channels, dtype=np.bool_)
        """Which channels held more than digital silence."""

    def __str__(self) -> str:
        channels = "1 channel" if self.channels == 1 else f"{self.channels} channels"
        return f"{self._file.format} {self._file.subtype}, {self.rate_hz} Hz, {channels}"

    def blocks(self) -> Iterator[Samples]:
        """All samples, float64[n, channels], once. Raises ClipError."""
        size = max(1, BLOCK_SAMPLES // self.channels)
        while True:
            block: Samples = self._file.read(size, dtype="float64", always_2d=True)
            if not len(block):
                return
            self._refuse_nonsense(block)
            self.loud |= block.any(axis=0)
            self.frames += len(block)
            if self.frames > MAX_S * self.rate_hz:
                raise ClipError(f"longer than {MAX_S // 3600} h; cut it into parts")
            yield block

    def remarks(self) -> list[str]:
        """What had to be put right, and what is missing; complete when all has been read."""
        promised_s, there_s = self._file.frames / self.rate_hz, self.frames / self.rate_hz
        if there_s + MISSING_S < promised_s < MAX_S:
            said = f"The header promises {promised_s:.3f} s, {there_s:.3f} s are there."
            return [*self._mended, said]
        log = self._file.extra_info.splitlines()
        wrong = [" ".join(line.split()) for line in log if "(should be" in line]
        return [*self._mended, *(f"A size in the header is wrong: {line}." for line in wrong[:1])]

    def _refuse_nonsense(self, block: Samples) -> None:
        sound = np.abs(block) < ABSURD  # NaN is not
        if sound.all():
            return
        frame, channel = (int(place) for place in np.argwhere(~sound)[0])
        value, at = block[frame, channel], self.frames + frame
        what = {"nan": "not a number", "inf": "infinite", "-inf": "infinite"}.get(
            str(value), f"{value:.3g} times full scale"
        )
        raise ClipError(
            f"sample {at} ({at / self.rate_hz:.3f} s) of channel {channel + 1} is {what}; "
            "what wrote the file went wrong"
        )


@contextmanager
def opened(content: bytes, raw: RawFormat | None) -> Iterator[Sound]:
    """The decoder of one file; its failures are ClipErrors, while it is open as well.

    ``raw`` counts only for bare samples: a file that says what it is, is believed.
    """
    try:
        content, raw, remarks = _recognised(content, raw)
        with _decoder(content, raw) as file:
            yield Sound(file, remarks)
    except RiffError as error:
        raise ClipError(str(error)) from error
    except soundfile.LibsndfileError as error:
        raise ClipError(_in_words(error)) from error


def _recognised(
    content: bytes, raw: RawFormat | None
) -> tuple[bytes, RawFormat | None, tuple[str, ...]]:
    """The file as it should be decoded, how, and what is to be said of that."""
    kind = next((kind for begin, kind in SIGNATURES.items() if content.startswith(begin)), None)
    if kind is None and raw is not None:
        over = len(content) % raw.frame_bytes
        said = f"It ends in the middle of a sample; left out: {over} of its bytes."
        return content, raw, (said,) if over else ()
    if content.startswith(SAMPLE_DUMP):
        raise ClipError("a MIDI sample dump, which holds no speech")
    said = f"It was given as bare samples, but is a {kind} file and was read as such."
    remarks = () if raw is None else (said,)
    if is_riff(content):
        sound = mended(content)
        return sound.content, None, remarks + sound.remarks
    return content, None, remarks


@contextmanager
def _decoder(content: bytes, raw: RawFormat | None) -> Iterator[soundfile.SoundFile]:
    """The file as the decoder itself reads it, from memory that has a file's number.

    It could call back into Python for each piece; but the code for such calls is made as the
    program goes, which a sandbox may forbid.
    """
    with _in_memory(content) as file:
        if raw is None:
            made = _Forward(file.fileno(), closefd=False)
        else:
            subtype, endian, _ = ENCODINGS[raw.encoding]
            made = _Forward(
                file.fileno(),
                closefd=False,
                format="RAW",
                subtype=subtype,
                endian=endian,
                samplerate=raw.rate_hz,
                channels=raw.channels,
            )
        with made:
            yield made


def _in_memory(content: bytes) -> BinaryIO:
    """A file that is gone when it is closed, read from its start."""
    file: BinaryIO
    try:
        file = os.fdopen(os.memfd_create("sound", os.MFD_CLOEXEC), "w+b", buffering=0)
    except AttributeError:  # another system than Linux
        file = TemporaryFile(buffering=0)  # noqa: SIM115 (whoever asked for it closes it)
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]
    file.seek(0)
    return file


class _Forward(soundfile.SoundFile):  # type: ignore[misc]
    """A sound file that is read from start to end.

    The binding seeks after each read where it can, and seeking changes what MP3 decodes to.
    """

    def seekable(self) -> bool:
        return False


def _in_words(error: soundfile.LibsndfileError) -> str:
    if error.code == 1:
        return (
            "no audio file that is known; if it holds bare samples, "
            "give it as raw with encoding, rate and channels (such as s16le, 16000, 1)"
        )
    if error.code in BROKEN_HEADER:
        return "it cannot be decoded: its header is broken"
    said = " ".join(error.error_string.removeprefix("Error : ").split()).rstrip(".")
    return f"it cannot be decoded: {said}"
