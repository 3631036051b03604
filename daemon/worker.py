"""One of several measuring processes: ``python -m daemon.worker FD``, started by daemon/workers.py.

    main process ── control ──> this process ── paced audio ──> the providers of its models
    exporter process <── records ──┘

It lives exactly as long as the main process: it ends, orderly, when the control socket does,
whether the main process says so or is killed. Where the exporter process has ended it begins
nothing more, ends what it is in the middle of, and ends: the main process starts another, with a
hand-off to the next exporter process. Keys come over that socket and stand nowhere else.
"""

import os
import signal
import socket
import sys
from collections import deque

import trio

from daemon.clock import HostClock
from daemon.control import (
    Alive,
    Assignment,
    Begun,
    Control,
    Done,
    Farewell,
    Measured,
    Message,
    Ready,
    Work,
)
from daemon.gate import Gate
from daemon.order import Bench, Pair
from daemon.plan import Plan
from daemon.rounds import measure_pairs
from daemon.supervise import DRAIN_S, Records, bench
from daemon.watchdog import paces
from exporters.handoff import Handoff
from measure.measurement import Measurement
from pacer.pace import Pacer

GOODBYE_S = 5.0
"""How long the exporter process may take to confirm the last records, if the main one lets it."""
DURABLE_S = 5.0
"""How long the end of a round waits for the exporter process."""
SIGN_S = 1.0
"""How often it says that it lives."""
LAST_S = 10.0
"""After so long without a main process this one is ended by the kernel, whatever it is doing."""


def main(arguments: list[str]) -> int:
    """Measure what the main process says until it says no more; gives the exit code."""
    if len(arguments) != 1 or not arguments[0].isdigit():
        sys.stderr.write("worker: this process is started by speechbench, not by hand\n")
        return 2
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # they are the main process's affair
    with socket.socket(fileno=int(arguments[0])) as sock:
        trio.run(_live, sock, clock=HostClock())
    return 0


async def _live(sock: socket.socket) -> None:
    control = Control(trio.SocketStream(trio.socket.from_stdlib_socket(sock)))
    assignment = await control.receive()
    if not isinstance(assignment, Assignment):
        return  # the main process is gone already
    handoff = Handoff(socket.socket(fileno=assignment.handoff_fd))
    records = Records(handoff, assignment.name)
    records.replaced = assignment.replaced
    await _work(control, assignment.plan, records)
    handoff.goodbye(GOODBYE_S)
    handoff.close()
    await control.send(Farewell(records.losses))


async def _work(control: Control, plan: Plan, records: Records) -> None:
    """Measure what is ordered until the main process says no more."""
    outbox = Outbox(control)
    async with bench(records) as ours, trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        hand = Hand(control, plan, ours, records, outbox)
        outbox.put(Ready())
        nursery.start_soon(give_signs, control, ours.pacer)
        if records.replaced:
            nursery.start_soon(_leave_when_unrecorded, hand, records, control)
        while isinstance(work := await control.receive(), Work):
            nursery.start_soon(hand.measure, work)
        signal.setitimer(signal.ITIMER_REAL, LAST_S)
        nursery.cancel_scope.cancel()
    await outbox.flush()


async def give_signs(control: Control, pacer: Pacer) -> None:
    """Say that what measures here moves, for as long as it does; for ever.

    Where the main process does not listen one sign waits, and no more are made.
    """
    while True:
        if await paces(pacer):
            await control.send(Alive())
        await trio.sleep(SIGN_S)


async def _leave_when_unrecorded(hand: "Hand", records: Records, control: Control) -> None:
    """Nobody takes the records any more: end, as if the main process had said so."""
    while records.handoff.alive or hand.open:  # noqa: ASYNC110  it is found out by a send
        await trio.sleep(DRAIN_S)
    control.hear_no_more()


class Hand:
    """Does work, any number of works at a time; the main process sees to how many they are."""

    def __init__(
        self, control: Control, plan: Plan, ours: Bench, records: Records, outbox: "Outbox"
    ) -> None:
        self._control = control
        self._plan = plan
        self._bench = ours
        self._records = records
        self._outbox = outbox
        self.open: set[str] = set()
        """The sessions that it is in the middle of."""
        self._gate = Gate(
            records.handoff,
            records.log,
            lambda: "exporter_gone" if records.replaced and not records.handoff.alive else None,
        )

    async def measure(self, work: Work) -> None:
        """Measure all of it, and say when all of it is on the disk."""

        async def begin(pair: Pair, session_id: str) -> None:
            await self._gate.passed()
            self.open.add(session_id)
            await self._control.send(Begun(work.work_id, pair, session_id))
            await trio.lowlevel.checkpoint_if_cancelled()

        def measured(pair: Pair, measurement: Measurement) -> None:
            self.open.discard(measurement.session_id)
            self._outbox.put(Measured(work.work_id, pair, measurement))

        await measure_pairs(
            self._plan,
            self._plan.targets,
            self._bench,
            work.run_id,
            work.pairs,
            parallel=self._plan.settings.daemon.parallel,
            begin=begin,
            measured=measured,
        )
        await until_durable(self._records.handoff)
        self._outbox.put(Done(work.work_id))


async def until_durable(handoff: Handoff, at_most_s: float = DURABLE_S) -> None:
    """Wait until all that was put is on the disk, so that the end of a round is recorded after it.

    Not for ever: an exporter process that takes so long will be found out at the end.
    """
    place = handoff.put_so_far
    handoff.say("sync")
    with trio.move_on_after(at_most_s):
        while not handoff.is_durable(place):
            with trio.move_on_after(DRAIN_S):
                await trio.lowlevel.wait_readable(handoff)
            handoff.drain()


class Outbox:
    """What is to be told to the main process, in order; ``put`` never makes anyone wait."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._waiting: deque[Message] = (
            deque()
        )  # at most one for each measurement of a round, and two more
        self._wanted = trio.Event()

    def put(self, message: Message) -> None:
        """Tell it soon."""
        self._waiting.append(message)
        self._wanted.set()

    async def flush(self) -> None:
        """Tell all that waits."""
        while self._waiting:
            await self._control.send(self._waiting.popleft())

    async def run(self) -> None:
        """Tell things as they are put, for ever."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            await self.flush()


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # to take down the interpreter with all its libraries would take longer than all
