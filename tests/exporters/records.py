"""Records as the measuring process makes them, for tests to change one thing in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporters.journal import About, Clock, Journal, Limits
from exporters.segment import read_journal

S = 1_000_000_000
ABOUT = About("host-1", "boot-1", "0.1.0", "c0ffee")
STREAM = {"provider": "local", "model": "tiny", "dataset": "files", "flow": "forced"}
SCORE = {"reference_words": 10, "substitutions": 1, "insertions": 0, "deletions": 1}


def started(session_id: str = "s-1", **changes: object) -> dict[str, Any]:
    return {
        "k": "session_started",
        "t": 1 * S,
        "s": session_id,
        "run_id": "r-1",
        **STREAM,
        "clip": "a.wav",
        "clip_sha256": "0" * 64,
        "audio_ms": 5000.0,
        "reference": "it was the best of times",
        "rule": {},
        "voice": {},
        "wall_unix_ns": 1_700_000_000 * S,
        "signature": "sig",
        "url": "wss://localhost/listen",
        **changes,
    }


def finished(session_id: str = "s-1", **changes: object) -> dict[str, Any]:
    return {
        "k": "session_finished",
        "t": 7 * S,
        "s": session_id,
        "run_id": "r-1",
        **STREAM,
        "clip": "a.wav",
        "audio_ms": 5000.0,
        "wall_ms": 5400.0,
        "verdict": "forced_final",
        "selection": "forced_final",
        "valid": True,
        "time_to_final_ns": 312_500_000,
        "time_to_first_partial_ns": 101_000_000,
        "zero_ns": 6 * S,
        "confirmed_ns": None,
        "transcript": "it was the rest of",
        "first_partial_text": "it was",
        "remarks": [],
        "fault": None,
        "frames": 250,
        "frames_late": 1,
        "late_p99_ns": 1_500_000,
        "late_max_ns": 21_000_000,
        "partials": 4,
        "finals": 1,
        "rtt_ns": 12_000_000,
        "connect_ns": 80_000_000,
        "retransmits": 2,
        "force_delay_ns": 400_000,
        "score": SCORE,
        "first_partial_score": {**SCORE, "deletions": 4},
        "signature": "sig",
        "wall_unix_ns": 1_700_000_007 * S,
        "cost_usd": 0.0005,
        **changes,
    }


class Hand:
    """Both clocks of a host, moved by hand."""

    def __init__(self) -> None:
        self.now_ns = 1000 * S
        self.clock = Clock(lambda: self.now_ns, lambda: 1_700_000_000 * S + self.now_ns)

    def turn(self, seconds: float) -> None:
        self.now_ns += int(seconds * S)


class Said:
    """Everything that was said to people, in order."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Mapping[str, object]]] = []

    def __call__(self, level: str, event: str, **fields: object) -> None:
        self.lines.append((level, event, fields))

    @property
    def events(self) -> list[str]:
        return [event for _, event, _ in self.lines]

    def fields(self, event: str) -> Mapping[str, Any]:
        """Of the newest line of this event."""
        return [fields for _, name, fields in self.lines if name == event][-1]


def journal_in(
    directory: Path, hand: Hand, said: Said | None = None, limits: Limits | None = None
) -> Journal:
    """An open journal."""
    journal = Journal(directory, ABOUT, hand.clock, said or Said(), limits=limits)
    journal.open()
    return journal


def journalled(source: Path, *kinds: str) -> list[dict[str, Any]]:
    """All records in a journal but the segments' own, or those of these kinds."""
    records: list[dict[str, Any]] = [*read_journal(source)]
    return [r for r in records if (r["k"] in kinds if kinds else r["k"] != "segment")]
