"""Takes out of one lock file what another holds: ``python -m tests.trim_lock BASE MORE``."""

import sys
from pathlib import Path


def entries(lock: str) -> list[str]:
    """Each package with its hashes."""
    found: list[str] = []
    for line in lock.splitlines(keepends=True):
        if line.startswith((" ", "\t")):
            found[-1] += line
        else:
            found.append(line)
    return found


def trimmed(base: str, more: str) -> str:
    """``more`` without the packages of ``base``."""
    there = {entry.split()[0] for entry in entries(base)}
    return "".join(entry for entry in entries(more) if entry.split()[0] not in there)


if __name__ == "__main__":
    base, more = (Path(name) for name in sys.argv[1:])
    more.write_text(trimmed(base.read_text(), more.read_text()))
