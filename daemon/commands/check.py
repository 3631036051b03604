"""``speechbench check``: looks over a configuration and says what it would do.

Reads the file, the clips and the names of the keys; connects to nobody. Exit code 0 if everything
could be measured, 1 if some models would be skipped, 78 for a file with mistakes.
"""

import argparse
import os
from pathlib import Path

from daemon.duties import assignments_of
from daemon.keys import Keys
from daemon.plan import Plan, configured_plan

HELP = "look over a configuration and say what it would do"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "config",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="settings in TOML; without it: the built-in ones",
    )


def run(args: argparse.Namespace) -> int:
    """Look and say. Raises UserError."""
    plan = configured_plan(args.config, os.environ)
    assignments_of(plan)
    for line in _lines(plan):
        print(line)  # noqa: T201
    return 1 if plan.skipped else 0


def _lines(plan: Plan) -> list[str]:
    seconds = sum(recording.clip.audio_s for recording in plan.recordings)
    silent = [one.clip.name for one in plan.recordings if one.speech is None]
    return [
        *(f"model    {target.name}: {target.rule.flow.value}" for target in plan.targets),
        *(f"skipped  {line}" for line in plan.skipped),
        *(f"remark   {line}" for line in Keys({}, plan.settings.keys.directory).warnings()),
        f"clips    {len(plan.recordings)}, {seconds:.1f} s in all",
        *(f"silent   {name}: no speech in it, it will not be sent" for name in silent),
        *(
            f"remark   {recording.clip.name}: {remark}"
            for recording in plan.recordings
            for remark in recording.clip.remarks
        ),
        f"interval {plan.settings.daemon.interval_s:g} s",
        f"journal  {plan.settings.journal.directory.absolute()}",
        f"metrics  {plan.settings.web.listen or 'not served'}",
    ]
