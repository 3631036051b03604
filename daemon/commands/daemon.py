"""``speechbench daemon``: measures the configured models on schedule, for months.

Each run begins at its moment or is counted as missed, with the reason. SIGHUP takes the
configuration again; SIGTERM begins nothing more and lets the sessions that go on end; SIGINT, or a
second SIGTERM, breaks them off, within two seconds.
"""

import argparse
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from daemon.sockets import given_socket, is_given
from exporters.process import Exporter, begin
from exporters.settings import WebOptions

HELP = "measure on and on, for Prometheus, logs and journal"
UNRECORDED = 3


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
    web = WebOptions(
        config_file=None if args.web_config is None else str(args.web_config.absolute()),
        lifecycle=args.lifecycle,
        listen_fd=given_socket(os.environ) if args.systemd_socket or is_given(os.environ) else None,
    )
    with _begun(web) as exporter:
        return _measure(args, web, exporter)


@contextmanager
def _begun(web: WebOptions) -> Iterator[Exporter]:
    """An exporter process that loads while this one does; it is ended where nothing comes of it."""
    exporter = begin(web.listen_fd, module="daemon.exporter")
    try:
        yield exporter
    except BaseException:
        exporter.kill()
        exporter.abandon()
        raise


@contextmanager
def _uncollected() -> Iterator[None]:
    """What is loaded meanwhile stays for good: nobody looks for garbage in it, now or later.

    There is a megabyte of it; to find that would take a tenth of the whole start.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _measure(args: argparse.Namespace, web: WebOptions, exporter: Exporter) -> int:
    with _uncollected():
        # Most of what this program is made of is loaded here, while the exporter process starts:
        # first what a plan needs; then what measures, while that process prepares for the plan.
        from daemon.exporter_settings import exporter_settings
        from daemon.lifetime_plan import plan_for

        plan = plan_for(args)
        listen = plan.settings.web.listen if web.listen_fd is None else ""
        settings = exporter_settings(plan, listen, web=web)
        exporter.handoff.put(settings.record())

        import trio

        from daemon.clock import HostClock
        from daemon.lifetime import in_one_line, measure
        from daemon.supervise import start_exporter

    recording = start_exporter(settings, exporter)
    try:
        trio.run(measure, args, plan, recording, clock=HostClock())
    except ExceptionGroup as group:
        raise in_one_line(group) from group
    finally:
        recording.stop()
    if not recording.confirmed:
        sys.stderr.write(f"speechbench: not all is in the journal: {recording.losses}\n")
        return UNRECORDED
    return 0
