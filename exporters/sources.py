"""The processes that hand records over: the main one, and those that it has let in.

    main process ──── hand-off ──┐
    worker "1" ────── hand-off ──┼──> served in turn, so that none of them starves
    worker "2" ────── hand-off ──┘

Of each it is known how much came, how much of that is durable, and which sessions are not over.
"""

import select
from collections.abc import Iterator
from dataclasses import dataclass, field

from exporters.door import Entrance
from exporters.health import SILENT_NS
from exporters.inbox import Inbox
from exporters.packets import Report
from exporters.packing import pack
from measure.wire import Record

MAIN = ""
"""The name of the main process."""
_LONG_BYTES = 512
"""A message of the provider longer than this is not kept as it came."""


@dataclass(eq=False, slots=True)
class Source:
    """One process that hands records over."""

    inbox: Inbox
    name: str
    heard_ns: int
    """When it last gave a sign of life."""
    received: int = 0
    durable: int = 0
    lost: int = 0
    """Received from it and refused by the disk."""
    ready: bool = False
    """It says that it does its work."""
    healthy: bool = True
    waiting: int = 0
    """Records that waited in it when it last said so."""
    said: Report | None = None
    over: bool = False
    """It has said goodbye, or it is gone: nothing comes any more."""
    missed: bool = True
    """Without signs of life from it this host is not well."""
    open: dict[str, list[bytes]] = field(default_factory=dict)
    """What came so far of each session that is not over; as much as the session is long."""

    def beat(self, record: Record, now_ns: int) -> None:
        """It gave a sign of life."""
        self.heard_ns = now_ns
        self.ready = bool(record.get("ready", True))
        self.healthy = bool(record.get("healthy", True))
        waiting = record.get("waiting")
        self.waiting = waiting if isinstance(waiting, int) else 0

    def follow(self, record: Record, payload: bytes) -> None:
        """Keep what belongs to a session until it is over."""
        session_id = record.get("s")
        if not isinstance(session_id, str):
            return
        match record.get("k"):
            case "session_started":
                self.open[session_id] = [payload]
            case "session_finished":
                self.open.pop(session_id, None)
            case _ if session_id in self.open:
                self.open[session_id].append(_lean(record, payload))


class Sources:
    """All of them. Iterating gives those from which something may still come."""

    def __init__(self, main: Source, entrance: Entrance | None = None) -> None:
        self.main = main
        self._entrance = entrance
        self._all = [main]
        self._poll = select.poll()
        self._poll.register(main.inbox, select.POLLIN)
        if entrance is not None:
            self._poll.register(entrance, select.POLLIN)

    def __iter__(self) -> Iterator[Source]:
        return iter([source for source in self._all if not source.over])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def wait(self, timeout_ms: float) -> None:
        """Block until something comes from any, or for so long at most."""
        self._poll.poll(timeout_ms)

    def let_in(self, now_ns: int) -> None:
        """Take in whoever stands at the door; it takes the place of another of its name."""
        if self._entrance is None:
            return
        for name, sock in self._entrance.arrivals():
            for source in self._all:
                source.missed = source.missed and source.name != name
            newcomer = Source(Inbox(sock), name, now_ns)
            self._all = [source for source in self._all if source.missed or not source.over]
            self._all.append(newcomer)
            self._poll.register(newcomer.inbox, select.POLLIN)
        if self._entrance.closed:
            self._poll.unregister(self._entrance)
            self._entrance = None

    def leave(self, source: Source, *, orderly: bool) -> None:
        """Nothing comes from it any more. One that is just gone is missed until it is replaced."""
        source.over = True
        source.missed = source.missed and not orderly
        source.open = {}
        self._poll.unregister(source.inbox)
        if source is not self.main:
            source.inbox.close()

    @property
    def heard_ns(self) -> int:
        """When the one that has been silent for longest was last heard."""
        return min(source.heard_ns for source in self._counted)

    @property
    def ready(self) -> bool:
        """All of them do their work."""
        return self._all_speak and all(source.ready for source in self._counted)

    @property
    def healthy(self) -> bool:
        """All of them are there and say that they are well."""
        return self._all_speak and all(source.healthy for source in self._counted)

    @property
    def waiting(self) -> int:
        """Records that wait in all of them."""
        return sum(source.waiting for source in self)

    @property
    def _all_speak(self) -> bool:
        """None is gone, and none is silent while others speak: one that hangs is as good as gone.

        Where all are silent at once the host stood still, or this process did.
        """
        counted = self._counted
        heard_ns = [source.heard_ns for source in counted]
        return max(heard_ns) - min(heard_ns) <= SILENT_NS and not any(s.over for s in counted)

    @property
    def _counted(self) -> list[Source]:
        return [source for source in self._all if source.missed] or [self.main]


def _lean(record: Record, payload: bytes) -> bytes:
    """Without the words of a message: what they mean stands in the records that follow it."""
    if record.get("k") != "message_received" or len(payload) <= _LONG_BYTES:
        return payload
    return pack({**record, "raw": b""})
