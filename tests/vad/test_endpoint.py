"""The hysteresis: small stories on the tipping points, and a slow oracle that counts windows."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.records import VoiceSettings
from vad.endpoint import Edge, EdgeKind, EndpointDetector, edges, window_samples

SPEECH, SILENCE, BETWEEN = 0.9, 0.1, 0.4
Story = list[float]


def told(story: Story, settings: VoiceSettings, rate_hz: int = 16_000) -> list[Edge]:
    return list(edges(EndpointDetector(rate_hz, settings), story))


def short(found: list[Edge]) -> list[tuple[str, int, int]]:
    return [(edge.kind.value, edge.sample, edge.fired_at_sample) for edge in found]


def test_speech_starts_with_its_first_window_and_is_widened() -> None:
    found = told([SILENCE, SILENCE, SPEECH], VoiceSettings())
    assert short(found) == [("start", 2 * 512 - 480, 3 * 512)]


def test_speech_that_starts_at_once_starts_at_zero() -> None:
    assert short(told([SPEECH], VoiceSettings())) == [("start", 0, 512)]


def test_the_end_lies_before_the_silence_and_fires_after_it() -> None:
    # 100 ms of silence are 3.1 windows: the end fires with the fifth, 160 ms after they began.
    found = told([SPEECH, SPEECH, *[SILENCE] * 10], VoiceSettings())
    assert short(found[1:]) == [("end", 2 * 512 + 480, 7 * 512)]


@pytest.mark.parametrize(
    ("min_silence_ms", "lag_ms"), [(0, 32), (100, 160), (200, 256), (300, 352), (500, 544)]
)
@pytest.mark.parametrize("rate_hz", [16_000, 8_000])
def test_the_wait_is_made_of_whole_windows(rate_hz: int, min_silence_ms: int, lag_ms: int) -> None:
    story = [SPEECH, *[SILENCE] * 30]
    _, end = told(story, VoiceSettings(min_silence_ms=min_silence_ms), rate_hz)
    assert end.known_ms - 32 == lag_ms
    assert end.audio_ms == 32 + 30


def test_speech_clears_the_silence_that_was_waited_for() -> None:
    story = [SPEECH, *[SILENCE] * 4, SPEECH, *[SILENCE] * 4]
    assert [edge.kind for edge in told(story, VoiceSettings())] == [EdgeKind.START]


def test_what_is_neither_speech_nor_silence_changes_nothing() -> None:
    # It does not clear the wait, and it does not let the end fire: the next silent window does.
    story = [SPEECH, SILENCE, *[BETWEEN] * 8, SILENCE]
    assert short(told(story, VoiceSettings())[1:]) == [("end", 512 + 480, 11 * 512)]


def test_the_threshold_itself_is_speech_and_its_lower_edge_is_not_silence() -> None:
    settings = VoiceSettings(min_silence_ms=0)
    assert short(told([0.5], settings)) == [("start", 0, 512)]
    assert told([math.nextafter(0.5, 0)], settings) == []
    lower = 0.5 - 0.15
    assert len(told([0.5, lower], settings)) == 1
    assert len(told([0.5, math.nextafter(lower, 0)], settings)) == 2


def test_fractions_of_a_sample_are_cut_off() -> None:
    settings = VoiceSettings(min_silence_ms=0, speech_pad_ms=33)  # 264 samples at 8 kHz
    assert short(told([SILENCE, SPEECH, SILENCE], settings, 8_000)) == [
        ("start", 0, 512),
        ("end", 512 + 264, 768),
    ]


def test_a_low_threshold_never_hears_an_end() -> None:
    assert len(told([SPEECH, *[0.0] * 1000], VoiceSettings(threshold=0.15))) == 1


def test_speech_that_runs_into_the_end_of_the_audio_ends_with_its_last_sample() -> None:
    detector = EndpointDetector(16_000, VoiceSettings())
    assert len(list(edges(detector, [SPEECH, SPEECH, SILENCE]))) == 1
    expected = Edge(EdgeKind.END, 1500, 1500, 16_000, at_eof=True)
    assert detector.flush(1500) == expected
    assert not detector.speaking
    assert detector.flush(1500) is None


def test_an_end_is_not_known_before_its_start() -> None:
    detector = EndpointDetector(16_000, VoiceSettings())
    detector.push(SPEECH)  # a window that silence completed: only 300 of its samples are audio
    end = detector.flush(300)
    assert end == Edge(EdgeKind.END, 300, 512, 16_000, at_eof=True)


def test_without_speech_there_is_nothing_to_end() -> None:
    detector = EndpointDetector(16_000, VoiceSettings())
    assert list(edges(detector, [SILENCE, BETWEEN, SILENCE])) == []
    assert detector.flush(1536) is None


def test_an_edge_has_its_place_and_its_known_place_in_milliseconds() -> None:
    edge = Edge(EdgeKind.END, 300, 1536, 8_000)
    assert (edge.audio_ms, edge.known_ms) == (37.5, 192.0)


def test_other_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="heard at 8000 or 16000 Hz, not at 44100"):
        EndpointDetector(44_100, VoiceSettings())


PROBABILITIES = st.lists(
    st.sampled_from([0.0, 0.1, 0.349, 0.35, 0.36, 0.45, 0.499, 0.5, 0.7, 1.0]), max_size=60
)
SETTINGS = st.builds(
    VoiceSettings,
    threshold=st.sampled_from([0.1, 0.3, 0.5, 0.51, 0.65, 0.9]),
    min_silence_ms=st.sampled_from([0, 31, 32, 33, 64, 100, 300]),
    speech_pad_ms=st.sampled_from([0, 30, 32, 100]),
)


def oracle(story: Story, rate_hz: int, settings: VoiceSettings) -> list[tuple[str, int, int]]:
    """The rule in a sentence each, looking back over the whole story at every window."""
    window, found, opened = window_samples(rate_hz), [], None
    pad = settings.speech_pad_ms * rate_hz / 1000
    for now, probability in enumerate(story):
        # Speech starts with the first window of speech since the last end.
        if opened is None:
            if probability >= settings.threshold:
                opened = now
                found.append(("start", int(max(0, now * window - pad)), (now + 1) * window))
            continue
        # It ends with a silent window that is far enough from the first one since speech.
        spoken = max(i for i in range(opened, now + 1) if story[i] >= settings.threshold)
        silent = [i for i in range(spoken, now + 1) if story[i] < settings.threshold - 0.15]
        if silent and silent[-1] == now:
            waited_ms = (now - silent[0]) * 32
            if waited_ms >= settings.min_silence_ms:
                found.append(("end", int(silent[0] * window + pad), (now + 1) * window))
                opened = None
    return found


@given(PROBABILITIES, SETTINGS, st.sampled_from([8_000, 16_000]))
def test_the_detector_does_what_the_rule_says(
    story: Story, settings: VoiceSettings, rate_hz: int
) -> None:
    assert short(told(story, settings, rate_hz)) == oracle(story, rate_hz, settings)


@given(PROBABILITIES, SETTINGS)
def test_starts_and_ends_take_turns_and_fire_in_order(
    story: Story, settings: VoiceSettings
) -> None:
    found = told(story, settings)
    assert [edge.kind for edge in found[::2]] == [EdgeKind.START] * len(found[::2])
    assert [edge.kind for edge in found[1::2]] == [EdgeKind.END] * len(found[1::2])
    fired = [edge.fired_at_sample for edge in found]
    assert fired == sorted(set(fired))


@given(PROBABILITIES, PROBABILITIES, SETTINGS)
def test_what_comes_later_changes_nothing_that_has_fired(
    story: Story, more: Story, settings: VoiceSettings
) -> None:
    before = told(story, settings)
    assert told(story + more, settings)[: len(before)] == before
