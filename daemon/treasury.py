"""The ledger on the disk: what was spent survives a restart, a crash and a full disk.

It is read once at the start and written, in a thread, each time money was set aside or spent. A
damaged file stops nothing from being measured, but it is kept, and said. One that cannot be read
at all ends the program: it would be written over, and what was spent be forgotten.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import trio

from daemon.budget import ALL, Allowance, Ledger, LedgerError, ledger_of
from daemon.errors import UserError
from daemon.small_file import replace_file
from measure.wire import Record

NAME = "spending.json"
Say = Callable[..., None]


class Treasury:
    """Keeps one ledger in a folder."""

    def __init__(self, directory: Path, say: Say) -> None:
        """Raises UserError where there is a ledger that cannot be read."""
        self.path = directory / NAME
        self._say = say
        self._writing = trio.Lock()
        self._failing = False
        self.ledger = self._read()

    def _read(self) -> Ledger:
        try:
            return ledger_of(json.loads(self.path.read_bytes()))
        except FileNotFoundError:
            return Ledger()
        except OSError as error:
            raise self._unusable("cannot be read", error) from error
        except (ValueError, LedgerError) as error:
            self._set_aside(error)
            return Ledger()

    def _set_aside(self, error: ValueError) -> None:
        """Keep a damaged file: the next one that is written takes its place."""
        kept = self.path.with_suffix(".damaged")
        try:
            self.path.replace(kept)
        except OSError as refused:
            raise self._unusable("is damaged and cannot be set aside", refused) from refused
        self._say(
            "error", "spending_unreadable", path=str(self.path), error=str(error), kept=str(kept)
        )

    def _unusable(self, what: str, error: OSError) -> UserError:
        return UserError(
            f"{self.path}: {what}: {error.strerror or error}; without it nobody knows what was "
            "spent: let this user read and write there"
        )

    async def keep(self) -> None:
        """Write what is in the ledger now; the latest wins where several want to."""
        async with self._writing:
            content = json.dumps(self.ledger.plain()).encode()
            try:
                await trio.to_thread.run_sync(replace_file, self.path, content)
                self._failing = False
            except OSError as error:
                if not self._failing:  # said once; the journal says the rest about a full disk
                    self._failing = True
                    self._say("error", "spending_unwritten", path=str(self.path), error=str(error))


def spending_record(
    ledger: Ledger,
    now_ns: int,
    wall_ns: int,
    *,
    overall: Allowance,
    own: Iterable[tuple[str, Allowance]],
) -> Record:
    """How each budget stands, for journal, metrics and the status page."""
    budgets = [
        {
            "who": who,
            "period": period,
            "spent_usd": ledger.spent_usd(name, period, wall_ns),
            "limit_usd": limit_usd,
        }
        for who, name, allowance in ((ALL, None, overall), *((n, n, a) for n, a in own))
        for period, limit_usd in (("day", allowance.day_usd), ("month", allowance.month_usd))
        if limit_usd is not None
    ]
    return {"k": "spending", "t": now_ns, "budgets": budgets}
