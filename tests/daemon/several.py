"""Whole measurements in several processes, for tests: real workers, a real exporter, two fakes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
import trio

from daemon.clock import HostClock
from daemon.exporter_settings import exporter_settings
from daemon.fakes import FakeDeepgram, FakeGladia, Script, listening
from daemon.fakes.server import Fake
from daemon.plan import Plan, Recording, configured_plan
from daemon.post import Post
from daemon.supervise import Recording as Exporting
from daemon.supervise import start_exporter
from exporters.process import launch
from exporters.segment import read_journal
from measure.records import SECOND, Rule
from tests.daemon.bench import SPEECH, clip_of

TEXT = "good day"
KEYS = {"DEEPGRAM_API_KEY": "canary-dg-6f1d2c8a", "GLADIA_API_KEY": "canary-gl-90b7e4d1"}
PATIENCE_S = 180.0
"""For a busy machine; nothing waits for so long where all is well."""


@dataclass
class Scene:
    """Two providers, a plan that measures both with two clips of a second, and an exporter."""

    deepgram: Fake
    gladia: Fake
    plan: Plan
    exporting: Exporting
    log: Path

    @property
    def fakes(self) -> tuple[Fake, Fake]:
        return self.deepgram, self.gladia

    @property
    def directory(self) -> Path:
        return self.plan.settings.journal.directory

    def records(self, *kinds: str) -> list[dict[str, Any]]:
        return [dict(record) for record in read_journal(self.directory) if record["k"] in kinds]

    def shares(self) -> tuple[tuple[int, ...], ...]:
        return ((0,), (1,))

    async def all_hear_audio(self) -> None:
        """Wait until both fakes have been sent audio."""
        await until(lambda: all(any(v.audio_bytes for v in fake.visits) for fake in self.fakes))


async def until(it_is_so: Callable[[], bool]) -> None:
    """Look again and again; a test that looks for too long has failed."""
    with trio.fail_after(PATIENCE_S):
        while not it_is_so():  # noqa: ASYNC110  it is another process that makes it so
            await trio.sleep(0.01)


def pid_of(post: Post) -> int:
    """The process that fills this post."""
    assert post.pid is not None
    return post.pid


def patient(rule: Rule) -> Rule:
    """The same without budgets: a busy host is no fault here."""
    budgets = [field.name for field in fields(rule) if field.name.endswith("_budget_ns")]
    changes: dict[str, Any] = dict.fromkeys(budgets, 60 * SECOND)
    return replace(rule, **changes)


def plan_in(folder: Path, deepgram: str, gladia: str, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Two models at these addresses, two clips, keys in the environment."""
    folder.mkdir()
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    file = folder / "bench.toml"
    file.write_text(
        f'[[model]]\nname = "deepgram/nova-3"\nurl = "{deepgram}"\n'
        f'[[model]]\nname = "gladia/solaria-1"\nurl = "{gladia}"\n'
        "[daemon]\nworkers = 2\ninterval_s = 1\n"
    )
    plan = configured_plan(file, KEYS)
    targets = tuple(replace(one, rule=patient(one.rule)) for one in plan.targets)
    return replace(plan, targets=targets, recordings=tuple(map(recording, ("a", "b"))))


def recording(name: str) -> Recording:
    """One second, in which it is known beforehand where speech ends."""
    clip = replace(clip_of(), name=name)
    return Recording(clip, (SPEECH,), {clip.rate_hz: clip})


@asynccontextmanager
async def scene(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    """Everything running but what measures; the exporter is stopped by the test."""
    deepgram = FakeDeepgram(Script.for_force(TEXT, end_ms=500, after_s=0.1))
    gladia = FakeGladia(Script.for_pause(TEXT, end_ms=500, pause_ms=300))
    log = folder / "log"
    for patience in ("daemon.supervise.STOP_S", "daemon.workers.END_S"):
        monkeypatch.setattr(patience, PATIENCE_S)  # a slow host is not what is tested here
    async with listening(deepgram) as one, listening(gladia) as two:
        plan = plan_in(folder, one, two, monkeypatch)
        with log.open("wb") as stderr:
            monkeypatch.setattr(
                "daemon.supervise.launch",
                lambda *given, **how: launch(*given, **how, stderr=stderr.fileno()),
            )
            wanted = replace(exporter_settings(plan, ""), log_format="json")
            exporting = await trio.to_thread.run_sync(start_exporter, wanted)
        try:
            yield Scene(deepgram, gladia, plan, exporting, log)
        finally:
            exporting.stop()


def in_real_time(story: Callable[[], Awaitable[None]]) -> None:
    """Run it on the clock of this host, as the program does."""

    async def within() -> None:
        with trio.fail_after(PATIENCE_S):
            await story()

    trio.run(within, clock=HostClock())


def children_of(pid: int, what: str) -> list[int]:
    """The processes that ``pid`` has started to run ``what``."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and what.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
    return found


def is_running(pid: int) -> bool:
    """It has neither ended nor does it only wait to be noticed."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"
