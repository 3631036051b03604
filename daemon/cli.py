"""``speechbench``: finds the command, runs it, and says in one line what the user can mend."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from daemon.errors import UserError

COMMANDS = {
    "run": "measure clips now, and show a table",
    "listen": "measure what a microphone hears, turn by turn",
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
    "devices": "list the sound devices of this host, for listen and --monitor",
    "vad": "show where speech starts and ends in a recording",
}
"""Every command, in the order of the help; each is a file in daemon/commands."""
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code. Nothing a user can do shows a traceback."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:  # from here on: to load a command takes a moment, in which one may think better of it
        args = _parser(given).parse_args(given)
        return int(_command(args.command).run(args))
    except UserError as error:
        return _said(error)
    except BaseExceptionGroup as group:  # as tasks that run side by side end
        if group.split(KeyboardInterrupt)[1] is None:
            return _interrupted()
        mistake = _mistake_of(group)
        if mistake is None:
            raise
        return _said(mistake)
    except KeyboardInterrupt:
        return _interrupted()
    except ImportError as error:  # what a library of C makes of a Ctrl-C while it is loaded
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        return _interrupted()
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not stumble over it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _interrupted() -> int:
    sys.stderr.write("speechbench: interrupted\n")
    return INTERRUPTED


def _said(mistake: UserError) -> int:
    """Say it, a line for each of its lines; the exit code."""
    for line in str(mistake).splitlines():
        sys.stderr.write(f"speechbench: {line}\n")
    return mistake.exit_code


def _mistake_of(group: BaseExceptionGroup[BaseException]) -> UserError | None:
    """The first of them, where there is nothing else in the group."""
    mistakes, others = group.split(UserError)
    if mistakes is None or others is not None:
        return None
    first: BaseException = mistakes
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first if isinstance(first, UserError) else None


class _ShowVersion(argparse.Action):
    """Shows the version, which takes longer to look up than all else here together."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"speechbench {version('speechbench')}\n")
        parser.exit()


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="speechbench",
        description="Measures how fast and how well streaming speech-to-text services answer.",
    )
    parser.add_argument(
        "--version", action=_ShowVersion, nargs=0, help="show program's version number and exit"
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
