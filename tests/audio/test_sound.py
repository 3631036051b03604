"""The sound process with a card: what is captured, what is heard, and how its end is told."""

import math
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
import trio

from daemon import sound
from daemon.clock import HostClock
from daemon.errors import UserError
from daemon.sound import Microphone, SoundEnded, list_devices, loudspeaker, microphone
from measure.records import MS
from pacer.builtin import builtin_clips
from pacer.microphone import Block
from tests.audio.card import (
    LOUDSPEAKER,
    MICROPHONE,
    PATIENCE_S,
    RATE_HZ,
    UNPLUGGED,
    Card,
    card_in,
    until,
)

T = TypeVar("T")
BLOCK = RATE_HZ // 50
TRIES = 5
"""On a busy host a player or the sound server falls silent for a moment, in one take or another."""
MARK = struct.pack("<8h", 20001, -20002, 20003, -20004, 20005, -20006, 20007, -20008)
"""Where what was played begins."""


def in_real_time(main: Callable[[], Awaitable[T]]) -> T:
    async def limited() -> T:
        with trio.fail_after(PATIENCE_S):
            return await main()

    return trio.run(limited, clock=HostClock())


def speech() -> bytes:
    return MARK + builtin_clips()[0].pcm[: 3 * RATE_HZ * 2]


async def captured_until(mic: Microphone, enough: Callable[[list[Block]], bool]) -> list[Block]:
    blocks: list[Block] = []
    async for block in mic.blocks():
        blocks.append(block)
        if enough(blocks):
            break
    return blocks


async def captured_while_played(card: Card, pcm: bytes) -> list[Block]:
    """All from before it begins to be played until it has come back."""
    played = trio.Event()

    async def play() -> None:
        await trio.to_thread.run_sync(card.play, pcm)
        played.set()

    def enough(blocks: list[Block]) -> bool:
        if not played.is_set():
            return False
        heard = b"".join(block.pcm for block in blocks)
        begin = heard.find(MARK)
        return begin >= 0 and len(heard) >= begin + len(pcm)

    async with microphone(MICROPHONE) as mic, trio.open_nursery() as nursery:
        nursery.start_soon(play)
        return await captured_until(mic, enough)


def holds(heard: bytes, pcm: bytes) -> bool:
    """It was heard bit for bit, from its mark on."""
    begin = heard.find(MARK)
    return begin >= 0 and heard[begin : begin + len(pcm)] == pcm


def test_what_is_captured_is_what_was_played_bit_for_bit(on_card: Card) -> None:
    pcm = speech()
    takes = (in_real_time(lambda: captured_while_played(on_card, pcm)) for _ in range(TRIES))
    assert any(holds(b"".join(block.pcm for block in blocks), pcm) for blocks in takes)


