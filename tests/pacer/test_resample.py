"""Live audio at another rate: clean, evenly late, and the same however it is cut into pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pacer.resample import CROSSINGS, LiveResampler

PAIRS = [
    (48_000, 16_000),
    (44_100, 16_000),
    (16_000, 24_000),
    (16_000, 8_000),
    (48_000, 24_000),
    (44_100, 8_000),
    (8_000, 16_000),
]
each_pair = pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), PAIRS)
FULL = 32_767
Samples = NDArray[np.float64]


def tone(hz: float, rate_hz: int, count: int, amplitude: float = 16_000) -> Samples:
    return amplitude * np.sin(2 * np.pi * hz * np.arange(count) / rate_hz + 0.3)


def pcm(samples: Samples) -> bytes:
    return bytes(np.rint(samples).astype("<i2"))


def noise(count: int, seed: int) -> bytes:
    return np.random.default_rng(seed).bytes(2 * count)


def resampled(resampler: LiveResampler, audio: bytes, piece: int) -> Samples:
    """What comes of it, fed ``piece`` samples at a time."""
    starts = range(0, len(audio), 2 * piece)
    made = b"".join(resampler.resample(audio[at : at + 2 * piece]) for at in starts)
    return np.frombuffer(made, "<i2").astype(np.float64)


def level_db(samples: Samples, of: Samples) -> float:
    return float(10 * np.log10((np.mean(samples**2) + 1e-9) / np.mean(of**2)))


# However it is cut


@given(data=st.data(), pair=st.sampled_from(PAIRS), seed=st.integers(0, 99))
def test_however_the_input_is_cut_the_output_is_the_same_bytes(
    data: st.DataObject, pair: tuple[int, int], seed: int
) -> None:
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 2, 31, 32, 63, 64, 65, 320, 882, 960])))
    audio = noise(sum(sizes), seed)
    whole, cut = LiveResampler(*pair), LiveResampler(*pair)
    made, at = b"", 0
    for size in sizes:
        made += cut.resample(audio[2 * at : 2 * (at + size)])
        at += size
    assert made == whole.resample(audio)


@each_pair
def test_one_sample_at_a_time_gives_the_same_bytes(rate_in_hz: int, rate_out_hz: int) -> None:
    audio = noise(3_000, 1)
    whole = LiveResampler(rate_in_hz, rate_out_hz).resample(audio)
    single = resampled(LiveResampler(rate_in_hz, rate_out_hz), audio, 1)
    assert pcm(single) == whole


def test_nothing_in_nothing_out() -> None:
    resampler = LiveResampler(16_000, 8_000)
    assert [resampler.resample(b"") for _ in range(3)] == [b""] * 3
    assert resampler.resample(noise(320, 1)) == LiveResampler(16_000, 8_000).resample(noise(320, 1))
    assert resampler.resample(b"") == b""


@pytest.mark.parametrize("count", [1, 3, 641])
def test_half_a_sample_is_refused_and_leaves_no_trace(count: int) -> None:
    resampler = LiveResampler(16_000, 8_000)
    with pytest.raises(ValueError, match=f"{count} bytes: 16-bit samples have two each"):
        resampler.resample(bytes(count))
    assert resampler.resample(noise(320, 1)) == LiveResampler(16_000, 8_000).resample(noise(320, 1))


# How late


@each_pair
def test_the_lag_is_32_crossings_of_the_lower_rate(rate_in_hz: int, rate_out_hz: int) -> None:
    lag_ms = LiveResampler(rate_in_hz, rate_out_hz).lag_ms
    ideal_ms = CROSSINGS * 1000 / min(rate_in_hz, rate_out_hz)
    assert ideal_ms <= lag_ms < ideal_ms + 1000 / rate_in_hz
    assert lag_ms <= 4.02


@each_pair
@pytest.mark.parametrize("piece", [1, 7, 100, 960])
def test_after_each_piece_all_but_the_lag_has_come_out(
    rate_in_hz: int, rate_out_hz: int, piece: int
) -> None:
    resampler = LiveResampler(rate_in_hz, rate_out_hz)
    lag = round(resampler.lag_ms * rate_in_hz / 1000)
    fed = given = 0
    for _ in range(max(10, 2_000 // piece)):
        given += len(resampler.resample(bytes(2 * piece))) // 2
        fed += piece
        assert given == max(0, fed - lag) * rate_out_hz // rate_in_hz


@each_pair
def test_blocks_of_20_ms_give_20_ms_each(rate_in_hz: int, rate_out_hz: int) -> None:
    resampler = LiveResampler(rate_in_hz, rate_out_hz)
    sizes = [len(resampler.resample(bytes(rate_in_hz // 50 * 2))) // 2 for _ in range(500)]
    assert set(sizes[1:]) <= {rate_out_hz // 50, rate_out_hz // 50 + 1, rate_out_hz // 50 - 1}
    if rate_in_hz != 44_100:
        assert set(sizes[1:]) == {rate_out_hz // 50}


@each_pair
def test_a_click_is_where_it_was(rate_in_hz: int, rate_out_hz: int) -> None:
    """The lag is waiting, not a shift: output ``k`` is what was heard at ``k / rate``."""
    audio = np.zeros(rate_in_hz // 10)
    audio[rate_in_hz // 20] = FULL
    out = resampled(LiveResampler(rate_in_hz, rate_out_hz), pcm(audio), 37)
    assert abs(int(np.argmax(out)) - rate_out_hz / 20) <= 0.5


# How clean


@each_pair
@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.8])
def test_a_tone_stays_that_tone(rate_in_hz: int, rate_out_hz: int, share: float) -> None:
    """Noise and distortion 75 dB below it at least, up to 80 % of the lower rate's band."""
    hz = share * min(rate_in_hz, rate_out_hz) / 2
    made = resampled(LiveResampler(rate_in_hz, rate_out_hz), pcm(tone(hz, rate_in_hz, 20_000)), 320)
    ideal = tone(hz, rate_out_hz, len(made))
    skip = rate_out_hz // 100  # before its beginning there was silence
    error, kept = made[skip:] - ideal[skip:], ideal[skip:]
    assert level_db(made[skip:], kept) == pytest.approx(0, abs=0.02)
    gain = float(made[skip:] @ kept / (kept @ kept))
    assert level_db(made[skip:] - gain * kept, kept) < -75
    assert level_db(error, kept) < -55


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), [one for one in PAIRS if one[0] > one[1]])
@pytest.mark.parametrize("share", [1.001, 1.02, 1.1, 1.3, 1.9])
def test_what_the_lower_rate_cannot_carry_is_80_db_down(
    rate_in_hz: int, rate_out_hz: int, share: float
) -> None:
    hz = min(share * rate_out_hz / 2, rate_in_hz / 2 * 0.999)
    audio = tone(hz, rate_in_hz, 20_000, FULL - 1)
    made = resampled(LiveResampler(rate_in_hz, rate_out_hz), pcm(audio), 320)[rate_out_hz // 50 :]
    assert level_db(made, audio) < -80


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), [one for one in PAIRS if one[0] < one[1]])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.85, 0.999])
def test_a_higher_rate_brings_no_mirrored_tone(
    rate_in_hz: int, rate_out_hz: int, share: float
) -> None:
    audio = tone(share * rate_in_hz / 2, rate_in_hz, 20_000, FULL - 1)
    made = resampled(LiveResampler(rate_in_hz, rate_out_hz), pcm(audio), 320)
    made = made[rate_out_hz // 50 :][: rate_out_hz // 2]
    spectrum = np.abs(np.fft.rfft(made * np.blackman(len(made))))
    pitch_hz = np.fft.rfftfreq(len(made), 1 / rate_out_hz)
    beyond = spectrum[pitch_hz > rate_in_hz / 2 + 60]
    assert 20 * np.log10(beyond.max() / (np.blackman(len(made)).sum() * FULL / 2)) < -80


# How loud


@each_pair
@pytest.mark.parametrize("value", [FULL, -32_768, 1, -1, 12_345, 0])
def test_a_constant_is_kept_and_silence_stays_silence(
    rate_in_hz: int, rate_out_hz: int, value: int
) -> None:
    made = resampled(LiveResampler(rate_in_hz, rate_out_hz), pcm(np.full(4_000, value)), 320)
    settled = made[rate_out_hz // 100 :]
    assert len(settled)
    assert set(settled) == {value}


@each_pair
def test_what_overshoots_full_scale_is_cut_off_and_never_turned_over(
    rate_in_hz: int, rate_out_hz: int
) -> None:
    square = np.where(np.arange(8_000) // 200 % 2, FULL, -32_768).astype(np.float64)
    made = resampled(LiveResampler(rate_in_hz, rate_out_hz), pcm(square), 320)
    assert (made.max(), made.min()) == (FULL, -32_768)
    middles = (np.arange(1, 35) * 200 + 100) * rate_out_hz // rate_in_hz
    assert np.array_equal(np.sign(made[middles]), np.where(np.arange(1, 35) % 2, 1, -1))
    assert abs(np.diff(made)).max() < 65_536


# For how long


@each_pair
def test_no_more_is_kept_than_the_filter_lies_over(rate_in_hz: int, rate_out_hz: int) -> None:
    resampler = LiveResampler(rate_in_hz, rate_out_hz)
    half = round(resampler.lag_ms * rate_in_hz / 1000)
    for _ in range(50 * 20):
        resampler.resample(bytes(rate_in_hz // 50 * 2))
        assert len(resampler._waiting) <= 2 * half + rate_in_hz // rate_out_hz + 1


@each_pair
def test_after_a_month_it_is_as_in_the_first_second(rate_in_hz: int, rate_out_hz: int) -> None:
    young, old = LiveResampler(rate_in_hz, rate_out_hz), LiveResampler(rate_in_hz, rate_out_hz)
    for resampler in (young, old):
        resampler.resample(noise(rate_in_hz, 5))
    old._skipped += rate_in_hz * 86_400 * 30
    old._given += rate_out_hz * 86_400 * 30
    audio = noise(rate_in_hz // 4, 6)
    assert pcm(resampled(old, audio, 320)) == pcm(resampled(young, audio, 320))
