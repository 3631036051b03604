"""``speechbench rescore``: recorded sessions under any definition of latency in use.

Without ``--definition`` the method's own: its figures are those of ``speechbench replay``. With
several, they stand side by side. ``--explain`` draws one session as a time line, ``--svg`` as a
picture. The exit code is 1 where a session or a file is damaged, or a reading is not the recorded
one; everything that can be read is shown all the same.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daemon import journals
from daemon.errors import UserError
from daemon.rescoring import Rescoring, differences, told_under
from exporters.definition_table import notes_of, plain_of, table_of, write_csv
from exporters.segment import Journals
from exporters.table import table_console
from measure.definitions import DEFINITIONS, METHOD
from measure.definitions.other_rule import Inexact
from measure.records import MS, SECOND, ForceAt
from measure.replay import Recorded, recorded_of

if TYPE_CHECKING:
    from daemon.config import Section

HELP = "recompute measurements in a journal under any definition"
SCHEMA = 1
"""Of the JSON document; it rises when a field changes its meaning or goes away."""
EVERY = 500
"""How many sessions are read between two words of progress."""
SETTINGS: dict[str, tuple[str, float]] = {
    "force_at": ("force_at", 0),
    "echo_counts": ("echo_counts", 0),
    "grace_s": ("grace_ns", SECOND),
    "patience_s": ("patience_ns", SECOND),
    "confirm_s": ("confirm_ns", SECOND),
    "settle_s": ("settle_ns", SECOND),
    "frame_late_ms": ("late_budget_ns", MS),
    "loop_stall_ms": ("stall_budget_ns", MS),
    "clock_step_ms": ("clock_step_budget_ns", MS),
}
"""What of a rule may be changed, as the configuration calls it: the rule's field, and its unit."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    journals.arguments(parser)
    parser.add_argument(
        "--definition",
        action="append",
        metavar="NAME",
        help=f"a definition, also several; default: {METHOD}; see --list",
    )
    parser.add_argument("--list", action="store_true", help="say what each definition is")
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting of the rule, where the records allow an exact answer: "
        + ", ".join(SETTINGS),
    )
    parser.add_argument(
        "--by-signature", action="store_true", help="keep what was made differently apart"
    )
    parser.add_argument(
        "--explain", metavar="SESSION", help="draw one session; the beginning of its name is enough"
    )
    parser.add_argument(
        "--turn",
        type=int,
        default=1,
        metavar="N",
        help="with --explain: which turn, of a stream that has several; default: 1",
    )
    parser.add_argument(
        "--svg", type=Path, metavar="FILE", help="with --explain: draw it into a picture"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    output.add_argument("--csv", action="store_true", help="CSV instead of a table")


def run(args: argparse.Namespace) -> int:
    """Rescore and show, or explain. Raises UserError."""
    if args.list:
        for name, definition in DEFINITIONS.items():
            print(f"{name:16} {definition.says}")  # noqa: T201
        return 0
    names = _names(args.definition or [METHOD])
    changes = _changes(args.rule)
    if args.svg is not None and args.explain is None:
        raise UserError("--svg: it goes with --explain SESSION")
    if args.explain is not None and (args.json or args.csv):
        raise UserError("--explain: it draws; it goes with neither --json nor --csv")
    found = journals.opened(args.journal)
    if args.explain is not None:
        return _explain(args, found, names, changes)
    rescoring = Rescoring(names, changes, by_signature=args.by_signature)
    complaints = [*_rescored(found, rescoring, compare=not changes)]
    complaints += journals.damage_lines(found)
    if not rescoring.sessions and not complaints:
        raise UserError("there is no measurement in this journal")
    _show(args, found, rescoring)
    for complaint in complaints:
        sys.stderr.write(f"speechbench: {complaint}\n")
    return 1 if complaints else 0


def _rescored(found: Journals, rescoring: Rescoring, *, compare: bool) -> Iterator[str]:
    """Take every session; gives a line for each that is not as it should be."""
    refused = 0
    why = ""
    for recorded in _sessions(found):
        try:
            told = rescoring.add(recorded)
        except ValueError as error:
            yield f"session {recorded.session_id}: {error}"
            continue
        except Inexact as error:
            why = why or f"session {recorded.session_id}: {error}"
            refused += 1
            continue
        if compare:
            yield from differences(recorded, told)
    if refused:
        of = refused + rescoring.sessions
        raise UserError(
            f"--rule: what was recorded has no exact answer for {refused} of {of} sessions, "
            f"such as {why}"
        )


def _sessions(found: Journals) -> Iterator[Recorded]:
    """All of them; where somebody watches, how many there were so far."""
    watched = sys.stderr.isatty()
    try:
        for number, recorded in enumerate(recorded_of(found), start=1):
            if watched and number % EVERY == 0:
                sys.stderr.write(f"\r{number} sessions read ")
                sys.stderr.flush()
            yield recorded
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}") from error
    finally:
        if watched:
            sys.stderr.write("\r\x1b[K")


