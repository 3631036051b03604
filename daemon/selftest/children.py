"""The processes beside a self-test: the known-delay server, and who fetches the metrics.

Each says one line when it is ready and ends when its standard input does; so none outlives us.
"""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from daemon.errors import UserError
from exporters.process import child_environment

READY_S = 10.0
END_S = 1.0
"""How long a child may take to end before it is killed."""


@asynccontextmanager
async def known_delay_server() -> AsyncIterator[str]:
    """A server of our own, and its address. Raises UserError where it does not start."""
    async with _child("daemon.selftest.server") as process:
        port = await _first_line(process, "the known-delay server")
        yield f"ws://127.0.0.1:{int(port)}"


@asynccontextmanager
async def scraper(address: str) -> AsyncIterator[list[bytes]]:
    """Somebody who fetches the metrics at ``HOST:PORT`` each second; gives a line for each time.

    The lines are complete once this is over.
    """
    said: list[bytes] = []
    async with _child("daemon.selftest.scraper", address) as process, trio.open_nursery() as reader:
        await _first_line(process, "the reader of the metrics")
        reader.start_soon(_read_all, process, said)
        try:
            yield said
        finally:
            assert process.stdin is not None
            with trio.CancelScope(shield=True):
                await process.stdin.aclose()
                with trio.move_on_after(END_S):
                    await process.wait()
            reader.cancel_scope.deadline = trio.current_time() + END_S


async def _read_all(process: trio.Process, said: list[bytes]) -> None:
    assert process.stdout is not None
    text = b""
    async for piece in process.stdout:
        text += piece
        *lines, text = text.split(b"\n")
        said += lines


@asynccontextmanager
async def _child(module: str, *arguments: str) -> AsyncIterator[trio.Process]:
    try:
        process = await trio.lowlevel.open_process(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=child_environment(os.environ),
            start_new_session=True,  # a Ctrl-C in the terminal is for us; we end it
        )
    except OSError as error:
        raise UserError(f"selftest: a process of its own cannot be started: {error}") from error
    try:
        yield process
    finally:
        with trio.CancelScope(shield=True):
            await _end(process)


async def _end(process: trio.Process) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.aclose()
    with trio.move_on_after(END_S):
        await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
    await process.stdout.aclose()


async def _first_line(process: trio.Process, who: str) -> bytes:
    """What it says when it is ready. Raises UserError where it does not get so far."""
    assert process.stdout is not None
    said = b""
    with trio.move_on_after(READY_S):
        while not said.endswith(b"\n"):
            piece = await process.stdout.receive_some(1)
            if not piece:
                break
            said += piece
    if not said.endswith(b"\n"):
        raise UserError(f"selftest: {who} did not start within {READY_S:g} s")
    return said.strip()
