"""Prepares this process for measuring, and says what the host allowed of it.

    switch interval   another thread gives the interpreter back within 0.2 ms, not within 5
    gc.freeze         what the program has loaded is never looked at by the collector again: 20 ms
    gc.disable        the collector runs only when nothing is measured (``collect_when_idle``)
    real-time class   this thread runs before everything ordinary: a factor of ten on a busy host
    memory lock       no page of ours is ever fetched from a disk while somebody waits
    timer slack       plain sleeps of this thread end within a microsecond, not within 50

Each of them that the host forbids is done without, and reported with what would allow it.
"""

import ctypes
import gc
import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

SWITCH_INTERVAL_S = 0.0002
REAL_TIME_PRIORITY = 10
"""Among real-time threads; the sentinel stands one above."""
TIMER_SLACK_NS = 1_000
MUCH_GARBAGE = 20_000
"""So many more containers than at the last collection are collected at once, idle or not: it takes
one to three milliseconds then. A host that is never idle would grow for ever without it."""

_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_CAP_IPC_LOCK = 14


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that the host did not allow."""

    feature: str
    why: str
    change: str
    """What on this host would allow it."""

    def __str__(self) -> str:
        return f"{self.feature}: {self.why}; {self.change}"


@dataclass(frozen=True, slots=True)
class HostSetup:
    """What was prepared, and what was refused."""

    real_time: bool
    memory_locked: bool
    timer_slack_ns: int | None
    """Of the measuring thread; None where the system does not tell."""
    frozen_objects: int
    refusals: tuple[Refusal, ...] = ()

    @property
    def policy(self) -> str:
        return "fifo" if self.real_time else "other"


def prepare_process() -> HostSetup:
    """Do all of it for the thread and process that call this, once everything is loaded."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()
    gc.disable()
    real_time = take_precedence(REAL_TIME_PRIORITY)
    locked = _lock_memory()
    slack_ns = _set_timer_slack()
    said = (real_time, locked)
    return HostSetup(
        real_time=real_time is None,
        memory_locked=locked is None,
        timer_slack_ns=slack_ns,
        frozen_objects=gc.get_freeze_count(),
        refusals=tuple(refusal for refusal in said if refusal is not None),
    )


def collect_when_idle(*, idle: bool) -> None:
    """Collect what goes round in circles, now where nothing is measured; else only if it is much.

    A stream, an order and a plan leave nothing behind that goes in circles (tests/daemon/
    test_leftovers.py), so waiting for an idle moment costs nothing. It must stay so: what the C
    library holds for such an object is not counted here, and locked memory is never given back.
    """
    if idle or gc.get_count()[0] > MUCH_GARBAGE:
        gc.collect()


def give_back_memory() -> None:
    """Let the system have what the C library has kept for later; some milliseconds, any thread.

    Reading and surveying clips takes tens of megabytes for a moment, and all of it would stay.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except AttributeError:
        return  # another C library than glibc
    trim(0)


def take_precedence(priority: int) -> Refusal | None:
    """Ask to run before everything ordinary, for this thread alone; None: it was allowed.

    Children and other threads start as ordinary ones, and the kernel keeps a share for the rest.
    """
    try:
        if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
            return None  # the unit has seen to it
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except AttributeError:
        return _not_real_time("this system has no real-time class")
    except OSError as error:
        return _not_real_time(error.strerror or type(error).__name__)
    return None


def _not_real_time(why: str) -> Refusal:
    return Refusal(
        "real_time",
        why,
        "in a unit: CPUSchedulingPolicy=fifo; for a user: 'rtprio 20' in /etc/security/limits.conf",
    )


def _lock_memory() -> Refusal | None:
    """Keep all pages in memory; None: done.

    What is mapped later is locked as well only where nothing limits it: against a limit, the next
    allocation would fail.
    """
    if not sys.platform.startswith("linux"):
        return _not_locked("this system has no mlockall")
    later = _MCL_FUTURE if _may_lock_without_limit() else 0
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT | _MCL_ONFAULT | later) == 0:
        return None
    return _not_locked(os.strerror(ctypes.get_errno()))


def _not_locked(why: str) -> Refusal:
    return Refusal(
        "memory_lock",
        why,
        "in a unit: LimitMEMLOCK=infinity; for a user: 'memlock unlimited' in limits.conf",
    )


def _may_lock_without_limit() -> bool:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return soft == resource.RLIM_INFINITY or bool(_capabilities() >> _CAP_IPC_LOCK & 1)


def _capabilities() -> int:
    """The effective capabilities of this process; 0 where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_bytes()
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith(b"CapEff:"):
            return int(line.split()[1], 16)
    return 0


def _set_timer_slack() -> int | None:
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0)
    slack_ns = libc.prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0)
    return slack_ns if slack_ns >= 0 else None
