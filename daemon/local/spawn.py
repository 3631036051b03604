"""A server for the length of a run: started, waited for, and ended whatever happens.

The child ends when it is told to, and also when this process is killed: it watches a pipe whose
other end is here. It stands back by 5 nice levels: on a host of two cores a model that is being
asked can take all of one, and frames must leave on time. It has a session of its own, so a Ctrl-C
in the terminal reaches only us, and we end it when nothing needs it any more.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import trio

from daemon.errors import UserError

READY_S = 30
"""How long it may take to load its model."""
END_S = 1.5
"""How long it may take to end before it is killed."""
NICENESS = 5
ROOT = Path(__file__).parents[2]
"""Where this program's packages lie."""
START = """
import sys
sys.path.append(sys.argv.pop(1))
from daemon.local.__main__ import main
sys.exit(main())
"""
"""The program's folder comes last on the path, and the current one not at all, so that neither can
hide a module from the child."""
ENVIRONMENT = {"ORT_DISABLE_TELEMETRY": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@asynccontextmanager
async def local_server(engine: str, *, workers: int = 1) -> AsyncIterator[str]:
    """The address of a server with this engine, which lives as long as the context does.

    Raises UserError, with the server's own last word, where it does not start.
    """
    watched, held = os.pipe()
    with tempfile.TemporaryFile() as words:  # a file never fills up and blocks the child
        try:
            process = await _started(_command(engine, workers, watched), watched, words)
        except BaseException:
            os.close(held)
            raise
        finally:
            os.close(watched)
        try:
            yield await _announced(process, words)
        finally:
            os.close(held)
            with trio.CancelScope(shield=True):
                await _ended(process)


def _command(engine: str, workers: int, watched: int) -> list[str]:
    command = [sys.executable, "-P", "-c", START, str(ROOT), "--engine", engine, "--port", "0"]
    command += ["--workers", str(workers), "--nice", str(NICENESS), "--parent-fd", str(watched)]
    return command


async def _started(command: list[str], watched: int, words: IO[bytes]) -> trio.Process:
    try:
        return await trio.lowlevel.open_process(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=words,
            pass_fds=(watched,),
            start_new_session=True,
            env={**os.environ, **ENVIRONMENT},
        )
    except OSError as error:
        raise UserError(f"the local server cannot be started: {error}") from error


async def _announced(process: trio.Process, words: IO[bytes]) -> str:
    """The address, once the server says that it can be spoken to there."""
    said = bytearray()
    with trio.move_on_after(READY_S) as patience:
        assert process.stdout is not None
        async for piece in process.stdout:
            said += piece
            if b"\n" in said:
                return str(json.loads(said)["url"])
    if patience.cancelled_caught:
        raise UserError(f"the local server did not get ready within {READY_S} s")
    await process.wait()
    raise UserError(f"the local server did not start: {_last_word(words, process.returncode)}")


async def _ended(process: trio.Process) -> None:
    process.terminate()
    with trio.move_on_after(END_S):
        await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
    assert process.stdout is not None
    await process.stdout.aclose()


def _last_word(words: IO[bytes], code: int | None) -> str:
    words.seek(0)
    lines = words.read().decode("utf-8", "replace").split("\n")
    spoken = [line.strip() for line in lines if line.strip()]
    return spoken[-1].removeprefix("local-server: ") if spoken else f"it ended with code {code}"
