"""Watches over this program and its host: whether we stood still, whether the clocks agree.

One task beats every few milliseconds. A beat that comes late means that nothing else ran either;
whoever is measuring at that moment is told, for a reading that waited meanwhile is not the
provider's. The sentinel's word for a stall of the host itself is passed on to them as well. The
wall clock is compared with ours at each beat, and before whatever is told of a session: a message
that came with a step of the clock must not be answered for before the step is known.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

from measure.events import ClockStepped, Event, HostStalled, LoopStalled
from measure.records import MS

BEAT_NS = 10 * MS
STALL_NS = 5 * MS
"""A beat later than this is told."""
STEP_NS = MS
"""A disagreement of the clocks between two beats above this is told."""


class HostWatchman:
    """``run`` is its one task."""

    def __init__(self, now_ns: Callable[[], int], wall_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._wall_ns = wall_ns
        self._beat_ns: int | None = None
        self._offset_ns = 0
        self._told: dict[int, Callable[[Event], None]] = {}
        self._subscriptions = 0
        self._lags_ns: list[int] = []

    async def run(self) -> None:
        """Beat, for ever."""
        self._offset_ns = self._wall_ns() - self._now_ns()
        self._beat_ns = self._now_ns()
        while True:
            await trio.sleep_until((self._beat_ns + BEAT_NS) / 1e9)
            now_ns = self._now_ns()
            self._lags_ns.append(now_ns - self._beat_ns - BEAT_NS)
            self.look(now_ns)
            self._beat_ns = now_ns

    def look(self, now_ns: int) -> None:
        """Tell every subscriber if the program has stood still, or the clock stepped, up to now."""
        if self._beat_ns is None:
            return
        self._compare_clocks(now_ns)
        late_ns = now_ns - self._beat_ns - BEAT_NS
        if late_ns > STALL_NS:
            self._beat_ns = now_ns
            self._tell(LoopStalled(now_ns, late_ns))

    def host_stalled(self, ended_ns: int, stalled_ns: int) -> None:
        """The sentinel has seen that nothing ran on this host for ``stalled_ns``."""
        self._tell(HostStalled(self._now_ns(), ended_ns, stalled_ns))

    @property
    def idle(self) -> bool:
        """Nobody measures."""
        return not self._told

    def take_lags_ns(self) -> list[int]:
        """How late each beat was since this was last asked."""
        lags_ns, self._lags_ns = self._lags_ns, []
        return lags_ns

    @contextmanager
    def subscribe(self, told: Callable[[Event], None]) -> Iterator[None]:
        """From now on ``told`` gets each stall and each step of the clock as it is noticed."""
        self._subscriptions += 1
        number = self._subscriptions
        self._told[number] = told
        try:
            yield
        finally:
            del self._told[number]

    def _compare_clocks(self, now_ns: int) -> None:
        before_ns = self._now_ns()
        offset_ns = self._wall_ns() - before_ns
        if self._now_ns() - before_ns > STEP_NS // 2:
            return  # we were held up between the looks; the next ones tell
        step_ns = offset_ns - self._offset_ns
        self._offset_ns = offset_ns
        if abs(step_ns) > STEP_NS:
            self._tell(ClockStepped(now_ns, step_ns))

    def _tell(self, event: Event) -> None:
        for told in list(self._told.values()):
            told(event)
