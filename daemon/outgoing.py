"""The audio that one session sends: a clip or live audio, then silence; as the provider wants it.

    clip ──────────┐
    live, as heard ┴─frames─> chunker ─chunk─> …     and digital silence for as long as it takes

What comes live is kept in mind for a while: its end of speech is found out only later.
"""

from collections import deque
from collections.abc import Iterator

from daemon.order import Order
from measure.records import SECOND, Frame
from pacer.chunk import Chunker
from pacer.frames import frames, silence
from pacer.live import LiveFrame

_REMEMBERED_NS = 10 * SECOND
"""For how long it is known when a live frame came: longer than any detector takes."""
_NOTHING = Frame(-1, b"", 0.0)


class Outgoing:
    """The audio of one session, chunk by chunk."""

    def __init__(self, order: Order) -> None:
        wanted = order.codec.facts.audio
        self._frames: Iterator[Frame] = frames(order.clip)
        self._rate_hz = order.clip.rate_hz
        self._silent = False
        self._last = _NOTHING
        rule, turns = order.rule, order.turns
        self._endpoints_ms = [rule.endpoint_ms(one.end_ms, one.end_known_ms) for one in turns]
        self._speech_ends_ms = [one.end_ms for one in turns]
        self.at_endpoint = False
        """The chunk that ``next`` gave completes an endpoint."""
        self._chunker = Chunker(
            rate_hz=wanted.rate_hz,
            chunk_ms=wanted.chunk_ms,
            min_chunk_ms=wanted.min_chunk_ms,
            max_chunk_ms=wanted.max_chunk_ms,
        )
        self._flush_at_ms: float | None = None
        self._came: deque[tuple[float, int]] = deque()
        self.captured_ns: int | None = None
        """When the end of the newest frame was taken up; None where it is no live audio."""
        self.due_ns = 0
        """When the newest live frame could be had at best."""
        self.sent_ms = 0.0
        self.messages = 0
        self.last_due_ns = 0

    @property
    def newest(self) -> Frame:
        """The frame that was put into a chunk last."""
        return self._last

    @property
    def silence_ms(self) -> float:
        """How much of what was sent, at its end, came after speech."""
        ends_ms = [end_ms for end_ms in self._speech_ends_ms if end_ms <= self.sent_ms]
        return self.sent_ms - ends_ms[-1] if ends_ms else 0.0

    def note_sent(self, chunk: Frame, due_ns: int) -> None:
        """``chunk`` has been sent."""
        self.sent_ms = chunk.audio_ms
        self.messages += 1
        self.last_due_ns = due_ns

    def flush_at(self, audio_ms: float) -> None:
        """A chunk is cut short there as well, for something is to be said then."""
        self._flush_at_ms = audio_ms

    def next(self, *, over: bool) -> Frame | None:
        """The chunk that the next 20 ms complete; None while it is not complete.

        A chunk is cut short where an endpoint falls into it: the force must not wait for it. Once
        the speech is ``over`` there is only silence, whatever the clip still holds.
        """
        self.captured_ns = None
        frame = self._next_frame(over=over)
        chunk = self._chunker.add(frame)
        ahead = [place_ms for place_ms in self._endpoints_ms if place_ms > frame.audio_ms]
        self.at_endpoint = len(ahead) < len(self._endpoints_ms)
        self._endpoints_ms = ahead
        return self._cut(chunk, frame)

    # Live audio

    def hear(self, live: LiveFrame, now_ns: int) -> Frame | None:
        """The chunk that this frame completes; None while it is not complete."""
        frame = live.frame
        self._last, self.captured_ns, self.due_ns = frame, live.captured_ns, live.due_ns
        self._came.append((frame.audio_ms, now_ns))
        while self._came[0][1] < now_ns - _REMEMBERED_NS:
            self._came.popleft()
        self.at_endpoint = False
        return self._cut(self._chunker.add(frame), frame)

    def note_endpoint(self, end_ms: float, place_ms: float) -> Frame | None:
        """A live detector has found one that is complete at ``place_ms``: what waits for more.

        None where nothing waits, or where the place has not come yet; it is cut short there then.
        """
        self._speech_ends_ms.append(end_ms)
        if place_ms > self._last.audio_ms:
            self.flush_at(place_ms)
            return None
        return self._chunker.flush() if place_ms > self.sent_ms else None

    @property
    def heard_ms(self) -> float:
        """How much live audio has come."""
        return self._came[-1][0] if self._came else 0.0

    def came_ns(self, place_ms: float) -> int | None:
        """When the live frame came that completed the audio up to there; None: not yet."""
        return next((at_ns for audio_ms, at_ns in self._came if audio_ms >= place_ms), None)

    def _cut(self, chunk: Frame | None, frame: Frame) -> Frame | None:
        flushed = self._flush_at_ms is not None and frame.audio_ms >= self._flush_at_ms
        if self.at_endpoint or flushed:
            chunk = chunk or self._chunker.flush()
        if flushed:
            self._flush_at_ms = None
        return chunk

    def _next_frame(self, *, over: bool) -> Frame:
        frame = None if over and not self._silent else next(self._frames, None)
        if frame is None:
            self._silent = True
            self._frames = silence(self._last, rate_hz=self._rate_hz)
            frame = next(self._frames)
        self._last = frame
        return frame
