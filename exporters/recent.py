"""What has happened lately and how things stand, for the pages that people look at.

Fed with records by one thread, read by the web's threads: every value is replaced whole, never
changed in place.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from exporters.logs import canonical
from exporters.redact import redacted
from measure.records import SECOND

Fields = Mapping[str, Any]
KEPT = 500
"""So many sessions are remembered."""
_SPOKEN = ("transcript",)


class Recent:
    """The last sessions, and the newest word on everything else."""

    def __init__(self, version: str, host: str) -> None:
        self.version = version
        self.host = host
        self.sessions: tuple[Fields, ...] = ()
        """The newest last; as in the log, with ``wall_unix_s``."""
        self.streams: tuple[tuple[str, str], ...] = ()
        """Each model that is measured, with its flow."""
        self.next_runs: Mapping[str, float] = {}
        """Unix time at which each schedule is due next."""
        self.spending: tuple[Fields, ...] = ()
        """One for each budget: who, period, spent_usd, limit_usd."""
        self.pauses: Mapping[str, float] = {}
        """Until when each provider that refused us is left alone."""
        self.missed: Mapping[str, int] = {}
        """How many runs could not begin, by reason."""
        self.setup: Fields = {}
        self.selftest: Fields = {}
        self.configuration = ""
        """The running one, as TOML, without secrets."""
        self.reloaded: Fields = {}
        """The newest attempt to take another: successful, error, wall_unix_ns."""
        self._kept: deque[Fields] = deque(maxlen=KEPT)
        self._takes = {
            "session_finished": self._session_finished,
            "agenda": self._agenda,
            "job_missed": self._job_missed,
            "host_prepared": self._host_prepared,
            "selftest": self._selftest,
            "spending": self._spending,
            "configured": self._configured,
        }

    def take(self, record: Fields) -> None:
        """Take note of one record; most kinds change nothing here."""
        take = self._takes.get(record["k"])
        if take is not None:
            take(record)

    def since(self, wall_unix_s: float) -> list[Fields]:
        """The sessions that began later than that, the oldest first."""
        return [one for one in self.sessions if one["wall_unix_s"] > wall_unix_s]

    def _session_finished(self, record: Fields) -> None:
        line = {key: value for key, value in canonical(record).items() if key not in _SPOKEN}
        line["wall_unix_s"] = record.get("wall_unix_ns", 0) / SECOND
        line["signature"] = record.get("signature")
        self._kept.append(redacted(line))
        self.sessions = tuple(self._kept)

    def _agenda(self, record: Fields) -> None:
        self.next_runs = dict(record["next_run_unix_s"])
        self.pauses = dict(record["paused_until_unix_s"])

    def _job_missed(self, record: Fields) -> None:
        why = str(record["why"])
        self.missed = {**self.missed, why: self.missed.get(why, 0) + int(record.get("count", 1))}

    def _host_prepared(self, record: Fields) -> None:
        self.setup = dict(record)

    def _selftest(self, record: Fields) -> None:
        self.selftest = dict(record)

    def _spending(self, record: Fields) -> None:
        self.spending = tuple(record["budgets"])

    def _configured(self, record: Fields) -> None:
        self.reloaded = dict(record)
        if not record.get("successful"):
            return
        if record.get("text") is not None:
            self.configuration = str(record["text"])
        streams = record.get("streams", ())
        self.streams = tuple(dict.fromkeys((one["model"], one["flow"]) for one in streams))
