"""Starts what a process needs for its measurements, and ends it again whatever happens.

    exporter process <── records ── this process ── paced audio ──> providers
                                        │  starts, where one is wanted:
                                        └──────────────────────────> built-in recogniser

Order of starting: exporter (so that nothing goes unrecorded), recognisers, pacer and watchman.
Order of ending: the other way round; the last thing is to wait until everything is on the disk.
"""

import gc
import hashlib
import os
import platform
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

import trio

from daemon.clock import now_ns, wall_ns
from daemon.errors import UserError
from daemon.link import Opener, TcpDialer
from daemon.local.spawn import local_server
from daemon.order import Bench
from daemon.plan import Plan, Target
from daemon.watchman import HostWatchman
from exporters.handoff import Handoff, Losses
from exporters.packets import Ready
from exporters.process import Exporter, ExporterError, launch
from exporters.settings import Settings as ExporterSettings
from exporters.settings import Stream
from measure.records import SECOND
from measure.wire import Record
from pacer.clock import TimerSleeper, best_sleeper
from pacer.pace import Pacer
from providers import CATALOG
from scoring.normalize import NORMALIZERS
from vad.silero import STEP_MODEL

SWITCH_INTERVAL_S = 0.0002
"""Another thread of this process gives the interpreter back within this time, not within 5 ms."""
REAL_TIME_PRIORITY = 10
HEARTBEAT_S = 1.0
DRAIN_S = 0.1
STOP_S = 1.0
"""How long the exporter process may take to confirm that everything is on the disk."""


class Recording:
    """The exporter process, and what is known of it once it has ended."""

    def __init__(self, exporter: Exporter, ready: Ready) -> None:
        self._exporter = exporter
        self.ready = ready
        self.confirmed: bool | None = None
        """Everything is on the disk; None while it is still running."""

    @property
    def handoff(self) -> Handoff:
        return self._exporter.handoff

    @property
    def losses(self) -> Losses:
        return self.handoff.losses

    def put(self, record: Record) -> None:
        self.handoff.put(record)

    def log(self, level: str, event: str, **fields: object) -> None:
        """One line of the log, written by the exporter process."""
        self.put({"k": "log", "t": now_ns(), "level": level, "event": event, "fields": fields})

    def stop(self) -> None:
        """Wait, but not for long, until everything is on the disk."""
        self.confirmed = self._exporter.stop(STOP_S)


def exporter_settings(plan: Plan, listen: str, *, live: bool = False) -> ExporterSettings:
    """What the exporter process is told: where to write, and which series there will be."""
    settings = plan.settings
    host, _, port = listen.rpartition(":")
    return ExporterSettings(
        journal_directory=str(settings.journal.directory.absolute()),
        listen=(host.strip("[]"), int(port)) if listen else None,
        log_format=settings.log.format,
        log_level=settings.log.level,
        version=version("speechbench"),
        config_sha256=hashlib.sha256(settings.model_dump_json().encode()).hexdigest(),
        streams=tuple(_streams(plan)),
        schedules=("interval",),
        build=_build(),
        models=tuple(_model_labels(target) for target in plan.targets),
        live=live,
    )


def start_exporter(settings: ExporterSettings) -> Recording:
    """Start the exporter process and wait until it works. Raises UserError."""
    exporter = launch(settings, module="daemon.exporter")
    try:
        ready = exporter.wait_ready()
    except ExporterError as error:
        raise UserError(str(error)) from error
    return Recording(exporter, ready)


@asynccontextmanager
async def bench(recording: Recording) -> AsyncIterator[Bench]:
    """Pacer, watchman and links, running in the background."""
    _prepare_process()
    recording.log("info", "scheduling_chosen", policy="fifo" if _take_precedence() else "other")
    sleeper = best_sleeper()
    pacer = Pacer(sleeper, now_ns)
    watchman = HostWatchman(now_ns, wall_ns)
    opener = Opener(TcpDialer(now_ns, wall_ns), now_ns)
    try:
        async with trio.open_nursery() as background:
            background.start_soon(pacer.run)
            background.start_soon(watchman.run)
            background.start_soon(_report, recording, watchman)
            yield Bench(pacer, opener, recording, watchman, now_ns, wall_ns)
            background.cancel_scope.cancel()
    finally:
        if isinstance(sleeper, TimerSleeper):
            sleeper.close()


@asynccontextmanager
async def local_engines(targets: Iterable[Target]) -> AsyncIterator[tuple[Target, ...]]:
    """The targets with the addresses of recognisers that were started for them. Raises UserError.

    Each engine is started once, however many targets want it, and ends with this context.
    """
    wanted = tuple(targets)
    addresses: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        for target in wanted:
            if target.engine is not None and target.engine not in addresses:
                address = await stack.enter_async_context(local_server(target.engine))
                addresses[target.engine] = address
        yield tuple(
            target if target.engine is None else target.at(addresses[target.engine])
            for target in wanted
        )


def _prepare_process() -> None:
    """What the program has loaded is never looked at by the collector again: that saves 20 ms."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()


def _take_precedence() -> bool:
    """Ask to run before everything ordinary, for this thread alone; False where that is forbidden.

    On a busy host of two cores it is worth a factor of ten at the 99th percentile of lateness.
    Children and other threads start as ordinary ones, and the kernel keeps a share for the rest.
    """
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(REAL_TIME_PRIORITY))
    except (AttributeError, OSError):
        return False
    return True


async def _report(recording: Recording, watchman: HostWatchman) -> None:
    """Keep the hand-off flowing, and tell the exporter once a second that we are well."""
    next_beat_ns = 0
    was_alive = True
    while True:
        recording.handoff.drain()
        if was_alive and not recording.handoff.alive:
            was_alive = False
            sys.stderr.write(
                "speechbench: the exporter process has ended; measuring goes on, "
                "but nothing more is recorded\n"
            )
        if now_ns() >= next_beat_ns:
            next_beat_ns = now_ns() + int(HEARTBEAT_S * SECOND)
            recording.put(
                {
                    "k": "heartbeat",
                    "t": now_ns(),
                    "ready": True,
                    "loop_lag_ns": watchman.take_lags_ns(),
                    "waiting": recording.handoff.waiting,
                }
            )
        await trio.sleep(DRAIN_S)


def _streams(plan: Plan) -> Iterable[Stream]:
    for target in plan.targets:
        provider = target.name.partition("/")[0]
        for corpus in plan.corpora:
            yield Stream(provider, target.name, corpus, target.rule.flow.value)


def _build() -> dict[str, str]:
    normalizer = NORMALIZERS["speechbench"]
    return {
        "version": version("speechbench"),
        "revision": os.environ.get("SPEECHBENCH_REVISION", ""),
        "python": platform.python_version(),
        "onnxruntime": version("onnxruntime"),
        "silero_model": STEP_MODEL.sha256[:8],
        "normalizer": f"{normalizer.name} {normalizer.version}",
    }


def _model_labels(target: Target) -> dict[str, str]:
    facts = CATALOG[target.name].make(target.options).facts
    return {
        "provider": target.name.partition("/")[0],
        "model": target.name,
        "api_version": "",
        "force_endpoint": target.rule.final_rule.value,
        "chunk_ms": str(facts.audio.chunk_ms),
    }
