"""Live voice detection beside the pacing, as the program does it: all streams in one thread.

It also notes how long each decision took: from the moment at which the last frame that was needed
for it was handed over until it was told.
"""

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from benchmarks.host import WORKER_PRIORITY
from measure.records import AudioClip, VoiceSettings
from pacer.builtin import builtin_clips
from vad.endpoint import Edge
from vad.listening import Listener
from vad.silero import StepModel

RATE_HZ = 16_000
FRAME_SAMPLES = RATE_HZ // 50
FRAME_BYTES = 2 * FRAME_SAMPLES
_APART_FRAMES = 79
"""How far apart in the audio two neighbouring streams begin."""


class Hearing:
    """Hears ``streams`` streams of real speech. Use it as a context: the thread lives as long."""

    def __init__(self, streams: int) -> None:
        self._listener = Listener(
            StepModel.load(), RATE_HZ, VoiceSettings(), on_thread=_stay_behind
        )
        self._audio = _real_speech()
        self._handed_ns: list[list[int]] = [[] for _ in range(streams)]
        """Of each frame of each stream, when it was handed over."""
        self._ears = [self._listener.open(self._told(stream)) for stream in range(streams)]
        self.delays_ns: list[int] = []
        """Of each start and end of speech that was found."""

    def __enter__(self) -> Self:
        self._listener.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._listener.__exit__(kind, error, where)
        if self._listener.error is not None:
            raise self._listener.error

    def hear(self, stream: int) -> None:
        """The next 20 ms of real speech on this stream have just been spoken."""
        handed_ns = self._handed_ns[stream]
        at = (len(handed_ns) + stream * _APART_FRAMES) * FRAME_BYTES % len(self._audio)
        handed_ns.append(time.monotonic_ns())
        self._ears[stream].hear(self._audio[at : at + FRAME_BYTES])

    def _told(self, stream: int) -> Callable[[Edge], None]:
        def told(edge: Edge) -> None:
            needed = -(-edge.fired_at_sample // FRAME_SAMPLES) - 1
            self.delays_ns.append(time.monotonic_ns() - self._handed_ns[stream][needed])

        return told


def _real_speech() -> bytes:
    """All built-in clips one after another, in whole frames."""
    return b"".join(_whole_frames(clip) for clip in builtin_clips(RATE_HZ))


def _whole_frames(clip: AudioClip) -> bytes:
    return clip.pcm[: len(clip.pcm) // FRAME_BYTES * FRAME_BYTES]


def _stay_behind() -> None:
    """Run before other programs, but never before the paced loop."""
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(WORKER_PRIORITY))
    except OSError:
        pass
