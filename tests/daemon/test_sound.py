"""The sound process: what it tells reaches the caller, and its end is one line whatever it was.

No card is needed. Where PortAudio is installed it is really asked, with devices made of files.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from ctypes.util import find_library
from pathlib import Path
from typing import TypeVar

import pytest
import trio

from daemon import cli, sound, sound_child
from daemon.clock import HostClock
from daemon.errors import UserError
from daemon.sound import (
    Loudspeaker,
    Microphone,
    SoundEnded,
    list_devices,
    loudspeaker,
    microphone,
)
from daemon.sound_child import environment_of
from pacer.microphone import Block, Opened
from pacer.sound_device import NO_DEVICE
from tests.daemon import sound_card

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
OPENED = Opened("paper", 16_000, 1, 40.0)
needs_portaudio = pytest.mark.skipif(
    find_library("portaudio") is None, reason="needs PortAudio: apt-get install libportaudio2"
)


def in_real_time(main: Callable[[], Awaitable[T]]) -> T:
    async def limited() -> T:
        with trio.fail_after(PATIENCE_S):
            return await main()

    return trio.run(limited, clock=HostClock())


def acting(behaviour: Callable[[sound_card.Line], None]) -> list[str]:
    return [sys.executable, "-m", "tests.daemon.sound_card", behaviour.__name__]


@pytest.fixture(autouse=True)
def _found_by_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


async def all_blocks(mic: Microphone) -> tuple[list[Block], str]:
    blocks: list[Block] = []
    try:
        async for block in mic.blocks():
            blocks.append(block)  # noqa: PERF401  those before the end are wanted as well
    except SoundEnded as ended:
        return blocks, str(ended)
    raise AssertionError("blocks end with an exception")


def listened(behaviour: Callable[[sound_card.Line], None]) -> tuple[list[Block], str, Microphone]:
    async def main() -> tuple[list[Block], str, Microphone]:
        async with microphone(program=acting(behaviour)) as mic:
            assert mic.opened == OPENED
            return *await all_blocks(mic), mic

    return in_real_time(main)


def test_blocks_come_as_they_were_told_and_their_end_is_one_line() -> None:
    blocks, why, mic = listened(sound_card.three_blocks_then_gone)
    assert blocks == [
        Block(0, bytes(640), 16_000, 1_000, 15_000_000),
        Block(320, b"\1" * 640, 16_000, 1_001, None, underflow=True),
        Block(640, b"\2" * 640, 16_000, 1_002, 15_000_000, overflow=True),
    ]
    assert why == "the input device 'paper' has disappeared"
    assert mic.dropped == 4


def test_after_the_end_it_has_ended_for_good() -> None:
    async def main() -> list[str]:
        async with microphone(program=acting(sound_card.three_blocks_then_gone)) as mic:
            return [(await all_blocks(mic))[1] for _ in range(3)]

    assert len(set(in_real_time(main))) == 1


def test_a_process_that_crashes_is_named_with_its_signal() -> None:
    _, why, _ = listened(sound_card.killed)
    assert why == "the sound process was ended by signal 11"


def test_a_process_that_stands_still_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sound, "SILENT_S", 0.2)
    monkeypatch.setattr(sound_child, "END_S", 0.2)
    blocks, why, _ = listened(sound_card.opens_and_does_not_end)
    assert len(blocks) == 1
    assert why == "the sound process does not answer any more"


def refusal(behaviour: Callable[[sound_card.Line], None]) -> str:
    async def main() -> None:
        async with microphone("x", program=acting(behaviour)):
            raise AssertionError("it did not open")

    with pytest.raises(UserError) as raised:
        in_real_time(main)
    return str(raised.value)


def test_a_refusal_is_the_users_to_mend() -> None:
    assert refusal(sound_card.refuses) == "no input device is called 'x'"


def test_a_process_that_dies_at_once_leaves_its_last_word() -> None:
    assert refusal(sound_card.dies_with_a_word) == (
        "the sound process ended with code 3: free(): invalid pointer"
    )


def test_a_driver_that_hangs_when_it_is_opened_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sound, "OPEN_S", 0.2)
    assert refusal(sound_card.says_nothing_and_does_not_end) == (
        "the sound device 'x' did not open within 0.2 s: its driver hangs"
    )


def test_a_program_that_is_not_there_is_one_line() -> None:
    async def main() -> None:
        async with microphone(program=["/nowhere/python"]):
            raise AssertionError("it did not open")

    with pytest.raises(UserError, match=r"^the sound process cannot be started: .*nowhere"):
        in_real_time(main)


def test_leaving_ends_a_process_that_does_not_listen_to_reason() -> None:
    async def main() -> int:
        async with microphone(program=acting(sound_card.opens_and_does_not_end)) as mic:
            await anext(mic.blocks())
            return mic.pid

    with pytest.raises(ProcessLookupError):
        os.kill(in_real_time(main), 0)


def test_so_does_being_cancelled() -> None:
    async def main() -> int:
        pid = 0
        with trio.CancelScope() as scope:
            async with microphone(program=acting(sound_card.opens_and_does_not_end)) as mic:
                pid = mic.pid
                scope.cancel()
                await anext(mic.blocks())
        return pid

    with pytest.raises(ProcessLookupError):
        os.kill(in_real_time(main), 0)


def test_it_is_told_where_sound_servers_are_and_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPGRAM_API_KEY", "canary-6f1d2c")
    monkeypatch.setenv("PULSE_SERVER", "unix:/run/somewhere")
    monkeypatch.setenv("ALSA_CONFIG_PATH", "/etc/some.conf")
    told = refusal(sound_card.tells_its_environment).split("\n")
    assert not [line for line in told if "canary" in line]
    assert {"PULSE_SERVER=unix:/run/somewhere", "ALSA_CONFIG_PATH=/etc/some.conf"} <= set(told)


def test_nothing_is_passed_on_that_is_not_named() -> None:
    passed = environment_of({"HOME": "/h", "PULSE_SINK": "s", "OPENAI_API_KEY": "k", "X": "y"})
    passed.pop("PYTHONPATH", None)
    assert passed == {"HOME": "/h", "PULSE_SINK": "s"}


def heard(
    behaviour: Callable[[sound_card.Line], None],
    use: Callable[[Loudspeaker], Awaitable[None]],
) -> tuple[Loudspeaker, list[tuple[str, int]]]:
    told: list[tuple[str, int]] = []

    async def main() -> Loudspeaker:
        program = acting(behaviour)
        wrong = lambda what, n: told.append((what, n))  # noqa: E731
        async with loudspeaker("x", 16_000, wrong, program=program) as speaker:
            assert speaker.opened == OPENED
            await use(speaker)
        return speaker

    return in_real_time(main), told


def test_what_went_wrong_is_told_and_the_end_waits_until_all_was_heard() -> None:
    async def use(speaker: Loudspeaker) -> None:
        for _ in range(5):
            speaker.play(bytes(640))

    speaker, told = heard(sound_card.counts_what_is_played, use)
    assert told == [("underflow", 2), ("underflow", 4), ("finish", 5)]
    assert speaker.ended is None


def test_a_loudspeaker_that_stands_still_stops_nobody_and_is_counted() -> None:
    async def use(speaker: Loudspeaker) -> None:
        while not speaker.dropped:
            speaker.play(bytes(64_000))

    speaker, told = heard(sound_card.takes_nothing, use)
    assert told == [("dropped", speaker.dropped)]


def test_a_loudspeaker_that_vanishes_hurts_nobody() -> None:
    async def use(speaker: Loudspeaker) -> None:
        while speaker.ended is None:  # noqa: ASYNC110  another process is waited for
            await trio.sleep(0.01)
        speaker.play(bytes(640))

    speaker, told = heard(sound_card.loudspeaker_vanishes, use)
    assert speaker.ended == "the output device 'paper' has disappeared"
    assert told == []


def test_an_error_of_who_uses_it_leaves_as_it_is() -> None:
    async def use(speaker: Loudspeaker) -> None:
        raise UserError("mine")

    with pytest.raises(UserError, match=r"^mine$"):
        heard(sound_card.counts_what_is_played, use)


def alsa(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only these devices are found."""
    config = folder / "asound.conf"
    config.write_text(f"</usr/share/alsa/alsa.conf>\n{text}")
    monkeypatch.setenv("ALSA_CONFIG_PATH", str(config))
    for name in ("PULSE_SERVER", "PIPEWIRE_REMOTE", "XDG_RUNTIME_DIR", "JACK_DEFAULT_SERVER"):
        monkeypatch.delenv(name, raising=False)


