"""Live audio: several models hear one microphone, each in a session of its own, until it ends.

    microphone ─ blocks ─> live source ─ frames ─> session, session, …
                                └─ 16 kHz ─> detector's thread ─ edges ─> every session

All begin with the same sample: once every stream is open, or has failed. A stream that ends by
itself is opened again; what is wrong for good (a key, an account) is not tried a second time. When
the device is gone, or nobody wants to hear more, speech that is still open ends there, and every
session waits for the answer to its last turn.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol, Self

import trio

from daemon.gate import Gate
from daemon.order import Bench
from daemon.plan import Plan, Recording, Target
from daemon.rounds import Outcome
from daemon.session import measure_once
from daemon.sound import SoundEnded
from measure.faults import FaultKind
from measure.measurement import Measurement
from measure.records import SECOND, AudioClip
from measure.wire import Record
from pacer.device_clock import Drift
from pacer.live import HEARD_HZ, LiveSource, LiveStream
from pacer.microphone import Block, Opened
from vad.endpoint import Edge
from vad.listening import FellBehind, event_of

CORPUS = "live"
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
"""Between two attempts to open a stream again."""
LONG_S = 60.0
"""A stream that lasted so long was no failed attempt."""
FLUSH_S = 2.0
"""How long the detector may take for what it has heard when audio ends."""
FOR_GOOD = frozenset({FaultKind.AUTH, FaultKind.QUOTA, FaultKind.HARNESS})
"""With these it would only fail again."""


class Microphone(Protocol):
    """A device that hears, once it is open."""

    @property
    def opened(self) -> Opened: ...

    def blocks(self) -> AsyncIterator[Block]:
        """Each block as it comes. Raises SoundEnded at the end."""


class Hearing(Protocol):
    """What hears the one stream."""

    def hear(self, pcm: bytes) -> None:
        """The next piece, at 16 kHz. Raises FellBehind where too much waits already."""

    def close(self) -> None:
        """The stream is over."""


class Detector(Protocol):
    """Finds where speech starts and ends; at work while it is entered. See vad/listening.py."""

    @property
    def error(self) -> Exception | None:
        """Why it hears nothing any more."""

    def open(self, told: Callable[[Edge], None], *, over: Callable[[], None] = ...) -> Hearing: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None: ...


def live_recording(rates_hz: set[int]) -> Recording:
    """What stands for the audio in a plan: it has a name and rates, and nothing is known of it."""
    at_rate = {rate_hz: AudioClip(CORPUS, b"", rate_hz, "", corpus=CORPUS) for rate_hz in rates_hz}
    return Recording(AudioClip(CORPUS, b"", HEARD_HZ, "", corpus=CORPUS), (), at_rate)


@dataclass(slots=True)
class Ended:
    """How it ended, and what was found out about the device."""

    device: str = ""
    why: str | None = None
    """One line, where nobody had asked for it."""
    heard_ms: float = 0.0
    """How much audio was handed over."""
    drift: Drift | None = None
    """Of its clock; None: it was not heard for long enough."""
    delay_ns: int | None = None
    """From a sample's being taken up to its being here; None: it does not say."""
    xruns: int = 0


