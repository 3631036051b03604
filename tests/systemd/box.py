"""A booted Debian in a container, made of this machine's own files under a throw-away overlay.

    overlay: this machine's /, read-only ── above it a tmpfs, which is gone with the container
    /opt/speechbench: an environment of its own, the wheel of this checkout, the unit files
    /opt/locked: the packages of .venv, read-only

Nothing outside of the container is changed. Needs root, Linux and systemd-container.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAM = "/opt/speechbench/bin/speechbench"
BOOT_S = 120.0
PATIENCE_S = 90.0
SYSTEM_PYTHON = Path("/usr/bin/python3")
NEEDED = {
    "systemd-nspawn": "systemd-container",
    "systemd-analyze": "systemd",
    "unshare": "util-linux",
    "curl": "curl",
}
"""Each program that has to be there, and Debian's package of it."""
_MOUNTS = """
set -e
base=$1; shift
mount -t tmpfs tmpfs "$base"
mkdir "$base/up" "$base/work" "$base/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/up,workdir=$base/work" "$base/root"
exec "$@"
"""


def missing() -> list[str]:
    """The packages that have to be installed before."""
    lacking = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    if not SYSTEM_PYTHON.exists():
        lacking.append("python3")
    return sorted(set(lacking))


@dataclass
class Box:
    """A running container."""

    leader: int
    """Its first process, as seen from here."""

    def run(
        self, *command: str, given: str = "", check: bool = True
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in it, as root."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.leader), "-a", "--", *command],
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=240,
            env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def says(self, *command: str) -> str:
        """What a command writes, without the last line's end; whatever its exit code."""
        return self.run(*command, check=False).stdout.strip()

    def write(self, path: str, text: str, mode: str = "644") -> None:
        """Put a file into it."""
        self.run("mkdir", "-p", str(Path(path).parent))
        self.run("tee", path, given=text)
        self.run("chmod", mode, path)

    def show(self, unit: str, name: str) -> str:
        """One property of a unit."""
        return self.says("systemctl", "show", "--value", "-p", name, unit)

    def main_pid(self, unit: str) -> int:
        return int(self.show(unit, "MainPID"))

    def log(self, unit: str) -> list[dict[str, Any]]:
        """The lines that the program wrote into the system's journal, and that are JSON."""
        text = self.says("journalctl", "-u", unit, "-o", "cat", "--no-pager")
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def events(self, unit: str) -> list[str]:
        return [str(line["event"]) for line in self.log(unit)]

    def fetched(self, url: str, *options: str) -> str:
        """What an address inside of it answers."""
        return self.run("curl", "-sS", "--max-time", "30", *options, url).stdout

    def until(self, what: str, it_is_so: Any, within_s: float = PATIENCE_S) -> None:  # noqa: ANN401
        """Look again and again; a test that looks for too long has failed."""
        deadline = time.monotonic() + within_s
        while not it_is_so():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {within_s:g} s: {what}")
            time.sleep(0.1)


@contextmanager
def box(folder: Path) -> Iterator[Box]:
    """Boot one; ``folder`` is an empty one for what it needs meanwhile."""
    base = folder / "base"
    base.mkdir()
    wheel = wheel_in(folder)
    with (folder / "console").open("wb") as console:
        process = subprocess.Popen(
            [
                *("unshare", "--mount", "--propagation", "private"),
                *("sh", "-c", _MOUNTS, "sh", str(base)),
                *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network"),
                *("--machine=speechbenchtest", "--console=pipe"),
                *("--system-call-filter=@clock @memlock", "--capability=CAP_IPC_LOCK,CAP_SYS_NICE"),
                f"--bind-ro={sysconfig.get_path('purelib')}:/opt/locked",
                f"--bind-ro={wheel.parent}:/opt/dist",
                *("-D", str(base / "root"), "--boot"),
                # Of the machine's own services none is wanted.
                *("systemd.unit=basic.target",),
            ],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
        )
    try:
        made = Box(_leader_of(process))
        made.until("it is booted", lambda: _is_up(made), BOOT_S)
        _install(made, wheel)
        yield made
    finally:
        process.terminate()  # nspawn asks the container to power off
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wheel_in(folder: Path) -> Path:
    """The wheel of this checkout, built without a network."""
    dist = folder / "dist"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-build-isolation", "--wheel-dir", str(dist), str(ROOT)),
        ],
        check=True,
    )
    (wheel,) = dist.glob("*.whl")
    return wheel


def _leader_of(process: "subprocess.Popen[bytes]") -> int:
    """The first process of the container: the child of nspawn that is an init."""
    deadline = time.monotonic() + BOOT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "the container has ended at once; its console says why"
        for child in _children(process.pid):
            name = Path(f"/proc/{child}/comm")
            if name.exists() and name.read_text().strip() == "systemd":
                return child
        time.sleep(0.05)
    raise AssertionError("the container did not boot")


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except FileNotFoundError:
        return []
    return [int(word) for word in text.split()]


def _is_up(made: Box) -> bool:
    done = made.run("systemctl", "is-active", "basic.target", check=False)
    return done.stdout.strip() == "active"


def _install(made: Box, wheel: Path) -> None:
    """As docs/install.md says, but that the packages of the lock are there already."""
    made.run(str(SYSTEM_PYTHON), "-m", "venv", "--without-pip", "/opt/speechbench")
    made.write("/opt/speechbench/lib/python3.11/site-packages/locked.pth", "/opt/locked\n")
    made.run(
        *("/opt/speechbench/bin/python", "-m", "pip", "install", "--quiet", "--no-deps"),
        *("--no-index", "--disable-pip-version-check", "--root-user-action=ignore"),
        f"/opt/dist/{wheel.name}",
    )
    made.run("ln", "-s", PROGRAM, "/usr/local/bin/speechbench")
    made.run("/usr/local/bin/speechbench", "unit", "install")
    made.run("systemctl", "daemon-reload")


def is_possible() -> str | None:
    """Why it cannot be tried here; None where it can."""
    if os.geteuid() != 0:
        return "run it as root: it boots a container"
    if missing():
        return f"needs more: apt-get install {' '.join(missing())}"
    return None
