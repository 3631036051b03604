"""What is heard, as small stories; and that it does not matter how the audio is cut up."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daemon.local.engines.shape import Samples
from daemon.local.hearing import WINDOW_SAMPLES, Ending, Hearing, HearingSettings
from daemon.local.protocol import Final, Partial
from tests.daemon.local.scripted import MS, LoudIsSpeech, ScriptedStream, samples, spoken


class Story:
    """One stream, on a clock that moves only while the engine works or when it is told to."""

    def __init__(
        self,
        settings: HearingSettings | None = None,
        understand: Callable[[Samples], str] = spoken,
        cost_ms: int = 0,
    ) -> None:
        self.now_ms = 0

        def work(segment: Samples) -> str:
            self.now_ms += cost_ms
            return understand(segment)

        self.stream = ScriptedStream(work)
        self.hearing = Hearing(
            self.stream,
            LoudIsSpeech(),
            settings or HearingSettings(),
            lambda: self.now_ms * 1_000_000,
        )

    def hear(self, *pieces: tuple[int, float]) -> list[Final]:
        return self.hearing.hear(samples(*pieces))

    def force(self) -> list[Final]:
        return self.hearing.force()

    def partial_at(self, now_ms: int) -> list[Partial]:
        """What is told at ``now_ms``, if anything is due."""
        self.now_ms = now_ms
        due_ns = self.hearing.partial_due_ns
        return self.hearing.partial() if due_ns is not None and due_ns <= now_ms * 1e6 else []


def natural(endpoint_ms: int) -> HearingSettings:
    usual = HearingSettings()
    return replace(usual, endings=(Ending(0, endpoint_ms), *usual.endings))


# What a force gives.


def test_a_force_settles_what_was_said() -> None:
    story = Story()
    story.hear((0, 1000), (7, 400), (0, 100), (8, 400))
    assert story.force() == [Final(0, "w7 w8", forced=True)]


def test_a_force_hears_up_to_the_last_sample() -> None:
    story = Story()
    story.hear((7, 320), (8, 1))  # the last word is far shorter than a window
    assert story.force() == [Final(0, "w7 w8", forced=True)]


def test_a_force_is_answered_where_nothing_was_said_and_the_engine_is_not_asked() -> None:
    story = Story()
    story.hear((0, 500))
    assert story.force() == [Final(0, "", forced=True)]
    assert story.force() == [Final(1, "", forced=True)]
    assert story.stream.settled == []


def test_each_final_begins_a_new_segment() -> None:
    story = Story()
    story.hear((7, 320))
    story.force()
    story.hear((8, 320))
    assert story.force() == [Final(1, "w8", forced=True)]


def test_the_end_of_the_stream_settles_what_is_left() -> None:
    story = Story()
    story.hear((7, 320), (8, 1))
    assert story.hearing.finish() == [Final(0, "w7 w8", forced=False)]
    assert story.hearing.finish() == []


def test_closing_gives_the_engine_its_stream_back() -> None:
    story = Story()
    story.hearing.close()
    assert story.stream.closed


# What the engine hears.


def test_silence_never_reaches_the_engine() -> None:
    story = Story()
    assert story.hear((0, 20_000)) == []
    assert story.stream.fed == []


def test_what_is_not_quite_speech_does_not_begin_a_segment() -> None:
    story = Story()
    story.hear((3, 2000))
    assert story.stream.fed == []


def test_the_half_second_before_speech_belongs_to_it() -> None:
    story = Story()
    story.hear((0, 3200), (7, 320))
    before = 16 * WINDOW_SAMPLES  # the whole windows that cover 500 ms
    assert sum(piece.size for piece in story.stream.fed) == before + 320 * MS


def test_what_one_segment_has_heard_the_next_does_not_hear_again() -> None:
    story = Story()
    story.hear((7, 100), (0, 1000))
    story.force()
    story.hear((0, 96), (8, 320))
    story.force()
    assert spoken(story.stream.settled[1]) == "w8"
    assert story.stream.settled[1].size <= (96 + 320) * MS


# Where segments end by themselves.


def test_a_long_segment_ends_at_a_short_pause() -> None:
    story = Story()
    assert story.hear((7, 8000), (0, 160)) == []
    assert story.hear((0, 32)) == [Final(0, "w7", forced=False)]


def test_a_shorter_segment_does_not() -> None:
    assert Story().hear((7, 7600), (0, 320)) == []


def test_a_pause_that_is_too_short_ends_nothing() -> None:
    assert Story().hear((7, 9600), (0, 160), (8, 3200)) == []


def test_a_segment_that_becomes_long_during_a_pause_ends_there() -> None:
    assert Story().hear((7, 7680), (0, 320)) == [Final(0, "w7", forced=False)]


def test_what_is_neither_speech_nor_silence_ends_nothing() -> None:
    assert Story().hear((7, 9600), (0, 32), (3, 3200)) == []


def test_a_segment_without_any_pause_ends_in_the_end() -> None:
    story = Story()
    assert story.hear((7, 23_968)) == []
    assert story.hear((7, 32)) == [Final(0, "w7", forced=False)]
    story.hear((8, 320))
    assert story.force() == [Final(1, "w8", forced=True)]


def test_a_segment_ends_after_the_silence_that_was_asked_for() -> None:
    story = Story(natural(320))
    assert story.hear((7, 640), (0, 320)) == []
    assert story.hear((0, 32)) == [Final(0, "w7", forced=False)]


def test_silence_ends_nothing_unless_that_was_asked_for() -> None:
    assert Story().hear((7, 640), (0, 5_000)) == []


def test_a_natural_end_without_words_is_not_told() -> None:
    story = Story(natural(320), understand=lambda _: "")
    assert story.hear((7, 640), (0, 960)) == []
    assert len(story.stream.settled) == 1
    assert story.force() == [Final(0, "", forced=True)]


def test_a_natural_end_without_words_takes_back_a_partial() -> None:
    meanings = iter(("uh", ""))
    story = Story(natural(320), understand=lambda _: next(meanings))
    story.hear((7, 640))
    assert story.partial_at(300) == [Partial(0, "uh")]
    assert story.hear((0, 960)) == [Final(0, "", forced=False)]


# Partials.


def test_the_first_partial_comes_300_ms_after_speech_began() -> None:
    story = Story()
    story.now_ms = 1000
    story.hear((0, 500), (7, 320))
    assert story.partial_at(1299) == []
    assert story.partial_at(1300) == [Partial(0, "w7")]


def test_the_next_one_waits_as_long_again() -> None:
    story = Story()
    story.hear((7, 320))
    story.partial_at(300)
    story.hear((8, 320))
    assert story.partial_at(599) == []
    assert story.partial_at(600) == [Partial(0, "w7 w8")]


def test_after_a_partial_that_took_long_the_next_one_waits_half_as_long_again() -> None:
    story = Story(cost_ms=400)
    story.hear((7, 320))
    story.partial_at(300)
    story.hear((8, 320))
    assert story.partial_at(700 + 599) == []
    assert story.partial_at(700 + 600) == [Partial(0, "w7 w8")]


def test_how_long_one_segment_took_does_not_delay_the_next() -> None:
    story = Story(cost_ms=400)
    story.hear((7, 320))
    story.partial_at(300)
    story.force()
    story.now_ms = 2000
    story.hear((8, 320))
    assert story.partial_at(2300) == [Partial(1, "w8")]


def test_a_partial_that_says_nothing_new_is_not_told() -> None:
    story = Story()
    story.hear((7, 320))
    story.partial_at(300)
    story.hear((7, 320))
    assert story.partial_at(600) == []
    assert story.stream.asked == 2


def test_during_a_pause_the_engine_is_not_asked_again() -> None:
    story = Story()
    story.hear((7, 320))
    story.partial_at(300)
    story.hear((0, 320))
    assert story.partial_at(5000) == []
    assert story.stream.asked == 1


def test_after_a_final_there_is_nothing_to_be_partial() -> None:
    story = Story()
    story.hear((7, 320))
    story.force()
    assert story.hearing.partial_due_ns is None


def test_there_are_no_partials_for_those_who_want_none() -> None:
    story = Story(HearingSettings(partials=False))
    story.hear((7, 640))
    assert story.partial_at(10_000) == []
    assert story.stream.asked == 0


# Laws.

PIECES = st.lists(
    st.tuples(st.sampled_from((0, 0, 3, 7, 8, 9)), st.integers(1, 1500)), min_size=1, max_size=12
)
SIZES = st.lists(st.integers(1, 2000), min_size=1, max_size=8)


def chopped(audio: Samples, sizes: Iterable[int]) -> Iterable[Samples]:
    """``audio`` in pieces of these sizes, over and over."""
    every = list(sizes)
    turn = 0
    while audio.size:
        size = every[turn % len(every)]
        yield audio[:size]
        audio, turn = audio[size:], turn + 1


@given(PIECES, SIZES, st.sampled_from((None, 100, 300)))
@example([(7, 640)], [511], None)
@example([(7, 640)], [512], None)
@example([(7, 640)], [513], 100)
def test_it_does_not_matter_how_the_audio_is_cut_up(
    pieces: list[tuple[int, int]], sizes: list[int], endpoint_ms: int | None
) -> None:
    settings = HearingSettings() if endpoint_ms is None else natural(endpoint_ms)
    whole, cut_up = Story(settings), Story(settings)
    expected = whole.hear(*pieces) + whole.force()
    found = [
        final for piece in chopped(samples(*pieces), sizes) for final in cut_up.hearing.hear(piece)
    ]
    assert found + cut_up.force() == expected
    for one, other in zip(whole.stream.settled, cut_up.stream.settled, strict=True):
        assert np.array_equal(one, other)


class Foretold:
    """Hears speech in the windows that it was told of."""

    def __init__(self, speech: list[bool]) -> None:
        self._speech = iter(speech)

    def probability(self, window: Samples) -> float:
        return float(next(self._speech))


@given(st.lists(st.booleans(), max_size=60), st.lists(st.integers(0, 60 * 512), max_size=5))
@example([True], [512, 512])
@example([True, True], [700, 900])
@example([False, True], [100, 600])
def test_each_sample_is_heard_once_and_in_order_and_no_speech_is_lost(
    speech: list[bool], forces: list[int]
) -> None:
    audio = np.arange(len(speech) * WINDOW_SAMPLES, dtype=np.float32)
    stream = ScriptedStream(lambda _: "")
    hearing = Hearing(stream, Foretold(speech), HearingSettings(), lambda: 0)
    for start, stop in zip([0, *sorted(forces)], [*sorted(forces), audio.size], strict=True):
        hearing.hear(audio[start:stop])
        hearing.force()
    for segment in stream.settled:
        assert (np.diff(segment) == 1).all()
    heard = np.concatenate([np.zeros(0, np.float32), *stream.settled])
    assert (np.diff(heard) > 0).all()
    in_speech = np.repeat(np.array(speech, bool), WINDOW_SAMPLES)
    assert set(audio[in_speech]) <= set(heard)


@pytest.mark.parametrize("sizes", [[320], [1], [640, 7]])
def test_a_force_between_two_windows_splits_them_at_the_sample(sizes: list[int]) -> None:
    story = Story()
    for piece in chopped(samples((7, 330)), sizes):
        story.hearing.hear(piece)
    story.force()
    story.hear((8, 330))
    story.force()
    assert [segment.size for segment in story.stream.settled] == [330 * MS, 330 * MS]
