"""The measuring side of the exporters: gives records away and never waits.

    put ─> pack ─> one send ─> kernel's buffer ─> exporter process
                      │ full: a bounded queue, sent on at the next put, and by drain
                      └─ queue full, or nobody there: dropped and counted

What was dropped is told to the journal as ``records_lost``, in its place among the records, as
soon as there is room again.
"""

import errno
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import astuple, dataclass

from exporters.packets import PACKET_BYTES, RECEIVE_BYTES, Ready, Report, heard, said, split
from exporters.packing import MAX_RECORD_BYTES, pack
from measure.records import SECOND
from measure.wire import Record

QUEUE_BYTES = 16 << 20
"""How much waits in this process at most, plus one record. When it is full, records are lost."""
SENT_ON_AT_ONCE = 64
"""How many waiting packets one call sends at most: a long queue must not hold up a frame."""
_OVERHEAD_BYTES = 128
"""What a waiting packet costs besides its bytes."""


@dataclass(frozen=True, slots=True)
class Losses:
    """How many records did not reach the disk, by where they were lost."""

    dropped: int = 0
    """Never handed over: the exporter was too slow or gone."""
    unconfirmed: int = 0
    """Handed over to an exporter that then vanished: at most so many are not in the journal."""
    refused: int = 0
    """Handed over and refused by the disk."""
    crashed: int = 0
    """Processes that died: what each had not handed over yet, a second's worth or so, is lost."""

    @property
    def total(self) -> int:
        """0 where nothing was lost."""
        return self.dropped + self.unconfirmed + self.refused + self.crashed

    def __add__(self, other: "Losses") -> "Losses":
        return Losses(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        said = (
            f"{self.dropped} records not handed over, {self.unconfirmed} not confirmed, "
            f"{self.refused} refused by the disk"
        )
        ended = "measuring process" if self.crashed == 1 else "measuring processes"
        return said + (f", and {self.crashed} {ended} ended too early" if self.crashed else "")


class Handoff:
    """One end of the socket to the exporter process. For one thread.

    Nothing here blocks but ``wait_ready``, ``flush`` and ``goodbye``, and nothing raises because
    the exporter is gone.
    """

    def __init__(
        self,
        sock: socket.socket,
        *,
        queue_bytes: int = QUEUE_BYTES,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """``sock`` is one of a pair of SOCK_SEQPACKET; it belongs to the hand-off from now on."""
        sock.setblocking(False)
        self.alive = True
        """False once the exporter is gone, whether by our goodbye or not."""
        self.ready: Ready | None = None
        self.reloads_asked = 0
        """How often somebody has asked the exporter process for a reload."""
        self.failure: str | None = None
        """Why the exporter could not start, in one line."""
        self.report = Report(received=0)
        """The newest the exporter has said of itself; ``drain`` looks for news."""
        self._sock = sock
        self._packet_bytes = min(PACKET_BYTES, _kernel_bytes(sock) // 4)
        self._queue: deque[tuple[bytes, int]] = deque()  # packets; records that end with each
        self._queued_bytes = 0
        self._queued_records = 0
        self._queue_bytes = queue_bytes
        self._sent = 0
        self._dropped = 0
        self._untold: dict[str, int] = {}
        self._now_ns = now_ns

    @property
    def waiting(self) -> int:
        """Records that wait in this process."""
        return self._queued_records

    @property
    def losses(self) -> Losses:
        unconfirmed = 0 if self.alive else max(0, self._sent - self.report.received)
        return Losses(self._dropped, unconfirmed, self.report.lost)

    def put(self, record: Record) -> None:
        """Give one record away. Raises ValueError only for what cannot be packed: our mistake."""
        payload = pack(record)
        if self._queue:
            self._send_on(SENT_ON_AT_ONCE)
        if not self.alive:
            self._dropped += 1
        elif len(payload) > MAX_RECORD_BYTES:
            self._drop("too_large")
        elif self._queued_bytes >= self._queue_bytes:
            self._drop("handoff_full")
        else:
            if self._untold:
                self._tell(record.get("t", 0))
            self._accept(payload)

    def drain(self, at_most: int = SENT_ON_AT_ONCE) -> None:
        """Send on what waits, and hear what the exporter says. Call it ten times a second."""
        self._send_on(at_most)
        self._hear()

    @property
    def put_so_far(self) -> int:
        """A place among the records; ``is_durable`` says whether it is reached."""
        return self._sent + self._queued_records

    def is_durable(self, place: int) -> bool:
        """Everything put up to ``place`` is on the disk, or it never will be; see ``drain``."""
        return self.report.received >= place or not self.alive

    def wait_ready(self, timeout_s: float) -> Ready | None:
        """Block until the exporter works; None where it said ``failure``, ended, or took longer."""
        self._wait(lambda: self.ready is not None or self.failure is not None, timeout_s)
        return self.ready

    def flush(self, timeout_s: float) -> bool:
        """Block until everything put so far is on the disk, and fsynced; False if it is not."""
        target = self.put_so_far
        self._hear()
        if self.report.received < target:
            self.say("sync")
        return self._wait(lambda: self.report.received >= target, timeout_s) and not (
            self.report.full or self.losses.total
        )

    def goodbye(self, timeout_s: float) -> bool:
        """Flush, and let the exporter end; False where it did not confirm that all is on disk."""
        for why in list(self._untold):
            self._tell_one(why, self._now_ns())
        self.say("goodbye")
        self._wait(lambda: self.report.last, timeout_s)
        return self.report.last and not self.losses.total

    def close(self) -> None:
        """Let go of the socket: an exporter that still runs writes what it has, and ends."""
        self._mourn()
        self._sock.close()

    def fileno(self) -> int:
        """For whoever wants to wait until there is room, or news."""
        return self._sock.fileno()

    def say(self, word: str, *what: object) -> None:
        """Say something that is no record, in its turn; see exporters/packets.py."""
        if self.alive:
            self._pass(said(word, *what), 0)

    def _accept(self, payload: bytes) -> None:
        packets = split(payload, self._packet_bytes)
        for packet in packets[:-1]:
            self._pass(packet, 0)
        self._pass(packets[-1], 1)

    def _pass(self, packet: bytes, records: int) -> None:
        """Send one packet, or let it wait in its place. ``records`` end with it."""
        if not self._queue and self._send(packet):
            self._sent += records
        elif self.alive:
            self._queue.append((packet, records))
            self._queued_bytes += len(packet) + _OVERHEAD_BYTES
            self._queued_records += records
        else:
            self._dropped += records

    def _send_on(self, at_most: int) -> None:
        for _ in range(min(at_most, len(self._queue))):
            packet, records = self._queue[0]
            if not self._send(packet):
                return
            self._queue.popleft()
            self._queued_bytes -= len(packet) + _OVERHEAD_BYTES
            self._queued_records -= records
            self._sent += records

    def _send(self, packet: bytes) -> bool:
        try:
            self._sock.send(packet)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno in (errno.ENOBUFS, errno.ENOMEM):
                return False
            self._mourn()  # the exporter is gone; what it still said is worth hearing
            self._hear()
            return False
        return True

    def _drop(self, why: str) -> None:
        self._dropped += 1
        self._untold[why] = self._untold.get(why, 0) + 1

    def _tell(self, at_ns: object) -> None:
        for why in list(self._untold):
            self._tell_one(why, at_ns)

    def _tell_one(self, why: str, at_ns: object) -> None:
        count = self._untold.pop(why)
        self._accept(pack({"k": "records_lost", "t": at_ns, "count": count, "why": why}))

    def _mourn(self) -> None:
        """The exporter is gone: what waits is lost."""
        self.alive = False
        self._dropped += self._queued_records
        self._queue.clear()
        self._queued_bytes = self._queued_records = 0

    def _hear(self) -> None:
        while True:
            try:
                packet = self._sock.recv(RECEIVE_BYTES)
            except BlockingIOError:
                return None
            except ConnectionResetError:  # it left with records unread; its last words follow
                self._mourn()
                continue
            except OSError:
                return self._mourn()
            if not packet:
                return self._mourn()
            try:
                self._take(*heard(packet))
            except ValueError as error:  # not our exporter, or not in its right mind
                self.failure = str(error)
                return self._mourn()

    def _take(self, word: str, what: list[object]) -> None:
        match word, what:
            case "report", [int(received), int(lost), bool(full), bool(last), int(untold)]:
                self.report = Report(received, lost, full, last, untold)
            case "ready", [str(journal), str() | None as address, int(recovered)]:
                self.ready = Ready(journal, address, recovered)
            case "reload", []:
                self.reloads_asked += 1
            case "failed", [str(why)]:
                self.failure = why
            case _:
                raise ValueError(f"the exporter process said {word!r}, a word not known here")

    def _wait(self, until: Callable[[], bool], timeout_s: float) -> bool:
        """Block until then; False where it did not come about in time, or cannot any more."""
        poll = select.poll()
        deadline_ns = self._now_ns() + int(timeout_s * SECOND)
        while not until():
            left_ns = deadline_ns - self._now_ns()
            if not self.alive or left_ns <= 0:
                return False
            poll.register(self._sock, select.POLLIN | (select.POLLOUT if self._queue else 0))
            poll.poll(left_ns / 1e6)
            self.drain(len(self._queue))
        return True


def _kernel_bytes(sock: socket.socket) -> int:
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
