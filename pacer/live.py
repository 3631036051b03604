"""Live audio, handed to every stream that has joined, frame by frame as the device gives it.

    blocks ──> device clock ─ due, taken up ─┐
       └─────> one resampler a rate ─ frames ┼─> step of each stream      (this program's loop)
                                             └─> the detector's ear
    edges of speech, what the device lost ─────> told of each stream

Nobody waits for another: a frame goes to all streams within one step of the loop. A stream may join
at any time; its audio begins then. At another rate than the device's a resampler is between, which
keeps back a few milliseconds for good: such a stream hears everything so much later.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import trio

from measure.events import DeviceSampled, Event, SpeechEnd, SpeechStart, Xrun
from measure.records import MS, SECOND, Frame
from pacer.device_clock import Arrival, DeviceClock
from pacer.microphone import Block
from pacer.resample import LiveResampler

HEARD_HZ = 16_000
"""What the detector hears."""
SAMPLED_EVERY = 50
"""Blocks from one word on the device's clock to the next: a second."""


@dataclass(frozen=True, slots=True)
class LiveFrame:
    """A frame as it came."""

    frame: Frame
    due_ns: int
    """When it could be had at best."""
    captured_ns: int | None
    """When the device took up its last sample; None where it does not say."""


Step = Callable[[LiveFrame], bool]
"""Called with each frame as it comes, until it returns False."""
Told = Callable[[Event], None]
"""Called with what was found out about the audio that was handed over before."""