class Listening:
    """One run with a microphone. ``run`` once; ``stop`` at any time."""

    def __init__(
        self,
        plan: Plan,
        targets: tuple[Target, ...],
        bench: Bench,
        gate: Gate,
        microphone: Microphone,
        detector: Detector,
        *,
        record: Callable[[bytes], None] = lambda pcm: None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """``record`` gets what the detector hears, ``say`` a line for whoever speaks.

        That a session failed, or is there again, is shown by the live view.
        """
        self._plan = plan
        self._targets = targets
        self._bench = bench
        self._gate = gate
        self._microphone = microphone
        self._record = record
        self._say = say
        self._detector = detector
        opened = microphone.opened
        self._source = LiveSource(opened.rate_hz, bench.now_ns, self._hear, device=opened.device)
        self._flushed = trio.Event()
        self._stopped = trio.CancelScope()
        self._over = trio.Event()
        self._token = trio.lowlevel.current_trio_token()
        self._ear: Hearing | None = None
        self._ended = Ended(opened.device)
        self._going = len(targets)

    def stop(self) -> None:
        """Nobody wants to hear more; what was said is still answered."""
        self._stopped.cancel()

    async def run(self, run_id: str, outcome: Outcome) -> Ended:
        """Until the device ends, until ``stop``, or until no model is left."""
        self._bench.recorder.put(self._started_record(run_id))
        with self._detector:
            self._ear = self._detector.open(self._edge, over=self._call(self._flushed.set))
            async with trio.open_nursery() as everything:
                everything.start_soon(self._take_blocks)
                async with trio.open_nursery() as sessions:
                    streams = [self._source.join(_rate_hz(target)) for target in self._targets]
                    for target, first in zip(self._targets, streams, strict=True):
                        sessions.start_soon(self._keep_measuring, target, first, run_id, outcome)
                    sessions.start_soon(self._begin, streams)
                self.stop()
        return self._ended

    async def _begin(self, streams: list[LiveStream]) -> None:
        """When every stream waits for audio, or will never do."""
        with trio.move_on_after(self._plan.settings.timeouts.connect_s):
            for stream in streams:
                await stream.waiting.wait()
        if self._going and not self._source.ended:
            self._source.begin()
            self._say(f"{self._source.device} is heard now: speak. Ctrl-C ends it.")

    # What is heard

    async def _take_blocks(self) -> None:
        with self._stopped:
            try:
                async for block in self._microphone.blocks():
                    self._source.take(block)
                    if self._detector.error is not None:
                        raise self._detector.error
            except (SoundEnded, FellBehind) as ended:
                self._ended.why = str(ended)
            except Exception as error:  # the detector's
                self._ended.why = f"the voice detector failed: {type(error).__name__}: {error}"
        with trio.CancelScope(shield=True):
            await self._flush()
        self._source.end()
        self._note_device()
        self._over.set()
        if self._going and self._source.heard_ms:
            self._say("Nothing more is heard; the last answers are awaited. Ctrl-C ends that too.")

    def _note_device(self) -> None:
        source, ended = self._source, self._ended
        ended.heard_ms, ended.xruns = source.heard_ms, source.xruns
        ended.drift, ended.delay_ns = source.clock.drift(), source.clock.delay_ns

    async def _flush(self) -> None:
        """Speech that is still open ends where the audio does."""
        if self._ear is not None and self._detector.error is None:
            self._ear.close()
            with trio.move_on_after(FLUSH_S):
                await self._flushed.wait()

    def _hear(self, pcm: bytes) -> None:
        assert self._ear is not None, "it was opened before anything is heard"
        self._record(pcm)
        self._ear.hear(pcm)

    def _edge(self, edge: Edge) -> None:
        """Called in the detector's thread."""
        self._call(lambda: self._source.tell_speech(event_of(edge, self._bench.now_ns())))()

    def _call(self, act: Callable[[], object]) -> Callable[[], None]:
        """From another thread: in the loop, as soon as possible."""

        def soon() -> None:
            self._token.run_sync_soon(act)

        return soon

    # What is measured

    async def _keep_measuring(
        self, target: Target, stream: LiveStream, run_id: str, outcome: Outcome
    ) -> None:
        """One session after the other, for as long as something is heard."""
        pause_s = FIRST_PAUSE_S
        while await self._may_begin():
            began_ns = self._bench.now_ns()
            last = await self._measure(target, stream, run_id, outcome)
            stream.waiting.set()
            if self._over.is_set() or not self._goes_on(target, last):
                break
            lasted_s = (self._bench.now_ns() - began_ns) / SECOND
            pause_s = FIRST_PAUSE_S if lasted_s > LONG_S else pause_s
            with trio.move_on_after(pause_s):
                await self._over.wait()
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            stream = self._source.join(_rate_hz(target))
        stream.waiting.set()
        self._going -= 1

    async def _may_begin(self) -> bool:
        """Once the journal has room; False where nothing is heard any more by then."""

        async def give_up(waiting: trio.CancelScope) -> None:
            await self._over.wait()
            waiting.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(give_up, nursery.cancel_scope)
            await self._gate.passed()
            nursery.cancel_scope.cancel()
        return not self._over.is_set()

    async def _measure(
        self, target: Target, stream: LiveStream, run_id: str, outcome: Outcome
    ) -> Measurement:
        order = self._plan.order(target, self._plan.recordings[0], run_id)
        return await measure_once(replace(order, live=stream), self._bench, outcome.measured.append)

    def _goes_on(self, target: Target, last: Measurement) -> bool:
        """Whether it makes sense to open another stream after one that ended by itself."""
        fault = last.reading.fault
        if fault is not None and fault.kind in FOR_GOOD:
            self._say(f"{target.name} is not asked again: that would not be different")
            return False
        if fault is None:
            self._say(f"{target.name} ended its stream; it is opened again")
        return True

    def _started_record(self, run_id: str) -> Record:
        return {
            "k": "run_started",
            "t": self._bench.now_ns(),
            "run_id": run_id,
            "models": [target.name for target in self._targets],
            "clips": 1,
            "wall_unix_ns": self._bench.wall_ns(),
        }


def _rate_hz(target: Target) -> int:
    return target.codec().facts.audio.rate_hz
