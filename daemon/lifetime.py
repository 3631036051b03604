"""One life of the daemon: from its plan to the last record, with all that goes on beside measuring.

The command (daemon/commands/daemon.py) has started the exporter process when this is imported: the
two load at the same time.
"""

import argparse
import os
import signal
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import trio

from daemon.clock import now_ns, wall_ns
from daemon.config import JournalSection, Settings, settings_with
from daemon.duties import most_streams, require_work
from daemon.errors import UserError
from daemon.host_setup import give_back_memory
from daemon.notify import Notifier
from daemon.plan import Plan, configured_plan
from daemon.planner import planned_apart
from daemon.selftest.repeat import keep_tested
from daemon.service import Service, keep_alive_mark, leave_alive_mark
from daemon.small_file import replace_file
from daemon.supervise import Recording, bench, build_labels
from daemon.treasury import Treasury
from daemon.watchdog import feed_watchdog
from daemon.workers import shortfall, worker_count
from pacer.pace import Pacer

STATE = "STATE_DIRECTORY"
"""The variable in which systemd says where a service may keep what it has."""
JOURNAL = JournalSection().directory
ALIVE = "alive"
"""The file that holds when this program was last running."""


def plan_for(args: argparse.Namespace) -> Plan:
    """What is to be done, as the configuration says now. Raises UserError.

    What is known of the harness's own error is that of as many streams as there can be.
    """
    plan = configured_plan(args.config, os.environ, partial(_overruled, args=args))
    require_work(plan)
    give_back_memory()
    return replace(plan, known_error=replace(plan.known_error, streams=most_streams(plan)))


def in_one_line(group: ExceptionGroup[Exception]) -> Exception:
    """What a person can mend, such as a recogniser that does not start; else all of it."""
    mine, others = group.split(UserError)
    if mine is None or others is not None:
        return group
    first: BaseException = mine
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    assert isinstance(first, UserError), "only these were split off"
    return first


def _overruled(settings: Settings, *, args: argparse.Namespace) -> Settings:
    """The settings with what stands on the command line. Raises UserError."""
    changes: dict[str, dict[str, object]] = {"web": {}, "log": {}, "journal": {}}
    state = os.environ.get(STATE)
    if state and settings.journal.directory == _beside(args.config):
        changes["journal"]["directory"] = Path(state.partition(":")[0]) / JOURNAL
    for section, name, value in (
        ("web", "listen", args.listen),
        ("log", "level", args.log_level),
        ("log", "format", args.log_format),
    ):
        if value is not None:
            changes[section][name] = value
    return settings_with(settings, changes)


def _beside(config: Path | None) -> Path:
    """Where the journal is where nobody has said anything else."""
    return JOURNAL if config is None else config.parent / JOURNAL


async def measure(args: argparse.Namespace, plan: Plan, recording: Recording) -> None:
    """Measure on schedule until a signal ends it, with all that goes on beside that."""
    directory = plan.settings.journal.directory.absolute()
    notifier = Notifier(os.environ)
    treasury = Treasury(directory, recording.log)
    path = str(args.config or "built-in")
    service = Service(partial(planned_apart, args), path, recording, notifier, treasury)
    missed_since_ns = _last_alive(directory / ALIVE)
    build = {**build_labels(), "config_path": path}
    recording.put({"k": "process_started", "t": now_ns(), **build})
    async with bench(recording) as ours, trio.open_nursery() as beside:
        await beside.start(_heed_signals, service, beside.cancel_scope, recording)
        beside.start_soon(recording.keep_recording)
        beside.start_soon(service.reload_when_wanted)
        beside.start_soon(service.tell_when_recordable)
        beside.start_soon(service.tell_agenda)
        beside.start_soon(keep_alive_mark, directory / ALIVE, replace_file)
        beside.start_soon(keep_tested, plan.known_error, service.quiet(), recording, now_ns)
        beside.start_soon(_feed, notifier, ours.pacer, recording)
        _tell_ready(plan, recording)
        await service.live(plan, ours, missed_since_ns)
        beside.cancel_scope.cancel()
    leave_alive_mark(directory / ALIVE, replace_file)


def _tell_ready(plan: Plan, recording: Recording) -> None:
    if (fewer := shortfall(plan)) is not None:
        recording.log("warning", "workers_reduced", reason=fewer)
    recording.log(
        "info",
        "process_ready",
        version=version("speechbench"),
        models=[target.name for target in plan.targets],
        clips=len(plan.recordings),
        workers=worker_count(plan),
        schedules=[one.name for one in plan.settings.schedule],
        listen=recording.ready.address,
        journal=recording.ready.journal,
    )


async def _feed(notifier: Notifier, pacer: Pacer, recording: Recording) -> None:
    def complain(reason: str) -> None:
        recording.log("error", "watchdog_withheld", reason=reason)

    await feed_watchdog(notifier, pacer, lambda: recording.received, complain=complain)


async def _heed_signals(
    service: Service,
    everything: trio.CancelScope,
    recording: Recording,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            if number == signal.SIGHUP:
                service.want_reload()
                continue
            recording.log("info", "shutdown_started", signal=signal.Signals(number).name)
            if number == signal.SIGTERM and not service.ending:
                service.drain()
                continue
            everything.cancel()
            return


def _last_alive(path: Path) -> int | None:
    """When an earlier run of this program was last alive, in nanoseconds since 1970."""
    try:
        at_ns = int(path.read_bytes())
    except (OSError, ValueError):
        return None
    return at_ns if 0 < at_ns <= wall_ns() else None
