"""The only loop that sleeps on purpose: each frame leaves when its audio would have been spoken.

Due times are absolute and in whole nanoseconds, so a late frame moves no later one: sleeping 20 ms
between frames instead drifts by some 5 %. One task serves every stream of the process. Each stream
is given a slot, one of forty moments inside the 20 ms, so that streams do not wait for one another
and one wake serves all that share a slot.

    |--20 ms--------------------------------|--20 ms---- …
    0   1   2   3 …                     39  0   1        slots of 0.5 ms
    a       c,d                         b   a            streams

A step is a plain function: it takes its frame, hands it to the socket and returns. Nothing is
awaited between the moment a frame is due and the moment the kernel has it. What can be done before
that moment is: once all steps of a slot have been taken, each stream may make ready its next frame.
"""

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import trio

from pacer.clock import Sleeper

STEP_NS: Final = 20_000_000
"""One frame."""
SLOTS: Final = 40
SLOT_NS: Final = STEP_NS // SLOTS
_STRIDE: Final = 13
"""Coprime to the number of slots: neighbours in time of arrival get slots far apart."""

Step = Callable[[int], bool]
"""Called with the moment a frame is due, once every 20 ms, until it returns False."""
Prepare = Callable[[], None]
"""Called after a step, when nothing is due: to make ready what the next one will send."""


@dataclass(eq=False, slots=True)
class _Stream:
    step: Step
    prepare: Prepare | None
    slot: int
    due_ns: int
    over: trio.Event = field(default_factory=trio.Event)
    error: Exception | None = None


class Pacer:
    """Calls the step of every stream at its due times. ``run`` is its one task."""

    def __init__(self, sleeper: Sleeper, now_ns: Callable[[], int]) -> None:
        """``sleeper`` and ``now_ns`` are on the same clock."""
        self.sleeper = sleeper
        self._now_ns = now_ns
        self._queue: list[tuple[int, int, _Stream]] = []
        self._order = itertools.count()
        self._loads = [0] * SLOTS
        self._asleep_until_ns = 0
        """What the sleeper waits for; 0 while it does not sleep."""
        self._wanted = trio.Event()

    async def run(self) -> None:
        """Serve the streams, for ever."""
        while True:
            if not self._queue:
                self._wanted = trio.Event()
                await self._wanted.wait()
            await self._sleep()
            self._serve()

    async def play(self, step: Step, prepare: Prepare | None = None) -> None:
        """Call ``step`` at each due time until it returns False. Raises what they raise.

        The first call is due one frame after a slot that lies ahead: when a microphone that was
        switched on then would have heard the whole of the first frame.
        """
        slot = self._free_slot()
        stream = _Stream(step, prepare, slot, _next_start_ns(self._now_ns(), slot) + STEP_NS)
        self._loads[slot] += 1
        self._push(stream)
        try:
            await stream.over.wait()
        finally:
            self._loads[slot] -= 1
            stream.over.set()  # given up by its owner: the pacer drops it when it meets it
        if stream.error is not None:
            raise stream.error

    def _free_slot(self) -> int:
        """The slot with the fewest streams."""
        order = (index * _STRIDE % SLOTS for index in range(SLOTS))
        return min(order, key=self._loads.__getitem__)

    def _push(self, stream: _Stream) -> None:
        heapq.heappush(self._queue, (stream.due_ns, next(self._order), stream))
        self._wanted.set()
        if stream.due_ns < self._asleep_until_ns:
            self._asleep_until_ns = stream.due_ns
            self.sleeper.earlier(stream.due_ns)

    async def _sleep(self) -> None:
        self._asleep_until_ns = self._queue[0][0]
        try:
            await self.sleeper.until(self._asleep_until_ns)
        finally:
            self._asleep_until_ns = 0

    def _serve(self) -> None:
        """Call every step that is due; a stream that is behind catches up, frame after frame."""
        now_ns = self._now_ns()
        served: list[_Stream] = []
        while self._queue and self._queue[0][0] <= now_ns:
            due_ns, _, stream = heapq.heappop(self._queue)
            if not stream.over.is_set() and _goes_on(stream, partial(stream.step, due_ns)):
                stream.due_ns = due_ns + STEP_NS
                heapq.heappush(self._queue, (stream.due_ns, next(self._order), stream))
                served.append(stream)
        for stream in served:
            if stream.prepare is not None and not stream.over.is_set():
                _goes_on(stream, stream.prepare)


def _goes_on(stream: _Stream, act: Callable[[], bool | None]) -> bool:
    """Act. Whatever it raises belongs to the stream's owner, not to the other streams."""
    try:
        more = act() is not False
    except Exception as error:
        stream.error = error
        more = False
    if not more:
        stream.over.set()
    return more


def _next_start_ns(now_ns: int, slot: int) -> int:
    """The first moment of ``slot`` that is not yet past."""
    return now_ns + (slot * SLOT_NS - now_ns) % STEP_NS
