"""The sound process as its parent sees it: started, heard, and ended whatever happens.

It has a session of its own (a Ctrl-C of the terminal is not for it) and an environment without
keys. Whatever state its driver is in, leaving ends it by its id and does not wait for it for long.
"""

import math
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import IO, Any

import trio

from daemon.errors import UserError
from exporters.packing import pack, unpack
from exporters.process import child_environment

PROGRAM = (sys.executable, "-P", "-m", "daemon.sound_process")
END_S = 1.0
"""So long the end of a killed process is waited for; a driver may hold it in the kernel."""
KERNEL_BYTES = 4 << 20
"""What the kernel is asked to hold between the processes; it gives less, and that is seconds."""
PACKET_BYTES = 1 << 17
PASSED_ON = (
    *("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS", "JACK_DEFAULT_SERVER"),
    *("ALSA_CONFIG_PATH", "ALSA_CONFIG_DIR", "ALSA_PLUGIN_DIR", "ALSA_CARD", "AUDIODEV"),
    *("PULSE_SERVER", "PULSE_SOURCE", "PULSE_SINK", "PULSE_COOKIE", "PULSE_RUNTIME_PATH"),
    *("PULSE_STATE_PATH", "PULSE_CONFIG_PATH", "PULSE_CLIENTCONFIG", "PULSE_LATENCY_MSEC"),
    *("PIPEWIRE_REMOTE", "PIPEWIRE_RUNTIME_DIR", "PIPEWIRE_LATENCY", "PIPEWIRE_NODE"),
    *("PA_ALSA_PLUGHW", "PA_MIN_LATENCY_MSEC"),
)
"""How sound servers are found, beside what every process of ours is given."""
Told = Mapping[str, Any]
"""One record of the process; its kinds stand in daemon/sound_process.py."""


class SoundEnded(Exception):
    """The device or its process is gone; one line says which and how."""


class SoundChild:
    """A running sound process, and the socket that leads to it."""

    def __init__(
        self, process: trio.Process, heard: trio.socket.SocketType, words: IO[bytes]
    ) -> None:
        self.pid = process.pid
        self.gone = trio.Event()
        self._process = process
        self._heard = heard
        self._words = words
        self._ended: str | None = None

    async def hear(self, patience_s: float = math.inf) -> Told:
        """What it tells next. Raises SoundEnded, now and ever after, where it tells of its end.

        It has also ended where it says nothing for so long.
        """
        if self._ended is None:
            packet = b""
            with trio.move_on_after(patience_s):
                packet = await self._packet()
            record = unpack(packet) if packet else {"k": "ended", "why": await self._last_word()}
            if record["k"] not in ("ended", "refused"):
                return record
            self._ended = str(record["why"])
        raise SoundEnded(self._ended)

    def tell(self, kind: str, **fields: object) -> bool:
        """Send one record; False where it could not be. Never waits."""
        try:
            os.write(self._heard.fileno(), pack({"k": kind, **fields}))
        except OSError:  # it stands still, or is gone
            return False
        return True

    async def end(self) -> None:
        """End it at once."""
        self._process.kill()
        with trio.move_on_after(END_S, shield=True):
            await self._process.wait()

    async def _packet(self) -> bytes:
        try:
            return await self._heard.recv(PACKET_BYTES)
        except OSError:
            return b""

    async def _last_word(self) -> str:
        """Of one that ended without saying so."""
        with trio.move_on_after(END_S):
            await self._process.wait()
        code = self._process.returncode
        if code is None:
            return "the sound process does not answer any more"
        if code < 0:
            return f"the sound process was ended by signal {-code}"
        self._words.seek(0)
        lines = self._words.read().decode("utf-8", "replace").split("\n")
        spoken = [line.strip() for line in lines if line.strip()] or ["it did not say why"]
        return f"the sound process ended with code {code}: {spoken[-1]}"


@asynccontextmanager
async def sound_child(program: Sequence[str], *arguments: str) -> AsyncIterator[SoundChild]:
    """A sound process, which ends with this. What its libraries print is seen by nobody."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
    with trio.socket.from_stdlib_socket(ours) as heard, tempfile.TemporaryFile("a+b") as words:
        with theirs:
            process = await _started(program, arguments, theirs.fileno(), words)
        child = SoundChild(process, heard, words)
        try:
            yield child
        finally:
            await child.end()


async def _started(
    program: Sequence[str], arguments: Sequence[str], fd: int, words: IO[bytes]
) -> trio.Process:
    task, *more = arguments
    try:
        return await trio.lowlevel.open_process(
            [*program, task, str(fd), *more],
            pass_fds=(fd,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=words,
            start_new_session=True,
            env=environment_of(os.environ),
        )
    except OSError as error:
        raise UserError(f"the sound process cannot be started: {error}") from error


def environment_of(environment: Mapping[str, str]) -> dict[str, str]:
    """What the sound process is given: where sound servers are, and nothing that could be a key."""
    found = {name: environment[name] for name in PASSED_ON if name in environment}
    return {**child_environment(environment), **found}
