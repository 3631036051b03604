"""``speechbench``: finds the command, runs it, and says in one line what the user can mend."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from daemon.errors import UserError

COMMANDS = {
    "run": "measure clips now, and show a table",
    "daemon": "measure on and on, for Prometheus, logs and journal",
    "check": "look over a configuration and say what it would do",
    "providers": "list the models that can be measured, or explain one",
    "conform": "check that a provider's codec keeps what every codec promises",
    "corpus": "look over a corpus: its recordings, their references, and what is wrong",
    "selftest": "measure the harness's own error on this host",
    "dump-config": "show a configuration with all its defaults, without secrets",
    "replay": "read measurements again from a journal",
    "rescore": "recompute measurements in a journal under any definition",
    "report": "print the table a buyer reads, from journals",
    "journal": "show what is in a journal, verify it, or export it",
    "local-server": "serve an embedded speech recogniser over a websocket on this host",
    "fake": "be a provider on this host that does as a script says, to test clients",
    "score": "count word errors of a text, or of many",
    "unit": "install the systemd units, or show what that would do",
    "vad": "show where speech starts and ends in a recording",
}
"""Every command, in the order of the help; each is a file in daemon/commands."""
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code. Nothing a user can do shows a traceback."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    args = _parser(given).parse_args(given)
    try:
        return int(_command(args.command).run(args))
    except UserError as error:
        for line in str(error).splitlines():
            sys.stderr.write(f"speechbench: {line}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("speechbench: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not stumble over it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="speechbench",
        description="Measures how fast and how well streaming speech-to-text services answer.",
    )
    parser.add_argument(
        "--version", action="version", version=f"speechbench {version('speechbench')}"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = next((word for word in given if not word.startswith("-")), None)
    for name, what_it_does in COMMANDS.items():
        command = commands.add_parser(name, help=what_it_does, description=what_it_does)
        if name == wanted:  # the others' libraries need not be loaded
            _command(name).arguments(command)
    return parser


def _command(name: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  a module, found by its name
    return import_module(f"daemon.commands.{name.replace('-', '_')}")


if __name__ == "__main__":
    sys.exit(main())
