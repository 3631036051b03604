"""Whether a device is still there is seen by looking, and what ends it is one line."""

import errno
from types import SimpleNamespace

import pytest

from pacer.device_stream import (
    LOOK_NS,
    MAX_AHEAD_S,
    SILENT_LOOKS,
    START_LOOKS,
    DeviceSpeaker,
    DeviceStream,
    Opened,
    Pulse,
)
from pacer.jitter import Jitter
from pacer.sound_device import SoundError

EINVAL = (0, -errno.EINVAL, "Invalid argument")


class Watched:
    """An open stream, looked at as time passes."""

    def __init__(self) -> None:
        self.pulse = Pulse()
        stream = SimpleNamespace(start=lambda: None)
        self.live = DeviceStream(
            "input device 'USB'", Opened("USB", 16_000, 1, 40.0), stream, self.pulse
        )
        self.now_ns = 1 << 62  # long after the start

    def look(self) -> str | None:
        self.now_ns += LOOK_NS
        return self.live.why_ended(self.now_ns)


def test_what_still_calls_lives() -> None:
    watched = Watched()
    for _ in range(100):
        watched.pulse.beats += 1
        assert watched.look() is None


def test_a_device_that_falls_silent_has_disappeared() -> None:
    watched = Watched()
    watched.pulse.beats = 5
    assert [watched.look() for _ in range(SILENT_LOOKS)] == [None] * SILENT_LOOKS
    assert watched.look() == (
        "the input device 'USB' has disappeared: nothing came from it for 1 s"
    )


def test_one_beat_in_between_is_enough() -> None:
    watched = Watched()
    for _ in range(3):
        watched.pulse.beats += 1
        assert [watched.look() for _ in range(SILENT_LOOKS)] == [None] * SILENT_LOOKS


def test_a_host_that_stood_still_is_not_a_device_that_fell_silent() -> None:
    watched = Watched()
    watched.pulse.beats = 5
    watched.look()
    watched.now_ns += 3600 * 1_000_000_000
    assert watched.look() is None


def test_looking_more_often_makes_nothing_sooner() -> None:
    watched = Watched()
    watched.pulse.beats = 5
    watched.look()
    for _ in range(100):
        watched.now_ns += 1
        assert watched.live.why_ended(watched.now_ns) is None


def test_the_first_block_may_take_longer() -> None:
    watched = Watched()
    looks = [watched.look() for _ in range(START_LOOKS)]
    assert looks[:-1] == [None] * (START_LOOKS - 1)
    assert looks[-1] == "the input device 'USB' was opened, but nothing came from it for 5 s"


def test_a_stream_that_portaudio_ended_has_disappeared() -> None:
    watched = Watched()
    watched.pulse.finish()
    assert watched.look() == "the input device 'USB' has disappeared: its stream has ended"


def test_what_runs_faster_than_time_is_no_sound_card() -> None:
    watched = Watched()
    watched.live.start()
    started_ns = watched.live.started_ns
    watched.pulse.beats = 50 * MAX_AHEAD_S + 4
    assert watched.live.why_ended(started_ns + LOOK_NS) is None
    watched.pulse.beats = 50 * MAX_AHEAD_S + 10
    assert watched.live.why_ended(started_ns + 2 * LOOK_NS) == (
        "the input device 'USB' is no sound card: it runs faster than time"
    )


def test_a_stream_that_does_not_start_is_one_line() -> None:
    def start() -> None:
        raise Exception("Error starting stream: Unanticipated host error", -9999, EINVAL)

    stream = SimpleNamespace(start=start)
    live = DeviceStream("input device 'USB'", Opened("USB", 16_000, 1, 40.0), stream, Pulse())
    with pytest.raises(SoundError, match=r"^the input device 'USB' does not start: Invalid arg"):
        live.start()


def test_what_a_device_cannot_play_at_its_rate_is_resampled() -> None:
    jitter = Jitter(48_000)
    stream = SimpleNamespace(start=lambda: None)
    opened = Opened("USB", 48_000, 1, 40.0)
    speaker = DeviceSpeaker("output device 'USB'", opened, stream, Pulse(), jitter, 16_000)
    for _ in range(8):
        speaker.play(bytes(640))
    jitter.finish()
    pieces = 0
    while not jitter.is_empty:
        pieces += 1
        jitter.pull(1920)
    assert pieces == 8  # the last one is a little short: the resampler keeps that for what follows
    assert jitter.overflows == 0


def test_nothing_is_resampled_without_need() -> None:
    jitter = Jitter(16_000)
    stream = SimpleNamespace(start=lambda: None)
    opened = Opened("USB", 16_000, 1, 40.0)
    speaker = DeviceSpeaker("output device 'USB'", opened, stream, Pulse(), jitter, 16_000)
    speaker.play(b"ab" * 960)
    assert jitter.pull(1920) == b"ab" * 960
