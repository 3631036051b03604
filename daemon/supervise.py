"""Starts what a process needs for its measurements, and ends it again whatever happens.

    exporter process <── records ── this process ── paced audio ──> providers
                                        │  starts, where one is wanted:
                                        └──────────────────────────> built-in recogniser

Order of starting: exporter (so that nothing goes unrecorded), recognisers, pacer and watchman.
Order of ending: the other way round; the last thing is to wait until everything is on the disk.
"""

import os
import platform
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import trio

from daemon.any_opener import AnyOpener
from daemon.clock import host_now_ns, now_ns, wall_ns
from daemon.errors import UserError
from daemon.grpc_link import GrpcOpener
from daemon.host_setup import (
    SWITCH_INTERVAL_S,
    HostSetup,
    collect_when_idle,
    prepare_process,
)
from daemon.link import Opener, TcpDialer
from daemon.local.spawn import local_server
from daemon.order import Bench
from daemon.plan import Target
from daemon.sentinel import Sentinel, sentinel
from daemon.tcp_link import TcpOpener
from daemon.watchman import HostWatchman
from exporters.handoff import Handoff, Losses
from exporters.packets import Ready, Report
from exporters.process import Exporter, ExporterError, launch
from exporters.settings import Settings as ExporterSettings
from measure.records import SECOND
from measure.wire import Record
from pacer.clock import Sleeper, TimerSleeper, best_sleeper
from pacer.pace import Pacer
from providers.codec import Transport

