"""Microphones and detectors for tests: all that measures is real; what they hear is written down.

A microphone gives a recording in blocks of 20 ms, each at its moment of the test's own time. The
detector knows where speech is, and tells it when a live one could; or so much later.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

import trio

from daemon.clock import now_ns
from daemon.order import Speech
from daemon.sound import SoundEnded
from measure.records import MS
from pacer.microphone import Block, Opened
from tests.pacer.paper_device import blocks_of
from vad.endpoint import Edge, EdgeKind

GONE = "the input device 'microphone' has disappeared: nothing came from it for 1 s"
Change = Callable[[Block], Block | None]
"""What becomes of a block; None: it is lost."""


@dataclass
class PlayedMicrophone:
    """Hears ``pcm`` at its own rate, and then disappears, or silence for ever."""

    pcm: bytes
    rate_hz: int = 16_000
    disappears: bool = False
    change: Change = lambda block: block
    late_ns: Callable[[int], int] = lambda index: 0
    """By how much a block comes late."""
    delay_ns: int | None = 40 * MS
    """How long the device keeps what it has taken up; None: it does not say."""
    began_ns: int | None = None

    @property
    def opened(self) -> Opened:
        return Opened("microphone", self.rate_hz, 1, 40.0)

    async def blocks(self) -> AsyncIterator[Block]:
        self.began_ns = began_ns = now_ns()
        silence = bytes(len(self.pcm)) if self.disappears else bytes(self.rate_hz * 2 * 60)
        whole = self.pcm if self.disappears else self.pcm + silence
        for index, block in enumerate(blocks_of(whole, self.rate_hz)):
            due_ns = began_ns + block.arrived_ns + self.late_ns(index)
            await trio.sleep_until(due_ns / 1e9)
            age_ns = None if self.delay_ns is None else 20 * MS + self.delay_ns
            came = self.change(replace(block, arrived_ns=now_ns(), age_ns=age_ns))
            if came is not None:
                yield came
        raise SoundEnded(GONE)


@dataclass
class WrittenEar:
    """Tells what is written as soon as so much audio has come that one can know it."""

    speeches: Sequence[Speech]
    told: Callable[[Edge], None]
    over: Callable[[], None]
    lag_s: float
    nursery: trio.Nursery
    hangs: bool
    heard_ms: float = 0.0
    _said: int = 0

    def hear(self, pcm: bytes) -> None:
        self.heard_ms += len(pcm) / 32
        self._tell([edge for edge in self._edges() if edge.known_ms <= self.heard_ms])

    def close(self) -> None:
        """Speech that has begun and not ended ends here."""
        if self.hangs:
            return
        known = self._edges()[: self._said]
        if known and known[-1].kind is EdgeKind.START:
            place = round(self.heard_ms * 16)
            self._tell([*known, Edge(EdgeKind.END, place, place, 16_000, at_eof=True)])
        self.nursery.start_soon(self._say_goodbye)

    def _tell(self, edges: list[Edge]) -> None:
        for edge in edges[self._said :]:
            self.nursery.start_soon(self._later, edge)
        self._said = max(self._said, len(edges))

    async def _later(self, edge: Edge) -> None:
        await trio.sleep(self.lag_s)
        self.told(edge)

    async def _say_goodbye(self) -> None:
        await trio.sleep(self.lag_s + 0.001)
        if not self.hangs:
            self.over()

    def _edges(self) -> list[Edge]:
        return [edge for one in self.speeches for edge in edges_of(one)]


def edges_of(one: Speech) -> tuple[Edge, Edge]:
    """Its start and its end."""
    start_ms, known_ms = one.start_ms, one.start_known_ms
    return (
        Edge(EdgeKind.START, round(start_ms * 16), round(known_ms * 16), 16_000),
        Edge(EdgeKind.END, round(one.end_ms * 16), round(one.end_known_ms * 16), 16_000),
    )


@dataclass
class WrittenDetector:
    """A detector that knows beforehand."""

    speeches: Sequence[Speech]
    nursery: trio.Nursery
    lag_s: float = 0.0
    hangs: bool = False
    """It never finishes with what it has heard."""
    error: Exception | None = None
    opened: list[WrittenEar] = field(default_factory=list)

    def open(
        self, told: Callable[[Edge], None], *, over: Callable[[], None] = lambda: None
    ) -> WrittenEar:
        ear = WrittenEar(self.speeches, told, over, self.lag_s, self.nursery, self.hangs)
        self.opened.append(ear)
        return ear

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None: ...
