"""Live streams heard side by side: one thread runs the network over all of them at once.

    paced loop ── ear.hear(piece) ──> waiting ── every 1 ms ──> hear_together ── told(edge) ──> …
                  (puts it in a list)                 (thread)

The paced loop does no more than put a piece in a list. What fires is told from the thread, and is
edge for edge what a survey of the same audio finds.
"""

import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from measure.events import SpeechEnd, SpeechStart
from measure.records import VoiceSettings
from vad.endpoint import Edge, EdgeKind
from vad.live import SAMPLE_BYTES, LiveDetector, hear_together
from vad.silero import StepModel

LOOK_S = 0.001
"""How long pieces are gathered: several windows in one call cost a third of as many calls.

Longer batches cost less in all but hold the interpreter for longer: at 4 ms both the frames that
are paced and the decisions came two to three times as late, with 100 streams.
"""
BEHIND_LIMIT_S = 10.0
"""How much audio of one stream may wait. More means that this host cannot keep up."""


class FellBehind(Exception):
    """The host is too slow to hear what it streams."""

    def __init__(self, behind_s: float) -> None:
        super().__init__(
            f"voice detection is {behind_s:.1f} s of audio behind: this host is too slow for so "
            "many live streams; use fewer at a time"
        )


def event_of(edge: Edge, at_ns: int) -> SpeechStart | SpeechEnd:
    """The event that an edge makes, whether it fired now or a survey had found it."""
    if edge.kind is EdgeKind.START:
        return SpeechStart(at_ns, edge.audio_ms, edge.known_ms)
    return SpeechEnd(at_ns, edge.audio_ms, edge.known_ms, edge.at_eof)


class Ear:
    """Hears one stream. ``hear`` and ``close`` belong to one thread, which may be any."""

    def __init__(
        self,
        detector: LiveDetector,
        rate_hz: int,
        told: Callable[[Edge], None],
        over: Callable[[], None],
        something: threading.Event,
    ) -> None:
        """``something`` is set whenever there is something to do for the thread."""
        self.detector = detector
        self.over = over
        self._something = something
        self.told = told
        self.closed = False
        self._bytes_per_s = rate_hz * SAMPLE_BYTES
        self._waiting: deque[bytes] = deque()
        self._given_bytes = self._taken_bytes = 0  # each is written by one thread only

    def hear(self, pcm: bytes) -> None:
        """The next piece, of any size. Raises FellBehind where too much waits already."""
        behind_s = (self._given_bytes - self._taken_bytes) / self._bytes_per_s
        if behind_s > BEHIND_LIMIT_S:
            raise FellBehind(behind_s)
        self._given_bytes += len(pcm)
        self._waiting.append(pcm)
        if not self._something.is_set():
            self._something.set()

    def close(self) -> None:
        """The stream is over: what an open speech makes known is told, and then nothing more."""
        self.closed = True
        self._something.set()

    # For the thread alone

    def take(self) -> bytes:
        """All that waits."""
        taken = b"".join(self._waiting.popleft() for _ in range(len(self._waiting)))
        self._taken_bytes += len(taken)
        return taken


class Listener:
    """Hears every live stream of one rate in a thread of its own, which lives as long as this."""

    def __init__(
        self,
        model: StepModel,
        rate_hz: int,
        settings: VoiceSettings,
        *,
        on_thread: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_thread`` is called first in the thread: to give it its place behind the pacing."""
        self._model = model
        self._rate_hz = rate_hz
        self._settings = settings
        self._on_thread = on_thread
        self._ears: tuple[Ear, ...] = ()
        self._changing = threading.Lock()
        self._over = threading.Event()
        self._something = threading.Event()
        self._thread = threading.Thread(target=self._work, name="voice detection", daemon=True)
        self.error: Exception | None = None
        """Why it stopped hearing, which it never does by itself."""

    def open(self, told: Callable[[Edge], None], *, over: Callable[[], None] = lambda: None) -> Ear:
        """An ear for one more stream; ``told`` gets each edge, in the thread, as it fires.

        ``over`` is called there once the ear is closed and nothing more will be told.
        """
        detector = LiveDetector(self._model, self._rate_hz, self._settings)
        ear = Ear(detector, self._rate_hz, told, over, self._something)
        with self._changing:
            self._ears = (*self._ears, ear)
        return ear

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._over.set()
        self._something.set()
        self._thread.join()

    def _work(self) -> None:
        self._on_thread()
        try:
            while not self._over.is_set():
                self._something.wait()
                self._over.wait(LOOK_S)
                self._something.clear()  # before looking: what comes meanwhile wakes us again
                self._look()
        except Exception as error:
            self.error = error

    def _look(self) -> None:
        """Hear all that waits, and tell what fires."""
        ears = self._ears
        closed = [ear for ear in ears if ear.closed]  # before taking: nothing comes after that
        pieces = [(ear, pcm) for ear in ears if (pcm := ear.take())]
        fired = hear_together(self._model, [(ear.detector, pcm) for ear, pcm in pieces])
        for (ear, _), edges in zip(pieces, fired, strict=True):
            for edge in edges:
                ear.told(edge)
        for ear in closed:
            self._say_goodbye(ear)

    def _say_goodbye(self, ear: Ear) -> None:
        for edge in ear.detector.flush():
            ear.told(edge)
        with self._changing:
            self._ears = tuple(other for other in self._ears if other is not ear)
        ear.over()
