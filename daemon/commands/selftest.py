"""``speechbench selftest``: how wrong this harness is on this host, in under a minute.

``--json`` gives the same as one document on standard output, and nothing else there: the stored
result, see daemon/selftest/result.py. It is kept as ``selftest.json`` beside the journal, goes into
the journal, and from then on into every signature. docs/selftest.md says how to read it.

Exit code: 0 if the host is fit or usable, 1 if it is unfit; 2 or 78 if it could not be tested.
"""

import argparse
import json
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import trio

from daemon.clock import HostClock
from daemon.config import read_settings
from daemon.selftest.host import conditions, fingerprint
from daemon.selftest.report import lines_of
from daemon.selftest.result import SelftestResult, plain
from daemon.selftest.state import save
from daemon.selftest.verdict import Fitness

HELP = "measure the harness's own error on this host"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings in TOML: where the journal is, and how many streams are measured at once",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="FOLDER",
        help="where the result is kept; default: the configured journal",
    )
    parser.add_argument(
        "--streams",
        type=_streams,
        metavar="N",
        help="how many streams at the same time the verdict is for; default: as configured",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--no-record", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Test, keep, show. Raises UserError."""
    # What measures takes a while to load: not before it is needed.
    from daemon.selftest.keeping import keep_in_journal

    settings = read_settings(args.config)
    directory = (args.journal or settings.journal.directory).expanduser().absolute()
    section = settings.daemon
    streams = args.streams or max(section.parallel * section.workers, section.jobs)
    result = trio.run(_tested, streams, clock=HostClock())
    if result is None:
        raise KeyboardInterrupt
    path = save(result, directory)
    if not args.no_record:
        keep_in_journal(result, directory)
    _show(result, path, as_json=args.json)
    return 1 if result.verdict is Fitness.UNFIT else 0


async def _tested(streams: int) -> SelftestResult | None:
    """The result; None where somebody ended the test before its time."""
    from daemon.selftest.whole import selftest

    result = None
    async with trio.open_nursery() as nursery:
        await nursery.start(_end_when_told, nursery.cancel_scope)
        result = await selftest(fingerprint(), conditions(), streams=streams, say=_say)
        nursery.cancel_scope.cancel()
    return result


async def _end_when_told(
    everything: trio.CancelScope,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            everything.cancel()
            return


def _show(result: SelftestResult, path: Path, *, as_json: bool) -> None:
    if as_json:
        _print([json.dumps(plain(result), ensure_ascii=False, indent=1)])
        return
    _print(lines_of(result))
    _print(["", f"Kept in {path}; signatures say it from now on."])


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)  # noqa: T201


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _streams(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError("it must be a whole number from 1 to 10000")
    return int(text)
