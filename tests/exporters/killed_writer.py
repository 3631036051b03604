"""A journal written as fast as it can be, by a process that is there to be killed.

``python -m tests.exporters.killed_writer DIRECTORY RUN SEED``: mends what the one before left, then
says on standard output after each record how many are written, and how many of them are durable.
"""

import random
import struct
import sys
from pathlib import Path

from exporters.journal import Limits
from exporters.packing import pack
from exporters.recovery import recover_all
from tests.exporters.records import Hand, Said, journal_in

SAID = struct.Struct("<QQ")
"""Written, durable."""


def main(directory: Path, run: int, seed: int) -> None:
    chance, hand = random.Random(seed), Hand()
    hand.turn(run)
    recover_all(directory, Said())
    journal = journal_in(directory, hand, limits=Limits(segment_bytes=8 << 20))
    written = durable = 0
    while True:
        size = chance.choice((10, 300, 300, 5_000, 3_000_000))
        journal.append(pack({"k": "note", "run": run, "i": written, "text": b"x" * size}))
        written += 1
        if chance.random() < 0.1:
            journal.sync()
            durable = written
        sys.stdout.buffer.write(SAID.pack(written, durable))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
