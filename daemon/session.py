"""One measurement, from opening the stream to the reading: where events get their stamps.

Two tasks share one stopwatch: the pacer calls *step*, which sends paced audio and, the moment it is
due, the force; *listen* turns what comes back into events. A stamp is taken and told in one step
without an await between. A third task lets the time pass.

    open ─> ready ─> step … step, force = zero, step …  ─> answer complete ─> finish ─> closed
                     listen ······ partial ··· final ···

Where every end of speech is an endpoint, step goes on through the clip and forces at each. In the
close flow the provider's own farewell is what makes zero; no audio follows it.

Live audio takes the same way: each frame is a step when it comes, and what a live detector decides
is told in between. It goes on for as long as somebody listens; then silence is paced behind it.

Whatever the provider does is an event; nothing it does makes an exception leave this file.
"""

import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import trio

from daemon.mask import masked
from daemon.order import Bench, Link, LinkFailed, Order
from daemon.outgoing import Outgoing
from daemon.passage import Passage
from daemon.session_records import finish_records, started_record
from daemon.wire import Encoded, Received, WireClosed
from measure.events import (
    Cancelled,
    Event,
    Failed,
    FinishSent,
    ForceSent,
    FrameSent,
    MessageReceived,
    NoSpeech,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    StreamDone,
    StreamReady,
    Tick,
)
from measure.faults import Fault, FaultKind, Whose
from measure.measurement import Measurement, reference_of
from measure.records import Flow, Frame
from measure.stopwatch import RECEIVED
from measure.turns import Turn, Turns
from measure.wire import Recorder
from pacer.live import LiveFrame
from providers.codec import ForceContext, Message, ProviderError
from providers.forcing import Forcer

HURRY_S = 0.3
"""How long an orderly end may take when somebody has asked the program to stop."""


async def measure_once(
    order: Order, bench: Bench, measured: Callable[[Measurement], None] | None = None
) -> Measurement:
    """Measure ``order``. When this returns, nothing of it is running any more.

    Gives the measurement of the last turn; ``measured`` gets that of each. Where it is cancelled,
    what was measured so far is recorded, and given to ``measured``, before the cancellation goes
    on.
    """
    session = _Session(order, bench)
    try:
        with bench.watchman.subscribe(session.tell):
            await session.run()
    except BaseException:  # a cancellation, which trio may have wrapped in a group
        session.tell(Cancelled(bench.now_ns()))
        raise
    finally:
        measurements = session.conclude()
        if measured is not None:
            for measurement in measurements:
                measured(measurement)
    return measurements[-1]


