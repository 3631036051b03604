"""``speechbench report``: the table a buyer reads, from recorded sessions.

Models by rows: word error rates, time to final, first partial, success, price, with intervals and
of how many they are; a table for each corpus, and one over all corpora of a version of the method.
Nothing is measured again and nothing is sent. The exit code is 1 where a session or a file is
damaged, or a reading is not the recorded one; everything that can be read is shown all the same.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from daemon import journals
from daemon.clock import wall_ns
from daemon.config import read_settings
from daemon.errors import UserError
from daemon.prices import price_lists
from daemon.reporting.chapters import chapters_of
from daemon.reporting.lines import Circumstances
from daemon.reporting.samples import Gathering, Sample
from daemon.reporting.ways import refuse_mixed
from daemon.rescoring import differences
from exporters.report_table import (
    SORTS,
    PriceTag,
    Report,
    markdown_of,
    plain_of,
    text_of,
    write_csv,
)
from exporters.segment import Journals
from exporters.table import table_console
from measure.definitions import DEFINITIONS, METHOD, Unit
from measure.records import SECOND
from measure.replay import recorded_of
from scoring.normalize import NormalizerUnavailableError
from scoring.price import Kind, Listed, PriceError, price_of
from scoring.profiles import PROFILES, Profile

HELP = "print the table a buyer reads, from journals"
SCHEMA = 1
"""Of the JSON document; it rises when a field changes its meaning or goes away."""
EVERY = 500
"""How many sessions are read between two words of progress."""
AGO = re.compile(r"(\d{1,6})([dh])", re.ASCII)
HOURS = {"d": 24, "h": 1}


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    journals.arguments(parser)
    parser.add_argument(
        "--since", metavar="WHEN", help="from then on: 2026-11-02, 2026-11-02T08:00 (UTC), 7d, 24h"
    )
    parser.add_argument("--until", metavar="WHEN", help="up to then, that moment left out")
    parser.add_argument(
        "--sort", choices=SORTS, default="wer", help="by what, the best first; default: wer"
    )
    parser.add_argument(
        "--definition",
        default=METHOD,
        metavar="NAME",
        help=f"what the time is; default: {METHOD}; see speechbench rescore --list",
    )
    parser.add_argument(
        "--profile",
        default=next(iter(PROFILES)),
        metavar="NAME",
        help=f"a version of the method: its weights and words; default: {next(iter(PROFILES))}",
    )
    parser.add_argument(
        "--stand-in",
        action="append",
        default=[],
        metavar="PLACE=OWN",
        help="a corpus of your own in the place of one of the version's, also several times",
    )
    parser.add_argument(
        "--by-signature", action="store_true", help="keep what was made differently apart"
    )
    parser.add_argument("--prices", type=Path, metavar="FILE", help="a price list of your own")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="a configuration that names a price list"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    output.add_argument("--csv", action="store_true", help="CSV instead of a table")
    output.add_argument("--markdown", action="store_true", help="Markdown instead of a table")


def run(args: argparse.Namespace) -> int:
    """Sum up and show. Raises UserError."""
    profile = _chosen_profile(args.profile)
    _check_definition(args.definition)
    stand_ins = _stand_ins(args.stand_in, profile)
    lists = price_lists(_prices_path(args))
    now_ns = wall_ns()
    since_ns, until_ns = (
        moment_of("--since", args.since, now_ns),
        moment_of("--until", args.until, now_ns),
    )
    if since_ns is not None and until_ns is not None and since_ns >= until_ns:
        raise UserError(f"--since {args.since}: it must be before --until {args.until}")
    found = journals.opened(args.journal)
    gathering = Gathering(args.definition, since_ns, until_ns)
    complaints = [*_gathered(found, gathering), *journals.damage_lines(found)]
    samples = gathering.samples
    if not samples:
        raise _nothing(gathering, complaints)
    if not args.by_signature:
        refuse_mixed(samples)
    about = Circumstances(
        profile=profile,
        window=_window(samples, since_ns, until_ns),
        stand_ins=stand_ins,
        price=lambda model: tag_of(model, lists),
        sort=args.sort,
    )
    _show(args, found, _report(args, gathering, about))
    for complaint in complaints:
        sys.stderr.write(f"speechbench: {complaint}\n")
    return 1 if complaints else 0


def _report(args: argparse.Namespace, gathering: Gathering, about: Circumstances) -> Report:
    try:
        chapters = chapters_of(gathering.samples, about)
    except NormalizerUnavailableError as error:
        raise UserError(f"--profile {about.profile.name}: {error}") from error
    return Report(
        window=about.window,
        profile=about.profile.name,
        definition=args.definition,
        sort=args.sort,
        chapters=tuple(chapters),
        notes=tuple(_notes(gathering)),
    )


def _notes(gathering: Gathering) -> Iterator[str]:
    if gathering.unfinished:
        yield f"{gathering.unfinished} sessions left out: their end was not recorded"


def _gathered(found: Journals, gathering: Gathering) -> Iterator[str]:
    """Take every session; gives a line for each that is not as it should be."""
    watched = sys.stderr.isatty()
    try:
        for number, recorded in enumerate(recorded_of(found), start=1):
            if watched and number % EVERY == 0:
                sys.stderr.write(f"\r{number} sessions read ")
                sys.stderr.flush()
            try:
                turns = gathering.add(recorded)
            except ValueError as error:
                yield f"session {recorded.session_id}: {error}"
                continue
            if turns:
                yield from differences(recorded, turns)
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}") from error
    finally:
        if watched:
            sys.stderr.write("\r\x1b[K")


def _nothing(gathering: Gathering, complaints: Sequence[str]) -> UserError:
    """Why there is no table."""
    if gathering.outside:
        said = (
            f"all {gathering.outside} sessions of this journal lie outside of --since and --until"
        )
    elif gathering.unfinished:
        said = f"the end of all {gathering.unfinished} sessions of this journal was not recorded"
    else:
        said = "there is no measurement in this journal"
    return UserError("\n".join([*complaints, said]))


def _show(args: argparse.Namespace, found: Journals, report: Report) -> None:
    if args.json:
        document = {
            "schema": SCHEMA,
            "journal": ", ".join(map(str, args.journal)),
            "journal_complete": not found.damaged,
            **plain_of(report),
        }
        print(json.dumps(document, ensure_ascii=False, indent=1))  # noqa: T201
    elif args.csv:
        write_csv(sys.stdout, report)
    elif args.markdown:
        print("\n".join(markdown_of(report)))  # noqa: T201
    else:
        console = table_console()
        for part in text_of(report):
            console.print(part)


def tag_of(model: str, lists: Sequence[Listed]) -> PriceTag:
    """What a model costs, as the first list that has it says."""
    listed = price_of(model, Kind.SPEECH_TO_TEXT, lists)
    if listed is None:
        return PriceTag(None, missing="it is in no list; --prices names one")
    tag = PriceTag(None, listed.date.isoformat(), listed.source, listed.shipped, listed.provenance)
    try:
        price = listed.price()
    except PriceError as error:
        return replace(tag, missing=str(error))
    remarks = (*price.remarks, *([listed.note] if listed.note else []))
    if price.usd is None:
        return replace(tag, missing=f"{price.reason}, {listed.provenance}", remarks=remarks)
    return replace(tag, usd=float(price.usd), remarks=remarks)


def _prices_path(args: argparse.Namespace) -> Path | None:
    if args.prices is not None:
        return Path(args.prices)
    return None if args.config is None else read_settings(args.config).report.prices


def _chosen_profile(name: str) -> Profile:
    if name not in PROFILES:
        allowed = ", ".join(PROFILES)
        raise UserError(f"--profile {name}: there is none of that name; allowed: {allowed}")
    return PROFILES[name]


def _check_definition(name: str) -> None:
    """Raises UserError for one that there is not, or that is no time."""
    allowed = [one for one, it in DEFINITIONS.items() if it.unit is Unit.NANOSECONDS]
    if name not in allowed:
        said = "it is no duration" if name in DEFINITIONS else "there is none of that name"
        raise UserError(f"--definition {name}: {said}; allowed: {', '.join(allowed)}")


def _stand_ins(given: Sequence[str], profile: Profile) -> Mapping[str, str]:
    places = [one.name for one in profile.corpora]
    found: dict[str, str] = {}
    for setting in given:
        place, equals, own = setting.partition("=")
        if not equals or not own or place not in places:
            raise UserError(
                f"--stand-in {setting}: it must be PLACE=OWN, where PLACE is: {', '.join(places)}"
            )
        if place in found or own in found.values():
            raise UserError(f"--stand-in {setting}: one corpus stands in for one other, once")
        found[place] = own
    return found


def moment_of(option: str, text: str | None, now_ns: int) -> int | None:
    """Nanoseconds since 1970; a day begins at midnight UTC. Raises UserError."""
    if text is None:
        return None
    if ago := AGO.fullmatch(text):
        return now_ns - int(ago[1]) * HOURS[ago[2]] * 3600 * SECOND
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(
            f"{option} {text}: write a day or a moment such as 2026-11-02 or 2026-11-02T08:00 "
            "(UTC), or how long ago: 7d, 24h"
        ) from error
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (known - EPOCH) // timedelta(microseconds=1) * 1000


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _window(samples: Sequence[Sample], since_ns: int | None, until_ns: int | None) -> str:
    """The stretch of time; where an end was not chosen, that of the measurements."""
    first = min(one.wall_ns for one in samples) if since_ns is None else since_ns
    last = max(one.wall_ns for one in samples) if until_ns is None else until_ns
    return f"{_said(first)} to {_said(last)}"


def _said(moment_ns: int) -> str:
    return (EPOCH + timedelta(microseconds=moment_ns // 1000)).strftime("%Y-%m-%dT%H:%M:%SZ")
