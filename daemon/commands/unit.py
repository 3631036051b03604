"""``speechbench unit install``: the unit files, for this installation, where systemd finds them."""

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from daemon.errors import UserError

HELP = "install the systemd units, or show what that would do"
UNITS = ("speechbench@.service", "speechbench@.socket")
UNIT_FOLDER = Path("/etc/systemd/system")
CONFIGURATION_FOLDER = Path("/etc/speechbench")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that an installation does to this host."""

    path: Path
    content: str | None
    """None: a folder."""
    mode: int

    def __str__(self) -> str:
        what = "folder" if self.content is None else f"{len(self.content.splitlines())} lines"
        return f"{self.path} ({what}, mode {self.mode:o})"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    install = actions.add_parser("install", help="write the units and the configuration folders")
    install.add_argument(
        "--dry-run", action="store_true", help="only say what would be written, and show it"
    )
    install.add_argument(
        "--root",
        type=Path,
        default=Path("/"),
        metavar="FOLDER",
        help="a system that is mounted elsewhere; default: this one",
    )


def run(args: argparse.Namespace) -> int:
    """Install. Raises UserError."""
    steps = steps_of(program(), unit_sources(), args.root)
    if args.dry_run:
        _show(steps)
        return 0
    for step in steps:
        _take(step)
        sys.stdout.write(f"wrote {step}\n")
    sys.stdout.write(_NEXT)
    return 0


def steps_of(program: Path, sources: Path, root: Path) -> list[Step]:
    """All that an installation writes, in order. Raises UserError where the units are missing."""
    steps = [
        Step(_under(root, CONFIGURATION_FOLDER), None, 0o755),
        Step(_under(root, CONFIGURATION_FOLDER / "keys.d"), None, 0o700),
    ]
    for name in UNITS:
        try:
            text = (sources / name).read_text(encoding="utf-8")
        except OSError as error:
            raise UserError(
                f"{sources / name}: cannot be read: {error.strerror}; install speechbench anew"
            ) from error
        text = text.replace("@PROGRAM@", str(program)).replace("@DOCUMENTS@", str(sources.parent))
        steps.append(Step(_under(root, UNIT_FOLDER / name), text, 0o644))
    return steps


def program() -> Path:
    """The program of this installation, which a service can start. Raises UserError."""
    ours = Path(sys.executable).with_name("speechbench")
    if not ours.exists():
        raise UserError(f"{ours}: there is no such program; install speechbench into {sys.prefix}")
    if ours.is_relative_to("/home") or ours.is_relative_to("/root"):
        raise UserError(
            f"{ours}: a service cannot see /home and /root (ProtectHome); "
            "install speechbench elsewhere, such as into /opt/speechbench"
        )
    return ours


def unit_sources() -> Path:
    """Where the units lie: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "systemd"
    return installed if installed.is_dir() else package.parent / "systemd"


def _under(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _take(step: Step) -> None:
    try:
        if step.content is None:
            step.path.mkdir(mode=step.mode, parents=True, exist_ok=True)
            return
        step.path.parent.mkdir(parents=True, exist_ok=True)
        new = step.path.with_name(step.path.name + ".new")
        new.write_text(step.content, encoding="utf-8")
        new.chmod(step.mode)
        shutil.move(new, step.path)  # a unit is there whole or not at all
    except OSError as error:
        raise UserError(
            f"{step.path}: cannot be written: {error.strerror}; run this as root"
        ) from error


def _show(steps: list[Step]) -> None:
    for step in steps:
        sys.stdout.write(f"would write {step}\n")
    for step in steps:
        if step.content is not None:
            sys.stdout.write(f"\n# {step.path}\n{step.content}")


_NEXT = """
Next, for an instance named "main":
  put its settings into /etc/speechbench/main.toml      (docs/speechbench.example.toml)
  put each key into a file of its own in /etc/speechbench/keys.d, named after its provider
  systemctl daemon-reload
  systemctl enable --now speechbench@main.socket speechbench@main.service
  systemctl status speechbench@main
"""
