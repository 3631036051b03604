"""A writer that dies at each single thing it asks of the system, one death after the other.

``python -m tests.exporters.crash_points DIRECTORY``: for every call of the story below a process is
forked that is killed there, in the middle of the call where it is a write; then the journal is
mended and read. Prints, as JSON, what each had confirmed and what was found of it.
"""

import json
import os
import random
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exporters.frame import framed
from exporters.journal import Limits
from exporters.packing import pack
from exporters.recovery import recover_all
from exporters.segment import MAGIC, read_journal
from tests.exporters.records import Hand, Said, journal_in

CALLS = ("write", "fsync", "fdatasync", "ftruncate", "rename", "unlink", "open", "close")
SAID = struct.Struct("<QQ")
LEFT_OVER = 5
"""Records of a segment that an earlier crash has left open, and torn."""


def main(directory: Path) -> None:
    found: list[dict[str, object]] = []
    while not found or found[-1]["killed"]:
        place = directory / str(len(found))
        place.mkdir()
        found.append(_die_at(len(found) + 1, place))
    print(json.dumps(found))  # noqa: T201


def _die_at(call: int, directory: Path) -> dict[str, object]:
    _leave_a_torn_segment(directory)
    heard, say = os.pipe()
    child = os.fork()
    if not child:
        os.close(heard)
        _deadly(call)
        _story(directory, say)
        os._exit(0)
    os.close(say)
    with os.fdopen(heard, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    written, durable = SAID.unpack(said[-SAID.size :]) if said else (0, 0)
    recovered = recover_all(directory, Said())
    journal = read_journal(directory)
    notes = [record for record in journal if record["k"] == "note"]
    return {
        "killed": os.WIFSIGNALED(status),
        "written": written,
        "durable": durable,
        "old": [note["i"] for note in notes if note["run"] == "old"],
        "new": [note["i"] for note in notes if note["run"] == "new"],
        "torn": sum(one.torn is not None for one in recovered),
        "damaged": len(journal.damaged),
        "open": len(list(directory.glob("*.open"))),
    }


def _leave_a_torn_segment(directory: Path) -> None:
    notes = [framed(pack({"k": "note", "run": "old", "i": i})) for i in range(LEFT_OVER + 1)]
    left = MAGIC + framed(pack({"k": "segment", "schema": 1})) + b"".join(notes)
    (directory / "20000101T000000.000000Z.sbj.open").write_bytes(left[:-3])


def _story(directory: Path, say: int) -> None:
    """Mend what is there, write over several segments, close."""
    write = _REAL["write"]
    recover_all(directory, Said())
    journal = journal_in(directory, Hand(), limits=Limits(segment_bytes=600))
    durable = 0
    for i in range(20):
        journal.append(pack({"k": "note", "run": "new", "i": i, "text": "x" * 50}))
        if i % 4 == 3:
            journal.sync()
            durable = i + 1
        write(say, SAID.pack(i + 1, durable))
    journal.close()


_REAL: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in CALLS}


def _deadly(call: int) -> None:
    """From now on the process is killed at its ``call``-th call to the system."""
    chance, left = random.Random(call), [call]

    def deadly(name: str) -> Callable[..., Any]:
        def asked(*given: Any, **more: Any) -> Any:  # noqa: ANN401
            left[0] -= 1
            if left[0] == 0:
                if name == "write":
                    _REAL["write"](given[0], bytes(given[1])[: chance.randrange(len(given[1]))])
                os.kill(os.getpid(), signal.SIGKILL)
            return _REAL[name](*given, **more)

        return asked

    for name in CALLS:
        setattr(os, name, deadly(name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
