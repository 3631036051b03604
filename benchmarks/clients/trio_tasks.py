"""Plain trio and trio-websocket: a task a stream that sleeps until absolute due times."""

import ssl
import time

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, connect_websocket_url

from benchmarks.bursts import processor_ns_per_message
from benchmarks.hearing import Hearing
from benchmarks.load import STEP_NS, Load, Outcome
from benchmarks.playing import (
    Stamped,
    first_due_ns,
    get_ready,
    hearing_of,
    processor_time,
    run_client,
)
from daemon.clock import HostClock


def play(load: Load, outcome: Outcome) -> None:
    """Do what ``load`` says."""
    trio.run(_play, load, outcome, clock=HostClock())


async def _play(load: Load, outcome: Outcome) -> None:
    context = ssl.create_default_context(cafile=load.ca_path) if load.tls else None
    async with trio.open_nursery() as background:
        sockets = [
            await connect_websocket_url(background, load.url, ssl_context=context)
            for _ in range(load.streams)
        ]
        get_ready(load)
        if load.bursts:
            await _burst(sockets[0], load, outcome)
        else:
            await _pace(background, sockets, load, outcome)
        background.cancel_scope.cancel()


async def _burst(socket: WebSocketConnection, load: Load, outcome: Outcome) -> None:
    async def send(count: int) -> None:
        await socket.send_message(load.message(0, count, time.monotonic_ns()))

    outcome.burst_cpu_ns = await processor_ns_per_message(send, trio.sleep, load.bursts)


async def _pace(
    background: trio.Nursery, sockets: list[WebSocketConnection], load: Load, outcome: Outcome
) -> None:
    with hearing_of(load, outcome) as hearing, processor_time(outcome):
        stamped = Stamped(outcome)
        for socket in sockets if load.listen else ():
            background.start_soon(_listen, socket, stamped)
        async with trio.open_nursery() as streams:
            dues = first_due_ns(load)
            for stream, (socket, due_ns) in enumerate(zip(sockets, dues, strict=True)):
                streams.start_soon(_stream, stream, socket, load, due_ns, hearing)
    outcome.sent = load.streams * load.frames


async def _stream(
    stream: int, socket: WebSocketConnection, load: Load, due_ns: int, hearing: Hearing | None
) -> None:
    for index in range(load.frames):
        await trio.sleep_until(due_ns / 1e9)
        await socket.send_message(load.message(stream, index, due_ns))
        if hearing is not None:
            hearing.hear(stream)
        due_ns += STEP_NS


async def _listen(socket: WebSocketConnection, stamped: Stamped) -> None:
    while True:
        try:
            message = await socket.get_message()
        except ConnectionClosed:
            return
        stamped.note(message, time.monotonic_ns())


if __name__ == "__main__":
    run_client(play)
