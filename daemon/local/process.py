"""One server process, from its start to its end."""

import fcntl
import json
import os
import signal
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import trio

from daemon.errors import UserError
from daemon.local.engines import ENGINES
from daemon.local.hearing import Silero
from daemon.local.server import Server, ServerSettings, address_of, listen
from daemon.local.worker import Worker
from vad.silero import ModelError, StepModel

WORKER_PATIENCE_S = 0.4
"""How long the end waits for models that are being asked."""


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """How a server process is set up."""

    engine: str
    host: str
    port: int
    """0: any that is free."""
    workers: int
    """How many copies of the model work at once."""
    niceness: int
    """How far the process stands back for others."""
    parent_fd: int | None
    """A pipe whose other end the parent holds: when it is gone, so is the server."""
    streams: ServerSettings


def serve(settings: ProcessSettings) -> int:
    """Serve until a signal or the end of the parent. Raises UserError.

    Once it can be spoken to, it says so in one line of JSON on stdout.
    """
    os.nice(settings.niceness)  # before there are threads: each takes on the niceness of its maker
    workers = _workers(settings)
    server = Server(workers, settings.streams, _complain)
    trio.run(_serve_until_told, server, settings, workers[0].model)
    for worker in workers:
        worker.stop(0)  # all are told before one is waited for
    ended = [worker.stop(WORKER_PATIENCE_S / len(workers)) for worker in workers]
    if not all(ended):
        # A model that is still being asked would be torn down under its own feet.
        sys.stdout.flush()
        os._exit(0)
    return 0


def _workers(settings: ProcessSettings) -> list[Worker]:
    try:
        model = StepModel.load()
    except ModelError as error:
        raise UserError(str(error)) from error
    load = ENGINES[settings.engine]
    return [
        Worker(load(), lambda: Silero(model), time.monotonic_ns) for _ in range(settings.workers)
    ]


async def _serve_until_told(server: Server, settings: ProcessSettings, model: str) -> None:
    parent = None if settings.parent_fd is None else _pipe(settings.parent_fd)
    listener = await listen(settings.host, settings.port)
    async with trio.open_nursery() as nursery:
        end = nursery.cancel_scope.cancel
        nursery.start_soon(server.serve, listener)
        await nursery.start(_until_signalled, end)
        if parent is not None:
            nursery.start_soon(_until_orphaned, parent, end)
        url = address_of(listener)
        _announce({"type": "listening", "url": url, "model": model, "pid": os.getpid()})


def _announce(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _complain(line: str) -> None:
    sys.stderr.write(f"local-server: {line}\n")
    sys.stderr.flush()


async def _until_signalled(
    end: Callable[[], None], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            end()


async def _until_orphaned(parent: trio.lowlevel.FdStream, end: Callable[[], None]) -> None:
    async with parent:
        while await parent.receive_some(1):
            pass
    end()


def _pipe(parent_fd: int) -> trio.lowlevel.FdStream:
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(parent_fd).st_mode)
        readable = fcntl.fcntl(parent_fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    except OSError as error:
        raise UserError(f"--parent-fd {parent_fd} is not an open file: {error.strerror}") from error
    if not (is_pipe and readable):
        raise UserError(f"--parent-fd {parent_fd} is not the reading end of a pipe")
    return trio.lowlevel.FdStream(parent_fd)
