"""A client of asyncio and websockets; how it waits for the next frame is each rival's own."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from benchmarks.bursts import processor_ns_per_message
from benchmarks.hearing import Hearing
from benchmarks.load import STEP_NS, Load, Outcome
from benchmarks.playing import Stamped, first_due_ns, get_ready, hearing_of, processor_time

Wait = Callable[[int], Awaitable[None]]
"""Called before each frame but the first with the moment it is due."""


async def until(due_ns: int) -> None:
    """As exact as asyncio can sleep."""
    await asyncio.sleep(due_ns / 1e9 - asyncio.get_running_loop().time())


def play(load: Load, outcome: Outcome, wait: Wait) -> None:
    """Do what ``load`` says."""
    asyncio.run(_play(load, outcome, wait))


async def _play(load: Load, outcome: Outcome, wait: Wait) -> None:
    context = ssl.create_default_context(cafile=load.ca_path) if load.tls else None
    sockets = [
        await connect(load.url, ssl=context, compression=None, ping_interval=None, proxy=None)
        for _ in range(load.streams)
    ]
    get_ready(load)
    if load.bursts:
        await _burst(sockets[0], load, outcome)
    else:
        await _pace(sockets, load, outcome, wait)
    for socket in sockets:
        socket.transport.abort()


async def _burst(socket: ClientConnection, load: Load, outcome: Outcome) -> None:
    async def send(count: int) -> None:
        await socket.send(load.message(0, count, time.monotonic_ns()))

    outcome.burst_cpu_ns = await processor_ns_per_message(send, asyncio.sleep, load.bursts)


async def _pace(sockets: list[ClientConnection], load: Load, outcome: Outcome, wait: Wait) -> None:
    with hearing_of(load, outcome) as hearing, processor_time(outcome):
        stamped = Stamped(outcome)
        listeners = [
            asyncio.create_task(_listen(socket, stamped))
            for socket in (sockets if load.listen else ())
        ]
        await asyncio.gather(
            *(
                _stream(stream, socket, load, due_ns, wait, hearing)
                for stream, (socket, due_ns) in enumerate(
                    zip(sockets, first_due_ns(load), strict=True)
                )
            )
        )
    for listener in listeners:
        listener.cancel()
    outcome.sent = load.streams * load.frames


async def _stream(
    stream: int,
    socket: ClientConnection,
    load: Load,
    due_ns: int,
    wait: Wait,
    hearing: Hearing | None,
) -> None:
    await until(due_ns)
    for index in range(load.frames):
        if index:
            due_ns += STEP_NS
            await wait(due_ns)
        await socket.send(load.message(stream, index, due_ns))
        if hearing is not None:
            hearing.hear(stream)


async def _listen(socket: ClientConnection, stamped: Stamped) -> None:
    while True:
        try:
            message = await socket.recv()
        except ConnectionClosed:
            return
        stamped.note(message, time.monotonic_ns())
