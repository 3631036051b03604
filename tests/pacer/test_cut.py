"""Long recordings cut into parts: where there is a pause, and all of them together the whole."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.records import AudioClip
from pacer.clips import clip_from_samples
from pacer.cut import (
    BATCH,
    STREAMING,
    Limits,
    Part,
    Span,
    batch_limits,
    parts,
    parts_of,
    pauses_between,
    quiet_places,
)

RATE = 100
"""Samples a second; nothing here needs more."""
THREE = Limits(aim_s=2, most_s=3)


def cuts(samples: int, speech: list[Span], limits: Limits = THREE) -> list[int]:
    found = parts(samples, speech, rate_hz=RATE, limits=limits)
    return [part.start_sample for part in found[1:]]


def test_a_recording_that_is_short_enough_is_one_part() -> None:
    assert parts(300, [(0, 300)], rate_hz=RATE, limits=THREE) == (Part(0, 0, 300),)


def test_the_cut_falls_in_the_middle_of_a_pause() -> None:
    assert cuts(400, [(10, 180), (220, 390)]) == [200]


def test_of_two_pauses_as_near_the_longer_one_is_taken() -> None:
    assert cuts(400, [(0, 183), (187, 190), (240, 400)]) == [215]


def test_a_pause_far_from_the_aim_is_better_than_a_cut_through_a_word() -> None:
    found = parts(350, [(0, 50), (60, 350)], rate_hz=RATE, limits=THREE)
    assert [part.start_sample for part in found] == [0, 55]
    assert not any(part.begins_in_speech for part in found)


def test_speech_without_any_pause_is_cut_and_the_part_says_so() -> None:
    found = parts(1000, [(0, 1000)], rate_hz=RATE, limits=THREE)
    assert [part.begins_in_speech for part in found] == [False, True, True, True]
    assert max(part.samples for part in found) <= 300


def test_no_more_cuts_go_through_speech_than_must() -> None:
    everywhere = [(sample, 0.0) for sample in range(10, 350, 10)]
    aim = Limits(aim_s=1, most_s=3)
    found = parts(350, [(0, 350)], rate_hz=RATE, limits=aim, quiet=lambda span: everywhere)
    assert len(found) == 2


def test_without_any_speech_the_parts_are_as_long_as_they_should_be() -> None:
    assert cuts(1000, []) == [200, 400, 600, 800]


def test_no_small_rest_is_left_at_the_end() -> None:
    words = [(at, at + 90) for at in range(0, 610, 100)]
    assert cuts(610, words) == [195, 395]


def recording(samples: np.ndarray, rate_hz: int = 16_000) -> AudioClip:
    return clip_from_samples("a", samples.astype(np.int16), rate_hz=rate_hz)


def test_within_speech_the_quietest_place_is_taken() -> None:
    loud = np.full(5 * 16_000, 9_000)
    loud[2 * 16_000 + 320 : 2 * 16_000 + 640] = 0
    clip = recording(loud)
    assert (2 * 16_000 + 480, 0.0) in set(quiet_places(clip, (0, clip.samples)))
    found = parts_of(clip, [(0, clip.samples)], Limits(aim_s=2.5, most_s=3))
    assert [part.start_sample for part in found] == [0, 2 * 16_000 + 480]


def test_parts_at_another_rate_still_meet() -> None:
    found = parts(1001, [(0, 1001)], rate_hz=RATE, limits=THREE)
    other = [part.at_rate(RATE, 333) for part in found]
    assert all(one.end_sample == after.start_sample for one, after in pairwise(other))
    assert other[0].start_sample == 0
    assert other[-1].end_sample == -(-1001 * 333 // RATE)


def test_pauses_are_what_speech_leaves() -> None:
    assert pauses_between([(30, 40), (10, 20), (15, 25), (90, 200)], 100) == [
        (0, 10), (25, 30), (40, 90), (100, 100),
    ]  # fmt: skip
    assert pauses_between([(0, 20)], 20) == [(0, 0), (20, 20)]


def test_a_batch_service_gets_the_whole_where_it_takes_it() -> None:
    assert batch_limits(1_300, None) is None
    assert batch_limits(1_300, 1_300) is None


def test_else_about_nine_minutes_and_less_only_as_far_as_it_must() -> None:
    assert batch_limits(1_300, 1_200) == BATCH
    assert batch_limits(1_300, 300) == Limits(270, 300)
    assert batch_limits(1_300, 30) == Limits(27, 30)
    with pytest.raises(ValueError, match="must be at least 30 s"):
        batch_limits(1_300, 29)


def test_the_method_streams_about_thirty_seconds() -> None:
    assert STREAMING.aim_s == 30


@pytest.mark.parametrize(("aim_s", "most_s"), [(0, 10), (0.5, 10), (20, 10)])
def test_limits_that_cannot_be_kept_are_refused(aim_s: float, most_s: float) -> None:
    with pytest.raises(ValueError, match="at least 1 s"):
        Limits(aim_s, most_s)


spans = st.tuples(st.integers(0, 3_000), st.integers(1, 700)).map(lambda at: (at[0], sum(at)))
recordings = st.tuples(st.integers(1, 3_000), st.lists(spans, max_size=12))
limits_drawn = st.tuples(st.integers(10, 60), st.integers(0, 40)).map(
    lambda one: Limits(one[0] / 10, (one[0] + one[1]) / 10)
)


def unavoidable(samples: int, speech: list[Span], most: int) -> int:
    """How many cuts must go through speech: each stretch needs them, whatever is done elsewhere."""
    pauses = pauses_between(speech, samples)
    stretches = [start - end for (_, end), (start, _) in pairwise(pauses)]
    return sum(max(0, -(-stretch // most) - 1) for stretch in stretches)


@given(recordings, limits_drawn)
def test_parts_cover_the_recording_exactly_once_and_keep_the_limit(
    drawn: tuple[int, list[Span]], limits: Limits
) -> None:
    samples, speech = drawn
    found = parts(samples, speech, rate_hz=RATE, limits=limits)
    assert [part.index for part in found] == list(range(len(found)))
    assert found[0].start_sample == 0
    assert found[-1].end_sample == samples
    assert all(one.end_sample == after.start_sample for one, after in pairwise(found))
    assert all(0 < part.samples <= int(limits.most_s * RATE) for part in found)


@given(recordings, limits_drawn)
def test_no_cut_goes_through_speech_that_could_be_spared(
    drawn: tuple[int, list[Span]], limits: Limits
) -> None:
    samples, speech = drawn
    places = [(sample, 0.0) for sample in range(0, samples, 37)]
    found = parts(samples, speech, rate_hz=RATE, limits=limits, quiet=lambda span: places)
    pauses = pauses_between(speech, samples)
    for part in found[1:]:
        spared = any(start <= part.start_sample <= end for start, end in pauses)
        assert part.begins_in_speech is not spared
    through = sum(part.begins_in_speech for part in found)
    assert through == unavoidable(samples, speech, int(limits.most_s * RATE))