def test_blocks_come_every_20_ms_without_a_hole_and_know_their_age(on_card: Card) -> None:
    async def main() -> list[Block]:
        async with microphone(MICROPHONE) as mic:
            assert (mic.opened.device, mic.opened.rate_hz) == (MICROPHONE, RATE_HZ)
            return await captured_until(mic, lambda blocks: len(blocks) == 200)

    blocks = in_real_time(main)
    assert {block.samples for block in blocks} == {BLOCK}
    assert [block.start_sample for block in blocks] == list(range(0, 200 * BLOCK, BLOCK))
    apart_ms = sorted(
        (later.arrived_ns - block.arrived_ns) / MS for block, later in pairwise(blocks)
    )
    assert 15 < apart_ms[len(apart_ms) // 2] < 25
    ages = [block.age_ns for block in blocks if block.age_ns is not None]
    assert len(ages) > 190
    assert 0 < sorted(ages)[len(ages) // 2] < 200 * MS


def test_the_devices_are_listed_and_the_default_is_marked(on_card: Card) -> None:
    found = {device.name: device for device in in_real_time(list_devices)}
    assert {MICROPHONE, LOUDSPEAKER, "default"} <= set(found)  # and what the system adds
    assert (found[MICROPHONE].inputs > 0, found[MICROPHONE].outputs) == (True, 0)
    assert (found[LOUDSPEAKER].inputs, found[LOUDSPEAKER].outputs > 0) == (0, True)
    assert found["default"].default_input
    assert found["default"].default_output


@pytest.mark.parametrize(
    ("device", "line"),
    [
        ("headset", "no input device is called 'headset'; there are "),
        ("99", "no input device is called '99'; there are "),
        (LOUDSPEAKER, "'card loudspeaker' is no input; input devices are "),
    ],
)
def test_a_device_that_cannot_be_listened_to_is_one_line(
    on_card: Card, device: str, line: str
) -> None:
    async def main() -> None:
        async with microphone(device):
            raise AssertionError("nothing can be heard there")

    with pytest.raises(UserError) as raised:
        in_real_time(main)
    assert str(raised.value).startswith(line)
    assert f"'{MICROPHONE}'" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_device_that_does_not_open_is_one_line_with_the_systems_own_words(on_card: Card) -> None:
    async def main() -> None:
        async with microphone(UNPLUGGED):
            raise AssertionError("nothing can be heard there")

    line = f"^the input device '{UNPLUGGED}' cannot be opened: Input/output error$"
    with pytest.raises(UserError, match=line):
        in_real_time(main)


def ended_by(tmp_path: Path, harm: Callable[[Card, int], None], patch: pytest.MonkeyPatch) -> str:
    """What is said where harm comes to a card of its own, or to the process, in the middle."""

    async def main(card: Card) -> str:
        async with microphone(MICROPHONE) as mic:
            blocks = mic.blocks()
            await anext(blocks)
            harm(card, mic.pid)
            with pytest.raises(SoundEnded) as raised:
                async for _ in blocks:
                    pass
            with pytest.raises(SoundEnded, match=str(raised.value)):
                await anext(blocks)  # and so ever after
        return str(raised.value)

    with card_in(tmp_path) as card:
        for name, value in card.environment.items():
            patch.setenv(name, value)
        return in_real_time(lambda: main(card))


def test_a_card_that_vanishes_ends_the_blocks_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = ended_by(tmp_path, lambda card, pid: card.vanish(), monkeypatch)
    assert why.startswith(f"the input device '{MICROPHONE}' has disappeared: ")


def test_a_card_that_stands_still_has_disappeared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = ended_by(tmp_path, lambda card, pid: card.freeze(), monkeypatch)
    assert why == f"the input device '{MICROPHONE}' has disappeared: nothing came from it for 1 s"


def test_a_driver_that_does_not_answer_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sound, "OPEN_S", 2.0)
    with card_in(tmp_path) as card:
        for name, value in card.environment.items():
            monkeypatch.setenv(name, value)
        card.freeze()
        with pytest.raises(UserError, match=r"^no list of sound devices came within 2 s$"):
            in_real_time(list_devices)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                (sys.executable, "-m", "daemon.sound_process", "list", str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
            )
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
        ours.close()
        assert process.wait(PATIENCE_S) == 0


def test_a_sound_process_that_crashes_ends_the_blocks_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = ended_by(tmp_path, lambda card, pid: os.kill(pid, signal.SIGSEGV), monkeypatch)
    assert why == "the sound process was ended by signal 11"


LEFT_BEHIND = """
import os, signal, sys
import trio
from daemon.sound import loudspeaker, microphone

async def main(task, device):
    opened = microphone(device) if task == "listen" else loudspeaker(device, 16000, print)
    async with opened as live:
        print(live.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

trio.run(main, *sys.argv[1:])
"""


@pytest.mark.parametrize(("task", "device"), [("listen", MICROPHONE), ("play", LOUDSPEAKER)])
def test_the_sound_process_ends_with_who_started_it(on_card: Card, task: str, device: str) -> None:
    killed = subprocess.run(
        (sys.executable, "-c", LEFT_BEHIND, task, device), stdout=subprocess.PIPE, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    process = Path("/proc", killed.stdout.decode().strip())
    until("its end", lambda: not process.exists() or "(zombie)" in _state(process))


def _state(process: Path) -> str:
    try:
        return (process / "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "(zombie)"


def tone(rate_hz: int, seconds: float, hz: float = 440.0) -> bytes:
    at = np.arange(int(rate_hz * seconds)) / rate_hz
    return (np.sin(2 * math.pi * hz * at) * 12_000).astype("<i2").tobytes()


async def heard_when_pushed(card: Card, pcm: bytes, rate_hz: int = RATE_HZ) -> bytes:
    """What the sink was given when it was pushed in pieces of 20 ms."""
    piece = rate_hz // 50 * 2
    with card.recorded() as so_far:
        async with loudspeaker(LOUDSPEAKER, rate_hz, lambda what, n: None) as speaker:
            due = trio.current_time()
            for begin in range(0, len(pcm), piece):
                speaker.play(pcm[begin : begin + piece])
                due += 0.02
                await trio.sleep_until(due)
            assert speaker.ended is None
        await trio.sleep(0.5)  # the sink's own buffer
        return so_far()


def test_what_is_pushed_to_the_loudspeaker_is_heard_as_it_was(on_card: Card) -> None:
    pcm = MARK + tone(RATE_HZ, 2.0)
    takes = (in_real_time(lambda: heard_when_pushed(on_card, pcm)) for _ in range(TRIES))
    assert any(holds(heard, pcm) for heard in takes)


@pytest.mark.parametrize("rate_hz", [24_000, 800_000])
def test_another_rate_is_heard_at_the_right_speed(on_card: Card, rate_hz: int) -> None:
    """The first is resampled by the sound server; the second it refuses, and we resample."""
    heard = in_real_time(lambda: heard_when_pushed(on_card, tone(rate_hz, 2.0), rate_hz))
    samples = np.frombuffer(heard, "<i2").astype(float)
    spectrum = np.abs(np.fft.rfft(samples))
    assert abs(int(spectrum.argmax()) * RATE_HZ / len(samples) - 440.0) < 5.0
    loud = np.nonzero(np.abs(samples) > 1000)[0]
    assert 1.8 < (loud[-1] - loud[0]) / RATE_HZ < 2.4


def test_little_is_heard_as_well_before_the_loudspeaker_is_closed(on_card: Card) -> None:
    async def main() -> tuple[bytes, str | None]:
        with on_card.recorded() as so_far:
            async with loudspeaker(LOUDSPEAKER, RATE_HZ, lambda what, n: None) as speaker:
                await trio.sleep(0.2)
                speaker.play(MARK)
            await trio.sleep(0.5)  # the sink's own buffer
            return so_far(), speaker.ended

    takes = (in_real_time(main) for _ in range(TRIES))
    assert any(holds(heard, MARK) and ended is None for heard, ended in takes)


def test_pieces_that_come_late_or_too_fast_are_told(on_card: Card) -> None:
    told: dict[str, int] = {}

    async def main() -> None:
        def count(what: str, n: int) -> None:
            told[what] = told.get(what, 0) + n

        async with loudspeaker(LOUDSPEAKER, RATE_HZ, count) as speaker:
            while set(told) != {"underflow", "overflow"}:
                for _ in range(15):  # 0.3 s at once
                    speaker.play(bytes(640))
                await trio.sleep(0.3)  # more than was kept of them, less than a pause

    in_real_time(main)


def test_a_loudspeaker_that_vanishes_hurts_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(card: Card) -> str | None:
        async with loudspeaker(LOUDSPEAKER, RATE_HZ, lambda what, n: None) as speaker:
            card.vanish()
            while speaker.ended is None:
                speaker.play(bytes(640))
                await trio.sleep(0.02)
            speaker.play(bytes(640))
            return speaker.ended

    with card_in(tmp_path) as card:
        for name, value in card.environment.items():
            monkeypatch.setenv(name, value)
        why = in_real_time(lambda: main(card))
    assert why is not None
    assert why.startswith(f"the output device '{LOUDSPEAKER}' has disappeared: ")