HEARTBEAT_S = 1.0
DRAIN_S = 0.1
STOP_S = 1.0
"""How long the exporter process may take to confirm that everything is on the disk."""
LOOK_S = 0.05
"""How often it is looked whether the exporter process is still there."""
READY_S = 10.0
"""How long a new exporter process may take until it works."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
"""Between two attempts to start it again."""
LASTING = frozenset({"host_prepared", "configured", "spending", "agenda", "selftest"})
"""The newest record of each of these kinds is told to every new exporter process."""


class Records:
    """Where one process puts its records."""

    def __init__(self, handoff: Handoff, worker: str | None = None) -> None:
        self.handoff = handoff
        self.replaced = False
        """Another exporter process takes the place of one that has ended."""
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

    def __init__(
        self, exporter: Exporter, ready: Ready, settings: ExporterSettings | None = None
    ) -> None:
        """``settings``: what another one would be started with; None: there is no other."""
        super().__init__(exporter.handoff)
        self._exporter = exporter
        self._settings = settings
        self._elsewhere = Losses()
        self._told = Losses()
        self._received_before = 0
        self._lasting: dict[tuple[str, bool], Record] = {}
        self.ready = ready
        self.restarting = False
        """The exporter process has ended, and the next one does not work yet."""
        self.confirmed: bool | None = None
        """Everything is on the disk; None while it is still running."""

    def put(self, record: Record) -> None:
        """Give one record away, and remember it where the next exporter process needs it."""
        kind = record.get("k")
        if kind in LASTING:
            self._lasting[str(kind), bool(record.get("successful", True))] = record
        super().put(record)

    @property
    def alive(self) -> bool:
        """There is an exporter process, or there will be one."""
        return self.handoff.alive or self.restarting

    @property
    def report(self) -> Report:
        """The newest that the exporter process has said of itself."""
        return self.handoff.report

    @property
    def hindrance(self) -> str | None:
        """Why nothing can be recorded now, besides a full journal; None where it can."""
        return "exporter_gone" if self.restarting else None

    @property
    def received(self) -> int:
        """Records that this process knows to be durable; it never falls."""
        return self._received_before + self.handoff.report.received

    @property
    def exporter_pid(self) -> int:
        """Of the exporter process that there is now."""
        return self._exporter.pid

    @property
    def losses(self) -> Losses:
        """What of the records, those of workers included, is known not to be on the disk."""
        return self.handoff.losses + self._elsewhere + self._told

    def admit(self, name: str) -> socket.socket:
        """The socket on which a worker hands its records over."""
        return self._exporter.admit(name)

    def note_losses(self, losses: Losses) -> None:
        """A worker has lost these."""
        self._elsewhere += losses

    def stop(self) -> None:
        """Wait, but not for long, until everything is on the disk."""
        untold = self.handoff.losses + self._elsewhere
        self.confirmed = self._exporter.stop(STOP_S) and not untold.total

    async def keep_recording(self) -> None:
        """Start the exporter process again whenever it has ended, for ever."""
        self.replaced = True
        while True:
            while self.handoff.alive:  # noqa: ASYNC110  the kernel tells it with the next send
                await trio.sleep(LOOK_S)
            await self._start_again()

    async def _start_again(self) -> None:
        """Until one works; what was lost meanwhile is counted, recorded and said."""
        assert self._settings is not None, "only a process that goes on for long asks for this"
        ended_ns, attempts, lost = now_ns(), 0, 0
        self.restarting = True
        while True:
            refused = self.handoff.report.untold
            lost += self._replace(await trio.to_thread.run_sync(self._launch))
            self.put({"k": "records_lost", "t": now_ns(), "count": lost, "why": "exporter_gone"})
            if refused:  # the one that has ended was to tell of them once there was room
                told = {"k": "records_lost", "count": refused, "why": "journal_full"}
                self.put({**told, "t": now_ns()})
            if await self._works():
                break
            attempts += 1
            _say_unwell(self.handoff.failure, attempts)
            await trio.sleep(min(FIRST_PAUSE_S * 2 ** min(attempts - 1, 20), LONGEST_PAUSE_S))
        assert self.handoff.ready is not None, "it works"
        self.ready, self.restarting = self.handoff.ready, False
        took_ms = (now_ns() - ended_ns) / 1e6
        self.log("error", "exporter_restarted", records_lost=lost, took_ms=round(took_ms, 1))
        for record in list(self._lasting.values()):
            again = {"asked": 0} if record["k"] == "configured" else {}
            super().put({**record, "t": now_ns(), **again})

    def _launch(self) -> Exporter:
        """Another one, at the same address; in a thread."""
        assert self._settings is not None, "it was looked at before"
        self._exporter.kill()
        host, _, port = (self.ready.address or "").rpartition(":")
        listen = (host.strip("[]"), int(port)) if self._settings.listen and port else None
        return launch(replace(self._settings, listen=listen), module="daemon.exporter")

    def _replace(self, exporter: Exporter) -> int:
        """From now on it takes the records; how many are lost, as far as is known."""
        losses = self.handoff.losses
        self._told += losses
        self._received_before += self.handoff.report.received
        before, self._exporter = self._exporter, exporter
        self.handoff = exporter.handoff
        before.abandon()
        return losses.dropped + losses.unconfirmed

    async def _works(self) -> bool:
        """The new one is ready; False where it is not within ``READY_S``."""
        handoff = self.handoff
        with trio.move_on_after(READY_S):
            while handoff.alive and handoff.ready is None and handoff.failure is None:
                await trio.sleep(LOOK_S)
                handoff.drain()
        if handoff.ready is None:
            handoff.close()
        return handoff.ready is not None


def start_exporter(settings: ExporterSettings, begun: Exporter | None = None) -> Recording:
    """Start the exporter process and wait until it works. Raises UserError.

    ``begun``: one that has its settings already.
    """
    exporter = launch(settings, module="daemon.exporter") if begun is None else begun
    try:
        ready = exporter.wait_ready()
    except ExporterError as error:
        raise UserError(str(error)) from error
    return Recording(exporter, ready, settings)


@asynccontextmanager
async def bench(recording: Records) -> AsyncIterator[Bench]:
    """Pacer, watchman and links, running in the background."""
    setup = prepare_process()
    sleeper = best_sleeper()
    recording.put(_host_record(setup, sleeper))
    pacer = Pacer(sleeper, host_now_ns)
    watchman = HostWatchman(host_now_ns, wall_ns)
    opener = openers()
    try:
        async with sentinel() as host, trio.open_nursery() as background:
            host.told = watchman.host_stalled
            background.start_soon(pacer.run)
            background.start_soon(watchman.run)
            background.start_soon(_report, recording, lambda: _signs(watchman, host))
            yield Bench(pacer, opener, recording, watchman, host_now_ns, wall_ns)
            background.cancel_scope.cancel()
    finally:
        if isinstance(sleeper, TimerSleeper):
            sleeper.close()


def openers() -> AnyOpener:
    """How links are opened, over whatever a provider speaks."""
    dial = TcpDialer(host_now_ns, wall_ns)
    return AnyOpener(
        {
            Transport.WEBSOCKET: Opener(dial, host_now_ns),
            Transport.TCP: TcpOpener(dial, host_now_ns),
            Transport.GRPC: GrpcOpener(),
        }
    )


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
        if was_alive and not recording.handoff.alive and not recording.replaced:
            _complain(recording)
        was_alive = recording.handoff.alive
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


def _say_unwell(why: str | None, attempts: int) -> None:
    """The log is written by the process that does not start; so this line is plain."""
    if attempts == 1:
        sys.stderr.write(
            f"speechbench: the exporter process does not start again: {why or 'no reason given'}; "
            "it is tried again and again, and nothing is measured meanwhile\n"
        )
