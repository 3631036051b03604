"""The sessions of a self-test: so many streams at the same time, each session after session.

Nothing here is made for the test but the recorder that also keeps what the figures need: sessions
are those of ``measure_once``, on the bench that the daemon measures with.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import trio

from daemon.order import Bench, Order, Recorder
from daemon.selftest.codec import MODEL, KnownDelay
from daemon.selftest.figures import KEPT
from daemon.selftest.speech import SPEECH, delays
from daemon.session import measure_once
from measure.measurement import Measurement
from measure.records import AudioClip
from measure.wire import Record

SESSION_S = 1.3
"""About how long one session takes; first sessions begin spread over this."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the course."""

    streams: int
    sessions_each: int
    scraped: bool = False
    """Somebody fetches the metrics each second meanwhile."""

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return (self.sessions_each + 1) * SESSION_S


PARTS = (
    Part(1, 5),
    Part(8, 15),
    Part(32, 5),
    Part(32, 5, scraped=True),
    Part(100, 3),
)
"""The whole course: enough sessions for a p99 at each level but the first."""


class Keeper:
    """A recorder that passes everything on, and keeps the kinds of which figures are made."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.kept: list[Record] = []

    def put(self, record: Record) -> None:
        self._recorder.put(record)
        if record["k"] in KEPT:
            self.kept.append(record)


@dataclass(frozen=True, slots=True)
class Course:
    """Where sessions go, and what they say."""

    bench: Bench
    address: str
    clip: AudioClip
    seed: int
    run_id: str
    new_id: Callable[[], str]


async def take_part(course: Course, part: Part) -> tuple[list[Measurement], list[Record]]:
    """All sessions of one part, and their records."""
    keeper = Keeper(course.bench.recorder)
    course = replace(course, bench=replace(course.bench, recorder=keeper))
    measured: list[Measurement] = []
    async with trio.open_nursery() as streams:
        for stream in range(part.streams):
            begin_s = trio.current_time() + SESSION_S * stream / part.streams
            streams.start_soon(_stream, course, part, stream, begin_s, measured)
    return measured, keeper.kept


async def _stream(
    course: Course, part: Part, stream: int, begin_s: float, measured: list[Measurement]
) -> None:
    await trio.sleep_until(begin_s)
    for number in range(part.sessions_each):
        await measure_once(_order(course, stream, number), course.bench, measured.append)


def _order(course: Course, stream: int, number: int) -> Order:
    codec = KnownDelay(course.address, delays(course.seed, stream, number))
    return Order(
        session_id=course.new_id(),
        run_id=course.run_id,
        model=MODEL,
        codec=codec,
        key="",
        clip=course.clip,
        speech=SPEECH,
        rule=codec.facts.rule,
        signature="",
    )
