"""A clip leaves in pieces that are nothing more and nothing less than the clip."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measure.records import AudioClip, Frame
from pacer.clips import clip_from_samples
from pacer.frames import frames, silence


def clip_of(samples: int, rate_hz: int = 16_000) -> AudioClip:
    return clip_from_samples(
        "ramp", (np.arange(samples) % 999 + 1).astype(np.int16), rate_hz=rate_hz
    )


def test_the_short_last_frame_is_there() -> None:
    clip = clip_of(73_712)  # 4.607 s
    *_, before, last = frames(clip)
    assert (before.audio_ms, len(before.pcm)) == (4600.0, 640)
    assert (last.index, last.audio_ms, len(last.pcm)) == (230, 4607.0, 224)
    assert not last.padding


def test_a_clip_of_whole_frames_has_no_empty_one_behind_them() -> None:
    assert [frame.audio_ms for frame in frames(clip_of(960))] == [20, 40, 60]


def test_a_clip_shorter_than_a_frame_is_one_frame() -> None:
    (only,) = frames(clip_of(1))
    assert (only.index, only.audio_ms, len(only.pcm)) == (0, 0.0625, 2)


def test_the_step_can_be_what_a_provider_recommends() -> None:
    assert [len(frame.pcm) for frame in frames(clip_of(2_000), step_ms=50)] == [1600, 1600, 800]


def test_silence_goes_on_where_the_clip_ends_in_full_steps() -> None:
    *_, last = frames(clip_of(73_712))
    first, second = islice(silence(last), 2)
    assert (first.index, first.audio_ms, first.pcm) == (231, 4627.0, bytes(640))
    assert (second.index, second.audio_ms) == (232, 4647.0)
    assert first.padding
    assert second.padding


def test_silence_starts_at_the_nearest_sample_where_milliseconds_are_not_exact() -> None:
    (last,) = frames(clip_of(13, 44_100))  # 13 * 1000 / 44100 * 44.1 is a little less than 13
    (first,) = islice(silence(last, rate_hz=44_100), 1)
    assert first.audio_ms == (13 + 882) * 1000 / 44_100


def test_silence_can_go_on_from_silence() -> None:
    (last,) = frames(clip_of(100))
    five = list(islice(silence(last), 5))
    assert list(islice(silence(five[1]), 3)) == five[2:]


@pytest.mark.parametrize(("rate_hz", "step_ms"), [(11_025, 20), (16_000, 0), (16_000, -20)])
def test_a_step_that_is_no_whole_number_of_samples_is_refused(rate_hz: int, step_ms: int) -> None:
    why = f"{step_ms} ms at {rate_hz} Hz: it must be a whole number of samples"
    with pytest.raises(ValueError, match=why):
        next(frames(clip_of(100, rate_hz), step_ms=step_ms))
    with pytest.raises(ValueError, match=why):
        next(silence(Frame(0, b"", 0.0), rate_hz=rate_hz, step_ms=step_ms))


rates = st.sampled_from([8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
steps = st.sampled_from([20, 40, 60, 80, 100, 200])
lengths = st.integers(1, 20_000) | st.builds(
    lambda frames, off: frames * 320 + off, st.integers(1, 60), st.sampled_from([-1, 0, 1])
)


@settings(deadline=None)
@given(lengths, rates, steps)
def test_the_frames_are_the_clip(samples: int, rate_hz: int, step_ms: int) -> None:
    clip = clip_of(samples, rate_hz)
    cut = list(frames(clip, step_ms=step_ms))
    assert b"".join(frame.pcm for frame in cut) == clip.pcm
    assert [frame.index for frame in cut] == list(range(len(cut)))
    assert {len(frame.pcm) for frame in cut[:-1]} <= {2 * rate_hz * step_ms // 1000}
    assert 0 < len(cut[-1].pcm) <= 2 * rate_hz * step_ms // 1000
    assert not any(frame.padding for frame in cut)


@settings(deadline=None)
@given(lengths, rates, steps, st.integers(0, 40))
def test_every_frame_says_exactly_where_it_ends(
    samples: int, rate_hz: int, step_ms: int, padding: int
) -> None:
    clip = clip_of(samples, rate_hz)
    cut = list(frames(clip, step_ms=step_ms))
    assert cut[-1].audio_ms == clip.audio_ms
    cut += islice(silence(cut[-1], rate_hz=rate_hz, step_ms=step_ms), padding)
    sent = 0
    for index, frame in enumerate(cut):
        sent += len(frame.pcm) // 2
        assert (frame.index, frame.audio_ms) == (index, sent * 1000 / rate_hz)
        assert frame.padding == (sent > samples)
    assert all(not any(frame.pcm) for frame in cut if frame.padding)


def test_an_hour_of_silence_does_not_drift() -> None:
    *_, last = frames(clip_of(22_051, 44_100))
    (late,) = islice(silence(last, rate_hz=44_100), 180_000 - 1, 180_000)
    assert late.audio_ms == (22_051 + 180_000 * 882) * 1000 / 44_100
