"""The plan of the daemon: its configuration, what the command line and systemd say, and the host.

Nothing here needs what measures: the exporter process learns of the plan before that is loaded.
"""

import argparse
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from daemon.config import JournalSection, Settings, settings_with
from daemon.duties import most_streams, require_work
from daemon.host_setup import give_back_memory
from daemon.plan import Plan, configured_plan

STATE = "STATE_DIRECTORY"
"""The variable in which systemd says where a service may keep what it has."""
JOURNAL = JournalSection().directory


def plan_for(args: argparse.Namespace) -> Plan:
    """What is to be done, as the configuration says now. Raises UserError.

    What is known of the harness's own error is that of as many streams as there can be.
    """
    plan = configured_plan(args.config, os.environ, partial(_overruled, args=args))
    require_work(plan)
    give_back_memory()
    return replace(plan, known_error=replace(plan.known_error, streams=most_streams(plan)))


def _overruled(settings: Settings, *, args: argparse.Namespace) -> Settings:
    """The settings with what stands on the command line. Raises UserError."""
    changes: dict[str, dict[str, object]] = {"web": {}, "log": {}, "journal": {}}
    state = os.environ.get(STATE)
    if state and settings.journal.directory == _beside(args.config):
        changes["journal"]["directory"] = Path(state.partition(":")[0]) / JOURNAL
    for section, name, value in (
        ("web", "listen", args.listen),
        ("log", "level", args.log_level),
        ("log", "format", args.log_format),
    ):
        if value is not None:
            changes[section][name] = value
    return settings_with(settings, changes)


def _beside(config: Path | None) -> Path:
    """Where the journal is where nobody has said anything else."""
    return JOURNAL if config is None else config.parent / JOURNAL
