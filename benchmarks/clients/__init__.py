"""The clients that are compared. One file each."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

OURS = "ours"
ABSOLUTE = "asyncio absolute"
NAIVE = "asyncio naive"
TRIO = "trio tasks"
C = "C"


@dataclass(frozen=True, slots=True)
class Client:
    """One way to pace audio."""

    name: str
    says: str
    missing: Callable[[], str | None]
    """Why it cannot be run here; None where it can."""
    module: str | None = None
    """The Python module to run; None: the C program."""


def _nothing() -> str | None:
    return None


def _no_websockets() -> str | None:
    return None if find_spec("websockets") else "websockets is not installed"


def _no_compiler() -> str | None:
    return None if shutil.which("cc") else "there is no C compiler (cc)"


CLIENTS = {
    client.name: client
    for client in (
        Client(
            OURS,
            "this program: one pacer, timerfd, forty slots, send lane",
            _nothing,
            "benchmarks.clients.ours",
        ),
        Client(
            ABSOLUTE,
            "a task a stream, asyncio.sleep to absolute due times, websockets",
            _no_websockets,
            "benchmarks.clients.asyncio_absolute",
        ),
        Client(
            NAIVE,
            "a task a stream, asyncio.sleep(0.02) between frames, websockets",
            _no_websockets,
            "benchmarks.clients.asyncio_naive",
        ),
        Client(
            TRIO,
            "a task a stream, trio.sleep_until absolute due times, trio-websocket",
            _nothing,
            "benchmarks.clients.trio_tasks",
        ),
        Client(
            C,
            "one thread, timerfd, epoll, send; built from benchmarks/clients/paced.c",
            _no_compiler,
        ),
    )
}
