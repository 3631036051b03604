"""Whether a measurement may begin: not while the journal has no room for what it would say.

    journal ─report─> hand-off ─full?─> Gate ─passed─> the next measurement

Measurements that run when the disk becomes full are not cut short: at the reserve they can still be
recorded to their end. They count as partial where the disk refuses one of their records.
"""

from collections.abc import Callable
from typing import Protocol

import trio

from exporters.packets import Report
from exporters.recovery import Say

LOOK_S = 0.2
"""How often it is looked whether there is room again."""


class Reported(Protocol):
    """The hand-off to the exporter process, as far as it matters here."""

    @property
    def alive(self) -> bool: ...

    @property
    def report(self) -> Report: ...


def hindrance(report: Report, *, alive: bool) -> str | None:
    """Why no measurement may begin now, in one word; None where it may.

    Where the exporter process is gone its last report says nothing about now.
    """
    return "journal_full" if alive and report.full and not report.last else None


class Gate:
    """What every measurement passes before it begins. For one trio run; any number may wait."""

    def __init__(
        self, handoff: Reported, say: Say, other: Callable[[], str | None] = lambda: None
    ) -> None:
        """``say`` writes the log: once when measuring stops, once when it goes on.

        ``other``: what else hinders, in one word; it comes before a full journal.
        """
        self._handoff = handoff
        self._say = say
        self._other = other
        self._closed_at_s: float | None = None

    @property
    def closed(self) -> str | None:
        """Why nothing may begin; None where it may."""
        return self._other() or hindrance(self._handoff.report, alive=self._handoff.alive)

    async def passed(self) -> None:
        """Wait until a measurement may begin; at once where it may now."""
        while (why := self.closed) is not None:
            self._told_closed(why)
            await trio.sleep(LOOK_S)
        self._told_open()

    def _told_closed(self, why: str) -> None:
        if self._closed_at_s is None:
            self._closed_at_s = trio.current_time()
            self._say("error", "measuring_paused", reason=why)

    def _told_open(self) -> None:
        if self._closed_at_s is not None:
            paused_s, self._closed_at_s = trio.current_time() - self._closed_at_s, None
            self._say("warning", "measuring_resumed", paused_s=round(paused_s, 1))
