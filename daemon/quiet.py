"""A time in which nothing is measured, for the self-test: found in a pause, or made."""

from collections.abc import Callable

import trio

from daemon.dispatch import State
from measure.records import SECOND

PAUSE_S = 70.0
"""A self-test takes less than this."""
PATIENCE_S = 6 * 3600.0
"""A host without pauses is given one after so long; the runs of that minute are missed."""
LOOK_S = 1.0


class Quiet:
    """While it is held nothing begins, and when it is reached nothing runs."""

    def __init__(
        self, state: State, next_due_ns: Callable[[], int | None], wall_ns: Callable[[], int]
    ) -> None:
        """``next_due_ns``: when the next run is due, in nanoseconds since 1970."""
        self._state = state
        self._next_due_ns = next_due_ns
        self._wall_ns = wall_ns

    async def __aenter__(self) -> None:
        with trio.move_on_after(PATIENCE_S):
            while not self._pause_ahead():  # noqa: ASYNC110  a pause is a thing of time
                await trio.sleep(LOOK_S)
        self._state.quiet = True
        try:
            while len(self._state.running):
                await self._state.changed.wait()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        self._state.quiet = False
        self._state.tell_change()

    def _pause_ahead(self) -> bool:
        due_ns = self._next_due_ns()
        long = due_ns is None or due_ns - self._wall_ns() > PAUSE_S * SECOND
        return long and not len(self._state.running)
