"""One measurement, from opening the stream to the reading: where events get their stamps.

Two tasks share one stopwatch: the pacer calls *step*, which sends paced audio and, the moment it is
due, the force; *listen* turns what comes back into events. A stamp is taken and told in one step
without an await between. A third task lets the time pass.

    open ─> ready ─> step … step, force = zero, step …  ─> answer complete ─> finish ─> closed
                     listen ······ partial ··· final ···

Whatever the provider does is an event; nothing it does makes an exception leave this file.
"""

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import trio

from daemon.kernel_stamps import SentStamp
from daemon.mask import masked
from daemon.order import Bench, Link, LinkFailed, Order
from daemon.wire import Received, WireClosed
from measure.events import (
    BytesUnsent,
    Cancelled,
    Event,
    Failed,
    ForceSent,
    FrameSent,
    MessageReceived,
    NetworkSampled,
    NoSpeech,
    SendStamped,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    StreamDone,
    StreamReady,
    Tick,
)
from measure.faults import Fault, FaultKind, Whose
from measure.measurement import Measurement, Tally
from measure.records import Flow, ForceAt, Frame
from measure.stopwatch import RECEIVED, Stopwatch
from measure.wire import Record, Recorder
from pacer.chunk import Chunker
from pacer.frames import frames, silence
from providers.codec import ForceContext, Message, ProviderError

HURRY_S = 0.3
"""How long an orderly end may take when somebody has asked the program to stop."""


async def measure_once(
    order: Order, bench: Bench, measured: Callable[[Measurement], None] | None = None
) -> Measurement:
    """Measure ``order``. When this returns, nothing of it is running any more.

    Where it is cancelled, what was measured so far is recorded, and given to ``measured``, before
    the cancellation goes on.
    """
    session = _Session(order, bench)
    try:
        with bench.watchman.subscribe(session.tell):
            await session.run()
    except BaseException:  # a cancellation, which trio may have wrapped in a group
        session.tell(Cancelled(bench.now_ns()))
        raise
    finally:
        measurement = session.conclude()
        if measured is not None:
            measured(measurement)
    return measurement


