"""The desk of the exporter process: takes each record to the journal, the metrics and the log.

The journal comes first, and neither metrics nor log can keep a record from it. Where several
processes hand records over, they are served in turn; what one of them leaves open when it dies is
brought to its end here.
"""

from collections.abc import Callable, Sequence
from typing import Any

from exporters.door import Entrance
from exporters.health import Health
from exporters.inbox import Inbox
from exporters.journal import Clock, Journal
from exporters.live import View
from exporters.logs import Log
from exporters.packets import Report, in_words
from exporters.packing import pack, unpack
from exporters.prometheus import Metrics
from exporters.redact import redacted, redacted_text
from exporters.sources import MAIN, Source, Sources
from measure.records import MS, SECOND
from measure.wire import Record

TICK_NS = SECOND // 4
"""How often it is seen to what is due: the journal's sync, a full disk, the counts."""
_AT_ONCE = 256
"""How many packets are taken between two looks at the clock."""
_A_TURN = 16
"""How many are taken from one process at least before it is the next one's turn."""
ORPHANED_NS = 3 * SECOND
"""For how long the others are still heard when the main process was killed: they end as well."""
_FINISHED = frozenset({"turn_finished", "session_finished"})
_SETTLED = frozenset({"session_finished", "run_finished"})
"""After these the journal is made durable at once: somebody is told of them."""


Conclude = Callable[[Sequence[Record], int], Sequence[Record]]
"""The last records of a session whose process has ended in the middle of it, and ended when."""


