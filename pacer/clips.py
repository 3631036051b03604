"""Any audio file -> an AudioClip: checked, mono, 16-bit, resampled once, hashed.

    file ─decode─> channels ─mix, left or right─> one ─soxr HQ─> the rate ─nearest─> 16 bits

All arithmetic is float64, so 16-bit samples at the wanted rate pass bit for bit. More bits, floats
and whatever was resampled go to the nearest of the 65,536 steps (of two as near, the even one);
what is over full scale is clipped, and counted. NaN and infinity are refused, and so is the absurd.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from measure.records import AudioClip
from pacer.decode import ClipError, RawFormat, Samples, Sound, check_rate, opened

__all__ = ["CHANNELS", "ClipError", "RawFormat", "clip_from_samples", "load_clip"]

CHANNELS = ("mix", "left", "right")
"""What becomes of several channels: all at equal weight, the first, or the second."""
MAX_BYTES = 2 << 30
"""A larger file is refused unread."""


def load_clip(
    path: Path,
    *,
    rate_hz: int = 16_000,
    channels: str = "mix",
    raw: RawFormat | None = None,
    name: str | None = None,
    reference: str | None = None,
    corpus: str = "files",
) -> AudioClip:
    """One file as it will be streamed, at ``rate_hz``. Raises ClipError.

    A provider that wants another rate gets the file loaded anew at that rate, so that nothing
    is resampled twice; the durations differ by less than one sample.
    """
    if channels not in CHANNELS:
        raise ClipError(f"channels {channels!r}: it must be one of {', '.join(CHANNELS)}")
    check_rate(rate_hz)
    with _blaming(path), opened(_read(path), raw) as sound:
        scale = _Scale()
        mono = _one_channel(sound, channels)
        pcm = b"".join(map(scale.pcm, _resampled(mono, sound.rate_hz, rate_hz)))
        _refuse_nothing(sound, pcm, rate_hz)
        return AudioClip(
            name=path.name if name is None else name,
            pcm=pcm,
            rate_hz=rate_hz,
            sha256=_hash(pcm, rate_hz),
            reference=reference,
            corpus=corpus,
            source=str(sound) if sound.channels == 1 else f"{sound} ({channels})",
            remarks=(*sound.remarks(), *_of_channels(sound, channels), *scale.remarks(), *_of(pcm)),
        )


def clip_from_samples(
    name: str,
    samples: NDArray[Any],
    *,
    rate_hz: int,
    reference: str | None = None,
    corpus: str = "files",
    source: str = "",
) -> AudioClip:
    """Mono samples that are in memory already: int16, or float within -1 .. 1. Raises ClipError."""
    check_rate(rate_hz)
    if samples.ndim != 1 or not samples.size:
        raise ClipError(f"{name}: samples of shape {samples.shape}; it must be one row, not empty")
    scale = _Scale()
    if samples.dtype == np.int16:
        pcm = samples.astype("<i2").tobytes()
    elif not np.issubdtype(samples.dtype, np.floating):
        raise ClipError(f"{name}: samples of type {samples.dtype}; it must be int16 or float")
    elif not np.isfinite(samples).all():
        raise ClipError(f"{name}: samples that are NaN or infinite")
    else:
        pcm = scale.pcm(samples.astype(np.float64))
    remarks = (*scale.remarks(), *_of(pcm))
    return AudioClip(name, pcm, rate_hz, _hash(pcm, rate_hz), reference, corpus, source, remarks)


class _Scale:
    """From full scale 1.0 to 16 bits."""

    def __init__(self) -> None:
        self._clipped, self._peak = 0, 0.0

    def pcm(self, samples: Samples) -> bytes:
        """float64[n] -> 2n bytes, little-endian."""
        size = np.abs(samples)
        self._clipped += int(np.count_nonzero(size > 1.0))
        self._peak = max(self._peak, float(size.max(initial=0.0)))
        return np.rint(samples * 32768.0).clip(-32768, 32767).astype("<i2").tobytes()

    def remarks(self) -> list[str]:
        if not self._clipped:
            return []
        return [f"Clipped: {self._clipped:,} samples over full scale (peak {self._peak:.3g})."]


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Says which file it was that had the error, in one line whatever its name is."""
    try:
        yield
    except ClipError as error:
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(path))
        raise ClipError(f"{shown}: {error}") from error


def _read(path: Path) -> bytes:
    """The file. What is no file is not opened: a pipe might never end."""
    try:
        status = path.stat()
        fit = S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
        content = path.read_bytes() if fit else b""
    except OSError as error:
        raise ClipError((error.strerror or "it cannot be read").lower()) from error
    except ValueError as error:
        raise ClipError("no file can have this name") from error
    if S_ISDIR(status.st_mode):
        raise ClipError("a directory, not a file")
    if not S_ISREG(status.st_mode):
        raise ClipError("a device or a pipe, not a file")
    if status.st_size > MAX_BYTES:
        raise ClipError(f"larger than {MAX_BYTES >> 30} GiB; cut it into parts")
    if not content:
        raise ClipError("an empty file")
    return content


def _one_channel(sound: Sound, policy: str) -> Iterator[Samples]:
    mix = policy == "mix" and sound.channels > 1
    column = 1 if policy == "right" and sound.channels > 1 else 0
    for block in sound.blocks():
        yield block.mean(axis=1) if mix else np.ascontiguousarray(block[:, column])


def _resampled(blocks: Iterable[Samples], from_hz: int, to_hz: int) -> Iterator[Samples]:
    if from_hz == to_hz:
        yield from blocks
        return
    stream = soxr.ResampleStream(from_hz, to_hz, 1, dtype="float64", quality="HQ")
    for block in blocks:
        yield stream.resample_chunk(block)
    yield stream.resample_chunk(np.zeros(0), last=True)


def _refuse_nothing(sound: Sound, pcm: bytes, rate_hz: int) -> None:
    if not sound.frames:
        raise ClipError("it holds no samples")
    if not pcm:
        raise ClipError(f"shorter than one sample at {rate_hz} Hz")


def _of_channels(sound: Sound, policy: str) -> list[str]:
    """What became of the channels of a file that has several."""
    if sound.channels == 1:
        return []
    if policy != "mix":
        return [f"Of {sound.channels} channels the {policy} one was taken."]
    said = [f"{sound.channels} channels were mixed at equal weight."]
    silent = [str(channel + 1) for channel in np.flatnonzero(~sound.loud)]
    if silent and len(silent) < sound.channels:
        said.append(f"Digital silence in channel {', '.join(silent)} makes the mix quieter.")
    return said


def _of(pcm: bytes) -> list[str]:
    return ["All of it is digital silence."] if pcm.count(0) == len(pcm) else []


def _hash(pcm: bytes, rate_hz: int) -> str:
    """Of the samples, little-endian, and behind them the rate in decimal digits."""
    digest = sha256(pcm)
    digest.update(str(rate_hz).encode())
    return digest.hexdigest()
