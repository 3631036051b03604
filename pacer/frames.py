"""A clip cut into the frames in which it leaves, and the silence that goes on behind it.

    clip     |--20--|--20--|--20--|-7-|
    frames   0      1      2      3        audio_ms 20, 40, 60, 67
    silence                            |--20--|--20--|--20--| ...        87, 107, 127, ...

Places are counted in samples, so they never drift.
"""

from collections.abc import Iterator
from itertools import count

from measure.records import AudioClip, Frame


def frames(clip: AudioClip, *, step_ms: int = 20) -> Iterator[Frame]:
    """The whole clip in pieces of ``step_ms``; the last one is shorter if it must be.

    Raises ValueError where a step is no whole number of samples.
    """
    step = _step_samples(clip.rate_hz, step_ms)
    for index, start in enumerate(range(0, clip.samples, step)):
        end = min(start + step, clip.samples)
        yield Frame(index, clip.pcm[2 * start : 2 * end], end * 1000 / clip.rate_hz)


def silence(after: Frame, *, rate_hz: int = 16_000, step_ms: int = 20) -> Iterator[Frame]:
    """Digital silence from the end of ``after`` on, in full steps, for as long as it is asked for.

    ``rate_hz`` is that of the clip. Raises ValueError as ``frames`` does.
    """
    step = _step_samples(rate_hz, step_ms)
    start = round(after.audio_ms * rate_hz / 1000)
    nothing = bytes(2 * step)
    for nth in count(1):
        yield Frame(after.index + nth, nothing, (start + nth * step) * 1000 / rate_hz, padding=True)


def _step_samples(rate_hz: int, step_ms: int) -> int:
    step, over = divmod(rate_hz * step_ms, 1000)
    if over or step < 1:
        raise ValueError(f"{step_ms} ms at {rate_hz} Hz: it must be a whole number of samples")
    return step
