"""The exporter process: ``python -m exporters FD FD``, started by exporters/process.py alone.

The first is the socket of the main process, the second the door for those that it lets in.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from exporters.door import Entrance
from exporters.health import Health
from exporters.inbox import Inbox
from exporters.intake import Conclude, Intake
from exporters.journal import About, Clock, Journal, Limits
from exporters.live import LiveView, LiveWriter, View
from exporters.logs import LineWriter, Log, goes_to_the_system_journal, style_for
from exporters.packets import Ready, in_words, said
from exporters.packing import unpack
from exporters.prometheus import Metrics
from exporters.recent import Recent
from exporters.recovery import recover_all
from exporters.reloading import Reloads
from exporters.retention import Keep
from exporters.routes import Sources, app_of
from exporters.settings import Settings, settings_of
from exporters.turn_view import turn_view
from exporters.web import Web
from exporters.web_config import WebConfigError
from exporters.web_protection import Protection, Say
from measure.records import SECOND
from measure.wire import Record

CLOCK = Clock(time.monotonic_ns, time.time_ns)
STDERR = 2
LOOK_MS = 10_000
"""How often it is looked whether whoever reads the settings is still there: they may take long."""


class CannotStart(Exception):
    """One line: what cannot be had, why, and what to change."""


def main(
    arguments: list[str],
    *,
    enrich: Callable[[Record], Record] | None = None,
    conclude: Conclude | None = None,
) -> int:
    """Run until the main process says goodbye or is gone; gives the exit code.

    ``enrich`` may add to each ``session_finished`` before it is written; ``conclude`` ends a
    session whose process died in the middle of it.
    """
    if len(arguments) != 2 or not all(argument.isdigit() for argument in arguments):
        sys.stderr.write("exporters: this process is started by speechbench, not by hand\n")
        return 2
    _step_back()
    ours, door = (socket.socket(fileno=int(argument)) for argument in arguments)
    with ours, door:
        inbox = Inbox(ours)
        settings = _settings(inbox)
        if settings is None:
            return 1  # the measuring process is gone already
        try:
            _export(inbox, Entrance(door), settings, enrich, conclude)
        except CannotStart as error:
            inbox.say(said("failed", str(error)))
            return 1
    return 0


def _step_back() -> None:
    """Leave the processor to the measuring process, and signals too: our end is its end."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    try:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.nice(5)
    except PermissionError:
        pass  # a sandbox may forbid even this; then things stay as they are


def _settings(inbox: Inbox) -> Settings | None:
    """The first record; None where nobody is there any more."""
    while not inbox.ended:
        inbox.wait(LOOK_MS)
        for arrived in inbox.take(1):
            if isinstance(arrived, bytes):
                return settings_of(unpack(arrived))
    return None


def _export(
    inbox: Inbox,
    entrance: Entrance,
    settings: Settings,
    enrich: Callable[[Record], Record] | None,
    conclude: Conclude | None,
) -> None:
    """Open everything, say so, and take records to the end. Raises CannotStart."""
    stderr = LineWriter(STDERR)
    live = _view(stderr, settings)
    writer = stderr if live is None else LiveWriter(live)
    metrics = Metrics(settings.streams, settings.schedules, settings.build, settings.models)
    health = Health(CLOCK.mono_ns)
    recent = Recent(settings.version, socket.gethostname())
    log = _log(writer, settings)
    directory = _directory(settings)
    reloads = Reloads(lambda: inbox.say(said("reload")))
    intake: Intake

    def say(level: str, event: str, **fields: object) -> None:
        intake.say(level, event, **fields)

    protection = _protection(settings, say)
    journal = Journal(
        directory,
        About(socket.gethostname(), _boot_id(), settings.version, settings.config_sha256),
        CLOCK,
        say,
        limits=_limits(settings),
        keep=_keep(settings),
        synced=metrics.journal_synced,
    )
    intake = Intake(
        inbox,
        journal,
        metrics,
        log,
        health,
        CLOCK,
        1,
        entrance=entrance,
        enrich=enrich,
        conclude=conclude,
        live=live,
        watchers=(recent.take, reloads.take, protection.take),
    )
    reload = reloads.ask if settings.web.lifecycle else None
    sources = Sources(metrics.registry, health, recent, time.time, reload)
    web = _web(settings, sources, protection)
    try:
        recovered = recover_all(directory, intake.say)
        _open(journal, directory)
        for found in recovered:
            if found.damage is not None:
                intake.note(
                    "warning",
                    "journal_tail_truncated",
                    path=str(found.path or found.torn),
                    good_bytes=found.good_bytes,
                    dropped_bytes=found.dropped_bytes,
                    reason=found.damage,
                )
        address = None if web is None else web.address
        if address is not None:
            intake.say("info", "metrics_listening", address=address)
        inbox.say(in_words("ready", Ready(str(journal.path), address, len(recovered))))
        intake.run()
    finally:
        if web is not None:
            web.close()
        writer.close()
        stderr.close()


