"""The C program: built when it is needed, for as long as a run takes."""

import subprocess
from pathlib import Path

from benchmarks.host import CLIENT_PRIORITY
from benchmarks.load import Load, Outcome

SOURCE = Path(__file__).with_name("paced.c")


def build(folder: Path) -> Path:
    """The program, built into ``folder`` unless it is there."""
    program = folder / "paced"
    if not program.exists():
        subprocess.run(["cc", "-O2", "-o", str(program), str(SOURCE)], check=True)
    return program


def command(program: Path, load: Load) -> list[str]:
    """How to run it. It knows plain binary audio only."""
    if load.tls or load.json or load.bursts or load.listen:
        raise ValueError("the C program sends plain binary audio and does nothing else")
    numbers = (load.port, load.core, CLIENT_PRIORITY, load.streams, load.frames)
    return [str(program), *map(str, numbers)]


def outcome_of(printed: str) -> Outcome:
    """What it says at its end."""
    cpu_ns, sent = map(int, printed.split())
    return Outcome(cpu_ns=cpu_ns, sent=sent)