class LiveSource:
    """What one device hears. Everything here happens in one thread, that of the loop."""

    def __init__(
        self,
        device_rate_hz: int,
        now_ns: Callable[[], int],
        hear: Callable[[bytes], None],
        *,
        device: str,
    ) -> None:
        """``hear`` gets everything at 16 kHz, after the streams; ``device`` is a name."""
        self.device = device
        self.clock = DeviceClock(device_rate_hz)
        self.heard_ms = 0.0
        """How much audio has been handed over since it began."""
        self.xruns = 0
        self.ended = False
        self._device_rate_hz = device_rate_hz
        self._now_ns = now_ns
        self._hear = hear
        self._ear = _Line(device_rate_hz, HEARD_HZ)
        self._expected: int | None = None
        """The first sample of the next block, where none is missing."""
        self._handed = self._lost = 0
        """Samples of the device since the first."""
        self._blocks = 0
        self._streams: list[LiveStream] = []
        self._lines: dict[int, _Line] = {}
        self._begun = trio.Event()

    def begin(self) -> None:
        """From now on audio is handed over; what came before it is nobody's."""
        self._begun.set()

    @property
    def begun(self) -> bool:
        return self._begun.is_set()

    async def wait_begun(self) -> None:
        await self._begun.wait()

    def join(self, rate_hz: int) -> "LiveStream":
        """A stream that gets its audio at this rate from when it plays."""
        return LiveStream(self, rate_hz)

    def take(self, block: Block) -> None:
        """The next block of the device."""
        if self.ended or not self.begun:
            return
        missing = 0 if self._expected is None else block.start_sample - self._expected
        self._expected = block.start_sample + block.samples
        self._lost += missing
        self._handed += block.samples
        age_ns = block.age_ns
        if age_ns is not None:
            age_ns = max(0, age_ns - block.samples * SECOND // block.rate_hz)
        arrival = self.clock.take(self._handed + self._lost, block.arrived_ns, age_ns)
        lost_ms = missing * 1000 / self._device_rate_hz + arrival.lost_ns / MS
        if missing or arrival.lost_ns:
            self.tell_xrun("input_lost", lost_ms)
        if block.overflow:
            self.tell_xrun("input_overflow")
        if block.underflow:
            self.tell_xrun("input_underflow")
        self.heard_ms = self._handed * 1000 / self._device_rate_hz
        self._hand_over(block.pcm, arrival)
        self._blocks += 1
        if self._blocks % SAMPLED_EVERY == 0:
            self._sample_clock()

    def tell_speech(self, event: SpeechStart | SpeechEnd) -> None:
        """The detector, which hears this source from its beginning, has decided something."""
        for stream in list(self._streams):
            stream.tell_speech(event)

    def end(self) -> None:
        """The device is gone, or nobody wants to hear it any more."""
        self.ended = True
        self._begun.set()
        for stream in list(self._streams):
            stream.over.set()

    # For its streams

    def add(self, stream: "LiveStream") -> None:
        self._streams.append(stream)
        line = self._lines.get(stream.rate_hz)
        if line is None:
            self._lines[stream.rate_hz] = _Line(self._device_rate_hz, stream.rate_hz)

    def remove(self, stream: "LiveStream") -> None:
        self._streams.remove(stream)
        if all(other.rate_hz != stream.rate_hz for other in self._streams):
            del self._lines[stream.rate_hz]

    # What happens

    def _hand_over(self, pcm: bytes, arrival: Arrival) -> None:
        made = {rate_hz: line.make(pcm) for rate_hz, line in self._lines.items()}
        for stream in list(self._streams):
            stream.take(made[stream.rate_hz], arrival)
        self._hear(self._ear.make(pcm))

    def tell_xrun(self, what: str, lost_ms: float | None = None) -> None:
        """A sound device had too much or too little."""
        self.xruns += 1
        now_ns = self._now_ns()
        for stream in list(self._streams):
            stream.tell(Xrun(now_ns, what, stream.audio_ms, lost_ms))

    def _sample_clock(self) -> None:
        for stream in list(self._streams):
            stream.tell(self.sampled(stream))

    def sampled(self, stream: "LiveStream") -> DeviceSampled:
        """How the device's clock goes, for one stream."""
        drift = self.clock.drift()
        return DeviceSampled(
            self._now_ns(),
            stream.audio_ms,
            self.heard_ms,
            self.clock.delay_ns,
            None if drift is None else drift.ppm,
            None if drift is None else drift.error_ppm,
        )


class LiveStream:
    """One stream's share of it."""

    def __init__(self, source: LiveSource, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.audio_ms = 0.0
        """How much audio it was given."""
        self.joined_ms = 0.0
        """How much of the source had gone by when it joined."""
        self.over = trio.Event()
        self.waiting = trio.Event()
        """It is ready for audio, or will never be."""
        self._source = source
        self._frames = 0
        self._samples = 0
        self._step: Step | None = None
        self._told: Told | None = None
        self._error: Exception | None = None
        self._in_speech = False

    @property
    def device(self) -> str:
        """The name of the device that is heard."""
        return self._source.device

    async def play(self, step: Step, told: Told) -> None:
        """Hand over each frame and each event until ``step`` returns False or the source ends.

        Raises what they raise.
        """
        self.waiting.set()
        await self._source.wait_begun()
        if self._source.ended:
            return
        self._step, self._told = step, told
        self.joined_ms = self._source.heard_ms
        self._source.add(self)
        try:
            self.tell(self._source.sampled(self))
            await self.over.wait()
        finally:
            self._source.remove(self)
        if self._error is not None:
            raise self._error

    # For its source

    def take(self, pcm: bytes, arrival: Arrival) -> None:
        """The next piece of audio."""
        if not pcm or self._step is None:
            return
        self._samples += len(pcm) // 2
        self.audio_ms = self._samples * 1000 / self.rate_hz
        frame = Frame(self._frames, pcm, self.audio_ms)
        self._frames += 1
        step, live = self._step, LiveFrame(frame, arrival.due_ns, arrival.captured_ns)
        self._act(lambda: step(live))

    def tell_speech(self, event: SpeechStart | SpeechEnd) -> None:
        """Told on its own time line; speech that had begun when it joined is none of it."""
        if isinstance(event, SpeechStart):
            self._in_speech = event.audio_ms >= self.joined_ms
        if self._in_speech:
            audio_ms, known_ms = event.audio_ms - self.joined_ms, event.known_ms - self.joined_ms
            self.tell(replace(event, audio_ms=audio_ms, known_ms=known_ms))

    def tell(self, event: Event) -> None:
        """Something was found out about it."""
        told = self._told
        if told is not None:
            self._act(lambda: told(event))

    def _act(self, act: Callable[[], bool | None]) -> None:
        """Whatever goes wrong belongs to the stream's owner, not to the other streams."""
        if self.over.is_set():
            return
        try:
            more = act() is not False
        except Exception as error:
            self._error = error
            more = False
        if not more:
            self.over.set()


class _Line:
    """The audio of the device at one rate."""

    def __init__(self, device_rate_hz: int, rate_hz: int) -> None:
        alike = rate_hz == device_rate_hz
        self._resampler = None if alike else LiveResampler(device_rate_hz, rate_hz)

    def make(self, pcm: bytes) -> bytes:
        """What comes out when this goes in."""
        return pcm if self._resampler is None else self._resampler.resample(pcm)
