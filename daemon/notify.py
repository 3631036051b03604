"""What the service manager is told: ready, reloading, stopping, how things stand, still alive.

systemd's protocol: datagrams of ``NAME=value`` lines to the socket that NOTIFY_SOCKET names. Where
nobody asks for them, nothing is sent. Source: sd_notify(3).
"""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress


class Notifier:
    """Tells the service manager. Never waits, and never fails: nothing here is worth a sample."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self.watchdog_s = _watchdog_s(environment)
        """How often it wants a sign of life at least; None where it does not."""

    @property
    def listens(self) -> bool:
        """Somebody wants to be told."""
        return self._address is not None

    def ready(self, status: str) -> None:
        """Measuring has begun."""
        self._tell("READY=1", f"STATUS={_one_line(status)}")

    def reloading(self, now_ns: int) -> None:
        """A new configuration is being read; ``ready`` follows."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={now_ns // 1000}")

    def stopping(self, status: str) -> None:
        """What runs is being ended."""
        self._tell("STOPPING=1", f"STATUS={_one_line(status)}")

    def status(self, status: str) -> None:
        """One line for ``systemctl status``."""
        self._tell(f"STATUS={_one_line(status)}")

    def alive(self) -> None:
        """The sign of life that the watchdog waits for."""
        self._tell("WATCHDOG=1")

    def _tell(self, *lines: str) -> None:
        if self._address is None:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.sendto("\n".join(lines).encode(), self._address)


def _address(named: str) -> str | None:
    """A path, or a name in the abstract space where it begins with ``@``."""
    if not named.startswith(("/", "@")):
        return None
    return f"\0{named[1:]}" if named.startswith("@") else named


def _watchdog_s(environment: Mapping[str, str]) -> float | None:
    """WATCHDOG_USEC, where it is meant for this process."""
    text = environment.get("WATCHDOG_USEC", "")
    meant_for = environment.get("WATCHDOG_PID", str(os.getpid()))
    if not text.isdigit() or int(text) == 0 or meant_for != str(os.getpid()):
        return None
    return int(text) / 1e6


def _one_line(text: str) -> str:
    return " ".join(text.split())
