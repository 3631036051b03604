"""The sound card: a live source of blocks, a loudspeaker, and which devices there are.

The only file that imports sounddevice, and inside a function: where PortAudio is missing, all else
works. It runs in a process of its own (daemon/sound_process.py), because a driver may hang or
crash. PortAudio calls back in a thread of its own; what happens there is as little as possible.

    device ─ PortAudio's thread ─> Block, stamped first ─> told()
    play() ─> Jitter ─ PortAudio's thread ─> device

A block is timed by the samples before it, not by its arrival: with large buffers blocks arrive in
bursts. A driver may lose sound without a flag, so whoever needs to know compares ``start_sample``
with ``arrived_ns``.
"""

import errno
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pacer.device_stream import BLOCKS_PER_S, DeviceSpeaker, DeviceStream, Foreign, Pulse, reason_of
from pacer.device_stream import Opened as Opened
from pacer.jitter import SAMPLE_BYTES, Jitter
from pacer.sound_device import Device as Device
from pacer.sound_device import Kind, chosen
from pacer.sound_device import SoundError as SoundError

RATE_HZ = 16_000
MAX_AGE_NS = 2_000_000_000
"""A block that claims to be older has a driver without a clock."""

Latency = Literal["low"] | float
"""What is asked of the driver: the least that it claims to be able to, or seconds."""

Callback = Callable[[Foreign, int, Foreign, Foreign], None]
"""``(pcm, frames, times, flags)``, called in PortAudio's thread."""

# PortAudio's error codes (portaudio.h, PaErrorCode).
_HOST_ERROR = -9999
_FORMAT_CODES = (-9998, -9997, -9994)  # number of channels, rate, sample format
_NO_ANSWER = -9993  # "illegal combination of I/O devices": it could not be opened at all
_UNAVAILABLE = -9985


@dataclass(frozen=True, slots=True)
class Block:
    """20 ms of captured sound."""

    start_sample: int
    """How many samples the device delivered before it."""
    pcm: bytes
    """s16le, mono."""
    rate_hz: int
    arrived_ns: int
    """When it was handed to us, on CLOCK_MONOTONIC."""
    age_ns: int | None
    """How long before that its first sample was in the air; None: the driver does not know."""
    overflow: bool = False
    """Sound before it was lost, says the driver; it does not always say so."""
    underflow: bool = False
    """Silence was put into it, says the driver."""

    @property
    def samples(self) -> int:
        return len(self.pcm) // SAMPLE_BYTES


def devices() -> list[Device]:
    """All there are, in PortAudio's order. Raises SoundError where there is no PortAudio."""
    sd = _sounddevice()
    apis = sd.query_hostapis()
    default_input, default_output = sd.default.device
    return [
        Device(
            index=index,
            name=found["name"],
            host_api=apis[found["hostapi"]]["name"],
            inputs=found["max_input_channels"],
            outputs=found["max_output_channels"],
            rate_hz=round(found["default_samplerate"]),
            default_input=index == default_input,
            default_output=index == default_output,
        )
        for index, found in enumerate(sd.query_devices())
    ]


def open_microphone(
    wanted: str | None, told: Callable[[Block], None], *, latency: Latency = "low"
) -> DeviceStream:
    """A microphone that, once started, tells of each block, in PortAudio's thread.

    16 kHz mono where the device takes it; else mono at its own rate; else two channels or all, of
    which the mean of the first two is told, so that a microphone on either side of a pair is heard.
    ``told`` must neither wait nor raise. Raises SoundError.
    """
    pulse = Pulse()

    def make(device: Device, rate_hz: int, channels: int) -> Foreign:
        return _sounddevice().RawInputStream(
            callback=capturing(told, rate_hz, channels, pulse),
            **_settings(device, rate_hz, channels, latency, pulse),
        )

    device = chosen(devices(), wanted, "input")
    stream, opened = open_stream(device, "input", RATE_HZ, make)
    return DeviceStream(_what("input", device), opened, stream, pulse)


def open_loudspeaker(
    wanted: str | None, rate_hz: int, *, latency: Latency = "low"
) -> DeviceSpeaker:
    """A loudspeaker for s16le mono at ``rate_hz``, whatever the device takes. Raises SoundError.

    All its channels are given the same.
    """
    pulse = Pulse()
    jitters: dict[int, Jitter] = {}

    def make(device: Device, rate_hz: int, channels: int) -> Foreign:
        jitter = jitters.setdefault(rate_hz, Jitter(rate_hz))
        return _sounddevice().RawOutputStream(
            callback=playing(jitter, channels, pulse),
            **_settings(device, rate_hz, channels, latency, pulse),
        )

    device = chosen(devices(), wanted, "output")
    stream, opened = open_stream(device, "output", rate_hz, make)
    jitter = jitters[opened.rate_hz]
    return DeviceSpeaker(_what("output", device), opened, stream, pulse, jitter, rate_hz)


