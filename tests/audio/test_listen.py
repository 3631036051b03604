"""``speechbench listen`` with a card: a recording is played into it and measured as it is heard.

The models are fakes, for what is proven is our own part: which turns are found, that all models
hear the same, and what is left when the card is gone.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters.segment import read_journal
from measure.events import DeviceSampled, Event, FrameSent, SpeechEnd, SpeechStart
from measure.records import VoiceSettings
from measure.replay import Session, sessions_of
from pacer.builtin import builtin_clips
from pacer.clips import load_clip
from tests.audio.card import MICROPHONE, RATE_HZ, Card, card_in, until
from vad.endpoint import Edge, EdgeKind
from vad.live import LiveDetector
from vad.silero import StepModel

WINDOW_MS = 32.0
TRIES = 4
"""On a busy host the player or the sound server may falter: then another sound was heard."""
KEYS = {
    "DEEPGRAM_API_KEY": "any-key-of-this-length",
    "ASSEMBLYAI_API_KEY": "any-key-of-this-length",
}


@dataclass
class Run:
    """A command that listens, or has listened."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    code: int | None = None

    @property
    def said(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out").read_text())
        return found

    @property
    def heard(self) -> bytes:
        return load_clip(self.folder / "heard.wav", rate_hz=RATE_HZ).pcm

    @property
    def sessions(self) -> list[Session]:
        return list(sessions_of(read_journal(self.folder / "journal")))

    def end(self) -> None:
        """Ctrl-C, once."""
        self.process.send_signal(signal.SIGINT)
        self.code = self.process.wait(60)


@contextmanager
def listening(folder: Path, environment: dict[str, str], *arguments: str) -> Iterator[Run]:
    """The command, once it has begun to hear."""
    command = (sys.executable, "-m", "daemon.cli", "listen", "--device", MICROPHONE, "--json")
    kept = ("--journal", str(folder / "journal"), "--record", str(folder / "heard.wav"))
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(
            (*command, *kept, *arguments),
            env={**os.environ, **environment, **KEYS},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
    run = Run(process, folder)
    try:
        until("the microphone", lambda: "is heard now" in run.said or process.poll() is not None)
        assert process.poll() is None, run.said
        yield run
    finally:
        process.kill()
        process.wait()


@contextmanager
def fake(provider: str) -> Iterator[str]:
    """A fake, and its address."""
    process = subprocess.Popen(
        (sys.executable, "-m", "daemon.cli", "fake", "--provider", provider, "--json"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None, "it was asked for"
        with process.stdout as said:
            yield str(json.loads(said.readline())["address"])
    finally:
        process.kill()
        process.wait()


def config_in(folder: Path, addresses: dict[str, str]) -> Path:
    path = folder / "listen.toml"
    path.write_text(
        "".join(f'[[model]]\nname = "{n}"\nurl = "{u}"\n' for n, u in addresses.items())
    )
    return path


def recording() -> bytes:
    """Speech with pauses, and silence behind it in which its end can be known."""
    return builtin_clips()[0].pcm[: 8 * RATE_HZ * 2] + bytes(RATE_HZ * 2)


def edges_of_file(pcm: bytes) -> list[Edge]:
    detector = LiveDetector(StepModel.load(), RATE_HZ, VoiceSettings())
    return [*detector.hear(pcm), *detector.flush()]


def told(session: Session, *kinds: type[Event]) -> list[Any]:
    return [event for event in session.events if isinstance(event, kinds)]


def heard_whole(card: Card, folder: Path, arguments: Sequence[str]) -> tuple[Run, float]:
    """A run that heard the recording as it is, and where (ms) in what was heard it begins."""
    pcm = recording()
    for attempt in range(TRIES):
        own = folder / str(attempt)
        own.mkdir()
        with listening(own, card.environment, *arguments) as run:
            card.play(pcm)
            until("all of it", lambda: len(run.heard) > 0 and pcm[-64_000:-32_000] in run.heard)
            run.end()
        place = run.heard.find(pcm)
        if place >= 0:
            return run, place / 2 * 1000 / RATE_HZ
    pytest.fail(f"in {TRIES} attempts the card never gave what was played")


def test_the_turns_of_what_is_heard_are_those_of_the_file_within_one_window(
    card: Card, tmp_path: Path
) -> None:
    models = ("deepgram/nova-3", "assemblyai/universal-streaming-english")
    with fake("deepgram") as nova, fake("assemblyai") as other:
        config = config_in(tmp_path, dict(zip(models, (nova, other), strict=True)))
        run, place_ms = heard_whole(card, tmp_path, ("--config", str(config)))
    file = recording()
    alone, expected = edges_of_file(file), edges_of_file(bytes(round(place_ms * 16) * 2) + file)
    assert len(alone) >= 4, "the recording has several turns"
    assert [edge.kind for edge in alone] == [edge.kind for edge in expected]
    sessions = run.sessions
    assert {session.started["model"] for session in sessions} == set(models)
    for session in sessions:
        found = told(session, SpeechStart, SpeechEnd)
        kinds = [
            EdgeKind.START if isinstance(event, SpeechStart) else EdgeKind.END for event in found
        ]
        assert kinds == [edge.kind for edge in expected]
        for event, edge in zip(found, expected, strict=True):
            assert event.audio_ms == pytest.approx(edge.audio_ms, abs=WINDOW_MS)
        for event, edge in zip(found, alone, strict=True):  # its windows began elsewhere
            assert event.audio_ms - place_ms == pytest.approx(edge.audio_ms, abs=2 * WINDOW_MS)
    ends = [[event.audio_ms for event in told(session, SpeechEnd)] for session in sessions]
    assert ends[0] == ends[1]
    turns = [one for one in run.document["measurements"] if one["model"] == models[0]]
    assert len(turns) == len(ends[0])


def test_what_was_heard_is_what_was_sent_and_carries_its_moments(
    card: Card, tmp_path: Path
) -> None:
    with fake("deepgram") as nova:
        run, _ = heard_whole(card, tmp_path, ("--model", "deepgram/nova-3", "--url", nova))
    (session,) = run.sessions
    live = [frame for frame in told(session, FrameSent) if frame.captured_ns is not None]
    assert live[-1].audio_ms == pytest.approx(len(run.heard) / 32, abs=20.1)
    delays_ms = np.array([(frame.due_ns - frame.captured_ns) / 1e6 for frame in live])
    assert 0 <= np.median(delays_ms) < 500
    steps_ms = np.diff([frame.captured_ns for frame in live]) / 1e6
    assert np.median(steps_ms) == pytest.approx(20.0, abs=0.1)
    assert told(session, DeviceSampled)


def test_a_card_that_vanishes_ends_the_run_with_one_line_and_all_is_kept(tmp_path: Path) -> None:
    pcm = recording()
    room = tmp_path / "card"
    room.mkdir()
    with (
        fake("deepgram") as nova,
        card_in(room) as card,
        listening(tmp_path, card.environment, "--model", "deepgram/nova-3", "--url", nova) as run,
    ):
        card.play(pcm)
        until("a turn", lambda: "turn 1" in run.said)
        card.vanish()
        run.code = run.process.wait(60)
    assert run.code == 1
    lines = [line for line in run.said.splitlines() if "disappeared" in line]
    assert len(lines) == 1
    assert MICROPHONE in lines[0]
    assert "Traceback" not in run.said
    assert run.document["journal_complete"]
    assert run.document["measurements"]
    assert len(run.sessions[0].events) > 100
