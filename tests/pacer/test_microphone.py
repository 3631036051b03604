"""What is made of PortAudio's calls and errors. That it calls is proven in tests/audio."""

import errno
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from pacer.device_stream import Pulse
from pacer.jitter import Jitter
from pacer.microphone import (
    MAX_AGE_NS,
    Block,
    Device,
    Opened,
    SoundError,
    age_ns,
    capturing,
    mono,
    open_stream,
    playing,
)

USB = Device(2, "USB", "ALSA", 4, 4, 48_000)
FINE = SimpleNamespace(input_overflow=False, input_underflow=False)


def s16(*samples: int) -> bytes:
    return np.array(samples, "<i2").tobytes()


def at(age_s: float) -> SimpleNamespace:
    return SimpleNamespace(currentTime=1000.0 + age_s, inputBufferAdcTime=1000.0)


@pytest.mark.parametrize(
    ("now_s", "captured_s", "age"),
    [
        (0.5, 0.25, 250_000_000),
        (1.7e9 + 0.25, 1.7e9, 250_000_000),  # a driver whose clock is the wall's
        (2.0, 0.0, MAX_AGE_NS),
        (2.0000001, 0.0, None),
        (1.0, 1.0, None),
        (1.0, 1.5, None),
        (math.nan, 0.0, None),
        (math.inf, 0.0, None),
        (0.0, math.nan, None),
    ],
)
def test_an_age_that_cannot_be_is_none(now_s: float, captured_s: float, age: int | None) -> None:
    assert age_ns(now_s, captured_s) == age


@pytest.mark.parametrize(
    ("pcm", "channels", "heard"),
    [
        (s16(1, -2, 3), 1, s16(1, -2, 3)),
        (s16(100, 200, -100, 0), 2, s16(150, -50)),
        (s16(32767, 32767, -32768, -32768), 2, s16(32767, -32768)),
        (s16(1000, 0, 9, 9, 0, 1000, 9, 9), 4, s16(500, 500)),
    ],
)
def test_of_several_channels_the_mean_of_the_first_two_is_heard(
    pcm: bytes, channels: int, heard: bytes
) -> None:
    assert mono(pcm, channels) == heard


def test_a_block_knows_how_many_samples_came_before_it_and_what_the_driver_said() -> None:
    told: list[Block] = []
    pulse = Pulse()
    callback = capturing(told.append, 16_000, 2, pulse)
    callback(s16(*range(640)), 320, at(0.125), FINE)
    lost = SimpleNamespace(input_overflow=True, input_underflow=False)
    callback(s16(*range(640)), 320, at(0.0), lost)
    put_in = SimpleNamespace(input_overflow=False, input_underflow=True)
    callback(s16(*range(640)), 320, at(0.0), put_in)
    first, second, third = told
    assert (first.start_sample, first.samples, first.rate_hz) == (0, 320, 16_000)
    assert (first.age_ns, first.overflow, first.underflow) == (125_000_000, False, False)
    assert (second.start_sample, second.age_ns) == (320, None)
    assert (second.overflow, second.underflow) == (True, False)
    assert (third.start_sample, third.overflow, third.underflow) == (640, False, True)
    assert 0 < first.arrived_ns <= second.arrived_ns
    assert pulse.beats == 3


def test_every_channel_of_a_loudspeaker_is_given_the_same() -> None:
    jitter = Jitter(16_000)
    jitter.push(s16(*range(1, 961)))
    out = bytearray(8)
    playing(jitter, 2, Pulse())(memoryview(out), 2, None, None)
    assert bytes(out) == s16(1, 1, 2, 2)


def portaudio_error(code: int, host: tuple[int, int, str] | None = None) -> Exception:
    """As sounddevice makes them."""
    words = {-9999: "Unanticipated host error", -9997: "Invalid sample rate"}.get(code, "No")
    first = f"Error opening RawInputStream: {words}"
    return Exception(first, code, *([] if host is None else [host]))


@dataclass
class Takes:
    """A driver that opens only what it likes."""

    likes: Callable[[int, int], bool]
    refusal: Exception
    asked: list[tuple[int, int]]

    def make(self, device: Device, rate_hz: int, channels: int) -> SimpleNamespace:
        self.asked.append((rate_hz, channels))
        if not self.likes(rate_hz, channels):
            raise self.refusal
        return SimpleNamespace(latency=0.04)


EINVAL = (0, -errno.EINVAL, "Invalid argument")


@pytest.mark.parametrize(
    ("likes", "refusal", "rate_hz", "channels"),
    [
        (lambda rate, channels: True, portaudio_error(-9997), 16_000, 1),
        (lambda rate, channels: rate == 48_000, portaudio_error(-9997), 48_000, 1),
        (lambda rate, channels: channels == 2, portaudio_error(-9998), 16_000, 2),
        (lambda rate, channels: (rate, channels) == (48_000, 4), portaudio_error(-9994), 48_000, 4),
        (lambda rate, channels: rate == 48_000, portaudio_error(-9999, EINVAL), 48_000, 1),
    ],
)
def test_the_first_format_that_is_taken_is_opened(
    likes: Callable[[int, int], bool], refusal: Exception, rate_hz: int, channels: int
) -> None:
    driver = Takes(likes, refusal, [])
    _, opened = open_stream(USB, "input", 16_000, driver.make)
    assert opened == Opened("USB", rate_hz, channels, 40.0)
    assert driver.asked[0] == (16_000, 1)


@pytest.mark.parametrize(
    ("refusal", "line"),
    [
        (
            portaudio_error(-9997),
            "the input device 'USB' takes no 16-bit sound at 16000 Hz nor at 48000 Hz",
        ),
        (
            portaudio_error(-9985),
            "the input device 'USB' is in use by another program, or unplugged",
        ),
        (
            portaudio_error(-9993),
            "the input device 'USB' cannot be opened: it does not answer",
        ),
        (
            portaudio_error(-9999, (0, -5, "Input/output error")),
            "the input device 'USB' cannot be opened: Input/output error",
        ),
        (
            portaudio_error(-9999, (0, -5, "")),
            "the input device 'USB' cannot be opened: Unanticipated host error",
        ),
        (
            Exception("Error querying device 2"),
            "the input device 'USB' cannot be opened: Error querying device 2",
        ),
        (MemoryError(), "the input device 'USB' cannot be opened: MemoryError"),
    ],
)
def test_a_device_that_does_not_open_is_one_line(refusal: Exception, line: str) -> None:
    driver = Takes(lambda rate, channels: False, refusal, [])
    with pytest.raises(SoundError) as raised:
        open_stream(USB, "input", 16_000, driver.make)
    assert str(raised.value) == line


def test_a_device_in_use_is_asked_once() -> None:
    driver = Takes(lambda rate, channels: False, portaudio_error(-9985), [])
    with pytest.raises(SoundError):
        open_stream(USB, "input", 16_000, driver.make)
    assert len(driver.asked) == 1
