"""Live detection: whatever the pieces, what fires is what the survey knew beforehand."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measure.records import VoiceSettings
from tests.vad.signals import beckett, clip, noise, speech, zeros
from vad.endpoint import Edge, EdgeKind
from vad.live import LiveDetector, hear_together
from vad.silero import SequenceModel, StepModel
from vad.survey import survey

STEP = StepModel.load()
SPEECH = clip(speech())
KNOWN = survey(SPEECH, SequenceModel.load(), VoiceSettings()).edges


def pieces(pcm: bytes, size: int) -> list[bytes]:
    return [pcm[start : start + size] for start in range(0, len(pcm), size)]


def fired(detector: LiveDetector, parts: list[bytes]) -> tuple[Edge, ...]:
    return tuple(edge for part in parts for edge in detector.hear(part))


@pytest.mark.parametrize("min_silence_ms", [0, 100, 500])
def test_frames_of_20_ms_fire_what_the_survey_knew(min_silence_ms: int) -> None:
    voice = VoiceSettings(min_silence_ms=min_silence_ms)
    detector = LiveDetector(STEP, 16_000, voice)
    known = survey(SPEECH, SequenceModel.load(), voice).edges
    assert fired(detector, pieces(SPEECH.pcm, 640)) == known


def test_frames_of_20_ms_of_a_recording_fire_what_the_survey_knew() -> None:
    recording = beckett()
    known = survey(recording, SequenceModel.load(), VoiceSettings()).edges
    detector = LiveDetector(STEP, 16_000, VoiceSettings())
    assert fired(detector, pieces(recording.pcm, 640)) == known
    assert len(known) == 12


def test_8_khz_fires_what_the_survey_knew() -> None:
    sound = clip(speech(8_000), 8_000)
    detector = LiveDetector(STEP, 8_000, VoiceSettings())
    known = survey(sound, STEP, VoiceSettings()).edges
    assert fired(detector, pieces(sound.pcm, 320)) == known
    assert len(known) == 4


def test_each_edge_fires_with_the_very_sample_by_which_it_is_known() -> None:
    detector = LiveDetector(STEP, 16_000, VoiceSettings())
    heard = [(edge, detector.samples) for s in pieces(SPEECH.pcm, 2) for edge in detector.hear(s)]
    assert heard == [(edge, edge.fired_at_sample) for edge in KNOWN]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, len(SPEECH.pcm)), max_size=40))
def test_no_way_to_cut_the_audio_changes_anything(cuts: list[int]) -> None:
    # The cuts may even part the two bytes of a sample.
    places = [0, *sorted(cuts), len(SPEECH.pcm)]
    parts = [SPEECH.pcm[a:b] for a, b in pairwise(places)]
    detector = LiveDetector(STEP, 16_000, VoiceSettings())
    assert fired(detector, parts) == KNOWN
    assert detector.samples == SPEECH.samples


def test_a_start_and_an_end_in_one_piece_both_fire_in_order() -> None:
    detector = LiveDetector(STEP, 16_000, VoiceSettings())
    assert detector.hear(SPEECH.pcm) == KNOWN
    assert [edge.kind for edge in KNOWN[:2]] == [EdgeKind.START, EdgeKind.END]


def test_it_knows_whether_somebody_speaks() -> None:
    detector = LiveDetector(STEP, 16_000, VoiceSettings())
    start, end = KNOWN[0].fired_at_sample * 2, KNOWN[1].fired_at_sample * 2
    detector.hear(SPEECH.pcm[: start - 2])
    assert not detector.speaking
    detector.hear(SPEECH.pcm[start - 2 : end - 2])
    assert detector.speaking
    detector.hear(SPEECH.pcm[end - 2 : end])
    assert not detector.speaking


def test_audio_that_ends_in_speech_gives_its_end_at_the_last_sample() -> None:
    detector = LiveDetector(STEP, 16_000, VoiceSettings())
    cut = SPEECH.pcm[: 6_400 * 2]
    assert detector.hear(cut) == KNOWN[:1]
    assert detector.flush() == (Edge(EdgeKind.END, 6_400, 6_400, 16_000, at_eof=True),)
    assert not detector.speaking


def test_the_end_of_the_audio_completes_the_last_window() -> None:
    # One sample is missing of the window in which speech is found.
    detector = LiveDetector(STEP, 16_000, VoiceSettings())
    samples = KNOWN[0].fired_at_sample - 1
    assert detector.hear(SPEECH.pcm[: samples * 2]) == ()
    start, end = detector.flush()
    assert start == KNOWN[0]
    assert end == Edge(EdgeKind.END, samples, samples + 1, 16_000, at_eof=True)


def test_nothing_ends_where_nobody_spoke() -> None:
    detector = LiveDetector(STEP, 16_000, VoiceSettings())
    assert detector.hear(clip(noise(8_000)).pcm) == ()
    assert detector.flush() == ()
    assert LiveDetector(STEP, 16_000, VoiceSettings()).flush() == ()


def test_streams_heard_together_fire_what_each_fires_alone() -> None:
    sounds = [
        SPEECH.pcm,
        clip(zeros(3_000)).pcm + SPEECH.pcm,
        clip(noise(20_000)).pcm,
        SPEECH.pcm[10_000:],
        b"",
    ]
    steps = (640, 1_000, 4_096, 20_000, 640)  # each comes in pieces of its own size
    alone = [
        fired(LiveDetector(STEP, 16_000, VoiceSettings()), pieces(sound, 640)) for sound in sounds
    ]
    detectors = [LiveDetector(STEP, 16_000, VoiceSettings()) for _ in sounds]
    together: list[tuple[Edge, ...]] = [() for _ in sounds]
    for turn in range(200):
        parts = [
            (detector, sound[turn * step : (turn + 1) * step])
            for detector, sound, step in zip(detectors, sounds, steps, strict=True)
        ]
        for row, edges in enumerate(hear_together(STEP, parts)):
            together[row] += edges
    assert together == alone
    assert [len(edges) for edges in alone][:3] == [4, 4, 0]


def test_other_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="heard at 8000 or 16000 Hz, not at 48000"):
        LiveDetector(STEP, 48_000, VoiceSettings())
