"""What this host is, and what stands in its way: read before a self-test, and for a signature.

Everything here only looks. A file of /proc or /sys that is not there is no fault.
"""

import os
import platform
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from daemon.clock import wall_ns
from daemon.host_setup import REAL_TIME_PRIORITY, take_precedence
from daemon.kernel_stamps import ask_for_stamps
from pacer.clock import TimerSleeper, best_sleeper

CPU0 = Path("/sys/devices/system/cpu/cpu0")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a result belongs to: on another host, or the same one changed, it says nothing."""

    host: str
    kernel: str
    cpu: str
    cores: int
    python: str
    speechbench: str
    scheduling: str
    """``fifo`` where the measuring thread may run before everything ordinary, else ``other``."""
    stamps: str
    """``kernel`` where the kernel stamps what arrives, else ``user``."""

    def differences(self, other: "Fingerprint") -> tuple[str, ...]:
        """What is not the same, by name."""
        names = self.__slots__
        return tuple(name for name in names if getattr(self, name) != getattr(other, name))


@dataclass(frozen=True, slots=True)
class Conditions:
    """What may make a host worse than it could be. None: this host does not say."""

    exact_timer: bool
    """There is a timerfd."""
    governor: str | None
    """How the processor's speed is chosen."""
    load_per_core: float | None
    """How many programs wanted each core in the minute before."""


def fingerprint() -> Fingerprint:
    """Of this host, now."""
    return Fingerprint(
        host=socket.gethostname() or "unnamed",
        kernel=f"{platform.system()} {platform.release()}",
        cpu=_cpu(),
        cores=_cores(),
        python=platform.python_version(),
        speechbench=version("speechbench"),
        scheduling="fifo" if real_time_allowed() else "other",
        stamps="kernel" if _stamped() else "user",
    )


def conditions() -> Conditions:
    """Of this host, now."""
    return Conditions(
        exact_timer=_exact_timer(),
        governor=_line(CPU0 / "cpufreq" / "scaling_governor"),
        load_per_core=_load(),
    )


def real_time_allowed() -> bool:
    """The measuring thread may have real-time priority; tried by a thread that ends at once."""
    allowed = False

    def ask() -> None:
        nonlocal allowed
        allowed = take_precedence(REAL_TIME_PRIORITY) is None

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return allowed


def _cores() -> int:
    """How many this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n"):
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _stamped() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        return ask_for_stamps(sock, wall_ns).received


def _exact_timer() -> bool:
    sleeper = best_sleeper()
    if isinstance(sleeper, TimerSleeper):
        sleeper.close()
    return sleeper.exact


def _load() -> float | None:
    with suppress(AttributeError, OSError):
        return os.getloadavg()[0] / _cores()
    return None


def _line(path: Path) -> str | None:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").strip()
    return None
