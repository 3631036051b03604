"""``speechbench run --monitor`` with a card: what is heard is what was streamed."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trio

from daemon.clock import HostClock
from daemon.fakes import FakeDeepgram, Script, listening
from exporters.segment import read_journal
from measure.records import AudioClip, Remark
from pacer.clips import load_clip
from tests.audio.card import LOUDSPEAKER, MICROPHONE, RATE_HZ, Card, card_in
from tests.daemon.several import until

AUDIO = Path(__file__).parents[2].parent / "shared" / "audio"
RECORDING = AUDIO / "google_audio.wav"
TEXT = "how old is the bridge"
END_MS = 1000.0
PATIENCE_S = 120
KEY = "canary-dg-2b81e07f3c"
PATIENT = '[log]\nformat = "json"\n[budgets]\nframe_late_ms = 1000\nloop_stall_ms = 1000\n'
"""A busy host is no fault here."""

pytestmark = pytest.mark.skipif(
    not RECORDING.is_file(), reason="the shared recordings are not here"
)


@dataclass
class Ran:
    """The program, once it has ended."""

    code: int
    out: bytes
    said: str
    heard: bytes
    """What the sink was given meanwhile."""
    streams: int
    """How many the provider was opened."""
    journal: Path

    @property
    def measurement(self) -> dict[str, Any]:
        """The only one."""
        (found,) = json.loads(self.out)["measurements"]
        return dict(found)

    @property
    def xruns(self) -> list[dict[str, Any]]:
        return [dict(one) for one in read_journal(self.journal) if one["k"] == "xrun"]

    @property
    def last_line(self) -> str:
        return [line for line in self.said.splitlines() if line.startswith("speechbench: ")][-1]


def ran(card: Card, folder: Path, *words: str, on_audio: Callable[[], None] = lambda: None) -> Ran:
    """``run`` with a fake; ``on_audio`` is called once that hears some."""
    config = folder / "run.toml"
    fake = FakeDeepgram(Script.for_force(TEXT, end_ms=END_MS))

    async def act_on_audio() -> None:
        await until(lambda: any(len(visit.audio) > RATE_HZ // 2 for visit in fake.visits))
        on_audio()

    async def run(url: str) -> tuple[int, bytes]:
        config.write_text(f'{PATIENT}[[model]]\nname = "deepgram/nova-3"\nurl = "{url}"\n')
        command = [sys.executable, "-m", "daemon.cli", "run", str(RECORDING), "--json"]
        command += ["--config", str(config), "--journal", str(folder / "journal"), *words]
        environment = {**os.environ, "DEEPGRAM_API_KEY": KEY}
        with (folder / "log").open("wb") as log:
            ended = await trio.run_process(
                command, env=environment, capture_stdout=True, stderr=log.fileno(), check=False
            )
        return ended.returncode, ended.stdout

    async def main() -> Ran:
        with trio.fail_after(PATIENCE_S), card.recorded() as so_far:
            async with listening(fake) as url, trio.open_nursery() as nursery:
                nursery.start_soon(act_on_audio)
                code, out = await run(url)
                nursery.cancel_scope.cancel()
            await trio.sleep(0.5)  # the sink's own buffer
            said = (folder / "log").read_text()
            return Ran(code, out, said, so_far(), len(fake.visits), folder / "journal")

    return trio.run(main, clock=HostClock())


def place_of(clip: AudioClip, heard: bytes) -> tuple[int, float]:
    """The sample at which the clip begins in what was heard, and how alike they are, at most 1."""
    wanted = np.frombuffer(clip.pcm, "<i2").astype(float)
    samples = np.frombuffer(heard, "<i2").astype(float)
    size = len(samples) + len(wanted)
    product = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(wanted, size).conj(), size)
    place = int(product[: len(samples)].argmax())
    part = samples[place : place + len(wanted)]
    return place, float(product[place] / np.sqrt((part**2).sum() * (wanted**2).sum()))


def is_heard_whole(session: Ran) -> bool:
    """Bit for bit; where a busy host made a piece late, this was told and only some is alike."""
    clip = load_clip(RECORDING, rate_hz=RATE_HZ)
    place, alike = place_of(clip, session.heard)
    marked = Remark.XRUN in session.measurement["remarks"]
    if session.xruns:
        return alike > 0.5 and marked
    return session.heard[2 * place :][: len(clip.pcm)] == clip.pcm and not marked


def test_what_the_sink_is_given_is_the_clip(on_card: Card, tmp_path: Path) -> None:
    session = ran(on_card, tmp_path, "--monitor", LOUDSPEAKER)
    assert session.code == 0
    assert session.measurement["transcript"] == TEXT
    assert is_heard_whole(session)


def test_without_a_name_it_is_heard_on_the_default_output(on_card: Card, tmp_path: Path) -> None:
    session = ran(on_card, tmp_path, "--monitor")
    assert session.code == 0
    assert is_heard_whole(session)


def test_who_does_not_ask_for_it_hears_nothing(on_card: Card, tmp_path: Path) -> None:
    session = ran(on_card, tmp_path)
    assert session.code == 0
    assert len(session.heard) > RATE_HZ * 2
    assert not any(session.heard)


@pytest.mark.parametrize(
    ("device", "line"),
    [
        ("headset", "speechbench: no output device is called 'headset'; there are "),
        (MICROPHONE, "speechbench: 'card microphone' is no output; output devices are "),
    ],
)
def test_a_device_that_cannot_be_heard_on_ends_it_before_anything_is_streamed(
    on_card: Card, tmp_path: Path, device: str, line: str
) -> None:
    session = ran(on_card, tmp_path, "--monitor", device)
    assert (session.code, session.out, session.streams) == (2, b"", 0)
    assert session.last_line.startswith(line)
    assert "Traceback" not in session.said


def test_a_card_that_vanishes_is_one_line_and_the_measurement_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "card"
    folder.mkdir()
    with card_in(folder) as card:
        for name, value in card.environment.items():
            monkeypatch.setenv(name, value)
        words = ("--monitor", LOUDSPEAKER, "--rounds", "2")
        session = ran(card, tmp_path, *words, on_audio=card.vanish)
    assert session.code == 0
    readings = json.loads(session.out)["measurements"]
    assert [one["transcript"] for one in readings] == [TEXT] * 2
    why = f"speechbench: the output device '{LOUDSPEAKER}' has disappeared: "
    assert session.last_line.startswith(why)
    assert session.last_line.endswith("; measuring goes on unheard")
    assert session.said.count("has disappeared") == 1
    assert "Traceback" not in session.said