class _Session:
    def __init__(self, order: Order, bench: Bench) -> None:
        self._order = order
        self._bench = bench
        self._codec = order.codec
        self._facts = order.codec.facts
        self._watch = Stopwatch(order.rule)
        self._tally = Tally()
        self._started_ns = bench.now_ns()
        self._started_wall_ns = bench.wall_ns()
        self._heard_ns = 0
        self._recorder = Recorder(order.session_id, bench.recorder.put)
        self._answered = trio.CancelScope()
        self._nap = trio.CancelScope()
        self._ready = trio.Event()
        self._provider_done = False
        self._audio = _Audio(order)
        self._sends = _Sends()

    async def run(self) -> None:
        """From opening to closed."""
        self._bench.recorder.put(self._start_record())
        speech = self._order.speech
        now_ns = self._bench.now_ns()
        if speech is None:
            self.tell(NoSpeech(now_ns))
            return
        self.tell(SpeechStart(now_ns, speech.start_ms, speech.start_known_ms))
        self.tell(SpeechEnd(now_ns, speech.end_ms, speech.end_known_ms, speech.end_at_eof))
        order = self._order
        try:
            async with self._bench.open_link(self._codec, order.key, order.connect_s) as link:
                self.tell(link.connected)
                try:
                    await self._converse(link)
                except Exception as error:  # before a farewell, or it would pass for a cancellation
                    self._fail_ourselves(error)
                except BaseException:  # somebody asks us to stop
                    self.tell(Cancelled(self._bench.now_ns()))
                    await self._finish(link, min(HURRY_S, order.close_s))
                    raise
                await self._finish(link, order.close_s)
        except LinkFailed as failed:
            self._fail(failed.fault)
        except Exception as error:
            self._fail_ourselves(error)

    def conclude(self) -> Measurement:
        """The measurement, which is recorded with this."""
        self._recorder.flush()
        measurement = Measurement(
            session_id=self._order.session_id,
            run_id=self._order.run_id,
            model=self._order.model,
            corpus=self._order.clip.corpus,
            clip=self._order.clip.name,
            audio_ms=self._order.clip.audio_ms,
            flow=self._order.rule.flow,
            reading=self._watch.reading(),
            circumstances=self._tally.circumstances(),
            started_wall_ns=self._started_wall_ns,
            wall_ns=self._bench.now_ns() - self._started_ns,
            signature=self._order.signature,
            reference=self._order.clip.reference,
        )
        self._bench.recorder.put(finish_record(measurement, self._bench.now_ns()))
        return measurement

    # The tasks

    async def _converse(self, link: Link) -> None:
        """Until nothing that may still come can change the reading."""
        with self._answered:
            async with trio.open_nursery() as tasks:
                tasks.start_soon(self._listen, link)
                tasks.start_soon(self._let_time_pass)
                if await self._greet(link):
                    await self._speak(link)

    async def _greet(self, link: Link) -> bool:
        """Say hello and wait until the provider is ready for audio."""
        try:
            self._say(link, self._codec.hello())
        except WireClosed:
            return False  # the listener will read what the provider had to say
        except LinkFailed as failed:
            self._fail(failed.fault)
            return False
        if not self._facts.greets:
            self.tell(StreamReady(self._bench.now_ns()))
        with trio.move_on_after(self._order.connect_s):
            await self._ready.wait()
        if not self._ready.is_set():
            said = f"was not ready for audio within {self._order.connect_s:g} s"
            self._fail(Fault(Whose.PROVIDER, FaultKind.TIMEOUT, said))
        return self._ready.is_set()

    async def _speak(self, link: Link) -> None:
        try:
            await self._bench.pacer.play(lambda due_ns: self._step(link, due_ns))
        except LinkFailed as failed:
            self._fail(failed.fault)

    async def _listen(self, link: Link) -> None:
        try:
            while True:
                self._hear(await link.receive())
        except WireClosed as closed:
            self._note_close(closed)

    async def _let_time_pass(self) -> None:
        """Tell the stopwatch when a moment has come at which something changes by itself."""
        while not self._watch.done:
            deadline_ns = self._watch.deadline_ns
            with trio.CancelScope() as self._nap:
                if deadline_ns is None:
                    await trio.sleep_forever()
                await trio.sleep_until(deadline_ns / 1e9)
            now_ns = self._bench.now_ns()
            if deadline_ns is not None and now_ns >= deadline_ns:
                self.tell(Tick(now_ns))

    async def _finish(self, link: Link, within_s: float) -> None:
        """End the stream as the provider wants it, also when cancelled: an open one costs money."""
        self._tell_how_it_went(link)
        with trio.CancelScope(shield=True) as closing:
            closing.deadline = trio.current_time() + within_s
            try:
                farewell = list(self._codec.finish())
                self._say(link, farewell)
                while farewell and not self._provider_done:
                    self._hear(await link.receive())
            except WireClosed as closed:
                self._note_close(closed)
            except LinkFailed:
                pass  # it does not even take the farewell: the link is closed without it

    # One step each

    def _step(self, link: Link, due_ns: int) -> bool:
        """Send what is due at ``due_ns``; False when no more audio is wanted."""
        if self._watch.done:
            return False
        if self._watch.zero_ns is not None and not self._facts.silence_after_force:
            return self._keep_alive(link, due_ns)
        chunk = self._audio.next(over=self._watch.zero_ns is not None)
        if chunk is None:
            return True
        try:
            completes = self._watch.zero_ns is None and chunk.audio_ms >= self._audio.endpoint_ms
            sent_ns = link.send(self._codec.audio(chunk), stamp=completes)
            if completes:
                self._sends.audio = link.sent_bytes
            self.tell(FrameSent(sent_ns, due_ns, chunk.audio_ms, chunk.padding))
            waiting = self._watch.zero_ns is None
            if self._watch.force_due:
                self._force(link, sent_ns)
            if not waiting or self._watch.zero_ns is None:
                return True
            self._tell_network(link, len(chunk.pcm))
        except WireClosed:
            return False  # the listener reads what is left and notes the end
        return True

    def _force(self, link: Link, due_ns: int) -> None:
        context = ForceContext(self._audio.sent_ms, self._audio.silence_ms)
        sent_ns = due_ns
        for message in self._codec.force(context):
            sent_ns = link.send(message, stamp=True)
        self._sends.force = link.sent_bytes
        self.tell(ForceSent(sent_ns, due_ns))

    def _keep_alive(self, link: Link, due_ns: int) -> bool:
        """Where the provider wants no audio after the force, it may still want a sign of life."""
        quiet_s = self._facts.keepalive_s
        if quiet_s is not None and due_ns - self._audio.last_due_ns >= quiet_s * 1e9:
            self._audio.last_due_ns = due_ns
            try:
                self._say(link, self._codec.keepalive())
            except WireClosed:
                return False
        return True

    def _hear(self, received: Received) -> None:
        stamp_ns = received.read_ns if received.arrived_ns is None else received.arrived_ns
        at_ns = self._heard_ns = max(stamp_ns, self._heard_ns)
        raw = masked(received.message, self._order.key)
        stamped = received.arrived_ns is not None
        self.tell(MessageReceived(at_ns, raw, received.read_ns if stamped else None))
        try:
            for event in self._codec.decode(raw, at_ns):
                self.tell(event)
        except ProviderError as error:
            self._fail(error.fault)

    def _say(self, link: Link, messages: Iterable[Message]) -> None:
        for message in messages:
            link.send(message)

    def _note_close(self, closed: WireClosed) -> None:
        fault = self._codec.closed(closed.code, closed.reason)
        if fault is not None:
            self._fail(fault)
        reason = masked(closed.reason, self._order.key)
        self.tell(StreamClosed(self._bench.now_ns(), closed.code, reason))

    def _fail(self, fault: Fault) -> None:
        detail = masked(fault.detail, self._order.key)
        self.tell(Failed(self._bench.now_ns(), replace(fault, detail=detail)))

    def _fail_ourselves(self, error: Exception) -> None:
        """An error in this program: the measurement says so, and the log has the whole of it."""
        kind = type(error).__name__
        text = masked("".join(traceback.format_exception(error)), self._order.key)
        self._bench.recorder.put(
            {
                "k": "log",
                "t": self._bench.now_ns(),
                "s": self._order.session_id,
                "level": "error",
                "event": "harness_failed",
                "fields": {"session_id": self._order.session_id, "exception": text},
            }
        )
        said = f"{kind} in this program; please report it with the log entry harness_failed"
        self._fail(Fault(Whose.HOST, FaultKind.HARNESS, said))

    # What is told

    def tell(self, event: Event) -> None:
        """Something happened: record it, count it, and let the stopwatch decide what it means."""
        if not isinstance(event, RECEIVED):
            self._bench.watchman.look(event.at_ns)
        elif isinstance(event, MessageReceived):
            self._bench.watchman.look(self._bench.now_ns())
        self._recorder.note(event)
        self._tally.feed(event)
        deadline_ns = self._watch.deadline_ns
        self._watch.feed(event)
        match event:
            case StreamReady():
                self._ready.set()
            case StreamDone():
                self._provider_done = True
        if self._watch.done:
            self._answered.cancel()
        elif self._watch.deadline_ns != deadline_ns:
            self._nap.cancel()

    def _tell_network(self, link: Link, chunk_bytes: int) -> None:
        """What had not left this host at zero, and how the connection was doing."""
        self.tell(BytesUnsent(self._bench.now_ns(), link.unsent_bytes, chunk_bytes))
        self._sample_network(link, over=False)

    def _tell_how_it_went(self, link: Link) -> None:
        """When what makes zero really left, and how the connection is doing now."""
        if self._watch.zero_ns is None:
            return
        stamps = link.take_sent_stamps()
        if stamps is not None:
            self.tell(self._sends.stamped(self._bench.now_ns(), stamps))
        self._sample_network(link, over=True)

    def _sample_network(self, link: Link, *, over: bool) -> None:
        seen = link.tcp_info()
        if seen is not None:
            now_ns = self._bench.now_ns()
            self.tell(NetworkSampled(now_ns, seen.rtt_ns, seen.min_rtt_ns, seen.retransmits, over))

    def _start_record(self) -> Record:
        order, clip = self._order, self._order.clip
        return {
            "k": "session_started",
            "t": self._started_ns,
            "s": order.session_id,
            "run_id": order.run_id,
            "provider": order.provider,
            "model": order.model,
            "dataset": clip.corpus,
            "clip": clip.name,
            "clip_sha256": clip.sha256,
            "audio_ms": clip.audio_ms,
            "rate_hz": clip.rate_hz,
            "flow": order.rule.flow.value,
            "reference": clip.reference,
            "rule": {name: _plain(value) for name, value in asdict(order.rule).items()},
            "wall_unix_ns": self._started_wall_ns,
            "signature": order.signature,
        }


