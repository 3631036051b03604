"""``speechbench daemon``: measures the configured models on schedule, for months.

Each run begins at its moment or is counted as missed, with the reason. SIGHUP takes the
configuration again; SIGTERM begins nothing more and lets the sessions that go on end; SIGINT, or a
second SIGTERM, breaks them off, within two seconds.
"""

import argparse
import os
import signal
import sys
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import trio

from daemon.clock import HostClock, now_ns, wall_ns
from daemon.config import JournalSection, Settings, settings_with
from daemon.duties import most_streams, require_work
from daemon.errors import UserError
from daemon.notify import Notifier
from daemon.plan import Plan, configured_plan
from daemon.selftest.repeat import keep_tested
from daemon.service import Service, keep_alive_mark, leave_alive_mark
from daemon.small_file import replace_file
from daemon.sockets import given_socket, is_given
from daemon.supervise import (
    Recording,
    bench,
    build_labels,
    exporter_settings,
    start_exporter,
)
from daemon.treasury import Treasury
from daemon.watchdog import feed_watchdog
from daemon.workers import shortfall, worker_count
from exporters.settings import WebOptions
from pacer.pace import Pacer

HELP = "measure on and on, for Prometheus, logs and journal"
UNRECORDED = 3
STATE = "STATE_DIRECTORY"
"""The variable in which systemd says where a service may keep what it has."""
JOURNAL = JournalSection().directory
ALIVE = "alive"
"""The file that holds when this program was last running."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen. The names are those that Prometheus's own programs use."""
    parser.add_argument(
        "--config.file",
        "--config",
        dest="config",
        type=Path,
        metavar="FILE",
        help="settings in TOML; without it: the built-in ones",
    )
    parser.add_argument(
        "--web.listen-address",
        dest="listen",
        metavar="HOST:PORT",
        help="where the pages are served; overrules [web] listen",
    )
    parser.add_argument(
        "--web.config.file",
        dest="web_config",
        type=Path,
        metavar="FILE",
        help="TLS and passwords for the pages, in Prometheus's format",
    )
    parser.add_argument(
        "--web.enable-lifecycle",
        dest="lifecycle",
        action="store_true",
        help="allow POST /-/reload",
    )
    parser.add_argument(
        "--web.systemd-socket",
        dest="systemd_socket",
        action="store_true",
        help="serve on the socket that systemd hands over, and on nothing else; "
        "without this: on such a socket where there is one",
    )
    parser.add_argument(
        "--log.level", dest="log_level", choices=("debug", "info", "warning", "error")
    )
    parser.add_argument("--log.format", dest="log_format", choices=("auto", "json", "console"))


def run(args: argparse.Namespace) -> int:
    """Measure until told to stop. Raises UserError."""
    plan = _plan(args)
    web = WebOptions(
        config_file=None if args.web_config is None else str(args.web_config.absolute()),
        lifecycle=args.lifecycle,
        listen_fd=given_socket(os.environ) if args.systemd_socket or is_given(os.environ) else None,
    )
    listen = plan.settings.web.listen if web.listen_fd is None else ""
    recording = start_exporter(exporter_settings(plan, listen, web=web))
    try:
        trio.run(_measure, args, plan, recording, clock=HostClock())
    except ExceptionGroup as group:
        raise _in_one_line(group) from group
    finally:
        recording.stop()
    if not recording.confirmed:
        sys.stderr.write(f"speechbench: not all is in the journal: {recording.losses}\n")
        return UNRECORDED
    return 0


def _plan(args: argparse.Namespace) -> Plan:
    """What is to be done, as the configuration says now. Raises UserError.

    What is known of the harness's own error is that of as many streams as there can be.
    """
    plan = configured_plan(args.config, os.environ, partial(_overruled, args=args))
    require_work(plan)
    return replace(plan, known_error=replace(plan.known_error, streams=most_streams(plan)))


def _in_one_line(group: ExceptionGroup[Exception]) -> Exception:
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


async def _measure(args: argparse.Namespace, plan: Plan, recording: Recording) -> None:
    directory = plan.settings.journal.directory.absolute()
    notifier = Notifier(os.environ)
    treasury = Treasury(directory, recording.log)
    path = str(args.config or "built-in")
    service = Service(partial(_plan, args), path, recording, notifier, treasury)
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
