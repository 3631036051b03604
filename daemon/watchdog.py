"""The sign of life for the service manager: given only when everything that matters has moved.

A program that hangs is one that still answers somewhere; so the sign is not that some timer fired
but that the pacer served a step of its own and the exporter process confirmed new records.

Workers have no part in it: one that hangs is killed and replaced (daemon/post.py), and the others
go on. To end the whole service for it would take their sessions as well, and mend nothing more.
"""

from collections.abc import Callable

import trio

from daemon.notify import Notifier
from pacer.pace import Pacer

SIGNS_IN_ONE_PERIOD = 3
STEP_S = 1.0
"""How long the pacer may take to serve one step. It takes 20 to 40 ms."""


async def feed_watchdog(
    notifier: Notifier,
    pacer: Pacer,
    confirmed: Callable[[], int],
    *,
    complain: Callable[[str], None],
) -> None:
    """Give the sign for as long as it is deserved; ends at once where nobody wants it.

    ``confirmed`` is how many records the exporter process has confirmed; the heartbeat alone makes
    it rise each second. ``complain`` is told, once each time, what does not move.
    """
    if notifier.watchdog_s is None:
        return
    last, complained = -1, ""
    while True:
        moved = confirmed()
        stuck = _what_is_stuck(paces=await paces(pacer), exports=moved > last)
        last = max(last, moved)
        if not stuck:
            notifier.alive()
        elif stuck != complained:
            complain(stuck)
        complained = stuck
        await trio.sleep(notifier.watchdog_s / SIGNS_IN_ONE_PERIOD)


def _what_is_stuck(*, paces: bool, exports: bool) -> str:
    if paces and exports:
        return ""
    return "the pacer does not move" if not paces else "the exporter process confirms nothing"


async def paces(pacer: Pacer) -> bool:
    """It serves one step."""
    with trio.move_on_after(STEP_S):
        await pacer.play(lambda due_ns: False)
        return True
    return False
