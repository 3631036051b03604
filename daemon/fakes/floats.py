"""Samples as 32-bit floats, as some servers are sent them."""

from array import array
from collections.abc import Iterable
from sys import byteorder

SCALE = 32_768


def pcm_of(floats: bytes) -> bytes:
    """16-bit samples of little-endian floats from -1 to 1. Raises ValueError for anything else."""
    samples = array("f")
    samples.frombytes(floats)
    if byteorder == "big":
        samples.byteswap()
    return pcm_of_samples(samples)


def pcm_of_samples(samples: Iterable[float]) -> bytes:
    """16-bit little-endian samples of floats from -1 to 1. Raises ValueError."""
    try:
        pcm = array("h", [max(-SCALE, min(SCALE - 1, round(one * SCALE))) for one in samples])
    except (TypeError, OverflowError) as error:  # no numbers, or not finite ones
        raise ValueError("no samples") from error
    if byteorder == "big":
        pcm.byteswap()
    return pcm.tobytes()
