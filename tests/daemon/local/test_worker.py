"""One engine and its thread: in which order things are done, and what a failure costs."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from daemon.local.engines.shape import Samples
from daemon.local.hearing import HearingSettings
from daemon.local.protocol import (
    Audio,
    Close,
    Closed,
    Error,
    Final,
    Force,
    Order,
    Partial,
    Ready,
    Said,
)
from daemon.local.worker import Worker
from tests.daemon.local.scripted import LoudIsSpeech, ScriptedEngine, fails_at, pcm, spoken

PATIENCE_S = 10
"""Far more than anything here takes; only a fault lets it pass."""


class Listener:
    """What one stream was told, in order."""

    def __init__(self) -> None:
        self._said: queue.SimpleQueue[Said] = queue.SimpleQueue()

    def __call__(self, said: Said) -> None:
        self._said.put(said)

    def next(self) -> Said:
        return self._said.get(timeout=PATIENCE_S)

    def up_to_the_end(self) -> list[Said]:
        said = [self.next()]
        while not isinstance(said[-1], Closed | Error):
            said.append(self.next())
        return said


class Hours:
    """A clock on which an hour passes whenever it is looked at: every partial is due at once."""

    def __init__(self) -> None:
        self._hour = 0

    def __call__(self) -> int:
        self._hour += 1
        return self._hour * 3_600_000_000_000


def worker_of(engine: ScriptedEngine) -> Worker:
    return Worker(engine, LoudIsSpeech, Hours())


@contextmanager
def at_work(worker: Worker) -> Iterator[None]:
    """The worker's thread, running; an error in it is an error here."""
    errors: list[BaseException] = []
    worker.start(errors.append)
    yield
    assert worker.stop(PATIENCE_S)
    assert errors == []


def test_a_stream_is_told_what_it_said() -> None:
    worker, listener = worker_of(ScriptedEngine()), Listener()
    seat = worker.seat(HearingSettings(), listener)
    seat.order(Audio(pcm((7, 320), (8, 320))))
    seat.order(Force())
    seat.order(Close())
    with at_work(worker):
        assert listener.up_to_the_end() == [
            Ready("scripted"),
            Final(0, "w7 w8", forced=True),
            Closed(640.0),
        ]


def test_a_force_that_waits_comes_before_any_partial() -> None:
    engine, listener = ScriptedEngine(), Listener()
    worker = worker_of(engine)
    seat = worker.seat(HearingSettings(), listener)
    for word in (7, 8, 9):
        seat.order(Audio(pcm((word, 320))))
    seat.order(Force())
    with at_work(worker):
        assert listener.next() == Ready("scripted")
        assert listener.next() == Final(0, "w7 w8 w9", forced=True)
    assert engine.streams[0].asked == 0


def test_a_partial_is_made_when_nothing_else_waits() -> None:
    worker, listener = worker_of(ScriptedEngine()), Listener()
    seat = worker.seat(HearingSettings(), listener)
    seat.order(Audio(pcm((7, 320))))
    with at_work(worker):
        assert listener.next() == Ready("scripted")
        assert listener.next() == Partial(0, "w7")
        seat.order(Force())
        assert listener.next() == Final(0, "w7", forced=True)


def test_only_one_partial_is_made_for_the_stream_that_waited_longest() -> None:
    engine = ScriptedEngine()
    worker = worker_of(engine)
    early, late = Listener(), Listener()
    seats = [worker.seat(HearingSettings(), listener) for listener in (early, late)]
    for seat in seats:
        seat.order(Audio(pcm((7, 320))))
    with at_work(worker):
        assert [early.next(), early.next()] == [Ready("scripted"), Partial(0, "w7")]
    assert [stream.asked for stream in engine.streams] == [1, 0]


def test_streams_of_one_engine_do_not_hear_each_other() -> None:
    worker = worker_of(ScriptedEngine())
    listeners = [Listener() for _ in range(3)]
    seats = [worker.seat(HearingSettings(partials=False), listener) for listener in listeners]
    for step in range(4):
        for number, seat in enumerate(seats):
            seat.order(Audio(pcm((10 * (number + 1) + step, 100))))
    for seat in seats:
        seat.order(Close())
    with at_work(worker):
        texts = [listener.up_to_the_end()[1] for listener in listeners]
    assert texts == [
        Final(0, "w10 w11 w12 w13", forced=False),
        Final(0, "w20 w21 w22 w23", forced=False),
        Final(0, "w30 w31 w32 w33", forced=False),
    ]


