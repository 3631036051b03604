"""``speechbench journal``: what is in a journal, and whether it is whole.

``show`` writes each record as a line of JSON; bytes are shown as their length. ``verify`` reads all
of it and says for each file how many records are good; exit code 1 where something is damaged.
"""

import argparse
import sys
from typing import Any

import orjson

from daemon import journals
from daemon.errors import UserError
from exporters.segment import Journals, Segment

HELP = "show what is in a journal, or whether it is whole"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument("action", choices=("show", "verify"), help="what to do")
    journals.arguments(parser)
    parser.add_argument("--session", metavar="ID", help="show only the records of one session")


def run(args: argparse.Namespace) -> int:
    """Show or verify. Raises UserError."""
    found = journals.opened(args.journal)
    try:
        return _verify(found) if args.action == "verify" else _show(found, args.session)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}") from error


def _verify(found: Journals) -> int:
    damaged = False
    for path in found.paths:
        end = Segment(path).scan()
        damaged = damaged or end.damage is not None
        said = "whole" if end.damage is None else f"damaged at byte {end.offset}: {end.damage}"
        print(f"{path}: {end.records} records, {said}")  # noqa: T201
    return 1 if damaged else 0


def _show(found: Journals, session_id: str | None) -> int:
    for record in found:
        if session_id is None or record.get("s") == session_id:
            sys.stdout.buffer.write(orjson.dumps(_plain(record), default=repr) + b"\n")
    for line in journals.damage_lines(found):
        sys.stderr.write(f"speechbench: {line}\n")
    return 1 if found.damaged else 0


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
