"""The one clock: every stamp and every sleep of the program is on trio's clock, and it is this.

Trio's own clock has a random offset per run, so stamps of two processes could not be compared. This
one is CLOCK_MONOTONIC as it is: one time line for all processes of a host, and for the kernel's own
stamps. Tests run the same code under trio.testing.MockClock.
"""

import time

import trio


class HostClock(trio.abc.Clock):
    """CLOCK_MONOTONIC, in seconds since boot; a float of it is exact to 10 ns for a year."""

    def start_clock(self) -> None:
        """Nothing to start."""

    def current_time(self) -> float:
        """Seconds since boot."""
        return time.monotonic_ns() / 1e9

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Seconds from now to ``deadline``."""
        return deadline - self.current_time()


def host_now_ns() -> int:
    """The same as ``now_ns`` under HostClock, in a third of the time: for the paced path."""
    return time.monotonic_ns()


def now_ns() -> int:
    """Now, on the clock that this trio run uses. The only source of our own stamps."""
    return round(trio.current_time() * 1e9)


def wall_ns() -> int:
    """Nanoseconds since 1970: it places a measurement in a calendar and never measures."""
    return time.time_ns()
