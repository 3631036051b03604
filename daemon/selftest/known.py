"""What is known of this host's own error, for every signature that is written.

The file is looked at each time and read again only when it was replaced: so whoever writes
signatures, in whichever process, says what the newest self-test found.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from daemon.selftest.host import Fingerprint
from daemon.selftest.result import SelftestResult, signature_part, stale
from daemon.selftest.state import NAME, Stored, load


@dataclass(slots=True)
class KnownError:
    """The error of this host, with ``streams`` measured at the same time."""

    directory: Path
    streams: int
    fingerprint: Fingerprint
    wall_ns: Callable[[], int]
    _seen: tuple[int, int] | None = field(default=None, repr=False)
    _stored: Stored = field(default=Stored(), repr=False)

    def part(self) -> str:
        """What a signature of now says."""
        return signature_part(self.current(), self.streams)

    def current(self) -> SelftestResult | None:
        """The newest result; None where there is none, or it says nothing about this host."""
        result = self.stored().result
        if result is None or stale(result, self.fingerprint, self.wall_ns()) is not None:
            return None
        return result

    def stored(self) -> Stored:
        """What lies in the directory, whether or not it is stale."""
        try:
            found = os.stat(self.directory / NAME)
        except OSError:
            seen = None
        else:
            seen = found.st_mtime_ns, found.st_ino
        if seen != self._seen or seen is None:
            self._seen, self._stored = seen, load(self.directory)
        return self._stored

    def trouble(self) -> str | None:
        """One line for people, where ``part`` says that the error is unknown."""
        stored = self.stored()
        if stored.trouble is not None:
            return f"{stored.trouble}; speechbench selftest makes a new one"
        if stored.result is None:
            return "this host's own error is not known; speechbench selftest measures it"
        why = stale(stored.result, self.fingerprint, self.wall_ns())
        return f"the last self-test does not count: {why}; repeat it" if why else None
