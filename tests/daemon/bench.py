"""Benches for tests: all that measures is real; the network is memory, time is the test's own."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import numpy as np
import trio
from trio.testing import MemoryReceiveStream

from daemon.clock import now_ns
from daemon.dial import WebsocketUrl
from daemon.fakes.server import Fake
from daemon.lane import LaneFull
from daemon.link import Dial, Opener, Way
from daemon.order import Bench, Order, Speech, Watchman
from measure.events import Event
from measure.records import AudioClip, Reading
from measure.replay import reading_of, sessions_of
from measure.wire import Record
from pacer.clips import clip_from_samples
from pacer.clock import PlainSleeper
from pacer.pace import Pacer
from providers.codec import Codec
from tests.daemon.memory_lane import MemoryLane

KEY = "canary-6f1d2c-of-thirty-characters"
SPEECH = Speech(100.0, 160.0, 500.0, 610.0)
ZERO_MS = 620
"""The frame that completes the endpoint of SPEECH ends here."""


def wall_ns() -> int:
    """A wall clock that never disagrees with ours."""
    return 10**18 + now_ns()


@dataclass
class QuietWatchman:
    """Sees nothing by itself; tells what a test makes it tell."""

    told: list[Callable[[Event], None]] = field(default_factory=list)

    def look(self, now_ns: int) -> None: ...

    @contextmanager
    def subscribe(self, told: Callable[[Event], None]) -> Iterator[None]:
        self.told.append(told)
        try:
            yield
        finally:
            self.told.remove(told)

    def tell(self, event: Event) -> None:
        for told in self.told:
            told(event)


@dataclass
class ListRecorder:
    """Keeps every record."""

    records: list[Record] = field(default_factory=list)

    def put(self, record: Record) -> None:
        self.records.append(record)

    def events(self) -> tuple[Event, ...]:
        (session,) = sessions_of(self.records)
        return session.events

    def reading(self) -> Reading:
        """What a replay of the records shows."""
        (session,) = sessions_of(self.records)
        return reading_of(session)


class FullLane(MemoryLane):
    """Takes so many bytes and then no more, as where the other side has stopped reading."""

    limit_bytes = 20_000

    def send_nowait(self, frame: bytes, *, stamp: bool = False) -> bool:
        if self.sent_bytes + len(frame) > self.limit_bytes:
            raise LaneFull(self.sent_bytes, self.limit_bytes)
        return super().send_nowait(frame, stamp=stamp)


def memory_dial(fakes: Iterable[Fake], world: trio.Nursery) -> Dial:
    """Connects to one fake after the other, each running in ``world``."""
    waiting = list(fakes)

    async def dial(url: WebsocketUrl) -> Way:
        await trio.lowlevel.checkpoint()
        fake = waiting.pop(0)
        if not fake.faults.listening:
            raise ConnectionRefusedError(111, "refused")
        to_us, incoming = trio.testing.memory_stream_one_way_pair()
        outgoing = MemoryReceiveStream()
        kind = MemoryLane if fake.faults.stops_reading_ms is None else FullLane
        world.start_soon(fake.converse, trio.StapledStream(to_us, outgoing))
        return Way(kind(outgoing, incoming, now_ns), "memory", None, 0, None)

    return dial


@asynccontextmanager
async def bench_of(
    dial: Dial, recorder: ListRecorder, watchman: Watchman | None = None
) -> AsyncIterator[Bench]:
    """A bench whose pacer runs as long as this lasts."""
    pacer = Pacer(PlainSleeper(), now_ns)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pacer.run)
        yield Bench(
            pacer, Opener(dial, now_ns), recorder, watchman or QuietWatchman(), now_ns, wall_ns
        )
        nursery.cancel_scope.cancel()


def clip_of(seconds: float = 1.0) -> AudioClip:
    """No sample of it is silent."""
    samples = (np.arange(round(seconds * 16_000)) % 200 * 50 + 1).astype(np.int16)
    return clip_from_samples("day", samples, rate_hz=16_000, reference="good day")


def order_of(
    codec: Codec,
    model: str = "deepgram/nova-3",
    *,
    speech: Speech | None = SPEECH,
    seconds: float = 1.0,
) -> Order:
    return Order(
        session_id="s1",
        run_id="r1",
        model=model,
        codec=codec,
        key=KEY,
        clip=clip_of(seconds),
        speech=speech,
        rule=codec.facts.rule,
        signature="speechbench test",
    )
