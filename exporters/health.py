"""Whether this host is well, as the exporter process knows it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from measure.records import SECOND

SILENT_NS = 5 * SECOND
"""For how long the measuring process may be silent and still be thought well."""


@dataclass(slots=True)
class Health:
    """What the two questions are answered from; written by one thread, read by others."""

    now_ns: Callable[[], int]
    heard_ns: int = field(init=False)
    """When the measuring process last gave a sign of life."""
    ready: bool = False
    """It says that it measures: everything is open and it is not ending."""
    journal_full: bool = False

    def __post_init__(self) -> None:
        self.heard_ns = self.now_ns()

    def unwell(self) -> str | None:
        """Why this host is not healthy; None where it is."""
        silent_ns = self.now_ns() - self.heard_ns
        if silent_ns > SILENT_NS:
            return f"the measuring process has been silent for {silent_ns / SECOND:.0f} s"
        return None

    def unready(self) -> str | None:
        """Why nothing can be measured now; None where it can."""
        if self.journal_full:
            return "the journal is full"
        return None if self.ready else "starting or ending"
