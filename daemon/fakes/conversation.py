"""One websocket of a fake: performs a script, and its faults, in the words of one provider.

listen ── audio, force, finish ──> what is due now or later ──> perform ── transcripts ──>
"""

import heapq
import math
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from itertools import count

import trio

from daemon.fakes.dialect import Audio, Dialect, Finish, Force, Order, Reply, Wrong
from daemon.fakes.script import Faults, Flood, HangUp, Interjection, Line, Moment, Script
from daemon.fakes.visit import Stamped, Visit
from daemon.fakes.wire import WebSocket, reset, shut
from providers.codec import Message

HOLD_S = 60.0
"""For how long a fake that has stopped reading keeps its connection."""


Act = Callable[[], Awaitable[None]]


class Agenda:
    """What is to be done when; what is due at the same moment, in the order of its entry."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Act]] = []
        self._order = count()
        self._changed = trio.Event()

    def add(self, due_s: float, act: Act) -> None:
        heapq.heappush(self._entries, (due_s, next(self._order), act))
        self._changed.set()

    @property
    def last_s(self) -> float:
        """When the last of it is due."""
        return max((due_s for due_s, _, _ in self._entries), default=-math.inf)

    async def perform(self) -> None:
        """Do everything at its moment, until cancelled."""
        while True:
            with trio.move_on_at(self._entries[0][0] if self._entries else math.inf):
                await self._changed.wait()
            self._changed = trio.Event()
            while self._entries and self._entries[0][0] <= trio.current_time():
                _, _, act = heapq.heappop(self._entries)
                await act()
                await trio.lowlevel.checkpoint()  # what has just been cancelled ends here


class Conversation:
    """One stream, from the open websocket to the end of the connection."""

    def __init__(
        self,
        script: Script,
        faults: Faults,
        dialect: Dialect,
        socket: WebSocket,
        stream: trio.abc.Stream,
        visit: Visit,
    ) -> None:
        self._script = script = script.with_overtaking() if faults.overtaking else script
        self._faults = faults
        self._dialect = dialect
        self._socket = socket
        self._stream = stream
        self._visit = visit
        self._agenda = Agenda()
        self._waiting = sorted(self._cues(), key=lambda cue: cue[0])
        self._answers = iter(script.answers)
        self._reached: set[Moment] = set()
        self._open_text = ""
        self._overtaken: list[Message] = []
        """Partials that wait for the next final."""
        self._alive_s = trio.current_time()
        self._finishing = False
        self._over = trio.CancelScope()
        self._ending: HangUp | None = None

    async def hold(self) -> None:
        with self._over:
            async with trio.open_nursery() as nursery:
                self._reach(Moment.OPEN)
                self._greet()
                self._audio_came()
                nursery.start_soon(self._agenda.perform)
                await self._listen()
                self._over.cancel()
        await self._end()

    # What comes

    async def _listen(self) -> None:
        while True:
            if self._stops_reading:
                await trio.sleep(HOLD_S)
                return
            with trio.move_on_at(self._alive_s + self._idle_s) as idle:
                came = await self._socket.receive()
            if idle.cancelled_caught:
                self._hang_up_as(self._dialect.idle())
                return
            if came.kind == "close" and self._faults.close_unanswered:
                await self._socket.read_to_the_end()
            if came.kind in ("close", "end"):
                return
            if came.kind in ("text", "binary"):
                self._take(came)

    @property
    def _idle_s(self) -> float:
        if self._finishing:
            return math.inf
        own_s = self._dialect.idle_s or math.inf
        return own_s if self._faults.idle_s is None else self._faults.idle_s

    @property
    def _audio_ms(self) -> float:
        return self._ms(self._visit.audio_bytes)

    def _ms(self, audio_bytes: int) -> float:
        return audio_bytes / 2 * 1000 / self._dialect.rate_hz

    @property
    def _stops_reading(self) -> bool:
        after_ms = self._faults.stops_reading_ms
        return after_ms is not None and self._audio_ms >= after_ms

    def _take(self, came: Stamped) -> None:
        message = came.payload.decode() if came.kind == "text" else came.payload
        self._alive_s = trio.current_time()
        heard = self._dialect.heard(message)
        reply = heard if isinstance(heard, Reply) else Reply((), heard)
        self._obey(reply.order)
        if reply.messages:
            self._later(0.0, partial(self._socket.send, *reply.messages))

    def _obey(self, order: Order) -> None:
        match order:
            case Wrong() as wrong:
                self._hang_up_as(wrong)
            case Audio(pcm) if self._ms(len(pcm)) < self._faults.min_audio_ms:
                self._hang_up_as(Wrong(1008, "too little audio in one message"))
            case Audio(pcm) if not self._finishing:
                self._visit.hear_audio(pcm)
                self._audio_came()
            case Force():
                self._force_came()
            case Finish() if not self._finishing:
                self._finish_came()

    def _audio_came(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._audio_ms:
            _, after_s, act = self._waiting.pop(0)
            self._later(after_s, act)

    def _force_came(self) -> None:
        self._reach(Moment.FORCE)
        for line in self._faults.bend_answer(next(self._answers, ())):
            self._later(self._faults.delay_s + line.after_s, partial(self._say, line, answer=True))

    def _finish_came(self) -> None:
        self._finishing = not self._faults.finish_unanswered
        self._reach(Moment.FINISH)
        if self._finishing:
            due_s = trio.current_time() + self._script.finish_s
            self._agenda.add(max(due_s, self._agenda.last_s), self._finish)

    # What goes

    def _cues(self) -> Iterable[tuple[float, float, Act]]:
        """What waits for so much audio, and how long after that it is done."""
        faults, lines = self._faults, self._script.lines
        for start_ms, end_ms in self._script.speech:
            yield start_ms, 0.0, partial(self._tell_speech, starts=True, audio_ms=start_ms)
            yield end_ms, 0.0, partial(self._tell_speech, starts=False, audio_ms=end_ms)
        for line in lines if self._dialect.forces else faults.bend(lines):
            yield line.audio_ms, faults.delay_s + line.after_s, partial(self._say, line)
        for one in faults.interjections:
            if one.moment is Moment.AUDIO:
                yield one.audio_ms, one.after_s, partial(self._interject, one)
        if faults.flood and faults.flood.moment is Moment.AUDIO:
            flood = faults.flood
            yield flood.audio_ms, flood.after_s, partial(self._flood, flood)
        if faults.hang_up and faults.hang_up.moment is Moment.AUDIO:
            yield (
                faults.hang_up.audio_ms,
                faults.hang_up.after_s,
                partial(self._stop, faults.hang_up),
            )

    def _later(self, after_s: float, act: Act) -> None:
        self._agenda.add(trio.current_time() + after_s, act)

    def _reach(self, moment: Moment) -> None:
        """Whatever goes wrong at ``moment`` goes wrong from here."""
        if moment in self._reached:
            return
        self._reached.add(moment)
        for one in self._faults.interjections:
            if one.moment is moment:
                self._later(one.after_s, partial(self._interject, one))
        if self._faults.flood and self._faults.flood.moment is moment:
            self._later(self._faults.flood.after_s, partial(self._flood, self._faults.flood))
        if self._faults.hang_up and self._faults.hang_up.moment is moment:
            self._later(self._faults.hang_up.after_s, partial(self._stop, self._faults.hang_up))

    def _greet(self) -> None:
        greeting = self._dialect.greeting()
        if isinstance(greeting, Wrong):
            self._hang_up_as(greeting)
        else:
            self._later(0.0, partial(self._socket.send, *greeting))

    async def _say(self, line: Line, *, answer: bool = False) -> None:
        text = self._open_text if line.text is None else line.text
        self._open_text = "" if line.final else text
        said = self._dialect.said(
            text, final=line.final, marked=bool(line.marked), audio_ms=self._audio_ms
        )
        messages = [*said]
        if not messages or (self._faults.no_partials and not line.final):
            return
        if line.waits:
            self._overtaken += messages
            return
        last = line.final and (answer or not self._dialect.forces)
        messages *= line.times
        if line.final:
            messages += self._overtaken
            self._overtaken = []
        await self._socket.send(*messages, close=self._close_with(last=last))
        if last:
            self._reach(Moment.FINAL)

    async def _flood(self, flood: Flood, nth: int = 0, started_s: float | None = None) -> None:
        """One of so many, each at its own moment; the others are still to come."""
        started_s = trio.current_time() if started_s is None else started_s
        await self._socket.send(
            *self._dialect.said(flood.text, final=False, marked=False, audio_ms=self._audio_ms)
        )
        if nth + 1 < flood.times:
            due_s = started_s + (nth + 1) / flood.per_s
            self._agenda.add(due_s, partial(self._flood, flood, nth + 1, started_s))

    def _close_with(self, *, last: bool) -> tuple[int, str] | None:
        """The Close that leaves together with the final, where that is the fault."""
        fault = self._faults.hang_up
        if not last or fault is None or fault.moment is not Moment.FINAL or fault.after_s > 0:
            return None
        return None if fault.code is None else (fault.code, fault.reason)

    async def _tell_speech(self, *, starts: bool, audio_ms: float) -> None:
        await self._socket.send(*self._dialect.speech(starts=starts, audio_ms=audio_ms))

    async def _interject(self, one: Interjection) -> None:
        await self._socket.send(*[one.message] * one.times, raw=one.raw)

    async def _finish(self) -> None:
        rest = self._open_text if self._script.rest is None else self._script.rest
        await self._socket.send(*self._dialect.farewell(rest, self._audio_ms))
        if not self._faults.close_unanswered:
            await self._stop(HangUp(Moment.FINISH, code=1000))

    # How it ends

    def _hang_up_as(self, wrong: Wrong) -> None:
        self._ending = HangUp(Moment.AUDIO, code=wrong.code, reason=wrong.reason)
        self._over.cancel()

    async def _stop(self, ending: HangUp) -> None:
        self._ending = ending
        self._over.cancel()

    async def _end(self) -> None:
        match self._ending:
            case None:
                if not self._faults.close_unanswered:
                    await self._socket.answer_close()
                await shut(self._stream)
            case HangUp(reset=True):
                await reset(self._stream)
            case HangUp(code=None):
                await shut(self._stream)
            case HangUp(code=int(code), reason=reason):
                await self._socket.close(code, reason)
