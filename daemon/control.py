"""What the main process and a worker say to each other, and the socket on which they do.

    main ─> Assignment                           once: what this worker is for, keys included
    main ─> Work …                               some measurements; others may be going on
    main ─> (the end of the stream)              stop; also when the main process is killed
    worker ─> Ready                              it can be given work
    worker ─> Alive …                            once a second: its pacer serves its steps
    worker ─> Begun, Measured …                  one pair for each measurement
    worker ─> Done                               that work is over, and all of it is on the disk
    worker ─> Farewell                           its last word: what of its records was lost

Both ends are this program and the socket has no name, so messages are simply pickled.
"""

import pickle
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct

import trio

from daemon.order import Pair
from daemon.plan import Plan
from exporters.handoff import Losses
from measure.measurement import Measurement

_LENGTH = Struct("=Q")
_PIECE_BYTES = 1 << 16
_GONE = (trio.BrokenResourceError, trio.ClosedResourceError)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is for, as long as it lives."""

    name: str
    plan: Plan
    """With the models of this worker alone."""
    handoff_fd: int
    """The inherited socket that leads to the exporter process."""
    replaced: bool = False
    """Where the exporter process ends there will be another, for another worker."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be measured of one run, one after another for each model."""

    work_id: str
    run_id: str
    pairs: Sequence[Pair]


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker can be given work."""


@dataclass(frozen=True, slots=True)
class Alive:
    """What measures there moves. Said once a second for as long as that is so."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A measurement is about to begin; it is said before anything of it is recorded."""

    work_id: str
    pair: Pair
    session_id: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement is over, whatever it has shown."""

    work_id: str
    pair: Pair
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Done:
    """All of that work is done."""

    work_id: str


@dataclass(frozen=True, slots=True)
class Farewell:
    """The worker ends orderly; nothing comes after this."""

    losses: Losses


Message = Assignment | Work | Ready | Alive | Begun | Measured | Done | Farewell


class Control:
    """One end of the socket. Any task may ``send``; one task may ``receive``."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._sending = trio.Lock()
        self._received = bytearray()
        self._hearing = trio.CancelScope()
        self._heard_enough = False

    async def send(self, message: Message) -> None:
        """Send one message, whole even when cancelled. Nobody there: ``receive`` will say so."""
        content = pickle.dumps(message)
        with trio.CancelScope(shield=True):
            async with self._sending:
                with suppress(*_GONE):
                    await self._stream.send_all(_LENGTH.pack(len(content)) + content)

    async def receive(self) -> Message | None:
        """The next message; None where the other side is gone or has said its last."""
        with trio.CancelScope() as self._hearing:
            if self._heard_enough:
                return None
            head = await self._take(_LENGTH.size)
            content = None if head is None else await self._take(_LENGTH.unpack(head)[0])
        if self._hearing.cancelled_caught or content is None:
            return None
        message: Message = pickle.loads(content)
        return message

    def hear_no_more(self) -> None:
        """From now on ``receive`` gives None, to whoever waits in it as well."""
        self._heard_enough = True
        self._hearing.cancel()

    async def say_no_more(self) -> None:
        """End our side of the stream; the other side may still speak."""
        with trio.CancelScope(shield=True):
            async with self._sending:
                with suppress(*_GONE):
                    await self._stream.send_eof()

    async def aclose(self) -> None:
        """Let go of the socket."""
        await self._stream.aclose()

    async def _take(self, count: int) -> bytes | None:
        while len(self._received) < count:
            try:
                piece = await self._stream.receive_some(_PIECE_BYTES)
            except _GONE:
                return None
            if not piece:
                return None
            self._received += piece
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken
