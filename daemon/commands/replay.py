"""``speechbench replay``: the measurements in a journal, worked out again from their events.

The table and ``--json`` are those of ``speechbench run``. Where a reading is not the one that was
recorded when it was measured, a line says so and the exit code is 1; it is 1 as well for a damaged
journal, of which everything up to the damage is read.
"""

import argparse
import json
import sys

from daemon import journals
from daemon.errors import UserError
from daemon.results import document_of, rows_of, summaries_of
from daemon.session_records import finish_record
from exporters.segment import Journals
from exporters.table import print_run, table_console
from measure.measurement import Measurement
from measure.replay import Session, measurements_of, sessions_of

HELP = "read measurements again from a journal"
COMPARED = (
    "verdict",
    "selection",
    "time_to_final_ns",
    "time_to_first_partial_ns",
    "confirmed_ns",
    "transcript",
    "remarks",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    journals.arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")


def run(args: argparse.Namespace) -> int:
    """Replay and show. Raises UserError."""
    found = journals.opened(args.journal)
    replayed, complaints = [], []
    for session in _sessions(found):
        try:
            measurements = measurements_of(session)
        except ValueError as error:
            complaints.append(f"session {session.started.get('s')}: {error}")
            continue
        replayed += measurements
        complaints += _differences(session, measurements[-1])
    complaints += journals.damage_lines(found)
    if args.json:
        document = document_of(
            replayed,
            journal=", ".join(map(str, args.journal)),
            complete=not found.damaged,
            skipped=(),
        )
        print(json.dumps(document, ensure_ascii=False, indent=1))  # noqa: T201
    else:
        rows = rows_of(replayed)
        print_run(table_console(), rows, summaries_of(replayed))
    for complaint in complaints:
        sys.stderr.write(f"speechbench: {complaint}\n")
    return 1 if complaints else 0


def _sessions(found: Journals) -> list[Session]:
    try:
        sessions = list(sessions_of(found))
    except (OSError, ValueError) as error:
        raise UserError(f"the journal cannot be read: {error}") from error
    if not sessions:
        raise UserError("there is no measurement in this journal")
    return sessions


def _differences(session: Session, measurement: Measurement) -> list[str]:
    """How the reading differs from the one that was recorded, if it does."""
    if session.finished is None:
        return [
            f"session {measurement.session_id}: its end was not recorded; this is what there is"
        ]
    again = finish_record(measurement, 0)
    return [
        f"session {measurement.session_id}: {name} was {session.finished.get(name)!r}, "
        f"replayed it is {again[name]!r}"
        for name in COMPARED
        if session.finished.get(name) != again[name]
    ]
