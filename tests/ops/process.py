"""Processes that a test starts, and ends by their ids."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

PATIENCE_S = 180.0
"""So long something that must come is awaited; how soon it comes is no matter here."""
_LOOK_S = 0.1

T = TypeVar("T")


def awaited(what: str, look: Callable[[], T | None], patience_s: float = PATIENCE_S) -> T:
    """What ``look`` finds. Raises AssertionError where it never comes."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(_LOOK_S)
    raise AssertionError(f"{what} did not come in {patience_s:g} s")


@dataclass(frozen=True, slots=True)
class Process:
    """One that runs, and what it has said."""

    name: str
    popen: "subprocess.Popen[bytes]"
    output: Path

    @property
    def said(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace")

    def says(self, pattern: str) -> str:
        """The first group of a pattern in its output, once it is there."""

        def look() -> str | None:
            found = re.search(pattern, self.said)
            if found is None and self.popen.poll() is not None:
                raise AssertionError(f"{self.name} ended: {self.said[-2000:]}")
            return found[1] if found else None

        return awaited(f"{pattern!r} of {self.name}", look)

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it, and wait until it is gone."""
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        try:
            self.popen.wait(15)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


def started(
    name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> Process:
    """Start it, with its output in a file of ``folder``."""
    output = folder / f"{name}.log"
    with output.open("wb") as file:
        popen = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    return Process(name, popen, output)
