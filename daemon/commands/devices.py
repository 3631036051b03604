"""``speechbench devices``: what can be listened to and what can be heard on, on this host."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

import trio
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from daemon.errors import UserError
from daemon.sound import list_devices
from pacer.sound_device import NO_DEVICE, Device, Kind

HELP = "list the sound devices of this host, for listen and --monitor"
RIGHT = ("number", "channels", "rate")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "--outputs", action="store_true", help="also those that --monitor can be heard on"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")


def run(args: argparse.Namespace) -> int:
    """List them. Raises UserError where there are none, or no PortAudio."""
    found = trio.run(list_devices)
    if not found:
        raise UserError(NO_DEVICE)
    if args.json:
        print(json.dumps([asdict(one) for one in found], ensure_ascii=False, indent=1))  # noqa: T201
        return 0
    console = Console(highlight=False)
    kinds: tuple[Kind, ...] = ("input", "output") if args.outputs else ("input",)
    for kind in kinds:
        console.print(table(found, kind))
    return 0


def table(found: Sequence[Device], kind: Kind) -> RenderableType:
    """The devices of one kind; the one that is taken where none is named is marked."""
    fit = [one for one in found if one.channels(kind)]
    if not fit:
        return Text(f"no {kind} devices")
    shown = Table(title=f"{kind} devices", title_justify="left")
    for column in ("", "number", "name", "host API", "channels", "rate"):
        shown.add_column(column, justify="right" if column in RIGHT else "left")
    for one in fit:
        mark = "default" if one.is_default(kind) else ""
        shown.add_row(
            *(mark, str(one.index), Text(one.name), Text(one.host_api)),
            *(str(one.channels(kind)), f"{one.rate_hz} Hz"),
        )
    return shown