@dataclass(slots=True)
class _Sends:
    """The two sends that make zero, by their names on the link; 0: not yet sent."""

    audio: int = 0
    force: int = 0

    def stamped(self, now_ns: int, stamps: Sequence[SentStamp]) -> SendStamped:
        """What the kernel said of them; of a send that went out twice, the first."""
        said: dict[tuple[int, str], int] = {}
        for stamp in stamps:
            said.setdefault((stamp.offset, stamp.kind), stamp.at_ns)
        return SendStamped(
            now_ns,
            audio_left_ns=said.get((self.audio, "sent")),
            audio_acked_ns=said.get((self.audio, "acked")),
            force_left_ns=said.get((self.force, "sent")),
            force_acked_ns=said.get((self.force, "acked")),
        )


class _Audio:
    """The audio of one session: the clip, then silence; in the pieces the provider wants."""

    def __init__(self, order: Order) -> None:
        wanted = order.codec.facts.audio
        self._frames: Iterator[Frame] = frames(order.clip)
        self._rate_hz = order.clip.rate_hz
        self._silent = False
        self._last: Frame | None = None
        self.endpoint_ms = _endpoint_ms(order)
        self._endpoint_passed = False
        self._chunker = Chunker(
            rate_hz=wanted.rate_hz, chunk_ms=wanted.chunk_ms, min_chunk_ms=wanted.min_chunk_ms
        )
        self._speech_end_ms = order.speech.end_ms if order.speech else 0.0
        self.sent_ms = 0.0
        self.last_due_ns = 0

    @property
    def silence_ms(self) -> float:
        """How much of what was sent came after the speech."""
        return max(0.0, self.sent_ms - self._speech_end_ms)

    def next(self, *, over: bool) -> Frame | None:
        """The chunk that the next 20 ms complete; None while it is not complete.

        A chunk is cut short where the endpoint falls into it: the force must not wait for it. Once
        the speech is ``over`` there is only silence, whatever the clip still holds.
        """
        frame = self._next_frame(over=over)
        chunk = self._chunker.add(frame)
        if not self._endpoint_passed and frame.audio_ms >= self.endpoint_ms:
            self._endpoint_passed = True
            chunk = chunk or self._chunker.flush()
        if chunk is not None:
            self.sent_ms = chunk.audio_ms
        return chunk

    def _next_frame(self, *, over: bool) -> Frame:
        frame = None if over and not self._silent else next(self._frames, None)
        if frame is None:
            assert self._last is not None, "a clip has at least one frame"
            self._silent = True
            self._frames = silence(self._last, rate_hz=self._rate_hz)
            frame = next(self._frames)
        self._last = frame
        return frame


