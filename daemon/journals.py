"""Journals as commands are given them: folders and files, checked before they are read."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from daemon.errors import UserError
from exporters.segment import End, Journals, read_journal, refusal


def arguments(parser: argparse.ArgumentParser) -> None:
    """Where the journal lies."""
    parser.add_argument(
        "journal",
        nargs="*",
        type=Path,
        default=[Path("journal")],
        metavar="JOURNAL",
        help="a journal's folder or one of its files; default: journal",
    )


def opened(paths: Sequence[Path]) -> Journals:
    """All segments in these folders and files.

    Raises UserError where there is none, or none that this program can read.
    """
    found = listed(paths)
    refused = [_refused(path) for path in found]
    if all(refused):
        raise UserError("\n".join(line for line in refused if line is not None))
    return Journals(found, listed=True)


def listed(paths: Sequence[Path]) -> list[Path]:
    """The files in these folders, and these files. Raises UserError where there is none."""
    found: list[Path] = []
    for path in paths:
        try:
            segments = read_journal(path).paths if path.exists() else None
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from error
        if segments is None:
            raise UserError(f"{path}: there is no such file or folder")
        if not segments:
            raise UserError(f"{path}: there is no journal in this folder (no *.sbj file)")
        found += segments
    return found


def damage_lines(journals: Journals) -> list[str]:
    """A line for each stretch that cannot be read."""
    return [line for end in journals.damaged for line in lines_of(end)]


def lines_of(end: End) -> list[str]:
    """What cannot be read of one file; nothing where it is whole, or whole so far."""
    if end.newer:
        return [f"{end.path}: {end.damage}; use the version that wrote it, or a newer one"]
    if not end.damaged:
        return []
    return [f"{end.path}: {gap}" for gap in end.gaps] or [f"{end.path}: {end.damage}"]


def _refused(path: Path) -> str | None:
    try:
        why = refusal(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    return why and f"{path}: {why}; use the version that wrote it, or a newer one"