class Intake:
    """Takes records until the main process says goodbye or is gone."""

    def __init__(
        self,
        inbox: Inbox,
        journal: Journal,
        metrics: Metrics,
        log: Log,
        health: Health,
        clock: Clock,
        received: int = 0,
        *,
        entrance: Entrance | None = None,
        enrich: Callable[[Record], Record] | None = None,
        conclude: Conclude | None = None,
        live: View | None = None,
        watchers: Sequence[Callable[[Record], None]] = (),
    ) -> None:
        """``received``: how many records came before, such as the settings.

        ``entrance`` is where further processes come in. ``enrich`` may add to a record before it is
        written: what takes too long where it was made. ``conclude`` ends a session that was left
        open.
        """
        main = Source(inbox, MAIN, clock.mono_ns(), received, received)
        self.sources = Sources(main, entrance)
        self._main = main
        self._journal = journal
        self._metrics = metrics
        self._log = log
        self._health = health
        self._clock = clock
        self._enrich = enrich
        self._conclude = conclude
        self._live = live
        self._watchers = [*([live.take] if live is not None else []), *watchers]
        self._complained: set[str] = set()
        self._tick_due_ns = 0
        self._orphaned_ns: int | None = None
        self._goodbye = False

    def run(self) -> None:
        """Take everything there is; when it returns, the journal is closed and that is reported."""
        while not self.is_over():
            self.sources.wait(max(0, self._tick_due_ns - self._clock.mono_ns()) / MS)
            self.take_what_came()
        self.sources.let_in(self._clock.mono_ns())
        for source in list(self.sources):
            self._clear(source)
        self._journal.close()
        self._stand()
        self._main.inbox.say_last(in_words("report", self._report(self._main, last=True)))

    def take_what_came(self) -> None:
        """One pass: a turn for each process, and whatever is due by now."""
        self.sources.let_in(self._clock.mono_ns())
        turn = max(_A_TURN, _AT_ONCE // max(1, len(self.sources)))
        for source in list(self.sources):
            self._take(source, turn)
        self._tick()

    def is_over(self) -> bool:
        """The main process has said goodbye; or it is gone, and so are the others by now."""
        if self._goodbye or not self._main.over:
            return self._goodbye
        now_ns = self._clock.mono_ns()
        self._orphaned_ns = self._orphaned_ns or now_ns
        return not len(self.sources) or now_ns - self._orphaned_ns > ORPHANED_NS

    def _take(self, source: Source, at_most: int) -> bool:
        """Take what has come from one process; False where that was nothing."""
        came = False
        for arrived in source.inbox.take(at_most):
            came = True
            if isinstance(arrived, bytes):
                source.received += 1
                self._take_packed(source, arrived)
                continue
            self._sync()
            if arrived == "goodbye":
                self._see_off(source)
                return came
        if source.inbox.ended:
            self._miss(source)
        return came

    def _clear(self, source: Source) -> None:
        """The end of all: take what is there, and see whoever is still there as gone."""
        while not source.over and self._take(source, _AT_ONCE):
            pass
        if not source.over and source is not self._main:
            self._miss(source)

    def _see_off(self, source: Source) -> None:
        """It has said goodbye; the main one is told when everything is closed."""
        if source is self._main:
            self._goodbye = True
            return
        self._leave_open(source, "ended without finishing")
        source.inbox.say_last(in_words("report", self._report(source, last=True)))
        self.sources.leave(source, orderly=True)
        self._show_health()

    def _miss(self, source: Source) -> None:
        """It is gone without a goodbye."""
        self._leave_open(source, "was killed or has crashed")
        self.sources.leave(source, orderly=not source.received)
        self._show_health()

    def _leave_open(self, source: Source, how: str) -> None:
        """End the sessions that a process has left open, and say so."""
        sessions = sorted(source.open)
        died = source.name != MAIN and source.received and source.inbox.ended
        if not (sessions or died):
            return
        fields = {"worker": source.name, "reason": how, "sessions_lost": sessions}
        self.say("error", "worker_ended", **fields)
        self.note("error", "worker_ended", **fields)
        for session_id in sessions if self._conclude is not None else ():
            for payload in self._conclusion(source.open[session_id]):
                self._take_packed(source, payload)
        self._sync()

    def _conclusion(self, payloads: Sequence[bytes]) -> list[bytes]:
        assert self._conclude is not None
        try:
            records = [unpack(payload) for payload in payloads]
            return [pack(record) for record in self._conclude(records, self._clock.mono_ns())]
        except Exception as error:  # the session stays open in the journal; nothing else is lost
            self._complain("unconcluded", error)
            return []

    def say(self, level: str, event: str, **fields: object) -> None:
        """Log something that happened in this process. Not journalled: it may be the journal."""
        now_ns = self._clock.mono_ns()
        self._tell({"k": "log", "t": now_ns, "level": level, "event": event, "fields": fields})

    def note(self, level: str, event: str, **fields: object) -> None:
        """Journal something that happened in this process; the log has it already."""
        now_ns = self._clock.mono_ns()
        record = {"k": "log", "t": now_ns, "level": level, "event": event, "fields": fields}
        self._append(self._main, pack(record))

    def _append(self, source: Source, payload: bytes) -> bool:
        """Write it; False where the disk refuses it."""
        kept = self._journal.append(payload)
        source.lost += not kept
        return kept

    def _take_packed(self, source: Source, payload: bytes) -> None:
        try:
            record = unpack(payload)
        except ValueError as error:
            self._complain("unreadable", error)
            return
        if record.get("k") in ("log", "session_started"):
            record = _without_secrets(record)
            payload = pack(record)
        if record.get("k") in _FINISHED and self._enrich is not None:
            record = self._enriched(record, self._enrich)
            payload = pack(record)
        kept = self._append(source, payload)
        source.follow(record, payload)
        if not kept and record.get("k") in _FINISHED:  # whoever is told of it is told that as well
            record = {**record, "journalled": False}
        if record.get("k") == "heartbeat":
            record = self._beat(source, record)
        self._tell(record)
        if record.get("k") in _SETTLED:
            self._sync()

    def _beat(self, source: Source, record: Record) -> Record:
        """A sign of life, as it counts: of all processes together."""
        source.beat(record, self._clock.mono_ns())
        self._show_health()
        together = {"healthy": self.sources.healthy, "waiting": self.sources.waiting}
        return {**record, **together}

    def _show_health(self) -> None:
        self._health.heard_ns = self.sources.heard_ns
        self._health.ready = self.sources.ready

    def _tell(self, record: Record) -> None:
        """Count and log one record."""
        for take in (self._metrics.take, self._log.take, *self._watchers):
            try:
                take(record)
            except Exception as error:  # one odd record must not end the exporter
                self._complain(str(record.get("k")), error)

    def _enriched(self, record: Record, enrich: Callable[[Record], Record]) -> Record:
        """The same as it came, where nothing could be added to it."""
        try:
            return enrich(record)
        except Exception as error:  # what was measured must be kept, whatever it looks like
            self._complain(str(record.get("k")), error)
            return record

    def _complain(self, kind: str, error: Exception) -> None:
        """Say once for each kind that a record was not what it should be."""
        if kind not in self._complained:
            self._complained.add(kind)
            self.say(
                "error", "record_unusable", kind=kind, error=f"{type(error).__name__}: {error}"
            )

    def _sync(self) -> None:
        self._journal.sync()
        self._see_what_is_durable()

    def _see_what_is_durable(self) -> None:
        if not self._journal.dirty:
            for source in self.sources:
                source.durable = source.received

    def _tick(self) -> None:
        now_ns = self._clock.mono_ns()
        if self._live is not None:
            self._live.draw(now_ns)
        if now_ns >= self._tick_due_ns:
            self._tick_due_ns = now_ns + TICK_NS
            self._journal.tick()
            self._stand()
        self._see_what_is_durable()
        for source in self.sources:
            self._let_know(source)

    def _let_know(self, source: Source) -> None:
        report = self._report(source)
        if report != source.said:
            self._stand()  # whoever is told that it is durable finds it counted
            if source.inbox.say(in_words("report", report)):
                source.said = report

    def _report(self, source: Source, *, last: bool = False) -> Report:
        received = source.received if last else source.durable
        full = self._journal.full and not last
        return Report(received, source.lost, full, last, self._journal.untold)

    def _stand(self) -> None:
        journal = self._journal
        self._health.journal_full = journal.full
        self._metrics.journal_stands(
            journal.records, journal.written_bytes, journal.lost, full=journal.full
        )


def _without_secrets(record: Record) -> Record:
    """The fields that people wrote for people, without what looks like a key."""
    if record.get("k") == "log":
        kept = {key: record[key] for key in ("k", "t", "s") if key in record}
        rest: dict[str, Any] = {key: record[key] for key in record if key not in kept}
        return {**kept, **redacted(rest)}
    url = record.get("url")
    return {**record, "url": redacted_text(url)} if isinstance(url, str) else record