def age_ns(now_s: float, captured_s: float) -> int | None:
    """How old a sample is by the driver's clock, of which only differences mean something."""
    age_s = now_s - captured_s
    if not math.isfinite(age_s) or not 0 < age_s * 1e9 <= MAX_AGE_NS:
        return None
    return round(age_s * 1e9)


def mono(pcm: bytes, channels: int) -> bytes:
    """The mean of the first two of interleaved s16le channels."""
    if channels == 1:
        return pcm
    pair = np.frombuffer(pcm, "<i2").reshape(-1, channels)[:, :2].astype(np.int32)
    return bytes((pair.sum(axis=1) >> 1).astype("<i2"))


def capturing(told: Callable[[Block], None], rate_hz: int, channels: int, pulse: Pulse) -> Callback:
    """What PortAudio calls with each block of a microphone."""
    start_sample = 0

    def callback(pcm: Foreign, frames: int, at: Foreign, flags: Foreign) -> None:
        nonlocal start_sample
        arrived_ns = time.monotonic_ns()
        pulse.beats += 1
        age = age_ns(at.currentTime, at.inputBufferAdcTime)
        lost, put_in = bool(flags.input_overflow), bool(flags.input_underflow)
        heard = mono(bytes(pcm), channels)
        told(Block(start_sample, heard, rate_hz, arrived_ns, age, lost, put_in))
        start_sample += frames

    return callback


def playing(jitter: Jitter, channels: int, pulse: Pulse) -> Callback:
    """What PortAudio calls for each block of a loudspeaker."""

    def callback(out: Foreign, frames: int, at: Foreign, flags: Foreign) -> None:
        pulse.beats += 1
        pcm = jitter.pull(frames * SAMPLE_BYTES)
        out[:] = pcm if channels == 1 else np.frombuffer(pcm, "<i2").repeat(channels).tobytes()

    return callback


def _settings(
    device: Device, rate_hz: int, channels: int, latency: Latency, pulse: Pulse
) -> dict[str, object]:
    return {
        "device": device.index,
        "samplerate": rate_hz,
        "channels": channels,
        "blocksize": rate_hz // BLOCKS_PER_S,
        "dtype": "int16",
        "latency": latency,
        "finished_callback": pulse.finish,
    }


def open_stream(
    device: Device, kind: Kind, rate_hz: int, make: Callable[[Device, int, int], Foreign]
) -> tuple[Foreign, Opened]:
    """The first that the device takes. Raises SoundError."""
    for rate, channels in _formats(device, kind, rate_hz):
        try:
            stream = make(device, rate, channels)
        except Exception as error:  # PortAudio's own, or whatever a driver throws
            if not _is_about_format(error):
                raise SoundError(f"the {_what(kind, device)} {_cannot(error)}") from error
        else:
            return stream, Opened(device.name, rate, channels, stream.latency * 1000)
    rates = " nor at ".join(dict.fromkeys(f"{rate} Hz" for rate in (rate_hz, device.rate_hz)))
    raise SoundError(f"the {_what(kind, device)} takes no 16-bit sound at {rates}")


def _formats(device: Device, kind: Kind, rate_hz: int) -> Iterator[tuple[int, int]]:
    """Rates and numbers of channels, the best first."""
    most = device.channels(kind)
    for channels in dict.fromkeys((1, min(2, most), most)):
        for rate in dict.fromkeys((rate_hz, device.rate_hz)):
            yield rate, channels


def _what(kind: Kind, device: Device) -> str:
    return f"{kind} device {device.name!r}"


def _is_about_format(error: Exception) -> bool:
    code, host_code = _codes(error)
    return code in _FORMAT_CODES or (code == _HOST_ERROR and host_code == -errno.EINVAL)


def _cannot(error: Exception) -> str:
    code, _ = _codes(error)
    if code == _UNAVAILABLE:
        return "is in use by another program, or unplugged"
    if code == _NO_ANSWER:
        return "cannot be opened: it does not answer"
    return f"cannot be opened: {reason_of(error)}"


def _codes(error: Exception) -> tuple[int | None, int | None]:
    """PortAudio's code and the host's."""
    code = error.args[1] if len(error.args) > 1 else None
    return code, error.args[2][1] if len(error.args) > 2 else None


def _sounddevice() -> Foreign:
    try:
        import sounddevice
    except OSError as error:
        why = "the PortAudio library is missing, or broken: apt-get install libportaudio2"
        raise SoundError(why) from error
    return sounddevice
