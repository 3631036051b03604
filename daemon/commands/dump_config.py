"""``speechbench dump-config``: the configuration that a file makes, with all defaults."""

import argparse
from pathlib import Path

from daemon.config import read_settings
from daemon.dump import dumped

HELP = "show a configuration with all its defaults, without secrets"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "config",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="settings in TOML; without it: the built-in ones",
    )


def run(args: argparse.Namespace) -> int:
    """Show it. Raises UserError."""
    print(dumped(read_settings(args.config)), end="")  # noqa: T201
    return 0
