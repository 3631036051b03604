"""How long it takes to rescore many sessions: ``python -m tests.daemon.rescore_speed [SESSIONS]``.

Makes a journal of realistic sessions in a temporary folder (seeded, the same each time) and
rescores it on one core, in this process, as the command does. Not a test: machines differ.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from daemon.rescoring import Rescoring
from exporters.journal import About, Clock, Journal, Limits
from exporters.packing import pack
from exporters.segment import read_journal
from measure.definitions import METHOD
from measure.events import (
    BytesUnsent,
    Connected,
    Event,
    ForceSent,
    FrameSent,
    MessageReceived,
    NetworkSampled,
    Notice,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    StreamDone,
    StreamReady,
    Tick,
    Transcript,
)
from measure.records import MS, SECOND, FinalRule, Flow, Rule
from measure.replay import recorded_of
from measure.wire import Record, Recorder

SESSIONS = 10_000
TEXT = "it was the best of times and it was the worst of times as far as anybody could tell"
WORDS = TEXT.split()
RULE = Rule(Flow.FORCED, FinalRule.MARKER)
FRAME_MS = 20


def journal_of(directory: Path, sessions: int, *, seed: int = 1) -> Path:
    """A journal of so many sessions of clips of 3 to 8 seconds, a few models in turn."""
    chance = random.Random(seed)
    clock = Clock(lambda: SECOND, lambda: 1_700_000_000 * SECOND)
    about = About("host", "boot", "0.1.0", "c0ffee")
    journal = Journal(
        directory, about, clock, lambda *_, **__: None, limits=Limits(sync_ns=1 << 60)
    )
    journal.open()
    for number in range(sessions):
        for record in session_records(f"s{number:06d}", chance, number * 30 * SECOND + SECOND):
            if not journal.append(pack(record)):
                raise OSError("the journal takes no more")
    journal.close()
    return directory


def session_records(session_id: str, chance: random.Random, start_ns: int) -> list[Record]:
    """Everything that is recorded of one session."""
    records: list[Record] = []
    clip_ms = chance.randrange(3000, 8000, FRAME_MS)
    records.append(_started(session_id, start_ns, clip_ms, chance))
    recorder = Recorder(session_id, records.append)
    last_ns = start_ns
    for event in sorted_story(chance, start_ns, clip_ms):
        recorder.note(event)
        last_ns = event.at_ns
    recorder.flush()
    records.append({"k": "session_finished", "t": last_ns, "s": session_id, "wall_ms": 7000.0})
    return records


def sorted_story(chance: random.Random, start_ns: int, clip_ms: int) -> Iterator[Event]:
    """The events of one session as they are told: frames each 20 ms, a partial each 300 ms."""
    yield SpeechStart(start_ns, 180.0, 256.0)
    end_ms = clip_ms - 400.0
    known_ms = end_ms + 130.0
    yield SpeechEnd(start_ns, end_ms, known_ms)
    yield Connected(start_ns + 80 * MS, None, 9 * MS, 12 * MS, 25 * MS, 30 * MS, "10.0.0.1:443")
    yield StreamReady(start_ns + 80 * MS)
    base_ns = start_ns + 81 * MS
    told: list[Event] = [*_frames_to_zero(chance, base_ns, known_ms)]
    zero_ns = told[-1].at_ns + chance.randrange(20_000, 90_000)
    told += [
        ForceSent(zero_ns, told[-1].at_ns),
        BytesUnsent(zero_ns + 4000, 600, 640),
        NetworkSampled(zero_ns + 6000, 21 * MS, 19 * MS, 0),
    ]
    final_ns = zero_ns + chance.randrange(90 * MS, 400 * MS)
    told += _silence(chance, base_ns, zero_ns, final_ns + SECOND // 2)
    told += _said(chance, base_ns, zero_ns, final_ns, end_ms)
    told.sort(key=lambda event: event.at_ns)
    done_ns = final_ns + SECOND // 2
    yield from told
    yield Tick(done_ns + 90_000)
    yield from _spoken(done_ns + 30 * MS, json.dumps({"type": "Metadata", "sha256": "0" * 64}))
    yield Notice(done_ns + 30 * MS, "Metadata")
    yield StreamDone(done_ns + 30 * MS)
    yield StreamClosed(done_ns + 50 * MS, 1000)


def _frames_to_zero(chance: random.Random, base_ns: int, known_ms: float) -> Iterator[Event]:
    frames = int(-(-known_ms // FRAME_MS))
    for index in range(1, frames + 1):
        yield _frame(chance, base_ns, index)


def _silence(chance: random.Random, base_ns: int, from_ns: int, to_ns: int) -> Iterator[Event]:
    index = (from_ns - base_ns) // (FRAME_MS * MS) + 1
    while base_ns + index * FRAME_MS * MS < to_ns:
        yield _frame(chance, base_ns, index, padding=True)
        index += 1


def _frame(chance: random.Random, base_ns: int, index: int, *, padding: bool = False) -> FrameSent:
    due_ns = base_ns + index * FRAME_MS * MS
    return FrameSent(due_ns + chance.randrange(50_000, 500_000), due_ns, index * 20.0, padding)


def _said(
    chance: random.Random, base_ns: int, zero_ns: int, final_ns: int, end_ms: float
) -> Iterator[Event]:
    heard_ns = base_ns + 700 * MS
    while heard_ns < final_ns:
        words = WORDS[: max(1, int((heard_ns - base_ns) / MS / 350))]
        yield from _transcript(heard_ns, words, final=False, end_ms=end_ms)
        heard_ns += chance.randrange(200 * MS, 400 * MS)
    yield from _transcript(final_ns, WORDS, final=True, end_ms=end_ms)


def _transcript(at_ns: int, words: list[str], *, final: bool, end_ms: float) -> Iterator[Event]:
    step_s = end_ms / 1000 / len(WORDS)
    said = {
        "type": "Results",
        "is_final": final,
        "from_finalize": final,
        "channel": {
            "alternatives": [
                {
                    "transcript": " ".join(words),
                    "words": [
                        {"word": word, "start": n * step_s, "end": (n + 1) * step_s}
                        for n, word in enumerate(words)
                    ],
                }
            ]
        },
    }
    yield from _spoken(at_ns, json.dumps(said))
    yield Transcript(at_ns, " ".join(words), final, forced=True if final else None)


def _spoken(at_ns: int, raw: str) -> Iterator[Event]:
    yield MessageReceived(at_ns, raw, at_ns + 60_000)


def _started(session_id: str, start_ns: int, clip_ms: int, chance: random.Random) -> Record:
    rule = {name: getattr(value, "value", value) for name, value in asdict(RULE).items()}
    return {
        "k": "session_started",
        "t": start_ns,
        "s": session_id,
        "run_id": "r",
        "provider": "deepgram",
        "model": f"deepgram/{chance.choice(['nova-3', 'nova-2', 'flux'])}",
        "dataset": "files",
        "clip": f"clip-{chance.randrange(50)}",
        "audio_ms": float(clip_ms),
        "flow": "forced",
        "reference": " ".join(WORDS),
        "rule": rule,
        "wall_unix_ns": 1_700_000_000 * SECOND,
        "signature": "speechbench speed",
    }


def rescored(directory: Path, names: list[str]) -> tuple[int, float]:
    """How many sessions there were, and the seconds of CPU time that they took."""
    started_s = time.process_time()
    rescoring = Rescoring(names, {})
    for recorded in recorded_of(read_journal(directory)):
        rescoring.add(recorded)
    rescoring.figures()
    return rescoring.sessions, time.process_time() - started_s


def main() -> None:
    """Make, rescore, say."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else SESSIONS
    with tempfile.TemporaryDirectory() as folder:
        directory = journal_of(Path(folder), wanted)
        mib = sum(path.stat().st_size for path in directory.iterdir()) / (1 << 20)
        sys.stdout.write(f"{wanted} sessions, {mib:.0f} MiB\n")
        for names in ([METHOD], [METHOD, "speech_end"], [METHOD, "words", "corrections"]):
            sessions, seconds = rescored(directory, names)
            said = f"{', '.join(names)}: {sessions} in {seconds:.1f} s of CPU time"
            sys.stdout.write(f"{said}\n")


if __name__ == "__main__":
    main()
