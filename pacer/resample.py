"""Live audio at another rate, piece by piece, each with a constant lag of a few milliseconds.

A low-pass filter (a sinc under a Kaiser window) is laid over the input around the place of each
output sample. A resampler for files is no good here: soxr, fed 20 ms at a time, gives nothing for
up to 90 ms and then all at once, so that every frame behind it would leave late.

    in   ·  ·  ·  ·  ·  ·  ·  ·          32 zero crossings of the lower rate on each side:
    out    ·     ·     ·     ·           a lag of 2 ms at 16 kHz, of 4 ms where either is 8 kHz

Of the lower rate's band 86 % pass unchanged (within 0.1 dB); what lies beyond it is 80 dB down, so
that nothing is heard at a pitch where it was not.
"""

from math import ceil, gcd

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

CROSSINGS = 32
_BETA = 8.0
"""Of the Kaiser window: 80 dB down."""
_HALVED = 0.92
"""At this share of the lower rate's band half of the amplitude is left. So steep that all is down
where the band ends, the filter is with 32 crossings and not with fewer."""


class LiveResampler:
    """16-bit little-endian mono samples at one rate in, at another out."""

    def __init__(self, rate_in_hz: int, rate_out_hz: int) -> None:
        common = gcd(rate_in_hz, rate_out_hz)
        self._up, self._down = rate_out_hz // common, rate_in_hz // common
        slower = min(1.0, rate_out_hz / rate_in_hz)
        self._half = ceil(CROSSINGS / slower)
        self._taps = _taps(self._up, self._half, slower * _HALVED)
        self.lag_ms = self._half * 1000 / rate_in_hz
        """How much of the newest input has no output yet."""
        self._waiting: NDArray[np.float32] = np.zeros(self._half - 1, np.float32)
        self._skipped = -(self._half - 1)
        """The place of the first sample that waits."""
        self._given = 0

    def resample(self, pcm: bytes) -> bytes:
        """All output that ``pcm`` completes.

        Of ``n`` samples so far come ``(n - lag) * out / in``, rounded down. The same bytes, however
        the input is cut into pieces. Raises ValueError for half a sample.
        """
        if len(pcm) % 2:
            raise ValueError(f"{len(pcm)} bytes: 16-bit samples have two each")
        new = np.frombuffer(pcm, "<i2").astype(np.float32)
        self._waiting = np.concatenate([self._waiting, new])
        last = self._skipped + len(self._waiting) - 1 - self._half
        """The last place that has enough input behind it."""
        count = (last + 1) * self._up // self._down - self._given
        if count <= 0:
            return b""
        places = (self._given + np.arange(count)) * self._down
        first = places // self._up - (self._half - 1) - self._skipped
        windows = sliding_window_view(self._waiting, 2 * self._half)[first]
        made = np.einsum("ij,ij->i", windows, self._taps[places % self._up])
        self._given += count
        done = self._given * self._down // self._up - (self._half - 1) - self._skipped
        self._waiting, self._skipped = self._waiting[done:], self._skipped + done
        samples = np.clip(np.rint(made), -32768, 32767).astype("<i2")
        return bytes(samples)


def _taps(phases: int, half: int, cutoff: float) -> NDArray[np.float32]:
    """What each of ``2 * half`` input samples counts, for each place between two of them."""
    between = np.arange(phases)[:, None] / phases
    away = np.arange(-half + 1, half + 1)[None, :] - between
    window = np.i0(_BETA * np.sqrt(np.clip(1 - (away / half) ** 2, 0, 1))) / np.i0(_BETA)
    taps = np.sinc(cutoff * away) * window
    counted: NDArray[np.float32] = (taps / taps.sum(axis=1, keepdims=True)).astype(np.float32)
    return counted
