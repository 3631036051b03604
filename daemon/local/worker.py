"""The thread that owns an engine. Everything that costs time happens here, for all its streams.

    server (trio) ── orders, in the order they came ──> worker ── what was said ──> server

Orders are worked off as they came in, whichever stream they are from; only when none is left is
a partial made, one, for the stream that has waited longest. So a force never waits for partials
that have not begun, and the engine needs no lock: no other thread calls it.
"""

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from daemon.local.engines.shape import Engine, EngineError
from daemon.local.hearing import Detector, Hearing, HearingSettings
from daemon.local.protocol import RATE_HZ, Audio, Close, Closed, Error, Force, Order, Ready, Said
from vad.silero import samples_of

SAMPLE_BYTES = 2


@dataclass(frozen=True, slots=True)
class Open:
    """A stream's first order."""


@dataclass(frozen=True, slots=True)
class Leave:
    """A stream's last order: nobody listens any more."""


class Seat:
    """One stream's place at a worker, as the server holds it. Nothing here ever waits."""

    def __init__(
        self, worker: "Worker", settings: HearingSettings, say: Callable[[Said], None]
    ) -> None:
        self.settings = settings
        self.say = say
        self.deaf = False
        """Its orders are skipped: nobody listens any more, or the engine failed at it."""
        self.heard_bytes = 0
        """How much audio the worker has dealt with; it alone counts this, and the next."""
        self.served = 0
        """How many orders."""
        self._worker = worker
        self._ordered = 0
        self._ordered_bytes = 0
        worker.take(self, Open())

    @property
    def waiting_ms(self) -> float:
        """How much audio waits to be heard."""
        return _audio_ms(self._ordered_bytes - self.heard_bytes)

    @property
    def waiting_orders(self) -> int:
        """How many orders wait."""
        return self._ordered - self.served

    def order(self, order: Order) -> None:
        """Put it behind what waits."""
        self._ordered += 1
        if isinstance(order, Audio):
            self._ordered_bytes += len(order.pcm)
        self._worker.take(self, order)

    def leave(self) -> None:
        """Give the place up; what still waits is skipped."""
        self.deaf = True
        self._worker.take(self, Leave())


class Worker:
    """One engine and its thread."""

    def __init__(
        self, engine: Engine, detector: Callable[[], Detector], now_ns: Callable[[], int]
    ) -> None:
        self.model = engine.model
        self.seated = 0
        """How many streams have a place here."""
        self._engine = engine
        self._detector = detector
        self._now_ns = now_ns
        # Not bounded as such: the server refuses a stream more than so much waiting audio.
        self._orders: queue.SimpleQueue[tuple[Seat, Order | Open | Leave] | None] = (
            queue.SimpleQueue()
        )
        self._hearings: dict[Seat, Hearing] = {}
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self, broken: Callable[[BaseException], None]) -> None:
        """Begin to work. ``broken`` is told, in the thread, of an error that ends it."""

        def work() -> None:
            try:
                self._work()
            except BaseException as error:
                broken(error)

        # A daemon thread: a model that is being asked cannot be interrupted, and must not keep
        # the process from ending.
        self._thread = threading.Thread(target=work, name="worker", daemon=True)
        self._thread.start()

    def stop(self, patience_s: float) -> bool:
        """End the thread and give the engine back; False where it does not end in time."""
        self._stopping = True
        self._orders.put(None)
        if self._thread is not None:
            self._thread.join(patience_s)
        return self._thread is None or not self._thread.is_alive()

    def seat(self, settings: HearingSettings, say: Callable[[Said], None]) -> Seat:
        """A place for one more stream. ``say`` is called in the thread and must not wait."""
        return Seat(self, settings, say)

    def take(self, seat: Seat, order: Order | Open | Leave) -> None:
        """Put an order behind what waits; seats call this."""
        self.seated += isinstance(order, Open) - isinstance(order, Leave)
        self._orders.put((seat, order))

    def _work(self) -> None:
        while (waiting := self._orders.get()) is not None and not self._stopping:
            self._serve(*waiting)
            if self._orders.empty():
                self._make_a_partial()
        for hearing in self._hearings.values():
            hearing.close()
        self._engine.close()

    def _serve(self, seat: Seat, order: Order | Open | Leave) -> None:
        """An engine that fails at one stream ends that stream, not the others."""
        try:
            if isinstance(order, Leave):
                self._let_go(seat)
            elif not seat.deaf:
                self._obey(seat, order)
                seat.served += not isinstance(order, Open)
        except EngineError as error:
            self._tell_failure(seat, error)

    def _obey(self, seat: Seat, order: Order | Open) -> None:
        match order:
            case Open():
                stream = self._engine.open_stream()
                detector = self._detector()
                self._hearings[seat] = Hearing(stream, detector, seat.settings, self._now_ns)
                seat.say(Ready(self.model))
            case Audio(pcm):
                self._tell(seat, self._hearings[seat].hear(samples_of(pcm)))
                seat.heard_bytes += len(pcm)
            case Force():
                self._tell(seat, self._hearings[seat].force())
            case Close():
                self._tell(seat, self._hearings[seat].finish())
                seat.say(Closed(_audio_ms(seat.heard_bytes)))

    def _make_a_partial(self) -> None:
        due = [
            (due_ns, index, seat)
            for index, (seat, hearing) in enumerate(self._hearings.items())
            if (due_ns := hearing.partial_due_ns) is not None and not seat.deaf
        ]
        if not due:
            return
        due_ns, _, seat = min(due)
        if due_ns > self._now_ns():
            return
        try:
            self._tell(seat, self._hearings[seat].partial())
        except EngineError as error:
            self._tell_failure(seat, error)

    def _let_go(self, seat: Seat) -> None:
        hearing = self._hearings.pop(seat, None)
        if hearing is not None:  # its engine may have failed to open
            hearing.close()

    def _tell(self, seat: Seat, said: Iterable[Said]) -> None:
        for each in said:
            seat.say(each)

    def _tell_failure(self, seat: Seat, error: EngineError) -> None:
        seat.deaf = True
        seat.say(Error("engine", str(error), close_code=1011))


def _audio_ms(pcm_bytes: int) -> float:
    return pcm_bytes / SAMPLE_BYTES * 1000 / RATE_HZ
