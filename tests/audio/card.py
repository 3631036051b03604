"""A sound card that needs no kernel: a PulseAudio null sink, and its monitor as the microphone.

    play() ─pacat─> sink "card" ─> its monitor ─ ALSA's pulse plugin ─ PortAudio ─> the program
                       ^ the program plays too               recorded() ─parec─ what was heard

To the program these are two ALSA devices, "card microphone" and "card loudspeaker", and "default",
which is both; "card unplugged" is listed and cannot be opened. Sink and streams are at 16 kHz: what
is captured is what was played, bit for bit.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ctypes.util import find_library
from pathlib import Path

from pacer.clips import load_clip

RATE_HZ = 16_000
SAMPLE_BYTES = 2
MICROPHONE = "card microphone"
LOUDSPEAKER = "card loudspeaker"
UNPLUGGED = "card unplugged"
PATIENCE_S = 60.0
"""So long something that must come is awaited; how soon it comes is no matter here."""
LEAD_BYTES = RATE_HZ // 5 * SAMPLE_BYTES
RAW = ("--raw", "--format=s16le", f"--rate={RATE_HZ}", "--channels=1")
PROMPT = "--latency-msec=20"
PATIENT = "--latency-msec=1000"
"""A player that is seldom woken on a busy host still has sound in store."""
FIRST = """
import os, sys
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
except OSError:
    pass  # not allowed here: a busy host may be heard
os.execvp(sys.argv[1], sys.argv[1:])
"""
SERVER = (
    *(sys.executable, "-I", "-S", "-c", FIRST),
    *("pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no"),
    *("--realtime=no", "--high-priority=no", "--log-level=error", "--log-target=stderr"),
)
ALSA = """\
</usr/share/alsa/alsa.conf>
pcm."card loudspeaker" {{ type asym playback.pcm {speaker} {hint} }}
pcm."card microphone" {{ type asym capture.pcm {microphone} {hint} }}
pcm."card unplugged" {{ type asym capture.pcm {unplugged} {hint} }}
pcm.!default {{ type asym playback.pcm {speaker} capture.pcm {microphone} {hint} }}
"""


def missing() -> list[str]:
    """The Debian packages that are not here."""
    plugins = (*Path("/usr/lib").glob("*/alsa-lib"), *Path("/usr/lib64").glob("alsa-lib"))
    there = {
        "libportaudio2": find_library("portaudio"),
        "pulseaudio": shutil.which("pulseaudio"),
        "pulseaudio-utils": shutil.which("pacat") and shutil.which("pactl"),
        "libasound2-plugins": any(
            (folder / "libasound_module_pcm_pulse.so").exists() for folder in plugins
        ),
    }
    return [package for package, found in there.items() if not found]


class Card:
    """The card, and what can be done to it."""

    def __init__(self, folder: Path, server: "subprocess.Popen[bytes]") -> None:
        self.environment = _environment(folder)
        """For a program that shall find this card."""
        self._server = server
        self._folder = folder

    def play(self, sound: bytes | Path) -> None:
        """Play s16le mono at 16 kHz, or a file, in real time; returns when the sink has it all.

        A little silence goes first: a sink may cut the first milliseconds of who begins to play.
        """
        pcm = load_clip(sound, rate_hz=RATE_HZ).pcm if isinstance(sound, Path) else sound
        with tempfile.TemporaryFile(dir=self._folder) as file:
            file.write(bytes(LEAD_BYTES) + pcm)
            file.seek(0)
            command = ("pacat", "--playback", "--device=card", *RAW, PATIENT)
            subprocess.run(command, stdin=file, env=self._whole(), check=True, timeout=PATIENCE_S)

    @contextmanager
    def recorded(self) -> Iterator[Callable[[], bytes]]:
        """What the sink is given meanwhile, silence too, as s16le mono; to be asked at any time."""
        with tempfile.TemporaryFile(dir=self._folder) as file:
            command = ("parec", "--device=card.monitor", *RAW, PROMPT)
            with _running(command, self._whole(), stdout=file.fileno()):

                def so_far() -> bytes:
                    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)

                until("the recorder records", so_far)
                yield so_far

    def freeze(self) -> None:
        """Let the server stand still; whoever asks it something waits for ever."""
        self._server.send_signal(signal.SIGSTOP)

    def vanish(self) -> None:
        """Kill the server; nothing of the card is left."""
        self._server.kill()
        self._server.wait()

    def _whole(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


@contextmanager
def card_in(folder: Path) -> Iterator[Card]:
    """A card that lasts as long as this; its sockets and files lie in ``folder``."""
    environment = {**os.environ, **_environment(folder)}
    (folder / "asound.conf").write_text(_alsa(folder))
    sink = f"module-null-sink sink_name=card rate={RATE_HZ} channels=1 format=s16le"
    door = f"module-native-protocol-unix socket={folder / 'native'} auth-anonymous=1"
    with ExitStack() as ends:
        server = ends.enter_context(
            _running((*SERVER, "-L", sink, "-L", door), environment, stderr=None)
        )
        until("PulseAudio", lambda: _answers(server, environment))
        card = Card(folder, server)
        # The null sink begins with a buffer of 2 s, and stops where nobody plays or listens:
        # the first capture would be late. A silent player and a recorder keep it small and busy.
        with Path("/dev/zero").open("rb") as silence:
            player = ("pacat", "--playback", "--device=card", *RAW, PROMPT)
            ends.enter_context(_running(player, environment, stdin=silence.fileno()))
        so_far = ends.enter_context(card.recorded())
        until("a second of sound", lambda: len(so_far()) > RATE_HZ * SAMPLE_BYTES)
        yield card


def until(what: str, condition: Callable[[], object]) -> None:
    """Wait for it. Raises AssertionError where it never comes."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {PATIENCE_S:g} s"
        time.sleep(0.02)


def _answers(server: "subprocess.Popen[bytes]", environment: Mapping[str, str]) -> bool:
    assert server.poll() is None, f"PulseAudio ended with code {server.returncode}"
    asked = subprocess.run(
        ("pactl", "list", "short", "sinks"), env=environment, capture_output=True, check=False
    )
    return b"card" in asked.stdout


def _environment(folder: Path) -> dict[str, str]:
    return {
        "ALSA_CONFIG_PATH": str(folder / "asound.conf"),
        "PULSE_SERVER": f"unix:{folder / 'native'}",
        "PULSE_RUNTIME_PATH": str(folder / "pulse"),
        "PULSE_STATE_PATH": str(folder / "state"),
        "XDG_RUNTIME_DIR": str(folder),
    }


def _alsa(folder: Path) -> str:
    def pulse(device: str) -> str:
        return f'{{ type pulse server "unix:{folder / "native"}" device "{device}" }}'

    hint = 'hint { show on description "of the tests" }'
    return ALSA.format(
        speaker=pulse("card"),
        microphone=pulse("card.monitor"),
        unplugged=pulse("nowhere"),
        hint=hint,
    )


@contextmanager
def _running(
    command: tuple[str, ...],
    environment: Mapping[str, str],
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int | None = subprocess.DEVNULL,
) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
