"""Journals as commands are given them: folders and files, checked before they are read."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from daemon.errors import UserError
from exporters.segment import Journals, read_journal


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
    """All segments in these folders and files. Raises UserError where there is none."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: there is no such file or folder")
        segments = read_journal(path).paths
        if not segments:
            raise UserError(f"{path}: there is no journal in this folder (no *.sbj file)")
        found += segments
    return Journals(found)


def damage_lines(journals: Journals) -> list[str]:
    """A line for each segment that does not end with its last record."""
    return [
        f"{end.path}: {end.records} records are good, byte {end.offset} is not: {end.damage}"
        for end in journals.damaged
    ]
