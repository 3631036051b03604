"""``speechbench conform NAME…``: whether codecs keep what every codec promises.

Against its conversations on paper and its fake, in memory: no network, no key, a second or two.
With ``--url`` a real measurement is made there as well, with the key of the environment.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from daemon.conformance.described import fake_of, read_descriptions
from daemon.conformance.promise import Outcome, Subject, Verdict, subject_of
from daemon.errors import UserError
from daemon.keys import Keys
from providers import CATALOG
from providers.codec import Model
from providers.described import model_of

HELP = "check that a provider's codec keeps what every codec promises"
TRANSCRIPTS = Path(__file__).parents[2] / "tests" / "providers" / "transcripts"
"""Where the conversations are in a source checkout; an installation has none."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help='"deepgram/nova-3", or "deepgram" for all of it'
    )
    parser.add_argument("--all", action="store_true", help="all models that there are")
    parser.add_argument(
        "--described", type=Path, metavar="FILE", help="a TOML file with providers of your own"
    )
    parser.add_argument("--url", help="measure there as well, with a real key if it needs one")
    parser.add_argument(
        "--keys", type=Path, metavar="FOLDER", help="a folder with keys, a file for each provider"
    )
    parser.add_argument("--transcripts", type=Path, default=TRANSCRIPTS, metavar="FOLDER")
    parser.add_argument("--promises", action="store_true", help="only list what is promised")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")


def run(args: argparse.Namespace) -> int:
    """Look and say; 1 where a promise is broken. Raises UserError."""
    if args.promises:
        from daemon.conformance.kit import PROMISES  # see _looked_at

        for promise in PROMISES.values():
            print(f"{promise.name:<16}{promise.sentence}")  # noqa: T201
        return 0
    described = read_descriptions(args.described) if args.described else {}
    known = CATALOG | {name: model_of(one) for name, one in described.items()}
    models = chosen(known, args.names or list(described), everything=args.all)
    if args.url and len(models) != 1:
        raise UserError(f"--url belongs to one model, and there are {len(models)}")
    subjects = [
        Subject(name, model, None, fake_of(described[name]))
        if name in described
        else subject_of(name, model, args.transcripts)
        for name, model in models.items()
    ]
    reports = [_report(subject, args) for subject in subjects]
    if args.json:
        print(json.dumps([one.document() for one in reports], ensure_ascii=False, indent=1))  # noqa: T201
    return 1 if any(one.broken for one in reports) else 0


def chosen(
    catalogue: Mapping[str, Model], names: Iterable[str], *, everything: bool
) -> dict[str, Model]:
    """The models of these names, or of these providers. Raises UserError."""
    names = list(names)
    if everything:
        return dict(catalogue)
    if not names:
        raise UserError(
            "name a model or a provider, or say --all; speechbench providers lists them"
        )
    found: dict[str, Model] = {}
    for name in names:
        own = {one: catalogue[one] for one in catalogue if name in (one, one.partition("/")[0])}
        if not own:
            raise UserError(
                f"{name}: there is no such model or provider; allowed: {', '.join(catalogue)}"
            )
        found |= own
    return found


@dataclass(frozen=True, slots=True)
class Report:
    """How one model keeps its promises."""

    subject: Subject
    outcomes: tuple[Outcome, ...]

    @property
    def broken(self) -> int:
        return sum(one.verdict is Verdict.BROKEN for one in self.outcomes)

    def document(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "model": self.subject.name,
            "promises": [
                {
                    "name": one.promise.name,
                    "sentence": one.promise.sentence,
                    "verdict": one.verdict.value,
                    "reason": one.reason,
                }
                for one in self.outcomes
            ],
        }


def _report(subject: Subject, args: argparse.Namespace) -> Report:
    """Look at one model, and say each outcome as soon as it is known."""
    seen: list[Outcome] = []
    if not args.json:
        print(f"{subject.name}: {subject.model.title}")  # noqa: T201
    for outcome in _looked_at(subject, args):
        seen.append(outcome)
        if not args.json:
            said = f"  {outcome.verdict.value:<8}{outcome.promise.name:<16}{outcome.reason}"
            print(said, flush=True)  # noqa: T201
    report = Report(subject, tuple(seen))
    if not args.json:
        counts = ", ".join(
            f"{sum(one.verdict is verdict for one in seen)} {verdict.value}" for verdict in Verdict
        )
        print(f"  {counts}\n")  # noqa: T201
    return report


def _looked_at(subject: Subject, args: argparse.Namespace) -> Iterable[Outcome]:
    # Sessions in memory, a detector, half of the daemon: who only lists models need not load them.
    from daemon.conformance.kit import outcomes

    yield from outcomes(subject)
    if args.url:
        sys.stderr.write("speechbench: measuring at the address, in real time: up to a minute\n")
        from daemon.conformance.live import live_outcomes

        yield from live_outcomes(subject, args.url, _key(subject, args.keys))


def _key(subject: Subject, folder: Path | None) -> str:
    """The key for a real measurement; empty where none is needed. Raises UserError."""
    variable = subject.codec().facts.key_variable
    if variable is None:
        return ""
    keys = Keys(os.environ, folder)
    for line in keys.warnings():
        sys.stderr.write(f"speechbench: {line}\n")
    key = keys.find(subject.provider, variable)
    if key is None:
        raise UserError(keys.missing(subject.name, variable))
    return key.value
