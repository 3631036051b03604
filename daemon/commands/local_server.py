"""``speechbench local-server``: the embedded recogniser, by hand."""

import argparse
from collections.abc import Callable

from daemon.local.engines import ENGINES
from daemon.local.protocol import ENDPOINT_MS

HELP = "serve an embedded speech recogniser over a websocket on this host"
PORT = 8790
"""Where providers/local.py looks for it, if it is not told otherwise."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "--engine", choices=tuple(ENGINES), default="moonshine", help="default: %(default)s"
    )
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument(
        "--port", type=_within(0, 65_535), default=PORT, help="0: any; default: %(default)s"
    )
    parser.add_argument(
        "--workers",
        type=_within(1, 64),
        default=1,
        metavar="N",
        help="copies of the model, each with a thread of its own; default: %(default)s",
    )
    parser.add_argument(
        "--streams", type=_within(1, 1_000), default=16, metavar="N", help="default: %(default)s"
    )
    parser.add_argument(
        "--endpoint-ms",
        type=_within(ENDPOINT_MS[0], ENDPOINT_MS[-1]),
        metavar="MS",
        help="end segments after so much silence, for clients that ask for nothing; default: never",
    )
    parser.add_argument(
        "--nice", type=_within(0, 19), default=0, metavar="N", help="stand back for other programs"
    )
    parser.add_argument(
        "--parent-fd",
        type=_within(0, 2**20),
        metavar="FD",
        help="a pipe that is open for reading; the server ends when its other end is closed",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until a signal. Raises UserError."""
    # The models' libraries take a while to load: not before they are needed.
    from daemon.local.process import ProcessSettings, serve
    from daemon.local.server import ServerSettings

    return serve(
        ProcessSettings(
            engine=args.engine,
            host=args.host,
            port=args.port,
            workers=args.workers,
            niceness=args.nice,
            parent_fd=args.parent_fd,
            streams=ServerSettings(args.streams, args.endpoint_ms),
        )
    )


def _within(low: int, high: int) -> Callable[[str], int]:
    """A whole number from ``low`` to ``high``, or one line that says so."""

    def number(said: str) -> int:
        if said.isascii() and said.isdigit() and low <= int(said) <= high:
            return int(said)
        raise argparse.ArgumentTypeError(f"{said!r} is not a whole number from {low} to {high}")

    return number
