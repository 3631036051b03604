"""Makes the journal that is stored for a version: real measurements of fakes, over loopback.

``python -m tests.exporters.store_journal tests/exporters/journals/vN.sbj``, once for each version
that writes what no version before it has written; what is stored is never made again.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from daemon.fakes import FakeDeepgram, FakeGladia, Faults, Refusal, Script
from daemon.fakes.server import Fake
from daemon.scores import with_scores
from exporters.journal import About, Clock, Journal
from exporters.packing import pack
from measure.wire import Record
from tests.daemon.test_loopback import TEXT, measured

FORCED = Script.for_force(TEXT, end_ms=500, after_s=0.1)
NATURAL = Script.for_pause(TEXT, end_ms=500, pause_ms=300)
REFUSAL = Faults(refusal=Refusal(429, retry_after_s=9))
MADE: tuple[tuple[str, str, Fake], ...] = (
    ("answered", "deepgram/nova-3", FakeDeepgram(FORCED)),
    ("natural", "gladia/solaria-1", FakeGladia(NATURAL)),
    ("refused", "gladia/solaria-1", FakeGladia(faults=REFUSAL)),
    ("cut-short", "deepgram/nova-3", FakeDeepgram(FORCED)),
)
KEPT = {"cut-short": 8}
"""How many records there are of a session that has no end."""


def records() -> Iterator[Record]:
    yield {"k": "heartbeat", "t": 1, "ready": True, "loop_lag_ns": [1000], "waiting": 0}
    for session_id, model, fake in MADE:
        for record in measured(model, fake)[1][: KEPT.get(session_id)]:
            yield with_scores({**record, "s": session_id})
        if session_id == "refused":
            yield {"k": "records_lost", "t": 2, "count": 2, "why": "handoff_full"}


def main(path: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        about = About("host-1", "boot-1", "0.1.0", "c0ffee")
        clock = Clock(time.monotonic_ns, time.time_ns)
        journal = Journal(Path(directory), about, clock, lambda *_, **__: None)
        journal.open()
        for record in records():
            journal.append(pack(record))
        journal.close()
        (made,) = Path(directory).iterdir()
        with path.open("xb") as file:  # what is stored is never replaced
            file.write(made.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
