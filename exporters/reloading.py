"""A reload that somebody asks for over HTTP: asked of the measuring process, and its answer.

web thread ── ask ──> measuring process reads the file ──> record ``configured`` ──> answer

The record says how many askings it answers: one begun earlier answers none that came later.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

PATIENCE_S = 60.0
"""How long the measuring process may take: it reads and surveys new clips."""


class Reloads:
    """``ask`` is for any thread; ``take`` for the one that takes records."""

    def __init__(self, pass_on: Callable[[], bool]) -> None:
        """``pass_on`` asks the measuring process; False where it cannot be asked."""
        self._pass_on = pass_on
        self._one_at_a_time = threading.Lock()
        self._answered = threading.Event()
        self._asked = 0
        self._trouble: str | None = None

    def ask(self) -> str | None:
        """Have the configuration read again; why it was not taken, None where it was."""
        with self._one_at_a_time:
            self._asked += 1
            self._answered.clear()
            if not self._pass_on():
                self._asked -= 1
                return "the measuring process cannot be asked now; try again"
            if not self._answered.wait(PATIENCE_S):
                return f"the measuring process did not answer within {PATIENCE_S:g} s"
            return self._trouble

    def take(self, record: Mapping[str, Any]) -> None:
        """Look whether a record is the answer."""
        if record["k"] == "configured" and record.get("asked", 0) >= self._asked:
            taken = bool(record["successful"])
            self._trouble = None if taken else str(record.get("error") or "no reason given")
            self._answered.set()
