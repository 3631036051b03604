"""``speechbench journal``: what is in a journal, whether it is whole, and its tables for others.

``show`` writes each record as a line of JSON; bytes are shown as their length. ``verify`` reads all
of it and says for each file how many records are good. ``export`` writes the sessions or the events
as JSON lines or Parquet. All of them work while the journal is being written. Exit code 1 where
something is damaged, or written by a newer version; all the rest is read.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from daemon import journals
from daemon.errors import UserError
from exporters.export import TABLES, Row
from exporters.parquet import ParquetMissing, write_parquet
from exporters.segment import End, Journals
from measure.wire import Record

HELP = "show what is in a journal, whether it is whole, or export it"
FORMATS = ("jsonl", "parquet")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="write every record as a line of JSON")
    journals.arguments(show)
    show.add_argument("--session", metavar="ID", help="show only the records of one session")
    journals.arguments(actions.add_parser("verify", help="say whether all of it can be read"))
    export = actions.add_parser("export", help="write its sessions or events as a table")
    journals.arguments(export)
    export.add_argument("--format", choices=FORMATS, default="jsonl", help="default: jsonl")
    export.add_argument("--table", choices=[*TABLES], default="sessions", help="default: sessions")
    export.add_argument(
        "--output", type=Path, metavar="FILE", help="a new file; default for jsonl: standard output"
    )


def run(args: argparse.Namespace) -> int:
    """Show, verify or export. Raises UserError."""
    try:
        if args.action == "verify":
            return _verify(journals.listed(args.journal))
        found = journals.opened(args.journal)
        if args.action == "show":
            return _show(found, args.session)
        return _export(found, args)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}") from error


def _verify(paths: list[Path]) -> int:
    damaged = False
    for path in paths:
        segment = Journals([path], listed=True)
        lost = sum(_lost(record) for record in segment)
        (end,) = segment.ends
        damaged = damaged or end.damaged
        for line in _verdict(end, lost):
            print(line)  # noqa: T201
    return 1 if damaged else 0


def _verdict(end: End, lost: int) -> list[str]:
    """What is said of one file."""
    if end.newer:
        return journals.lines_of(end)
    if end.damaged:
        state = "damaged"
    elif end.unfinished:
        state = f"whole so far; after it {end.gaps[0].size_bytes} bytes of an unfinished record"
    else:
        state = "whole"
    told = f"; {lost} more were lost before they could be written" if lost else ""
    return [f"{end.path}: {end.records} records, {state}{told}", *journals.lines_of(end)]


def _lost(record: Record) -> int:
    count = record.get("count") if record.get("k") == "records_lost" else 0
    return count if isinstance(count, int) else 0


def _show(found: Journals, session_id: str | None) -> int:
    for record in found:
        if session_id is None or record.get("s") == session_id:
            sys.stdout.buffer.write(orjson.dumps(_plain(record), default=repr) + b"\n")
    return _complain(found)


def _export(found: Journals, args: argparse.Namespace) -> int:
    output: Path | None = args.output
    if output is None and args.format == "parquet":
        raise UserError("--format parquet: it needs --output FILE")
    if output is None:
        _write_lines(sys.stdout.buffer, _rows(found, args.table))
        return _complain(found)
    if output.exists():
        raise UserError(f"--output {output}: it exists already; name a new file")
    part = output.with_name(output.name + ".part")
    part.unlink(missing_ok=True)
    try:
        _write(part, args.format, args.table, _rows(found, args.table))
        part.rename(output)
    except OSError as error:
        if error.filename not in (None, str(part), str(output)):
            raise  # it is the journal that cannot be read
        raise UserError(f"--output {output}: cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return _complain(found)


def _write(path: Path, form: str, table: str, rows: Iterator[Row]) -> None:
    if form == "jsonl":
        with path.open("xb") as file:
            _write_lines(file, rows)
        return
    try:
        write_parquet(path, TABLES[table].columns, rows)
    except ParquetMissing as error:
        raise UserError(
            "--format parquet: the package arro3-io is not installed; install "
            "speechbench with its extra: pip install 'speechbench[parquet]'"
        ) from error


def _write_lines(file: IO[bytes], rows: Iterator[Row]) -> None:
    for row in rows:
        file.write(orjson.dumps(row) + b"\n")


def _rows(found: Journals, table: str) -> Iterator[Row]:
    """The rows of a table; at a terminal it says how far it is."""
    return TABLES[table].rows(_announced(found) if sys.stderr.isatty() else found)


def _announced(found: Journals) -> Iterator[Record]:
    read = -1
    for record in found:
        if len(found.ends) != read:
            read = len(found.ends)
            sys.stderr.write(f"speechbench: file {read + 1} of {len(found.paths)}\n")
        yield record


def _complain(found: Journals) -> int:
    """Say what could not be read; gives the exit code."""
    sys.stdout.flush()
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
