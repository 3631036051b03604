"""A journal on a disk that becomes full and has room again; run as a process of its own.

``python -m tests.exporters.full_disk DIRECTORY STORY``: prints what happened as JSON.
"""

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from exporters.journal import Limits
from exporters.packing import pack
from tests.exporters.records import Hand, Said, finished, journal_in, started

LIMIT_BYTES = 20_000
RESERVE_BYTES = 60_000


def main(directory: Path, how: str) -> None:
    stories = {"again": _again, "reserve": _reserve}
    happened = stories[how](directory) if how in stories else _once(directory, how)
    print(json.dumps(happened))  # noqa: T201


def _once(directory: Path, how: str) -> dict[str, object]:
    hand, said = Hand(), Said()
    make_room = {"limit": _limited, "tmpfs": _filled}[how](directory)
    journal = journal_in(directory, hand, said, Limits(room_bytes=50_000))
    put = 0
    while not journal.full:
        journal.append(pack({"k": "note", "i": put, "text": "x" * 100}))
        put += 1
    for _ in range(9):  # the tenth lost is the one that found the disk full
        journal.append(pack({"k": "note", "i": put}))
        put += 1
    if how == "tmpfs":
        _make_a_little_room(directory)
    hand.turn(2)
    journal.tick()
    still_full = journal.full
    make_room()
    hand.turn(2)
    journal.tick()
    journal.append(pack({"k": "note", "i": put}))
    journal.close()
    return {
        "put": put + 1,
        "lost": journal.lost,
        "still_full": still_full,
        "events": said.events,
        "error": said.fields("journal_write_failed")["error"],
    }


def _again(directory: Path) -> dict[str, object]:
    """Every new segment is full as soon as it has begun."""
    hand, waited_s = Hand(), list[int]()
    _limited(directory)
    journal = journal_in(directory, hand)
    for _ in range(8):
        while not journal.full:
            journal.append(pack({"k": "note", "text": "x" * 5000}))
        seconds = 0
        while journal.full:
            hand.turn(1)
            seconds += 1
            journal.tick()
        waited_s.append(seconds)
    journal.close()
    return {"waited_s": waited_s, "lost": journal.lost}


def _reserve(directory: Path) -> dict[str, object]:
    """Sessions begin only while the journal is not full; one goes on whatever it says."""
    hand, said = Hand(), Said()
    make_room = _filled(directory)
    limits = Limits(reserve_bytes=RESERVE_BYTES, room_bytes=100_000)
    journal = journal_in(directory, hand, said, limits)

    def session(name: str) -> None:
        for record in (started(name), *[_said(name)] * 8, finished(name)):
            journal.append(pack(record))
            hand.turn(0.25)
            journal.tick()

    journal.append(pack(started("endless")))
    begun = 0
    while not journal.full:
        session(f"s-{begun}")
        begun += 1
    lost_at_the_reserve, refusing = journal.lost, journal.refusing
    while not journal.refusing:
        journal.append(pack(_said("endless")))
    for _ in range(4):
        journal.append(pack(_said("endless")))
    _make_a_little_room(directory)
    hand.turn(100)
    journal.tick()
    still_full = journal.full
    make_room()
    hand.turn(100)
    journal.tick()
    full_with_room = journal.full
    journal.append(pack(finished("endless")))
    session("after")
    journal.close()
    return {
        "begun": begun,
        "lost_at_the_reserve": lost_at_the_reserve,
        "refusing_at_the_reserve": refusing,
        "still_full": still_full,
        "full_with_room": full_with_room,
        "lost": journal.lost,
        "partial": journal.sessions_partial,
        "low": said.fields("journal_disk_low"),
        "resumed": said.fields("journal_resumed"),
        "events": said.events,
    }


def _said(session_id: str) -> dict[str, object]:
    return {"k": "message_received", "t": 1, "s": session_id, "raw": "x" * 500}


def _limited(_directory: Path) -> Callable[[], None]:
    """No file may grow beyond a limit: the write that reaches it is cut short."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, before[1]))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _make_a_little_room(directory: Path) -> None:
    """Enough for a segment to begin in, and for little more."""
    os.truncate(directory / "filler", 200_000 - 20_000)


def _filled(directory: Path) -> Callable[[], None]:
    """The disk is small and nearly all of it is taken."""
    filler = directory / "filler"
    filler.write_bytes(b"x" * 200_000)
    return filler.unlink


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
