"""The precise sleeper: waits for a moment on CLOCK_MONOTONIC, to the accuracy of the kernel.

Trio hands its timeouts to epoll in whole milliseconds, rounded up, which makes every wake half a
millisecond late at the median. A timerfd wakes at the nanosecond it was set to, so the pacer waits
for one of those to become readable. Where there is none (not Linux, virtual time), a plain sleep
does the same thing less exactly, and says so. Python has timerfd from 3.13 on; before, the C
library is asked.
"""

import ctypes
import os
import sys
from types import TracebackType
from typing import Protocol, Self

import trio

SECOND_NS = 1_000_000_000
_CLOCK_MONOTONIC = 1
_TFD_TIMER_ABSTIME = 1
_TFD_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC


class Sleeper(Protocol):
    """Waits until a moment on the clock of this trio run."""

    exact: bool
    """Wakes to the microsecond, not to the millisecond."""

    async def until(self, due_ns: int) -> None:
        """Return at ``due_ns`` or a little later; at once, but through a checkpoint, if past."""

    def earlier(self, due_ns: int) -> None:
        """Whoever waits has to wake at ``due_ns``, which comes before what they wait for."""


class PlainSleeper:
    """Trio's own sleep: right in virtual time, about half a millisecond late in real time."""

    exact = False

    def __init__(self) -> None:
        self._asleep = trio.CancelScope()

    async def until(self, due_ns: int) -> None:
        with trio.CancelScope() as self._asleep:
            self._asleep.deadline = due_ns / SECOND_NS
            await trio.sleep_forever()

    def earlier(self, due_ns: int) -> None:
        self._asleep.deadline = due_ns / SECOND_NS


if sys.version_info >= (3, 13):

    def _open_timer() -> int:
        return os.timerfd_create(_CLOCK_MONOTONIC, flags=os.TFD_NONBLOCK | os.TFD_CLOEXEC)

    def _set_timer(fd: int, due_ns: int) -> None:
        os.timerfd_settime_ns(fd, flags=os.TFD_TIMER_ABSTIME, initial=due_ns, interval=0)

else:

    class _Timespec(ctypes.Structure):
        _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    class _Itimerspec(ctypes.Structure):
        _fields_ = (("interval", _Timespec), ("value", _Timespec))

    _libc = ctypes.CDLL(None, use_errno=True)

    def _open_timer() -> int:
        fd = int(_libc.timerfd_create(_CLOCK_MONOTONIC, _TFD_NONBLOCK_CLOEXEC))
        if fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed")
        return fd

    def _set_timer(fd: int, due_ns: int) -> None:
        seconds, nanoseconds = divmod(due_ns, SECOND_NS)
        spec = _Itimerspec(_Timespec(0, 0), _Timespec(seconds, nanoseconds))
        if _libc.timerfd_settime(fd, _TFD_TIMER_ABSTIME, ctypes.byref(spec), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime failed")


class TimerSleeper:
    """One timerfd. Only one task may wait on it at a time. Close it when done."""

    exact = True

    def __init__(self) -> None:
        """Open the timer. Raises OSError where the system has none."""
        if not sys.platform.startswith("linux"):
            raise OSError("no timerfd on this system")
        self._fd = _open_timer()

    async def until(self, due_ns: int) -> None:
        _set_timer(self._fd, max(due_ns, 1))  # zero would disarm it
        while True:
            await trio.lowlevel.wait_readable(self._fd)
            try:
                os.read(self._fd, 8)
            except BlockingIOError:  # armed anew between the wake and now
                continue
            return

    def earlier(self, due_ns: int) -> None:
        _set_timer(self._fd, max(due_ns, 1))

    def close(self) -> None:
        """Give the timer back. Nothing may be waiting on it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()


def best_sleeper() -> Sleeper:
    """The most exact sleeper that this system has."""
    try:
        return TimerSleeper()
    except (OSError, AttributeError):
        return PlainSleeper()
