"""What several commands let be chosen: models, where the journal lies, where metrics are served."""

import argparse
from pathlib import Path
from typing import Any

from daemon.config import Settings
from daemon.errors import UserError


def model_arguments(parser: argparse.ArgumentParser) -> None:
    """Which models, and how they are reached."""
    parser.add_argument(
        "--model",
        action="append",
        metavar="NAME",
        help="such as deepgram/nova-3; may be given several times",
    )
    parser.add_argument("--url", help="another address for the model: a region, a proxy, a fake")
    parser.add_argument(
        "--language", metavar="CODE", help="what is spoken, as the provider names it; default: en"
    )


def output_arguments(parser: argparse.ArgumentParser) -> None:
    """Where results go."""
    parser.add_argument(
        "--journal", type=Path, metavar="FOLDER", help="where every event is kept; default: journal"
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="serve metrics there meanwhile")
    parser.add_argument(
        "--json",
        action="store_true",
        help="one JSON document on standard output instead of the table",
    )


def chosen(args: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """The sections of ``settings`` that these arguments change; what they do not name stays.

    Raises UserError.
    """
    changes: dict[str, Any] = {}
    if args.model or args.url or args.language:
        changes["model"] = _models(args, settings)
    if args.journal:
        directory = args.journal.expanduser().absolute()
        changes["journal"] = {**settings.journal.model_dump(), "directory": directory}
    if args.listen:
        changes["web"] = {**settings.web.model_dump(), "listen": args.listen}
    return changes


def _models(args: argparse.Namespace, settings: Settings) -> list[dict[str, Any]]:
    known = {section.name: section.model_dump() for section in settings.model}
    names = args.model or list(known)
    if args.url and len(names) != 1:
        raise UserError(
            f"--url belongs to one model, and there are {len(names)}: name it with --model"
        )
    overrides = {"url": args.url, "language": args.language}
    given = {name: value for name, value in overrides.items() if value is not None}
    return [{**known.get(name, {"name": name}), **given} for name in names]
