"""Starts what a process needs for its measurements, and ends it again whatever happens.

    exporter process <── records ── this process ── paced audio ──> providers
                                        │  starts, where one is wanted:
                                        └──────────────────────────> built-in recogniser

Order of starting: exporter (so that nothing goes unrecorded), recognisers, pacer and watchman.
Order of ending: the other way round; the last thing is to wait until everything is on the disk.
"""

import hashlib
import os
import platform
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

import trio

from daemon.clock import now_ns, wall_ns
from daemon.config import DEFAULT_SCHEDULE
from daemon.errors import UserError
from daemon.host_setup import (
    SWITCH_INTERVAL_S,
    HostSetup,
    collect_when_idle,
    prepare_process,
)
from daemon.link import Opener, TcpDialer
from daemon.local.spawn import local_server
from daemon.order import Bench
from daemon.plan import Plan, Target
from daemon.sentinel import Sentinel, sentinel
from daemon.watchman import HostWatchman
from exporters.handoff import Handoff, Losses
from exporters.packets import Ready
from exporters.process import Exporter, ExporterError, launch
from exporters.settings import Settings as ExporterSettings
from exporters.settings import Stream, WebOptions
from measure.records import SECOND
from measure.wire import Record
from pacer.clock import Sleeper, TimerSleeper, best_sleeper
from pacer.pace import Pacer
from providers import CATALOG
from scoring.normalize import NORMALIZERS
from vad.silero import STEP_MODEL

HEARTBEAT_S = 1.0
DRAIN_S = 0.1
STOP_S = 1.0
"""How long the exporter process may take to confirm that everything is on the disk."""


class Records:
    """Where one process puts its records."""

    def __init__(self, handoff: Handoff, worker: str | None = None) -> None:
        self.handoff = handoff
        self.worker = worker
        """The name of this process where several measure; None: it is the main one."""

    @property
    def losses(self) -> Losses:
        """What of the records is known not to be on the disk."""
        return self.handoff.losses

    def put(self, record: Record) -> None:
        """Give one record away. What belongs to no session says which worker it is from."""
        ours = self.worker is None or "s" in record
        self.handoff.put(record if ours else {**record, "worker": self.worker})

    def log(self, level: str, event: str, **fields: object) -> None:
        """One line of the log, written by the exporter process."""
        if self.worker is not None:
            fields["worker"] = self.worker
        record = {"k": "log", "t": now_ns(), "level": level, "event": event, "fields": fields}
        self.handoff.put(record)


class Recording(Records):
    """The exporter process, and what is known of it once it has ended."""

    def __init__(self, exporter: Exporter, ready: Ready) -> None:
        super().__init__(exporter.handoff)
        self._exporter = exporter
        self._elsewhere = Losses()
        self.ready = ready
        self.confirmed: bool | None = None
        """Everything is on the disk; None while it is still running."""

    @property
    def losses(self) -> Losses:
        """What of the records, those of workers included, is known not to be on the disk."""
        return self.handoff.losses + self._elsewhere

    def admit(self, name: str) -> socket.socket:
        """The socket on which a worker hands its records over."""
        return self._exporter.admit(name)

    def note_losses(self, losses: Losses) -> None:
        """A worker has lost these."""
        self._elsewhere += losses

    def stop(self) -> None:
        """Wait, but not for long, until everything is on the disk."""
        self.confirmed = self._exporter.stop(STOP_S) and not self.losses.total