def _show(args: argparse.Namespace, found: Journals, rescoring: Rescoring) -> None:
    models = rescoring.figures()
    if args.json:
        print(json.dumps(_document(args, found, rescoring), ensure_ascii=False, indent=1))  # noqa: T201
    elif args.csv:
        write_csv(sys.stdout, models)
    else:
        console = table_console()
        console.print(table_of(models, rescoring.names))
        for note in notes_of(models, rescoring.names):
            console.print(note, markup=False, highlight=False)


def _document(args: argparse.Namespace, found: Journals, rescoring: Rescoring) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "journal": ", ".join(map(str, args.journal)),
        "journal_complete": not found.damaged,
        "rule": args.rule,
        "definitions": {name: DEFINITIONS[name].says for name in rescoring.names},
        "models": plain_of(rescoring.figures()),
    }


def _explain(
    args: argparse.Namespace, found: Journals, names: Sequence[str], changes: Mapping[str, Any]
) -> int:
    # Drawing needs more of a session than rescoring does, and is needed less often.
    from exporters.timeline import print_timeline
    from exporters.timeline_marks import timeline_of
    from exporters.timeline_svg import svg

    recorded = _one_session(found, args.explain)
    try:
        turns = told_under(recorded, changes)
        if not 1 <= args.turn <= len(turns):
            raise UserError(f"--turn {args.turn}: this session has turns 1 to {len(turns)}")
        line = timeline_of(recorded.session, turns[args.turn - 1], names)
    except Inexact as error:
        raise UserError(f"--rule: session {recorded.session_id}: {error}") from error
    except ValueError as error:
        raise UserError(f"session {recorded.session_id}: {error}", exit_code=1) from error
    if args.svg is None:
        print_timeline(table_console(), line)
        return 0
    try:
        args.svg.write_text(svg(line), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{args.svg}: cannot be written: {error.strerror}") from error
    sys.stderr.write(f"speechbench: {args.svg} is written\n")
    return 0


def _one_session(found: Journals, wanted: str) -> Recorded:
    """The session of that name, or the only one whose name begins so."""
    matching: list[Recorded] = []
    for recorded in _sessions(found):
        if recorded.session_id == wanted:
            return recorded
        if recorded.session_id.startswith(wanted):
            matching.append(recorded)
    if not matching:
        raise UserError(f"--explain {wanted}: there is no such session in this journal")
    if len(matching) > 1:
        some = ", ".join(recorded.session_id for recorded in matching[:5])
        raise UserError(
            f"--explain {wanted}: {len(matching)} sessions begin like this, such as {some}"
        )
    return matching[0]


def _names(given: Sequence[str]) -> list[str]:
    """The definitions, each once. Raises UserError for one that there is not."""
    for name in given:
        if name not in DEFINITIONS:
            allowed = ", ".join(DEFINITIONS)
            raise UserError(f"--definition {name}: there is none of that name; allowed: {allowed}")
    return list(dict.fromkeys(given))


def _changes(given: Sequence[str]) -> dict[str, Any]:
    """The changes to a rule, by its own fields. Raises UserError."""
    changes: dict[str, Any] = {}
    for setting in given:
        name, equals, text = setting.partition("=")
        if not equals or name not in SETTINGS:
            allowed = ", ".join(SETTINGS)
            raise UserError(f"--rule {setting}: it must be NAME=VALUE, where NAME is: {allowed}")
        field, unit_ns = SETTINGS[name]
        value = _checked(name, text)
        if name == "force_at":
            changes[field] = ForceAt(value)
        else:
            changes[field] = round(value * unit_ns) if unit_ns else value
    return changes


def _checked(name: str, text: str) -> Any:  # noqa: ANN401
    """A setting as the configuration would take it. Raises UserError."""
    from pydantic import ValidationError

    from daemon.config import BudgetsSection, MethodSection

    section: type[Section] = MethodSection
    if name not in section.model_fields:
        section = BudgetsSection
    try:
        return getattr(section.model_validate({name: text}), name)
    except ValidationError as error:
        said = str(error.errors()[0]["msg"])
        raise UserError(f"--rule {name}={text}: {said[:1].lower()}{said[1:]}") from error
