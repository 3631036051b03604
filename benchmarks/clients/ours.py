"""Our program: the pacer, the sleeper, the dialer, the wire and the lane, as they measure."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import trio

from benchmarks.bursts import processor_ns_per_message
from benchmarks.clients.exporting import Exporting
from benchmarks.hearing import Hearing
from benchmarks.load import HOST, Load, Outcome
from benchmarks.playing import Stamped, get_ready, hearing_of, processor_time, run_client
from daemon.clock import HostClock, host_now_ns, wall_ns
from daemon.dial import connect, websocket_url
from daemon.wire import Encoded, Wire, WireClosed, open_wire
from measure.events import FrameSent
from pacer.clock import TimerSleeper, best_sleeper
from pacer.pace import STEP_NS, Pacer


def play(load: Load, outcome: Outcome) -> None:
    """Do what ``load`` says."""
    with Exporting(load.scraped) if load.record else nullcontext() as exporting:
        trio.run(_play, load, outcome, exporting, clock=HostClock())
    if exporting is not None:
        outcome.scrape_lines = exporting.scrape_lines


async def _play(load: Load, outcome: Outcome, exporting: Exporting | None) -> None:
    async with trio.open_nursery() as background:
        context = ssl.create_default_context(cafile=load.ca_path) if load.tls else None
        wires = [await _wire(background, load, context) for _ in range(load.streams)]
        get_ready(load)
        if load.bursts:
            await _burst(wires[0], load, outcome)
        else:
            await _pace(background, wires, load, outcome, exporting)
        background.cancel_scope.cancel()


async def _wire(nursery: trio.Nursery, load: Load, context: ssl.SSLContext | None) -> Wire:
    dialed = await connect(
        HOST, load.port, ssl_context=context, now_ns=host_now_ns, wall_ns=wall_ns
    )
    return await open_wire(nursery, dialed.lane, websocket_url(load.url), now_ns=host_now_ns)


async def _burst(wire: Wire, load: Load, outcome: Outcome) -> None:
    async def send(count: int) -> None:
        wire.send_nowait(load.message(0, count, host_now_ns()))

    outcome.burst_cpu_ns = await processor_ns_per_message(send, trio.sleep, load.bursts)


async def _pace(
    background: trio.Nursery,
    wires: list[Wire],
    load: Load,
    outcome: Outcome,
    exporting: Exporting | None,
) -> None:
    with _pacer() as pacer, hearing_of(load, outcome) as hearing, processor_time(outcome):
        stamped = Stamped(outcome)
        background.start_soon(pacer.run)
        if exporting is not None:
            background.start_soon(exporting.keep_flowing)
        for wire in wires if load.listen else ():
            background.start_soon(_listen, wire, stamped)
        async with trio.open_nursery() as players:
            for stream, wire in enumerate(wires):
                note = exporting.recorder(stream).note if exporting is not None else None
                one = _Stream(stream, wire, load, hearing, note)
                players.start_soon(pacer.play, one.step, one.prepare)
    outcome.sent = load.streams * load.frames


@contextmanager
def _pacer() -> Iterator[Pacer]:
    sleeper = best_sleeper()
    try:
        yield Pacer(sleeper, host_now_ns)
    finally:
        if isinstance(sleeper, TimerSleeper):
            sleeper.close()


class _Stream:
    """One stream: what is done at each due time, and between two of them."""

    def __init__(
        self,
        stream: int,
        wire: Wire,
        load: Load,
        hearing: Hearing | None,
        note: Callable[[FrameSent], None] | None,
    ) -> None:
        self._stream = stream
        self._wire = wire
        self._load = load
        self._hearing = hearing
        self._note = note
        self._index = 0
        self._next_due_ns = 0
        self._made: Encoded | None = None

    def step(self, due_ns: int) -> bool:
        """Send what is due."""
        made, self._made = self._made or self._make(due_ns), None
        sent_ns = self._wire.send_nowait(made)
        self._index += 1
        self._next_due_ns = due_ns + STEP_NS
        if self._hearing is not None:
            self._hearing.hear(self._stream)
        if self._note is not None:
            self._note(FrameSent(sent_ns, due_ns, self._index * 20.0))
        return self._index < self._load.frames

    def prepare(self) -> None:
        """Make what is due next."""
        self._made = self._make(self._next_due_ns)

    def _make(self, due_ns: int) -> Encoded:
        return self._wire.encode(self._load.message(self._stream, self._index, due_ns))


async def _listen(wire: Wire, stamped: Stamped) -> None:
    while True:
        try:
            received = await wire.receive()
        except WireClosed:
            return
        arrived_ns = received.arrived_ns or received.read_ns  # where the kernel gave no stamp
        stamped.note(received.message, arrived_ns, received.read_ns)


if __name__ == "__main__":
    run_client(play)
