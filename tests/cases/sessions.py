"""Sessions against scripted fakes, in virtual time: what was measured, recorded and heard."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

import trio

from daemon.fakes.server import Fake
from daemon.fakes.visit import Visit
from daemon.order import Order, Watchman
from daemon.session import measure_once
from measure.events import Event, FrameSent
from measure.measurement import Measurement
from measure.records import MS, Reading, Rule
from pacer.pace import Pacer, Prepare, Step
from providers.codec import Codec, Facts, Options
from providers.deepgram import Deepgram
from tests.daemon.bench import ListRecorder, bench_of, memory_dial, order_of
from tests.daemon.test_session import PreparedGladia

__all__ = [
    "PreparedGladia",
    "Session",
    "all_measured",
    "deepgram_as",
    "measured",
    "near",
    "ordered",
]

STRAY_NS = 1000
"""A float of seconds and a whole number of nanoseconds may differ by less."""
Kind = TypeVar("Kind", bound=Event)


@dataclass(frozen=True)
class Session:
    """One measurement, what was recorded of it, and the provider's own side of it."""

    measurement: Measurement
    recorder: ListRecorder
    fake: Fake
    took_s: float

    @property
    def reading(self) -> Reading:
        return self.measurement.reading

    @property
    def visit(self) -> Visit:
        return self.fake.visits[-1]

    @property
    def finished(self) -> dict[str, object]:
        """The record that the exporter gets at the end."""
        return self.recorder.records[-1]

    def all_of(self, kind: type[Kind]) -> list[Kind]:
        """Every event of this kind, as the journal has them."""
        return [event for event in self.recorder.events() if isinstance(event, kind)]

    def frames(self) -> list[FrameSent]:
        return self.all_of(FrameSent)


def deepgram_as(rule: Rule | None = None, **facts: object) -> Codec:
    """A Deepgram with other facts: what another provider of its kind would ask for."""

    class Other(Deepgram):
        pass

    Other.facts = _changed(Deepgram.facts, rule, facts)
    return Other(Options())


def _changed(usual: Facts, rule: Rule | None, facts: dict[str, object]) -> Facts:
    return replace(usual, rule=rule or usual.rule, **facts)  # type: ignore[arg-type]


def ordered(codec: Codec | None = None, *, rule: Rule | None = None, **how: object) -> Order:
    """What is to be measured, with its codec's own rule or another."""
    codec = codec or Deepgram(Options())
    order = order_of(codec, **how)  # type: ignore[arg-type]
    return order if rule is None else replace(order, rule=rule)


async def measured(
    fake: Fake, order: Order | None = None, *, watchman: Watchman | None = None
) -> Session:
    """One session with ``fake``, which is proven to replay to the same reading."""
    return (await all_measured([(fake, order or ordered())], watchman=watchman))[0]


class Holding(Pacer):
    """Another pacer, whose steps of one stream are held up before they are taken."""

    def __init__(self, pacer: Pacer, hold: Callable[[float], None]) -> None:
        self._pacer = pacer
        self._hold = hold

    async def play(self, step: Step, prepare: Prepare | None = None) -> None:
        """``hold`` is called with the place in the audio where each 20 ms end."""
        places_ms = count(20.0, 20.0)

        def held(due_ns: int) -> bool:
            self._hold(next(places_ms))
            return step(due_ns)

        await self._pacer.play(held, prepare)


async def all_measured(
    pairs: Sequence[tuple[Fake, Order]], *, watchman: Watchman | None = None, at_once: bool = False
) -> list[Session]:
    """One session after the other, or all at once; each has a recorder of its own."""
    found: list[Session | None] = [None] * len(pairs)
    async with trio.open_nursery() as world:
        for_all = ListRecorder()
        if watchman is not None and hasattr(watchman, "run"):
            world.start_soon(watchman.run)
        async with bench_of(memory_dial([], world), for_all, watchman) as bench:

            async def one(place: int, fake: Fake, order: Order) -> None:
                recorder = ListRecorder()
                theirs = replace(bench.open_link, dial=memory_dial([fake], world))  # type: ignore[type-var]
                own = replace(bench, recorder=recorder, open_link=theirs)
                if (hold := getattr(order.codec, "hold", None)) is not None:
                    own = replace(own, pacer=Holding(bench.pacer, hold))
                started_s = trio.current_time()
                measurement = await measure_once(order, own)
                took_s = trio.current_time() - started_s
                assert recorder.reading() == measurement.reading
                found[place] = Session(measurement, recorder, fake, took_s)

            async with trio.open_nursery() as sessions:
                for place, (fake, order) in enumerate(pairs):
                    if at_once:
                        sessions.start_soon(one, place, fake, order)
                    else:
                        await one(place, fake, order)
        world.cancel_scope.cancel()
    return [session for session in found if session is not None]


def near(duration_ns: int | None, wanted_ms: float) -> bool:
    """A duration is what it should be, to the microsecond."""
    return duration_ns is not None and abs(duration_ns - wanted_ms * MS) <= STRAY_NS