class _Session:
    def __init__(self, order: Order, bench: Bench) -> None:
        self._order = order
        self._bench = bench
        self._codec = order.codec
        self._facts = order.codec.facts
        self._watch = Turns(order.rule)
        self._started_ns = bench.now_ns()
        self._started_wall_ns = bench.wall_ns()
        self._heard_ns = 0
        self._recorder = Recorder(order.session_id, bench.recorder.put)
        self._answered = trio.CancelScope()
        self._nap = trio.CancelScope()
        self._ready = trio.Event()
        self._provider_done = False
        self._finishing = False
        self._audio = Outgoing(order)
        self._listening = order.live is not None
        """Live audio goes on: whatever is over so far, there may be another turn."""
        self._made = _NOT_MADE
        """What the next step sends, where it could be made before."""
        self._unheard: Frame | None = None
        """The frame of the newest step, until it is let be heard."""
        self._passage = Passage(bench.now_ns, self.tell)
        self._forcer = Forcer(self._facts.forcing)

    async def run(self) -> None:
        """From opening to closed."""
        order = self._order
        self._bench.recorder.put(started_record(order, self._started_ns, self._started_wall_ns))
        now_ns = self._bench.now_ns()
        if not order.turns and not self._listening:
            self.tell(NoSpeech(now_ns))
            return
        for speech in order.turns:
            self.tell(SpeechStart(now_ns, speech.start_ms, speech.start_known_ms))
            self.tell(SpeechEnd(now_ns, speech.end_ms, speech.end_known_ms, speech.end_at_eof))
        try:
            self._codec.dated(self._started_wall_ns / 1e9)
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

    def conclude(self) -> list[Measurement]:
        """The measurement of each turn, in their order; they are recorded with this."""
        self._recorder.flush()
        measurements = [self._measurement(turn) for turn in self._watch.begun]
        price = self._order.price_usd_per_1000_min
        *earlier, last = finish_records(measurements, self._bench.now_ns(), price)
        for record in (*earlier, last):
            self._bench.recorder.put(record)
        return measurements

    def _measurement(self, turn: Turn) -> Measurement:
        order, circumstances = self._order, turn.tally.circumstances()
        return Measurement(
            session_id=order.session_id,
            run_id=order.run_id,
            model=order.model,
            corpus=order.clip.corpus,
            clip=order.clip.name,
            audio_ms=order.clip.audio_ms or circumstances.sent_ms,
            flow=order.rule.flow,
            reading=turn.reading(),
            circumstances=circumstances,
            started_wall_ns=self._started_wall_ns,
            wall_ns=self._bench.now_ns() - self._started_ns,
            signature=order.signature,
            reference=reference_of(order.clip.reference, order.rule),
            turn=turn.number,
        )

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
            await self._relay(link)
            await self._bench.pacer.play(
                lambda due_ns: self._step(link, due_ns), lambda: self._get_ready(link)
            )
        except LinkFailed as failed:
            self._fail(failed.fault)
        finally:
            if self._bench.monitor is not None:
                self._bench.monitor.leave(self._order.session_id)

    async def _relay(self, link: Link) -> None:
        """Live audio, for as long as it goes on."""
        live = self._order.live
        if live is None:
            return
        await live.play(
            lambda frame: self._step_live(link, frame), lambda event: self._take_word(link, event)
        )
        self._listening = False
        now_ns, heard_ms = self._bench.now_ns(), self._audio.heard_ms
        if self._watch.speaking:  # the detector has not said its last word
            self._end_speech(link, SpeechEnd(now_ns, heard_ms, heard_ms, at_eof=True))
        if not self._watch.spoken:
            self.tell(NoSpeech(now_ns))
        elif self._watch.done:
            self._answered.cancel()

    async def _listen(self, link: Link) -> None:
        try:
            while True:
                self._hear(link, await link.receive())
        except WireClosed as closed:
            self._note_close(closed)

    async def _let_time_pass(self) -> None:
        """Tell the stopwatch when a moment has come at which something changes by itself."""
        while self._listening or not self._watch.done:
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
        self._passage.tell_at_end(link, self._watch.zero_ns)
        with trio.CancelScope(shield=True) as closing:
            closing.deadline = trio.current_time() + within_s
            try:
                if not self._finishing:
                    self._say_farewell(link)
                while self._finishing and not self._provider_done:
                    self._hear(link, await link.receive())
            except WireClosed as closed:
                self._note_close(closed)
            except LinkFailed:
                pass  # it does not even take the farewell: the link is closed without it

    # One step each

    def _step(self, link: Link, due_ns: int) -> bool:
        """Send what is due at ``due_ns``; False when no more audio is wanted."""
        if self._watch.done or self._finishing:
            return False
        if self._watch.over and not self._wants_silence:
            return self._keep_alive(link, due_ns)
        self._prepare(link, ahead=False)
        made, self._made = self._made, _NOT_MADE
        self._unheard = self._audio.newest
        return self._send(link, made, due_ns)

    def _step_live(self, link: Link, live: LiveFrame) -> bool:
        """Send what has just come; False when no more audio is wanted."""
        if self._finishing or not self._listening:
            return False
        chunk = self._audio.hear(live, self._bench.now_ns())
        return self._send(link, self._encoded(link, chunk), live.due_ns)

    def _take_word(self, link: Link, event: Event) -> None:
        """What a live detector has decided, or what the device has to say."""
        if isinstance(event, SpeechEnd):
            self._end_speech(link, event)
        else:
            self.tell(replace(event, at_ns=self._bench.now_ns()))

    def _end_speech(self, link: Link, end: SpeechEnd) -> None:
        """The force is due since the audio came that shows it, some time before this was known."""
        place_ms = self._order.rule.endpoint_ms(end.audio_ms, end.known_ms)
        waiting = self._audio.note_endpoint(end.audio_ms, place_ms)
        if self._send(link, self._encoded(link, waiting), self._audio.due_ns):
            now_ns = self._bench.now_ns()
            due_ns = self._audio.came_ns(place_ms) or now_ns
            self.tell(replace(end, at_ns=now_ns))
            with suppress(WireClosed):  # the listener reads what is left and notes the end
                self._say_what_is_due(link, now_ns, due_ns)

    def _send(self, link: Link, made: "_Made", due_ns: int) -> bool:
        """Send one chunk, if there is one, and what is due with it; False where all has ended."""
        chunk = made.chunk
        if chunk is None or made.message is None:
            return True
        try:
            sent_ns = link.send(made.message, stamp=made.at_endpoint)
            self._audio.note_sent(chunk, due_ns)
            if made.at_endpoint:
                self._passage.note_audio(link)
            place = (chunk.audio_ms, chunk.padding, chunk.filled_ms)
            self.tell(FrameSent(sent_ns, due_ns, *place, self._audio.captured_ns))
            self._say_what_is_due(link, sent_ns, sent_ns)
        except WireClosed:
            return False  # the listener reads what is left and notes the end
        return True

    def _say_what_is_due(self, link: Link, now_ns: int, due_ns: int) -> None:
        """The force, or the announced end, if it is due, and then since ``due_ns``."""
        if self._forcer.owes(self._audio.sent_ms):
            self._say_force(link, zero=False)
        elif self._watch.force_due:
            self._force(link, now_ns, due_ns)
        elif self._watch.finish_due:
            self._announce_end(link, now_ns)
        self._passage.tell_at_zero(link, self._watch.zero_ns)

    def _get_ready(self, link: Link) -> None:
        """What a step leaves for the quiet moment behind it."""
        frame, self._unheard = self._unheard, None
        if self._bench.monitor is not None and frame is not None:
            order = self._order
            self._bench.monitor.hear(order.session_id, frame, order.clip.rate_hz, self.tell)
        self._prepare(link)

    def _prepare(self, link: Link, *, ahead: bool = True) -> None:
        """Make what the next step sends, once; ahead of it only up to zero.

        After zero it depends on the provider what is wanted next.
        """
        settled = not (self._watch.over or self._watch.done or self._finishing)
        if self._made is _NOT_MADE and (settled or not ahead):
            self._made = self._make(link)

    def _make(self, link: Link) -> "_Made":
        """The chunk that the next 20 ms complete, ready to be sent; empty where they do not."""
        return self._encoded(link, self._audio.next(over=self._watch.over))

    def _encoded(self, link: Link, chunk: Frame | None) -> "_Made":
        if chunk is None:
            return _Made()
        self._passage.chunk_bytes = len(chunk.pcm)
        return _Made(chunk, link.encode(self._codec.audio(chunk)), self._audio.at_endpoint)

    @property
    def _wants_silence(self) -> bool:
        """Silence is to go on after zero: the force needs it, or the provider to answer it."""
        if self._forcer.begun:
            return True
        return self._facts.silence_after_force and self._forcer.wants_silence(self._audio.sent_ms)

    def _force(self, link: Link, now_ns: int, due_ns: int) -> None:
        """Begin a force: say it now, or first send the silence that it needs."""
        if not self._forcer.may_begin(now_ns, due_ns):
            return  # until the gap to the last one has passed; so late it makes no valid reading
        due_ns = self._forcer.due_ns or due_ns
        if self._forcer.waited:
            self._log("force_waited", waited_ms=(now_ns - due_ns) / 1e6)
        at_ms = self._forcer.begin(self._audio.sent_ms)
        if self._forcer.owes(self._audio.sent_ms):
            self._say_force(link, zero=True)
            return
        self._audio.flush_at(at_ms)
        self._log("force_after_silence", silence_ms=at_ms - self._audio.sent_ms)
        self.tell(ForceSent(now_ns, due_ns))

    def _say_force(self, link: Link, *, zero: bool) -> None:
        """``zero``: the message itself makes zero, not the silence before it."""
        audio = self._audio
        context = ForceContext(
            audio.sent_ms, audio.silence_ms, self._forcer.count + 1, audio.messages
        )
        due_ns = self._forcer.due_ns or 0
        sent_ns = self._bench.now_ns()
        for message in self._codec.force(context):
            sent_ns = link.send(message, stamp=zero)
        self._forcer.said(audio.sent_ms, sent_ns)
        if zero:
            self._passage.note_force(link)
            self.tell(ForceSent(sent_ns, due_ns))

    def _announce_end(self, link: Link, due_ns: int) -> None:
        """The close flow: the farewell makes zero."""
        sent_ns = self._say_farewell(link, due_ns)
        self._passage.note_force(link)
        self.tell(FinishSent(sent_ns, due_ns))

    def _say_farewell(self, link: Link, sent_ns: int = 0) -> int:
        """End the stream as the provider wants it, once; when the socket had the last of it."""
        makes_zero = self._order.rule.flow is Flow.CLOSE
        for message in self._codec.finish():
            sent_ns = link.send(message, stamp=makes_zero)
            self._finishing = True
        return sent_ns

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

    def _hear(self, link: Link, received: Received) -> None:
        stamp_ns = received.read_ns if received.arrived_ns is None else received.arrived_ns
        at_ns = self._heard_ns = max(stamp_ns, self._heard_ns)
        raw = masked(received.message, self._order.key)
        stamped = received.arrived_ns is not None
        self.tell(MessageReceived(at_ns, raw, received.read_ns if stamped else None))
        try:
            for event in self._codec.decode(raw, at_ns):
                self.tell(event)
            self._reply(link)
        except ProviderError as error:
            self._fail(error.fault)

    def _reply(self, link: Link) -> None:
        """Say at once what the message just heard asks for."""
        try:
            self._say(link, self._codec.replies())
        except WireClosed:
            pass  # the listener reads what is left and notes the end
        except LinkFailed as failed:
            self._fail(failed.fault)

    def _say(self, link: Link, messages: Iterable[Message]) -> None:
        for message in messages:
            link.send(message)

    def _note_close(self, closed: WireClosed) -> None:
        reason = masked(closed.reason, self._order.key)
        fault = self._codec.closed(closed.code, reason)
        if fault is not None:
            self._fail(fault)
        self.tell(StreamClosed(self._bench.now_ns(), closed.code, reason))

    def _fail(self, fault: Fault) -> None:
        detail = masked(fault.detail, self._order.key)
        self.tell(Failed(self._bench.now_ns(), replace(fault, detail=detail)))

    def _fail_ourselves(self, error: Exception) -> None:
        """An error in this program: the measurement says so, and the log has the whole of it."""
        kind = type(error).__name__
        text = masked("".join(traceback.format_exception(error)), self._order.key)
        self._log("harness_failed", level="error", exception=text)
        said = f"{kind} in this program; please report it with the log entry harness_failed"
        self._fail(Fault(Whose.HOST, FaultKind.HARNESS, said))

    def _log(self, event: str, *, level: str = "info", **fields: object) -> None:
        self._bench.recorder.put(
            {
                "k": "log",
                "t": self._bench.now_ns(),
                "s": self._order.session_id,
                "level": level,
                "event": event,
                "fields": {"session_id": self._order.session_id, **fields},
            }
        )

    # What is told

    def tell(self, event: Event) -> None:
        """Something happened: record it, count it, and let the stopwatch decide what it means."""
        if not isinstance(event, RECEIVED):
            self._bench.watchman.look(event.at_ns)
        elif isinstance(event, MessageReceived):
            self._bench.watchman.look(self._bench.now_ns())
        self._recorder.note(event)
        deadline_ns = self._watch.deadline_ns
        self._watch.feed(event)
        match event:
            case StreamReady():
                self._ready.set()
            case StreamDone():
                self._provider_done = True
            case StreamClosed() | Failed():
                self._listening = False
        if self._watch.done and not self._listening:
            self._answered.cancel()
        elif self._watch.deadline_ns != deadline_ns:
            self._nap.cancel()


@dataclass(frozen=True, slots=True)
class _Made:
    """A chunk, and the message that carries it; None where the next 20 ms complete none."""

    chunk: Frame | None = None
    message: Message | Encoded | None = None
    at_endpoint: bool = False
    """It completes an endpoint."""


_NOT_MADE = _Made()
