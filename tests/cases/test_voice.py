"""Where speech begins and ends: A11 to A13."""

import numpy as np
import pytest

from daemon.fakes import FakeDeepgram, Line, Script
from daemon.plan import speech_of
from exporters.prometheus import Metrics
from exporters.settings import Stream
from measure.records import AudioClip, Remark, Verdict, VoiceSettings
from tests.cases.sessions import measured, ordered
from tests.exporters.test_prometheus import value
from tests.vad.signals import clip, noise, speech, vowels, zeros
from vad.endpoint import EdgeKind, EndpointDetector
from vad.live import LiveDetector
from vad.silero import MEMORY_SHAPE, SequenceModel, StepModel, new_stream, samples_of
from vad.survey import hear_all, last_end, survey

STEP = StepModel.load()
VOICE = VoiceSettings()
SPEECH = clip(speech())
HEARD = 0.9
"""What a network that hears gives at its height for clear speech."""

# A11


def test_a11_the_network_hears_speech_with_its_context_and_is_deaf_without() -> None:
    samples = samples_of(SPEECH.pcm)
    assert hear_all(samples, 16_000, STEP)[0].max() > HEARD
    assert hear_all(samples, 16_000, SequenceModel.load())[0].max() > HEARD
    memory, bare = np.zeros(MEMORY_SHAPE, np.float32), []
    for window in samples[: len(samples) // 512 * 512].reshape(-1, 512):
        asked = {"input": window[np.newaxis], "state": memory, "sr": np.array(16_000, np.int64)}
        probability, memory = STEP._session.run(None, asked)
        bare.append(float(probability[0, 0]))
    assert max(bare) < 0.1


@pytest.mark.parametrize(
    ("rate_hz", "samples"), [(16_000, 511), (16_000, 513), (16_000, 256), (8_000, 512), (8_000, 1)]
)
def test_a11_a_window_of_the_wrong_size_is_refused(rate_hz: int, samples: int) -> None:
    with pytest.raises(ValueError, match=f"a window at {rate_hz} Hz has {rate_hz // 125 * 4}"):
        STEP.step(np.zeros(samples, np.float32), new_stream(rate_hz))


@pytest.mark.parametrize("rate_hz", [4_000, 11_025, 44_100, 48_000])
def test_a11_a_rate_for_which_there_is_no_model_is_refused(rate_hz: int) -> None:
    for make in (new_stream, lambda rate_hz: LiveDetector(STEP, rate_hz, VOICE)):
        with pytest.raises(ValueError, match="8000 or 16000 Hz"):
            make(rate_hz)


# A12


def ends_in_speech() -> AudioClip:
    return clip(np.concatenate([zeros(4_800), vowels(16_000)[:11_000]]))


def test_a12_speech_that_runs_into_the_end_ends_with_the_last_sample() -> None:
    spoken = ends_in_speech()
    detector = LiveDetector(STEP, 16_000, VOICE)
    fired = [*detector.hear(spoken.pcm), *detector.flush()]
    assert [edge.kind for edge in fired] == [EdgeKind.START, EdgeKind.END]
    assert fired[-1].sample == spoken.samples
    assert fired[-1].at_eof


def test_a12_what_was_heard_to_its_end_is_not_called_so() -> None:
    detector = LiveDetector(STEP, 16_000, VOICE)
    fired = [*detector.hear(SPEECH.pcm), *detector.flush()]
    assert fired
    assert not any(edge.at_eof for edge in fired)


class AlwaysSpeech:
    """Hears speech in everything, in the silence behind the clip too: the end is never decided."""

    def hear(self, samples: object, state: object) -> tuple[object, object]:
        assert isinstance(samples, np.ndarray)
        return np.ones(len(samples) // 512, np.float32), state


async def test_a12_such_a_reading_has_a_remark_and_a_label_of_its_own(
    autojump_clock: object,
) -> None:
    found = survey(ends_in_speech(), AlwaysSpeech(), VOICE)  # type: ignore[arg-type]
    end = last_end(found)
    assert end is not None
    assert end.at_eof
    assert end.sample == ends_in_speech().samples
    answer = Script(answers=((Line("good day", after_s=0.25, final=True),),))
    session = await measured(
        FakeDeepgram(answer), ordered(speech=speech_of(found), seconds=end.audio_ms / 1000)
    )
    assert session.reading.verdict is Verdict.FORCED_FINAL
    assert Remark.VAD_AT_EOF in session.reading.remarks
    assert Remark.VAD_AT_EOF.value in str(session.finished["remarks"])
    metrics = Metrics([Stream("deepgram", "deepgram/nova-3", "files", "forced")])
    for record in session.recorder.records:
        metrics.take(record)
    ends = {"provider": "deepgram"}
    assert value(metrics, "endpoints_total", **ends, outcome="none") == 1
    assert value(metrics, "endpoints_total", **ends, outcome="detected") == 0


# A13


def test_a13_a_blip_within_one_piece_gives_both_events_in_order() -> None:
    blip = clip(np.concatenate([noise(8_000), vowels(16_000)[:2_300], noise(16_000)]))
    fired = LiveDetector(STEP, 16_000, VOICE).hear(blip.pcm)
    assert [edge.kind for edge in fired] == [EdgeKind.START, EdgeKind.END]
    assert fired[0].sample < fired[1].sample
    assert fired[0].fired_at_sample < fired[1].fired_at_sample
    by_frames = LiveDetector(STEP, 16_000, VOICE)
    frames = [blip.pcm[at : at + 640] for at in range(0, len(blip.pcm), 640)]
    assert tuple(edge for frame in frames for edge in by_frames.hear(frame)) == fired


def test_a13_a_blip_of_one_window_gives_both_events_in_order() -> None:
    detector = EndpointDetector(16_000, VoiceSettings(min_silence_ms=0, speech_pad_ms=0))
    fired = [detector.push(probability) for probability in (0.0, 0.9, 0.1)]
    kinds = [edge.kind for edge in fired if edge is not None]
    assert kinds == [EdgeKind.START, EdgeKind.END]
    start, end = (edge for edge in fired if edge is not None)
    assert end.sample - start.sample == 512
