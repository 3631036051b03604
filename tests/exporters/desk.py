"""An intake with all it needs, in the test's own process, fed through real sockets."""

import os
import socket
from pathlib import Path
from typing import Any

import orjson

from exporters.door import Door, Entrance
from exporters.handoff import Handoff
from exporters.health import Health
from exporters.inbox import Inbox
from exporters.intake import Conclude, Intake
from exporters.journal import Journal
from exporters.logs import LineWriter, Log
from exporters.metric_table import PREFIX
from exporters.prometheus import Metrics
from exporters.settings import Stream
from tests.exporters.records import ABOUT, STREAM, Hand, Said


class Desk:
    """An intake with all it needs, in this process, fed through a socket."""

    def __init__(self, directory: Path, conclude: Conclude | None = None) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        door, entrance = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sockets = ours, theirs, door, entrance
        self.door = Door(door, 1 << 20)
        self.guests: list[Handoff] = []
        self.directory = directory
        self.hand = Hand()
        self.handoff = Handoff(ours)
        self.metrics = Metrics([Stream(**STREAM)])
        self.health = Health(self.hand.clock.mono_ns)
        self.journal = Journal(directory, ABOUT, self.hand.clock, Said())
        self.journal.open()
        self._page, self._ink = os.pipe()
        self._writer = LineWriter(self._ink)
        log = Log(self._writer, self.hand.clock, style="json")
        inbox = Inbox(theirs)
        self.intake = Intake(
            inbox,
            self.journal,
            self.metrics,
            log,
            self.health,
            self.hand.clock,
            entrance=Entrance(entrance),
            conclude=conclude,
        )

    def admit(self, name: str) -> Handoff:
        """The hand-off of a further process."""
        guest = Handoff(self.door.admit(name))
        self.guests.append(guest)
        return guest

    def close(self) -> None:
        """Let go of every socket."""
        for sock in self.sockets:
            sock.close()
        for guest in self.guests:
            guest.close()
        for source in self.intake.sources:
            source.inbox.close()

    def serve(self) -> list[dict[str, Any]]:
        """Everything put so far, to a goodbye; gives the log's lines."""
        self.handoff.say("goodbye")
        self.intake.run()
        self._writer.close()
        os.close(self._ink)
        with open(self._page, encoding="utf-8") as page:
            return [orjson.loads(line) for line in page]

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(PREFIX + name, labels)
