"""WAV files written byte by byte, right or wrong as the test wants them."""

from struct import pack

import numpy as np
from numpy.typing import NDArray

SPEECH = (np.sin(np.arange(1601) * 0.1) * 12_000).astype(np.int16)
"""A bit more than 0.1 s at 16 kHz: an odd number of samples, none of which looks like a chunk."""


def fmt(
    codec: int = 1,
    *,
    channels: int = 1,
    rate_hz: int = 16_000,
    bits: int = 16,
    align: int | None = None,
    more: bytes = b"",
    order: str = "<",
) -> bytes:
    """The body of a fmt chunk."""
    align = channels * bits // 8 if align is None else align
    return pack(order + "HHIIHH", codec, channels, rate_hz, rate_hz * align, align, bits) + more


def chunk(
    name: bytes, body: bytes, *, size: int | None = None, pad: bool = True, order: str = "<"
) -> bytes:
    """One chunk; its header claims ``size``, whatever the body is."""
    claimed = len(body) if size is None else size
    return name + pack(order + "I", claimed) + body + bytes(len(body) % 2 if pad else 0)


def riff(*chunks: bytes, size: int | None = None, order: str = "<", form: bytes = b"WAVE") -> bytes:
    """A whole file."""
    inner = form + b"".join(chunks)
    claimed = len(inner) if size is None else size
    return (b"RIFX" if order == ">" else b"RIFF") + pack(order + "I", claimed) + inner


def wav(samples: NDArray[np.int16] = SPEECH, *, size: int | None = None) -> bytes:
    """A mono file of 16-bit samples at 16 kHz; the header claims ``size`` bytes of them."""
    return riff(chunk(b"fmt ", fmt()), chunk(b"data", samples.astype("<i2").tobytes(), size=size))
