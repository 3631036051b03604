"""The desk of the exporter process: takes each record to the journal, the metrics and the log.

The journal comes first, and neither metrics nor log can keep a record from it.
"""

import select
import socket
from collections.abc import Callable, Iterator
from typing import Any

from exporters.journal import Clock, Journal
from exporters.live import LiveView
from exporters.logs import Log
from exporters.packets import RECEIVE_BYTES, Report, heard, in_words, is_record
from exporters.packing import pack, unpack
from exporters.prometheus import Metrics
from exporters.redact import redacted, redacted_text
from exporters.web import Health
from measure.records import MS, SECOND
from measure.wire import Record

TICK_NS = SECOND // 4
"""How often it is seen to what is due: the journal's sync, a full disk, the counts."""
_AT_ONCE = 256
"""How many packets are taken between two looks at the clock."""
_LAST_WORD_MS = 2000
_SETTLED = frozenset({"session_finished", "run_finished"})
"""After these the journal is made durable at once: somebody is told of them."""


class Inbox:
    """The exporter's end of the socket: whole records, and words."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.ended = False
        """Nothing will ever come again: the measuring process is gone."""
        self._sock = sock
        self._parts: list[bytes] = []

    def wait(self, timeout_ms: float) -> None:
        """Block until something comes, or for so long at most."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        poll.poll(timeout_ms)

    def take(self, at_most: int) -> Iterator[bytes | str]:
        """What has come: packed records as bytes, words as str."""
        for _ in range(at_most):
            try:
                packet = self._sock.recv(RECEIVE_BYTES)
            except BlockingIOError:
                return
            except ConnectionResetError:  # it left with reports unread; its last records follow
                continue
            if not packet:
                self.ended = True
                return
            if is_record(packet):
                yield packet
                continue
            word, what = heard(packet)
            if word != "part":
                yield word
            elif (record := self._joined(*what)) is not None:
                yield record

    def say(self, packet: bytes) -> bool:
        """Send one packet; False where there is no room for it now, or nobody there."""
        try:
            self._sock.send(packet)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            return False
        return True

    def say_last(self, packet: bytes) -> None:
        """Send the last packet, waiting a little for room where nobody has read the others yet."""
        if not self.say(packet) and not self.ended:
            poll = select.poll()
            poll.register(self._sock, select.POLLOUT)
            poll.poll(_LAST_WORD_MS)
            self.say(packet)

    def _joined(self, last: bool, part: bytes) -> bytes | None:
        self._parts.append(part)
        if not last:
            return None
        record, self._parts = b"".join(self._parts), []
        return record


class Intake:
    """Takes records until the measuring process says goodbye or is gone."""

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
        enrich: Callable[[Record], Record] | None = None,
        live: LiveView | None = None,
    ) -> None:
        """``received``: how many records came before, such as the settings.

        ``enrich`` may add to a record before it is written: what takes too long where it was made.
        """
        self._inbox = inbox
        self._journal = journal
        self._metrics = metrics
        self._log = log
        self._health = health
        self._clock = clock
        self._enrich = enrich
        self._live = live
        self._received = received
        self._durable = received
        self._said: Report | None = None
        self._complained: set[str] = set()
        self._tick_due_ns = 0

    def run(self) -> None:
        """Take everything there is; when it returns, the journal is closed and that is reported."""
        goodbye = False
        while not (goodbye or self._inbox.ended):
            self._inbox.wait(max(0, self._tick_due_ns - self._clock.mono_ns()) / MS)
            for arrived in self._inbox.take(_AT_ONCE):
                if isinstance(arrived, bytes):
                    self._received += 1
                    self._take_packed(arrived)
                else:
                    goodbye |= arrived == "goodbye"
                    self._sync()
            self._tick()
        self._journal.close()
        self._stand()
        self._inbox.say_last(
            in_words("report", Report(self._received, self._journal.lost, last=True))
        )

    def say(self, level: str, event: str, **fields: object) -> None:
        """Log something that happened in this process. Not journalled: it may be the journal."""
        now_ns = self._clock.mono_ns()
        self._tell({"k": "log", "t": now_ns, "level": level, "event": event, "fields": fields})

    def note(self, level: str, event: str, **fields: object) -> None:
        """Journal something that happened in this process; the log has it already."""
        now_ns = self._clock.mono_ns()
        record = {"k": "log", "t": now_ns, "level": level, "event": event, "fields": fields}
        self._journal.append(pack(record))

    def _take_packed(self, payload: bytes) -> None:
        try:
            record = unpack(payload)
        except ValueError as error:
            self._complain("unreadable", error)
            return
        if record.get("k") in ("log", "session_started"):
            record = _without_secrets(record)
            payload = pack(record)
        if record.get("k") == "session_finished" and self._enrich is not None:
            record = self._enriched(record, self._enrich)
            payload = pack(record)
        self._journal.append(payload)
        self._tell(record)
        if record.get("k") in _SETTLED:
            self._sync()

    def _tell(self, record: Record) -> None:
        """Count and log one record."""
        if record.get("k") == "heartbeat":
            self._health.heard_ns = self._clock.mono_ns()
            self._health.ready = bool(record.get("ready", True))
        watcher = [self._live.take] if self._live is not None else []
        for take in (self._metrics.take, self._log.take, *watcher):
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
            self._durable = self._received

    def _tick(self) -> None:
        now_ns = self._clock.mono_ns()
        if self._live is not None:
            self._live.draw(now_ns)
        if now_ns >= self._tick_due_ns:
            self._tick_due_ns = now_ns + TICK_NS
            self._journal.tick()
            self._stand()
        self._see_what_is_durable()
        report = Report(self._durable, self._journal.lost, self._journal.full)
        if report != self._said:
            self._stand()  # whoever is told that it is durable finds it counted
            if self._inbox.say(in_words("report", report)):
                self._said = report

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
