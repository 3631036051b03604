"""Whether a worker hangs: from its signs of life, and the time in which we ourselves ran. Pure.

    signs      |  |  |  |  ·  ·  ·  ·  ·  ·  ·  ·  ·
    our looks  | | | | | | | | |             | | | | | |
                               └ none counts ┘             while we stood still as well

A worker says once a second that its pacer has served a step. Only time in which this process looked
counts as silence: where the host stood still, or this process did, nobody is to blame for it.
"""

from measure.records import SECOND

LOOK_S = 0.5
"""How often it is looked."""
HUNG_S = 10.0
"""So long without a sign, and a worker hangs. A stall of milliseconds is noted in a session and one
of a second voids it: nothing that a session survives takes so long. What a worker does in one go
takes far less."""
STARTING_S = 120.0
"""So long may a new worker take to its first sign: a second or two where the host is not busy."""

_LOOK_NS = round(LOOK_S * SECOND)


class Vigil:
    """Over one worker, from its start to its end."""

    def __init__(self, now_ns: int) -> None:
        self._looked_ns = now_ns
        self._silent_ns = 0
        self._has_begun = False

    def heard(self) -> None:
        """It has given a sign of life."""
        self._has_begun = True
        self._silent_ns = 0

    def look(self, now_ns: int) -> bool:
        """It hangs. A look that comes late counts like one in time: we did not run meanwhile."""
        self._silent_ns += min(now_ns - self._looked_ns, _LOOK_NS)
        self._looked_ns = now_ns
        return self.silent_s >= (HUNG_S if self._has_begun else STARTING_S)

    @property
    def silent_s(self) -> float:
        """How long it has been silent while we ran."""
        return self._silent_ns / SECOND