def paper(folder: Path, pcm: bytes) -> str:
    """A device that captures a file, without taking its time."""
    file = folder / "paper.raw"
    file.write_bytes(pcm)
    return (
        f"pcm.paper {{ type asym capture.pcm {{ type file slave.pcm {{ type null }} "
        f'file "/dev/null" infile "{file}" format "raw" }} '
        'hint { show on description "a file" } }\n'
    )


def run(*words: str) -> int:
    return cli.main(["devices", *words])


def without_portaudio(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the loader finds first under its name is no library; nowhere is it a sound one."""
    (folder / "libportaudio.so.2").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))


def test_without_portaudio_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_portaudio(tmp_path, monkeypatch)
    assert run() == 2
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "speechbench: the PortAudio library is missing, or broken: apt-get install libportaudio2\n",
    )


def test_so_it_does_to_who_would_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_portaudio(tmp_path, monkeypatch)

    async def main() -> None:
        async with microphone():
            raise AssertionError("it did not open")

    with pytest.raises(UserError, match="apt-get install libportaudio2"):
        in_real_time(main)


@needs_portaudio
def test_without_a_card_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alsa(tmp_path, "", monkeypatch)
    assert run("--json") == 2
    assert capsys.readouterr().err == f"speechbench: {NO_DEVICE}\n"


@needs_portaudio
def test_devices_are_listed_for_people_and_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    alsa(tmp_path, paper(tmp_path, b""), monkeypatch)
    assert run() == 0
    out, err = capfd.readouterr()
    assert err == ""  # the libraries have much to say, and nobody wants to read it
    assert "paper" in out
    assert "output devices" not in out
    assert run("--outputs") == 0
    assert "no output devices" in capfd.readouterr().out
    assert run("--json") == 0
    (device,) = json.loads(capfd.readouterr().out)
    assert (device["name"], device["host_api"]) == ("paper", "ALSA")
    assert (device["default_input"], device["inputs"] > 0) == (True, True)
    assert (device["default_output"], device["outputs"]) == (False, 0)
    assert in_real_time(list_devices)[0].rate_hz == device["rate_hz"]


@needs_portaudio
def test_what_portaudio_captures_arrives_whole_until_it_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device of no speed: more is captured than anybody can take, which is told."""
    pcm = b"".join(number.to_bytes(2, "little", signed=True) for number in range(32_000)) * 20
    alsa(tmp_path, paper(tmp_path, pcm), monkeypatch)

    async def main() -> tuple[list[Block], str]:
        async with microphone("paper") as mic:
            assert (mic.opened.device, mic.opened.rate_hz, mic.opened.channels) == (
                *("paper", 16_000),
                1,
            )
            return await all_blocks(mic)

    blocks, why = in_real_time(main)
    for block in blocks:
        begin = 2 * block.start_sample
        if begin + 640 <= len(pcm):
            assert block.pcm == pcm[begin : begin + 640]
    assert [block.start_sample for block in blocks[:50]] == list(range(0, 16_000, 320))
    assert why == "the input device 'paper' is no sound card: it runs faster than time"


LOAD_ALL = """
import sys
from importlib import import_module
import daemon.cli
for name in daemon.cli.COMMANDS:
    import_module("daemon.commands." + name.replace("-", "_"))
import daemon.sound, pacer.microphone
print([name for name in sys.modules if "sounddevice" in name])
"""


def test_no_command_loads_sounddevice() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOAD_ALL], capture_output=True, check=True)
    assert loaded.stdout == b"[]\n"


def program_files() -> Iterator[Path]:
    rooms = ("daemon", "exporters", "measure", "pacer", "providers", "scoring", "vad", "benchmarks")
    return (file for room in rooms for file in (ROOT / room).rglob("*.py"))


def imported_in(file: Path) -> set[str]:
    text = file.read_text(encoding="utf-8")
    if "sounddevice" not in text:
        return set()  # reading all of them takes seconds
    tree = ast.parse(text)
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    froms = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names | froms}


def test_one_file_imports_sounddevice_and_inside_a_function() -> None:
    naming = [file for file in program_files() if "sounddevice" in imported_in(file)]
    assert naming == [ROOT / "pacer" / "microphone.py"]