def test_what_waits_of_a_stream_that_has_left_is_skipped() -> None:
    engine = ScriptedEngine()
    worker, other = worker_of(engine), Listener()
    gone = worker.seat(HearingSettings(), Listener())
    gone.order(Audio(pcm((7, 320))))
    gone.order(Force())
    gone.leave()
    worker.seat(HearingSettings(), other).order(Close())
    with at_work(worker):
        other.up_to_the_end()
    assert len(engine.streams) == 1  # the one that left did not even get a place


def test_a_stream_that_leaves_gives_its_place_in_the_engine_back() -> None:
    engine = ScriptedEngine()
    worker, listener, other = worker_of(engine), Listener(), Listener()
    with at_work(worker):
        seat = worker.seat(HearingSettings(), listener)
        assert listener.next() == Ready("scripted")
        assert worker.seated == 1
        seat.leave()
        worker.seat(HearingSettings(), other).order(Close())
        other.up_to_the_end()
        assert worker.seated == 1
        assert [stream.closed for stream in engine.streams] == [True, False]


def test_how_much_waits_is_known_and_becomes_none() -> None:
    worker, listener = worker_of(ScriptedEngine()), Listener()
    seat = worker.seat(HearingSettings(), listener)
    seat.order(Audio(pcm((0, 500))))
    seat.order(Audio(pcm((0, 250))))
    assert (seat.waiting_ms, seat.waiting_orders) == (750.0, 2)
    seat.order(Close())
    with at_work(worker):
        listener.up_to_the_end()
        assert seat.waiting_ms == 0
    assert seat.waiting_orders == 0


@pytest.mark.parametrize("last", [Force(), Close(), None])
def test_an_engine_that_fails_at_one_stream_ends_that_one_alone(last: Order | None) -> None:
    worker = worker_of(ScriptedEngine(fails_at("w9")))
    unlucky, lucky = Listener(), Listener()
    seat = worker.seat(HearingSettings(), unlucky)
    seat.order(Audio(pcm((9, 320))))
    if last is not None:  # else it fails at a partial
        seat.order(last)
    with at_work(worker):
        assert unlucky.up_to_the_end()[-1] == Error("engine", "cannot hear w9", close_code=1011)
        seat.order(Force())
        seat.leave()
        other = worker.seat(HearingSettings(), lucky)
        other.order(Audio(pcm((7, 320))))
        other.order(Close())
        assert lucky.up_to_the_end()[-2:] == [Final(0, "w7", forced=False), Closed(320.0)]


def test_a_mistake_of_ours_is_not_swallowed() -> None:
    def mistake(segment: Samples) -> str:
        raise ZeroDivisionError

    worker = worker_of(ScriptedEngine(mistake))
    seat = worker.seat(HearingSettings(), Listener())
    seat.order(Audio(pcm((7, 320))))
    seat.order(Force())
    errors: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
    worker.start(errors.put)
    assert isinstance(errors.get(timeout=PATIENCE_S), ZeroDivisionError)
    assert worker.stop(PATIENCE_S)


def test_an_end_gives_back_streams_and_engine() -> None:
    engine = ScriptedEngine()
    worker, listener = worker_of(engine), Listener()
    worker.seat(HearingSettings(), listener)
    with at_work(worker):
        listener.next()
    assert engine.streams[0].closed
    assert engine.closed


def test_an_end_does_not_wait_for_a_model_that_takes_too_long() -> None:
    entered, released = threading.Event(), threading.Event()
    worker = worker_of(ScriptedEngine(waits_for(released, entered)))
    seat = worker.seat(HearingSettings(), Listener())
    seat.order(Audio(pcm((7, 320))))
    seat.order(Force())
    worker.start(lambda error: None)
    assert entered.wait(PATIENCE_S)
    assert not worker.stop(0)
    released.set()
    assert worker.stop(PATIENCE_S)


def waits_for(released: threading.Event, entered: threading.Event) -> Callable[[Samples], str]:
    """A rule that understands nothing before it is released."""

    def understand(segment: Samples) -> str:
        entered.set()
        assert released.wait(PATIENCE_S)
        return spoken(segment)

    return understand
