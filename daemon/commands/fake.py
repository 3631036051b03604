"""``speechbench fake``: a provider on this host that does as a script says, to test clients.

It prints its address when it is ready and serves until a signal, or until so many connections are
over. docs/fake.md says what a script can hold.
"""

import argparse
import json
import os
import signal
import ssl
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

import trio

from daemon.clock import HostClock
from daemon.errors import UserError
from daemon.fakes import FAKES
from daemon.fakes.diary import Diary
from daemon.fakes.file import FakeFile, read_script
from daemon.fakes.server import serve

HELP = "be a provider on this host that does as a script says, to test clients"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "--script", type=Path, metavar="FILE", help="TOML or JSON; without it: no faults"
    )
    parser.add_argument(
        "--provider",
        choices=tuple(FAKES),
        default="deepgram",
        help="whom to speak as, where no script says so; default: %(default)s",
    )
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument(
        "--port", type=_number(0, 65_535), default=0, help="default: any that is free"
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="every message with its moment, as JSON lines"
    )
    parser.add_argument("--json", action="store_true", help="say as JSON where it is")
    parser.add_argument(
        "--connections",
        type=_number(1, 1_000_000),
        metavar="N",
        help="end after so many connections; default: only at a signal",
    )
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="speak TLS: its certificate")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="and the key, both as PEM")
    parser.add_argument(
        "--check", action="store_true", help="only look the script over; exit code 0 or 78"
    )


def run(args: argparse.Namespace) -> int:
    """Serve. Raises UserError."""
    asked = read_script(args.script, args.provider)
    if args.check:
        print(f"provider {asked.provider}, faults: {_faults(asked)}")  # noqa: T201
        return 0
    tls = _tls(args.tls_cert, args.tls_key)
    fake = asked.fake()
    fake.keeps = False
    with ExitStack() as stack:
        log = stack.enter_context(_written(args.log)) if args.log else None
        diary = Diary(sys.stderr, log, args.connections)
        fake.tell = diary
        starting = partial(serve, fake, host=args.host, port=args.port, tls=tls)
        ready = partial(_say_ready, asked, as_json=args.json)
        failure = trio.run(_serve, starting, diary, ready, clock=HostClock())
        if failure is not None:
            why = failure.strerror or str(failure)
            raise UserError(f"cannot listen on {args.host} port {args.port}: {why}")
        if diary.failure is not None:
            raise UserError(f"{args.log}: cannot be written: {diary.failure.strerror}")
    return 0


async def _serve(
    starting: Callable[..., Awaitable[object]], diary: Diary, ready: Callable[[str], None]
) -> OSError | None:
    """Serve until a signal comes or the diary is over; why not, where that cannot be at all."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            try:
                address: str = await nursery.start(starting)
            except OSError as error:
                return error
            ready(address)

            async def until_a_signal() -> None:
                await anext(signals)
                diary.over.set()

            nursery.start_soon(until_a_signal)
            await diary.over.wait()
            nursery.cancel_scope.cancel()
    return None


def _say_ready(asked: FakeFile, address: str, *, as_json: bool) -> None:
    """One line on standard output; whoever reads it may connect from then on."""
    said = {
        "address": address,
        "provider": asked.provider,
        "host": urlsplit(address).hostname,
        "port": urlsplit(address).port,
        "pid": os.getpid(),
        "faults": list(asked.switched_on),
    }
    sys.stdout.write((json.dumps(said) if as_json else address) + "\n")
    sys.stdout.flush()


def _faults(asked: FakeFile) -> str:
    return ", ".join(asked.switched_on) or "none"


def _written(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """What it takes to speak TLS; None where that is not asked for. Raises UserError."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise UserError("--tls-cert and --tls-key: give both, or neither")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for path in (certificate, key):
        if not path.is_file():
            raise UserError(f"{path}: there is no such file")
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        said = getattr(error, "reason", None) or error.strerror or type(error).__name__
        raise UserError(f"{certificate}, {key}: no PEM pair that fits: {said}") from error
    return context


def _number(low: int, high: int) -> Callable[[str], int]:
    """A whole number from ``low`` to ``high``, or one line that says so."""

    def number(said: str) -> int:
        if said.isascii() and said.isdigit() and low <= int(said) <= high:
            return int(said)
        raise argparse.ArgumentTypeError(f"{said!r} is not a whole number from {low} to {high}")

    return number
