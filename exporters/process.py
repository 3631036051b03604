"""The exporter process, as seen from the measuring process that starts and ends it.

It has its own session (a Ctrl-C of the terminal is not for it), an environment without keys, and
one end of a socket pair. It lives exactly as long as the measuring process: it ends after goodbye,
or when the other end of its socket is gone, and writes what it has in either case.
"""

import os
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from exporters.door import Door
from exporters.handoff import QUEUE_BYTES, Handoff
from exporters.packets import Ready
from exporters.settings import Settings

KERNEL_BYTES = 4 << 20
"""How much the kernel is asked to hold between the processes: some 6500 records."""
PASSED_ON = (
    *("PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("TERM", "COLORTERM", "NO_COLOR", "JOURNAL_STREAM", "LD_LIBRARY_PATH"),
)
"""The only variables the exporter process is given: keys live in others."""


class ExporterError(Exception):
    """The exporter process cannot work; one line says why and what to change."""


class Exporter:
    """A running exporter process, and the hand-off that leads to it."""

    def __init__(self, handoff: Handoff, door: Door, child: "subprocess.Popen[bytes]") -> None:
        self.handoff = handoff
        self._door = door
        self._child = child

    @property
    def pid(self) -> int:
        return self._child.pid

    def admit(self, name: str) -> socket.socket:
        """The socket for the hand-off of a further process, which it must say goodbye on."""
        return self._door.admit(name)

    def wait_ready(self, timeout_s: float = 10.0) -> Ready:
        """Block until it works. Raises ExporterError where it cannot, or takes longer."""
        ready = self.handoff.wait_ready(timeout_s)
        if ready is not None:
            return ready
        failure, alive = self.handoff.failure, self.handoff.alive
        self._let_go()
        code = self._ended(timeout_s=5.0)
        if failure is not None:
            raise ExporterError(failure)
        if alive:
            raise ExporterError(f"the exporter process was not ready within {timeout_s:g} s")
        raise ExporterError(f"the exporter process ended at once, with exit code {code}")

    def stop(self, timeout_s: float = 5.0) -> bool:
        """Let it write everything and end; False where that was not confirmed in time.

        An exporter that takes longer is left alone: it ends by itself when it has written all.
        """
        confirmed = self.handoff.goodbye(timeout_s)
        self._let_go()
        return self._ended(timeout_s) is not None and confirmed

    def ended(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._child.poll()

    def kill(self) -> None:
        """End it at once, where it has not ended already, and wait for that; for any thread."""
        self._child.kill()
        self._child.wait()

    def abandon(self) -> None:
        """Let go of one that has been killed."""
        self._let_go()

    def _let_go(self) -> None:
        self._door.close()
        self.handoff.close()

    def _ended(self, timeout_s: float) -> int | None:
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None


def launch(
    settings: Settings,
    *,
    environment: Mapping[str, str] | None = None,
    stderr: "IO[bytes] | int | None" = None,
    kernel_bytes: int = KERNEL_BYTES,
    queue_bytes: int = QUEUE_BYTES,
    module: str = "exporters",
) -> Exporter:
    """Start the exporter process and do not wait for it; records may be put at once.

    For what else is given see ``begin``.
    """
    exporter = begin(
        settings.web.listen_fd,
        environment=environment,
        stderr=stderr,
        kernel_bytes=kernel_bytes,
        queue_bytes=queue_bytes,
        module=module,
    )
    exporter.handoff.put(settings.record())
    return exporter


def begin(
    listen_fd: int | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    stderr: "IO[bytes] | int | None" = None,
    kernel_bytes: int = KERNEL_BYTES,
    queue_bytes: int = QUEUE_BYTES,
    module: str = "exporters",
) -> Exporter:
    """Start an exporter process that loads what it needs and waits for its settings.

    They must be the first record that is put. ``environment`` is the whole of this process's, by
    default; only ``PASSED_ON`` goes further. ``module`` is what runs there: these exporters, or a
    program that hands them more.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, kernel_bytes)
    door, entrance = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, entrance:
        fds = [theirs.fileno(), entrance.fileno()]
        given = [] if listen_fd is None else [listen_fd]
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *map(str, fds)],
            pass_fds=[*fds, *given],
            env=child_environment(os.environ if environment is None else environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
    handoff = Handoff(ours, queue_bytes=queue_bytes)
    return Exporter(handoff, Door(door, kernel_bytes), child)


def start(settings: Settings, *, timeout_s: float = 10.0) -> Exporter:
    """Start the exporter process and block until it works. Raises ExporterError."""
    exporter = launch(settings)
    exporter.wait_ready(timeout_s)
    return exporter


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What the exporter process is given: nothing that could be a key."""
    passed = {name: environment[name] for name in PASSED_ON if name in environment}
    root = Path(__file__).resolve().parents[1]
    if root != Path(sysconfig.get_path("purelib")).resolve():  # not installed: run from its folder
        passed["PYTHONPATH"] = str(root)
    return passed
