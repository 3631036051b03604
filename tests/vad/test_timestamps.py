"""Speech in a whole recording: what is dropped, split, closed and widened."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vad.timestamps import Speech, TimestampSettings, speech_timestamps

SPEECH, SILENCE, BETWEEN = 0.9, 0.1, 0.4
EXACT = TimestampSettings(min_silence_ms=32, speech_pad_ms=0, min_speech_ms=0)
"""Nothing dropped, nothing widened; two silent windows end speech."""


def told(
    story: list[float], settings: TimestampSettings, samples: int | None = None
) -> list[tuple[float, float]]:
    """Where speech is, in windows of 16 kHz."""
    heard = len(story) * 512 if samples is None else samples
    found = speech_timestamps(story, heard, 16_000, settings)
    return [(speech.start_sample / 512, speech.end_sample / 512) for speech in found]


def windows(*runs: tuple[int, float]) -> list[float]:
    return [probability for count, probability in runs for _ in range(count)]


def test_speech_reaches_from_its_first_window_to_the_first_silent_one() -> None:
    assert told(windows((2, SILENCE), (5, SPEECH), (4, SILENCE)), EXACT) == [(2, 7)]


def test_speech_no_longer_than_the_shortest_is_dropped() -> None:
    settings = replace(EXACT, min_speech_ms=96)
    story = windows((3, SPEECH), (3, SILENCE), (4, SPEECH), (3, SILENCE))
    assert told(story, settings) == [(6, 10)]


def test_speech_still_open_ends_with_the_recording() -> None:
    assert told(windows((1, SILENCE), (4, SPEECH)), EXACT, samples=2400) == [(1, 2400 / 512)]


def test_speech_still_open_is_dropped_if_too_short() -> None:
    story, settings = windows((1, SILENCE), (4, SPEECH)), replace(EXACT, min_speech_ms=100)
    assert told(story, settings, samples=512 + 1600) == []
    assert told(story, settings, samples=512 + 1601) == [(1, 2113 / 512)]


def test_speech_is_widened_on_both_sides_within_the_recording() -> None:
    settings = replace(EXACT, speech_pad_ms=64)
    assert told(windows((1, SILENCE), (5, SPEECH), (8, SILENCE)), settings) == [(0, 8)]
    assert told(windows((4, SILENCE), (5, SPEECH), (2, SILENCE)), settings) == [(2, 11)]
    assert told(windows((4, SILENCE), (5, SPEECH)), settings) == [(2, 9)]


def test_neighbours_without_room_meet_in_the_middle() -> None:
    story = windows((5, SPEECH), (3, SILENCE), (5, SPEECH), (4, SILENCE))
    assert told(story, replace(EXACT, speech_pad_ms=64)) == [(0, 6.5), (6.5, 15)]
    assert told(story, replace(EXACT, speech_pad_ms=48)) == [(0, 6.5), (6.5, 14.5)]


def test_a_bound_for_silence_of_its_own_may_be_given() -> None:
    story = windows((3, SPEECH), (4, BETWEEN))
    assert told(story, EXACT) == [(0, 7)]
    assert told(story, replace(EXACT, neg_threshold=0.41)) == [(0, 3)]


def test_the_bound_for_silence_never_falls_below_a_hundredth() -> None:
    settings = replace(EXACT, threshold=0.1)
    assert told(windows((3, SPEECH), (4, 0.01)), settings) == [(0, 7)]
    assert told(windows((3, SPEECH), (4, 0.0099)), settings) == [(0, 3)]


LONG = windows(
    (6, SPEECH), (2, SILENCE), (4, SPEECH), (3, SILENCE), (3, SPEECH), (2, SILENCE), (30, SPEECH)
)
LIMITED = replace(EXACT, min_silence_ms=1000, min_silence_at_max_ms=33, max_speech_s=0.8)
"""At most 24 windows: 25 less one."""


def test_too_long_speech_is_split_at_its_longest_silence() -> None:
    # Found in the 26th window; the next stretch begins where speech went on and is split anew.
    assert told(LONG, LIMITED) == [(0, 12), (15, 40), (41, 50)]


def test_or_at_its_last_silence_if_so_wanted() -> None:
    assert told(LONG, replace(LIMITED, longest_silence_at_max=False))[:2] == [(0, 12), (15, 40)]
    settings = replace(LIMITED, longest_silence_at_max=False, min_silence_at_max_ms=31)
    assert told(LONG, settings)[:2] == [(0, 18), (20, 45)]


def test_a_silence_of_just_the_length_asked_for_splits_nothing() -> None:
    # The longest is measured when it is over, the last one while it lasts: one window less.
    three = windows((6, SPEECH), (3, SILENCE), (21, SPEECH))
    four = windows((6, SPEECH), (4, SILENCE), (20, SPEECH))
    for longest, story in ((True, three), (False, four)):
        settings = replace(LIMITED, min_silence_at_max_ms=96, longest_silence_at_max=longest)
        assert told(story, settings) == [(0, 25), (26, 30)]
        shorter = replace(settings, min_silence_at_max_ms=95)
        assert told(story, shorter) == [(0, 6), (9 if longest else 10, 30)]


def test_of_two_silences_of_one_length_the_first_is_the_longest() -> None:
    story = windows((6, SPEECH), (3, SILENCE), (4, SPEECH), (3, SILENCE), (12, SPEECH))
    assert told(story, LIMITED) == [(0, 6), (9, 28)]


@pytest.mark.parametrize("longest", [True, False])
def test_the_window_that_splits_may_begin_the_silence_that_ends_speech(longest: bool) -> None:
    story = windows((6, SPEECH), (3, SILENCE), (16, SPEECH), (6, SILENCE))
    settings = replace(LIMITED, min_silence_ms=96, longest_silence_at_max=longest)
    assert told(story, settings) == [(0, 6), (9, 25)]


def test_too_long_speech_without_a_silence_is_cut_where_it_is() -> None:
    settings = replace(LIMITED, min_silence_at_max_ms=500)
    assert told(LONG, settings) == [(0, 25), (26, 50)]


def test_a_recording_without_speech_has_none() -> None:
    assert told(windows((50, BETWEEN)), EXACT) == []
    assert told([], EXACT) == []


SETTINGS = st.builds(
    TimestampSettings,
    threshold=st.sampled_from([0.3, 0.5, 0.7]),
    neg_threshold=st.sampled_from([None, 0.1, 0.3]),
    min_silence_ms=st.sampled_from([0, 32, 100, 500]),
    speech_pad_ms=st.sampled_from([0, 30, 33, 200]),
    min_speech_ms=st.sampled_from([0, 100, 250]),
    max_speech_s=st.sampled_from([0.1, 0.5, 1.5, math.inf]),
    min_silence_at_max_ms=st.sampled_from([0, 30, 98]),
    longest_silence_at_max=st.booleans(),
)
PROBABILITIES = st.lists(
    st.sampled_from([0.0, 0.1, 0.149, 0.2, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0]), max_size=120
)


@given(PROBABILITIES, SETTINGS, st.integers(0, 511))
def test_stretches_are_in_order_do_not_overlap_and_lie_in_the_recording(
    story: list[float], settings: TimestampSettings, missing: int
) -> None:
    samples = max(0, len(story) * 512 - missing)
    found = speech_timestamps(story, samples, 16_000, settings)
    places = [place for speech in found for place in (speech.start_sample, speech.end_sample)]
    assert places == sorted(places)
    assert all(0 <= place <= samples for place in places)


@given(PROBABILITIES, SETTINGS)
def test_at_half_the_rate_all_places_are_halved(
    story: list[float], settings: TimestampSettings
) -> None:
    whole_pads = replace(settings, speech_pad_ms=30)
    high = speech_timestamps(story, len(story) * 512, 16_000, whole_pads)
    low = speech_timestamps(story, len(story) * 256, 8_000, whole_pads)
    assert [Speech(s.start_sample // 2, s.end_sample // 2) for s in high] == list(low)


@pytest.mark.parametrize("rate_hz", [0, 44_100])
def test_other_rates_are_refused(rate_hz: int) -> None:
    with pytest.raises(ValueError, match="heard at 8000 or 16000 Hz"):
        speech_timestamps([], 0, rate_hz)