def exporter_settings(
    plan: Plan, listen: str, *, live: bool = False, web: WebOptions | None = None
) -> ExporterSettings:
    """What the exporter process is told: where to write, and which series there will be."""
    settings = plan.settings
    host, _, port = listen.rpartition(":")
    return ExporterSettings(
        journal_directory=str(settings.journal.directory.absolute()),
        segment_bytes=settings.journal.segment_bytes,
        segment_s=settings.journal.segment_hours * 3600,
        reserve_bytes=settings.journal.reserve_bytes,
        keep_age_s=_seconds_of(settings.journal.max_age_days),
        keep_bytes=settings.journal.max_bytes,
        listen=(host.strip("[]"), int(port)) if listen else None,
        web=web or WebOptions(),
        log_format=settings.log.format,
        log_level=settings.log.level,
        version=version("speechbench"),
        config_sha256=hashlib.sha256(settings.model_dump_json().encode()).hexdigest(),
        streams=tuple(streams_of(plan)),
        schedules=tuple(one.name for one in settings.schedule) or (DEFAULT_SCHEDULE,),
        build=_build(),
        models=tuple(model_labels(target) for target in plan.targets),
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
async def bench(recording: Records) -> AsyncIterator[Bench]:
    """Pacer, watchman and links, running in the background."""
    setup = prepare_process()
    sleeper = best_sleeper()
    recording.put(_host_record(setup, sleeper))
    pacer = Pacer(sleeper, now_ns)
    watchman = HostWatchman(now_ns, wall_ns)
    opener = Opener(TcpDialer(now_ns, wall_ns), now_ns)
    try:
        async with sentinel() as host, trio.open_nursery() as background:
            host.told = watchman.host_stalled
            background.start_soon(pacer.run)
            background.start_soon(watchman.run)
            background.start_soon(_report, recording, lambda: _signs(watchman, host))
            yield Bench(pacer, opener, recording, watchman, now_ns, wall_ns)
            background.cancel_scope.cancel()
    finally:
        if isinstance(sleeper, TimerSleeper):
            sleeper.close()


@asynccontextmanager
async def supervision(recording: Recording) -> AsyncIterator[None]:
    """What the main process does beside measuring, for as long as others measure for it."""
    async with trio.open_nursery() as background:
        background.start_soon(_report, recording, dict)
        yield
        background.cancel_scope.cancel()


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


def _host_record(setup: HostSetup, sleeper: Sleeper) -> Record:
    """What this host allows, for the journal, the metrics and the log."""
    return {
        "k": "host_prepared",
        "t": now_ns(),
        "real_time": setup.real_time,
        "memory_locked": setup.memory_locked,
        "precise_timer": sleeper.exact,
        "timer_slack_ns": setup.timer_slack_ns,
        "switch_interval_s": SWITCH_INTERVAL_S,
        "frozen_objects": setup.frozen_objects,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "refused": [str(refusal) for refusal in setup.refusals],
    }


async def _report(recording: Records, signs: Callable[[], Record]) -> None:
    """Keep the hand-off flowing, and tell the exporter once a second that we are well."""
    next_beat_ns = 0
    was_alive = True
    while True:
        recording.handoff.drain()
        if was_alive and not recording.handoff.alive:
            was_alive = False
            _complain(recording)
        if now_ns() >= next_beat_ns:
            next_beat_ns = now_ns() + int(HEARTBEAT_S * SECOND)
            waiting = recording.handoff.waiting
            beat = {"k": "heartbeat", "t": now_ns(), "ready": True, "waiting": waiting}
            recording.put({**beat, **signs()})
        await trio.sleep(DRAIN_S)


def _signs(watchman: HostWatchman, host: Sentinel) -> Record:
    """How well this process and its host have been since the last sign of life."""
    seen = host.take()
    collect_when_idle(idle=watchman.idle)
    return {
        "loop_lag_ns": watchman.take_lags_ns(),
        "host_late_p99_ns": seen.late_p99_ns,
        "host_late_max_ns": seen.late_max_ns,
    }


def _complain(recording: Records) -> None:
    if recording.worker is None:  # one process says it for all
        sys.stderr.write(
            "speechbench: the exporter process has ended; measuring goes on, "
            "but nothing more is recorded\n"
        )


def _seconds_of(days: float | None) -> float | None:
    return None if days is None else days * 86_400


def streams_of(plan: Plan) -> Iterable[Stream]:
    """Everything that has series of its own in the metrics."""
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


def model_labels(target: Target) -> dict[str, str]:
    """The labels of ``model_info``."""
    facts = CATALOG[target.name].make(target.options).facts
    return {
        "provider": target.name.partition("/")[0],
        "model": target.name,
        "api_version": "",
        "force_endpoint": target.rule.final_rule.value,
        "chunk_ms": str(facts.audio.chunk_ms),
    }