def _view(stderr: LineWriter, settings: Settings) -> View | None:
    match settings.live:
        case "rounds":
            return LiveView(Console(stderr=True))
        case "turns":
            terminal = os.isatty(STDERR)
            return turn_view(stderr, terminal=terminal, encoding=sys.stderr.encoding)
    return None


def _log(writer: LineWriter | LiveWriter, settings: Settings) -> Log:
    terminal = os.isatty(STDERR)
    watched = settings.live != "off"
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") in (None, "dumb")
    return Log(
        writer,
        CLOCK,
        style=style_for(settings.log_format, terminal=terminal or watched),
        level="error" if watched else settings.log_level,
        transcripts=settings.log_transcripts,
        priorities=goes_to_the_system_journal(STDERR, os.environ.get("JOURNAL_STREAM")),
        colors=terminal and not plain,
    )


def _limits(settings: Settings) -> Limits:
    return Limits(
        settings.segment_bytes,
        int(settings.segment_s * SECOND),
        reserve_bytes=settings.reserve_bytes,
    )


def _keep(settings: Settings) -> Keep:
    age_s = settings.keep_age_s
    return Keep(None if age_s is None else int(age_s * SECOND), settings.keep_bytes)


def _directory(settings: Settings) -> Path:
    directory = Path(settings.journal_directory)
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(
            f"journal: cannot create the directory {directory}: {error.strerror}; "
            "give another one, or let this user write there"
        ) from error
    return directory


def _open(journal: Journal, directory: Path) -> None:
    try:
        journal.open()
    except OSError as error:
        raise CannotStart(
            f"journal: cannot write in {directory}: {error.strerror or error}; "
            "give another directory, or let this user write there"
        ) from error


def _web(settings: Settings, sources: Sources, protection: Protection) -> Web | None:
    """The pages. Raises CannotStart where address or port cannot be had."""
    if not _serves(settings):
        return None
    app = app_of(replace(sources, protection=protection))
    try:
        return Web(_listen(settings), app, protection.context)
    except OSError as error:
        where = "the socket" if settings.listen is None else "{} port {}".format(*settings.listen)
        raise CannotStart(
            f"metrics: cannot listen on {where}: {error.strerror or error}; "
            "give another address or port (0: any that is free), or end what has it"
        ) from error


def _listen(settings: Settings) -> tuple[str, int] | socket.socket:
    fd = settings.web.listen_fd
    if fd is not None:
        return socket.socket(fileno=fd)
    assert settings.listen is not None, "it was looked at before"
    return settings.listen


def _serves(settings: Settings) -> bool:
    return settings.listen is not None or settings.web.listen_fd is not None


def _protection(settings: Settings, say: Say) -> Protection:
    """Who may look. Raises CannotStart where the file has mistakes."""
    file = settings.web.config_file
    try:
        return Protection(None if file is None or not _serves(settings) else Path(file), say)
    except WebConfigError as error:
        raise CannotStart(f"web: {error}") from error


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None  # a sandbox may hide it; then segments are placed by the wall clock alone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
