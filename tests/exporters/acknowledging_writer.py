"""A journal that says on standard output, after each record, that it is written; until killed."""

import struct
import sys
from pathlib import Path

from exporters.packing import pack
from tests.exporters.records import Hand, journal_in


def main(directory: Path) -> None:
    journal = journal_in(directory, Hand())
    written = 0
    while True:
        journal.append(pack({"k": "note", "i": written, "text": "x" * (written % 300)}))
        written += 1
        sys.stdout.buffer.write(struct.pack("<Q", written))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
