"""What a soak needs: providers, a daemon, a small disk; and the wrongs that are done to them.

Every wrong says when it began and ended, on CLOCK_MONOTONIC, the time line of the journal.
"""

import json
import mmap
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exporters.segment import read_journal
from measure.records import SECOND
from measure.wire import Record
from tests.daemon.serving import KEYS, clip_in
from tests.daemon.several import children_of
from tests.soak.wall_clock import WallClock, wall_clock

DEEPGRAM, GLADIA = 9_471, 9_472
DISK_MB = 512
"""Half an hour of journal, and then still more than the journal wants to go on."""
EVERY_S = 5
TRACE_NS = 6 * SECOND
"""A run leaves traces for so long: its records go on until it ends."""
STEP_NS = 2 * SECOND
"""By how much the wall clock of the measuring process is set ahead, and back."""
RESERVE_BYTES = 8 << 20
LEFT_BYTES = 4 << 20
"""What a full disk still has: less than the reserve, enough for the sessions that go on."""
NOT_AT_ONCE_BYTES = 1 << 20
"""The journal grows while a disk is filled: the last of it is taken page by page."""
MODELS = ("deepgram/nova-3", "gladia/solaria-1")
SCHEDULES = 9
"""So many of the first model, and one of the second: ten streams."""
SCRAPED = "speechbench_sessions_total"


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing that was done."""

    what: str
    from_ns: int
    to_ns: int

    def reaches(self, at_ns: int) -> bool:
        """That moment lies in it, or so near that its traces do."""
        return self.from_ns - TRACE_NS < at_ns < self.to_ns + TRACE_NS


@dataclass
class World:
    """The folder, the processes, and what was done to them."""

    folder: Path
    disk: Path
    models: tuple[str, ...]
    daemon: "subprocess.Popen[bytes]"
    fakes: "dict[int, subprocess.Popen[bytes]]"
    started_ns: int
    wall: WallClock | None
    """The wall clock of the daemon; None where it cannot be set."""
    wrongs: list[Wrong] = field(default_factory=list)
    scrapes: int = 0
    unanswered: int = 0
    """Scrapes that got no answer."""

    @property
    def journal(self) -> Path:
        return self.disk / "journal"

    @property
    def config(self) -> Path:
        return self.folder / "soak.toml"

    @property
    def lines(self) -> list[dict[str, Any]]:
        whole = (self.folder / "log").read_text().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    @property
    def plain(self) -> list[str]:
        """What it wrote that is no line of the log."""
        text = (self.folder / "log").read_text()
        return [line for line in text.splitlines() if line and not line.startswith("{")]

    def records(self) -> list[Record]:
        return list(read_journal(self.journal))

    def exporter_pid(self) -> int | None:
        return next(iter(children_of(self.daemon.pid, "daemon.exporter")), None)

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        began_ns = time.monotonic_ns()
        yield
        self.wrongs.append(Wrong(what, began_ns, time.monotonic_ns()))

    # The wrongs

    def provider_flaps(self) -> None:
        """One goes away in the middle of everything, and comes back."""
        with self.doing("provider_flaps"):
            for port in (DEEPGRAM, GLADIA):
                self.fakes[port].kill()
                self.fakes[port].wait()
                time.sleep(1.5)
                self.fakes[port] = fake(port, self.folder)

    def exporter_is_killed(self) -> None:
        pid = self.exporter_pid()
        with self.doing("exporter_is_killed"):
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
            self.until(lambda: self.exporter_pid() not in (None, pid))
            self.until(lambda: self.scrape(counted=False))

    def disk_is_full(self) -> None:
        with self.doing("disk_is_full"), self._filled_but(LEFT_BYTES):
            time.sleep(8)

    def disk_has_nothing_left(self) -> None:
        """For some moments not even the sessions that go on can be written."""
        with self.doing("disk_has_nothing_left"):
            refused, resumed = self._count("journal_write_failed"), self._count("journal_resumed")
            with self._filled_but(0):
                self.until(lambda: self._count("journal_write_failed") > refused)
                time.sleep(2)
            self.until(lambda: self._count("journal_resumed") > resumed)

    def stands_still(self) -> None:
        """The measuring process is stopped for two seconds; it surely stood still in between."""
        self.daemon.send_signal(signal.SIGSTOP)
        began_ns = time.monotonic_ns()
        time.sleep(2)
        self.wrongs.append(Wrong("stands_still", began_ns, time.monotonic_ns()))
        self.daemon.send_signal(signal.SIGCONT)

    def clock_steps(self) -> None:
        """The wall clock of the measuring process goes ahead, and later back; not the kernel's."""
        if self.wall is None:
            return
        for ahead_ns in (STEP_NS, 0):
            with self.doing("clock_steps"):
                self.wall.set_ahead(ahead_ns)
            time.sleep(6)

    def reloads(self) -> None:
        """A good file, a bad one, and the good one again."""
        with self.doing("reloads"):
            for models, more in (
                (self.models[:-1], ""),
                (self.models, "x = 1\n"),
                (self.models, ""),
            ):
                self.config.write_text(config_of(models, self.disk) + more)
                self.daemon.send_signal(signal.SIGHUP)
                time.sleep(1.5)

    @contextmanager
    def _filled_but(self, left_bytes: int) -> Iterator[None]:
        """The disk has no more room than that."""
        filler = self.disk / "filler"
        stands = os.statvfs(self.disk)
        roughly = stands.f_bavail * stands.f_frsize - max(left_bytes, NOT_AT_ONCE_BYTES)
        with filler.open("wb", buffering=0) as file:
            os.posix_fallocate(file.fileno(), 0, roughly)
            file.seek(roughly)
            with suppress(OSError):
                while not left_bytes:
                    file.write(bytes(mmap.PAGESIZE))
        try:
            yield
        finally:
            filler.unlink()

    # Looking

    def _count(self, event: str) -> int:
        """How often the log tells this."""
        return sum(line["event"] == event for line in self.lines)

    def scrape(self, *, counted: bool = True) -> bool:
        """Fetch the metrics as Prometheus does."""
        self.scrapes += counted
        try:
            with urllib.request.urlopen("http://127.0.0.1:9470/metrics", timeout=10) as answer:
                answered = SCRAPED in answer.read().decode()
        except (OSError, urllib.error.URLError):
            answered = False
        self.unanswered += counted and not answered
        return answered

    def until(self, it_is_so: Callable[[], bool], within_s: float = 60) -> None:
        deadline = time.monotonic() + within_s
        while not it_is_so():
            assert self.daemon.poll() is None, "the daemon has ended"
            assert time.monotonic() < deadline, "it took too long"
            time.sleep(0.1)