def finish_record(measurement: Measurement, now_ns: int) -> Record:
    """The ``session_finished`` record: what was read, and how things stood."""
    reading, seen = measurement.reading, measurement.circumstances
    return {
        "k": "session_finished",
        "t": now_ns,
        "s": measurement.session_id,
        "run_id": measurement.run_id,
        "provider": measurement.provider,
        "model": measurement.model,
        "dataset": measurement.corpus,
        "clip": measurement.clip,
        "audio_ms": measurement.audio_ms,
        "wall_ms": measurement.wall_ns / 1e6,
        "flow": measurement.flow.value,
        "verdict": reading.verdict.value,
        "selection": reading.selection.value if reading.selection else None,
        "valid": reading.valid,
        "zero_ns": reading.zero_ns,
        "time_to_final_ns": reading.time_to_final_ns,
        "time_to_first_partial_ns": reading.time_to_first_partial_ns,
        "confirmed_ns": reading.confirmed_ns,
        "transcript": reading.transcript,
        "first_partial_text": reading.first_partial.text if reading.first_partial else None,
        "remarks": [remark.value for remark in reading.remarks],
        "fault": _fault_record(reading.fault),
        "reference": measurement.reference,
        "frames": seen.frames,
        "frames_late": seen.frames_late,
        "late_p99_ns": seen.late_p99_ns,
        "late_max_ns": seen.late_max_ns,
        "force_delay_ns": seen.force_delay_ns,
        "partials": seen.partials,
        "finals": seen.finals,
        "rtt_ns": seen.rtt_ns,
        "min_rtt_ns": seen.min_rtt_ns,
        "connect_ns": seen.connect_ns,
        "retransmits": seen.retransmits,
        "unsent_bytes": seen.unsent_bytes,
        "sent_ms": seen.sent_ms,
        "read_gap_max_ns": seen.read_gap_max_ns,
        "user_stamps": seen.user_stamps,
        "audio_left_ns": seen.audio_left_ns,
        "force_left_ns": seen.force_left_ns,
        "force_acked_ns": seen.force_acked_ns,
        "loop_stall_max_ns": seen.loop_stall_max_ns,
        "host_stall_max_ns": seen.host_stall_max_ns,
        "signature": measurement.signature,
        "wall_unix_ns": measurement.started_wall_ns,
        "cost_usd": None,
    }


def _endpoint_ms(order: Order) -> float:
    """The place that must have left before zero."""
    if order.speech is None:
        return float("inf")
    early = order.rule.flow is Flow.FORCED and order.rule.force_at is ForceAt.SPEECH_END
    return order.speech.end_ms if early else order.speech.end_known_ms


def _fault_record(fault: Fault | None) -> Record | None:
    if fault is None:
        return None
    return {
        "whose": fault.whose.value,
        "kind": fault.kind.value,
        "detail": fault.detail,
        "retry_after_s": fault.retry_after_s,
    }


def _plain(value: object) -> object:
    return getattr(value, "value", value)
