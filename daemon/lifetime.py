"""One life of the daemon: from its plan to the last record, with all that goes on beside measuring.

The command (daemon/commands/daemon.py) has planned when this is loaded, and the exporter process
prepares for the plan meanwhile.
"""

import argparse
import os
import signal
from functools import partial
from importlib.metadata import version
from pathlib import Path

import trio

from daemon.clock import now_ns, wall_ns
from daemon.errors import UserError
from daemon.exporter_settings import build_labels
from daemon.notify import Notifier
from daemon.plan import Plan
from daemon.planner import planned_apart
from daemon.selftest.repeat import keep_tested
from daemon.service import Service, keep_alive_mark, leave_alive_mark
from daemon.small_file import replace_file
from daemon.supervise import Recording, bench
from daemon.treasury import Treasury
from daemon.watchdog import feed_watchdog
from daemon.workers import shortfall, worker_count
from pacer.pace import Pacer

ALIVE = "alive"
"""The file that holds when this program was last running."""


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
