"""The daemon as an operator runs it, for tests: a real process, fakes on loopback, real signals."""

import json
import os
import subprocess
import sys
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import trio

from daemon.fakes import FakeDeepgram, FakeGladia, Faults, Script, listening
from daemon.fakes.server import Fake
from daemon.small_file import replace_file
from exporters.segment import read_journal
from pacer.builtin import builtin_clips
from tests.daemon.several import PATIENCE_S, children_of, until

KEYS = {"DEEPGRAM_API_KEY": "canary-dg-2b81e07f3c", "GLADIA_API_KEY": "canary-gl-77d0a94c1e"}
CLIP_S = 1.5
RATE_HZ = 16_000
PATIENT = """
[budgets]
frame_late_ms = 1000
loop_stall_ms = 1000
clock_step_ms = 10000
[timeouts]
close_s = 0.2
"""
"""A busy host is no fault here."""


def clip_in(folder: Path) -> Path:
    """The beginning of a recording with speech, and half a second of silence."""
    path = folder / "words.wav"
    pcm = builtin_clips(RATE_HZ)[0].pcm
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(pcm[: round(CLIP_S * RATE_HZ) * 2] + bytes(RATE_HZ))
    return path


def model(name: str, url: str, more: str = "") -> str:
    """One model in the configuration."""
    return f'[[model]]\nname = "{name}"\nurl = "{url}"\n{more}\n'


@dataclass
class Serving:
    """A daemon with its folder, and its two providers."""

    folder: Path
    deepgram: Fake
    gladia: Fake
    urls: tuple[str, str]
    process: trio.Process | None = None
    words: list[str] = field(default_factory=list)
    """Further arguments of the command."""

    @property
    def both(self) -> str:
        """Both models."""
        deepgram, gladia = self.urls
        return model("deepgram/nova-3", deepgram) + model("gladia/solaria-1", gladia)

    @property
    def one(self) -> str:
        """Only the first."""
        return model("deepgram/nova-3", self.urls[0])

    @property
    def config(self) -> Path:
        return self.folder / "daemon.toml"

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    def configure(self, models: str, daemon: str = "interval_s = 1", more: str = "") -> None:
        """Write the configuration file."""
        text = (
            f'{models}\n[[clip]]\npath = "words.wav"\nreference = "it was the best of times"\n'
            f'[web]\nlisten = "127.0.0.1:0"\n[log]\nformat = "json"\n[daemon]\n{daemon}\n'
            f"{PATIENT}{more}"
        )
        replace_file(self.config, text.encode())  # as an editor does: whole or not at all

    async def start(self) -> trio.Process:
        """Start it and do not wait."""
        with (self.folder / "log").open("ab") as log:
            self.process = await trio.lowlevel.open_process(
                [
                    *(sys.executable, "-m", "daemon.cli", "daemon"),
                    *("--config.file", str(self.config), "--web.enable-lifecycle", *self.words),
                ],
                env={**os.environ, **KEYS},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self.process

    async def ended(self) -> int:
        """Its exit code, once it has ended."""
        assert self.process is not None
        with trio.fail_after(PATIENCE_S):
            return await self.process.wait()

    def signal(self, number: int) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def child(self, what: str) -> int:
        """The process that it has started to run ``what``."""
        assert self.process is not None
        (pid,) = children_of(self.process.pid, what)
        return pid

    @property
    def said(self) -> str:
        """All that it has written, whatever it is."""
        return (self.folder / "log").read_text()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of its log. The last one may not be whole yet."""
        whole = self.said.rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    def told(self, event: str, **fields: object) -> list[dict[str, Any]]:
        """The lines of this event with these fields."""
        return [
            line for line in self.lines if line["event"] == event and fields.items() <= line.items()
        ]

    async def tells(self, event: str, times: int = 1, **fields: object) -> dict[str, Any]:
        """Wait until an event has been told so often; gives the newest."""
        await until(lambda: len(self.told(event, **fields)) >= times or self._has_ended())
        found = self.told(event, **fields)
        assert len(found) >= times, self.said[-3000:]
        return found[-1]

    def _has_ended(self) -> bool:
        return self.process is not None and self.process.returncode is not None

    def records(self, *kinds: str) -> list[dict[str, Any]]:
        return [dict(record) for record in read_journal(self.journal) if record["k"] in kinds]

    async def ask(self, path: str, method: str = "GET") -> httpx.Response:
        """What its pages answer."""
        address = (await self.tells("metrics_listening"))["address"]

        def asked() -> httpx.Response:
            return httpx.request(
                method, f"http://{address}{path}", timeout=PATIENCE_S, trust_env=False
            )

        return await trio.to_thread.run_sync(asked)

    async def metrics(self) -> str:
        return (await self.ask("/metrics")).text


@asynccontextmanager
async def serving(folder: Path, *, hanging: bool = False) -> AsyncIterator[Serving]:
    """Fakes, a folder with a clip, and the daemon's end. ``hanging``: no session ends by itself."""
    faults = Faults(no_final=True) if hanging else Faults()
    deepgram = FakeDeepgram(Script.for_force("it was", end_ms=900, after_s=0.05), faults)
    gladia = FakeGladia(Script.for_pause("it was", end_ms=900, pause_ms=200), faults)
    clip_in(folder)
    async with listening(deepgram) as one, listening(gladia) as two:
        here = Serving(folder, deepgram, gladia, (one, two))
        try:
            yield here
        finally:
            if here.process is not None:
                here.process.kill()
                with trio.CancelScope(shield=True):
                    await here.process.wait()