def config_of(models: tuple[str, ...], disk: Path) -> str:
    """Ten schedules, each a clip of two seconds every few seconds."""
    schedules = [(f"first-{nth}", MODELS[0]) for nth in range(SCHEDULES)]
    schedules += [("second", name) for name in models if name != MODELS[0]]
    timed = "".join(
        f'[[schedule]]\nname = "{name}"\nevery_s = {EVERY_S}\nmodels = ["{one}"]\n'
        for name, one in schedules
    )
    sections = "".join(
        f'[[model]]\nname = "{name}"\nprice_usd_per_1000_min = 4.3\nurl = "{address_of(name)}"\n'
        for name in models
    )
    return (
        f'{sections}[[clip]]\npath = "words.wav"\nreference = "it was the best of times"\n'
        f'[journal]\ndirectory = "{disk}/journal"\nreserve_bytes = {RESERVE_BYTES}\n'
        '[web]\nlisten = "127.0.0.1:9470"\n[log]\nformat = "json"\n'
        "[daemon]\njobs = 16\njobs_per_provider = 10\n"
        f"[timeouts]\nconnect_s = 3\n{timed}"
    )


def address_of(model: str) -> str:
    if model.startswith("gladia"):
        return f"http://127.0.0.1:{GLADIA}"
    return f"ws://127.0.0.1:{DEEPGRAM}"


def fake(port: int, folder: Path) -> "subprocess.Popen[bytes]":
    """One provider, at a port of its own."""
    provider = "gladia" if port == GLADIA else "deepgram"
    with (folder / f"fake-{provider}").open("ab") as out:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "daemon.cli", "fake"),
                *("--provider", provider, "--port", str(port)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )


@contextmanager
def world_in(folder: Path, disk: Path, models: tuple[str, ...]) -> Iterator[World]:
    """All of it, running."""
    clip_in(folder)
    fakes = {port: fake(port, folder) for port in (DEEPGRAM, GLADIA)}
    (folder / "soak.toml").write_text(config_of(models, disk))
    wall = wall_clock(folder)
    time.sleep(3)  # the providers' own start
    with (folder / "log").open("ab") as log:
        started_ns = time.monotonic_ns()
        daemon = subprocess.Popen(
            [
                *(sys.executable, "-m", "daemon.cli", "daemon"),
                *("--config.file", str(folder / "soak.toml")),
            ],
            env={**os.environ, **KEYS, **({} if wall is None else wall.environment)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    made = World(folder, disk, models, daemon, fakes, started_ns, wall)
    try:
        yield made
    finally:
        for process in (daemon, *made.fakes.values()):
            process.kill()
            process.wait()
