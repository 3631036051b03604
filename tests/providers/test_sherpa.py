"""sherpa-onnx: Done makes all that was heard final, and Done! says so."""

import json
from array import array

import pytest

from daemon.conformance.promise import subject_of
from daemon.conformance.stage import SPEECH, TEXT, Performance, performed, usual
from daemon.fakes.script import Line, Script, spoken
from measure.events import Event, ForceAcknowledged, Notice, Transcript
from measure.records import Flow, Frame, Verdict
from providers import CATALOG
from providers.codec import ForceContext, Options
from providers.sherpa import Sherpa


def result(text: str, *, final: bool = False, ended: bool = False) -> str:
    return json.dumps({"text": text, "segment": 0, "is_final": final, "is_eof": ended})


def understood(codec: Sherpa, *messages: str) -> list[Event]:
    return [event for message in messages for event in codec.decode(message, 7)]


def forced() -> Sherpa:
    codec = Sherpa(Options())
    assert list(codec.force(ForceContext(2000.0))) == ["Done"]
    return codec


def measured(script: Script) -> Performance:
    return performed(subject_of("sherpa/online", CATALOG["sherpa/online"], None), script)


def test_the_end_of_the_audio_is_the_forced_final_and_an_endpoint_is_not() -> None:
    said = understood(
        forced(),
        result(" good", final=True),
        result(" day", final=True, ended=True),
        "Done!",
    )
    assert said == [
        Transcript(7, "good", final=True, forced=None),
        Transcript(7, "day", final=True, forced=True),
        ForceAcknowledged(7),
    ]


def test_words_that_no_final_has_settled_are_final_with_the_acknowledgement() -> None:
    assert understood(forced(), result(" good day"), "Done!") == [
        Transcript(7, "good day", final=False),
        Transcript(7, "good day", final=True, forced=True),
        ForceAcknowledged(7),
    ]


def test_words_that_a_final_has_settled_are_not_said_again() -> None:
    said = understood(forced(), result(" good"), result(" good", final=True), "Done!")
    assert said[1:] == [Transcript(7, "good", final=True), ForceAcknowledged(7)]


def test_each_done_is_acknowledged_once() -> None:
    codec = forced()
    assert understood(codec, "Done!", "Done!") == [ForceAcknowledged(7), Notice(7, "Done!")]


def test_the_end_of_audio_that_nobody_forced_is_no_answer() -> None:
    said = understood(Sherpa(Options()), result(" good", final=True, ended=True))
    assert said == [Transcript(7, "good", final=True, forced=None)]


def test_samples_go_as_floats_from_minus_one_up_to_one() -> None:
    pcm = array("h", [0, 16_384, -32_768, 32_767]).tobytes()
    message = Sherpa(Options()).audio(Frame(0, pcm, 20.0))
    assert isinstance(message, bytes)
    floats = array("f")
    floats.frombytes(message)
    assert floats.tolist() == [0.0, 0.5, -1.0, pytest.approx(0.99997, abs=1e-5)]


def test_no_audio_goes_between_done_and_its_answer() -> None:
    done = measured(usual(Flow.FORCED))
    kinds = [one.kind for one in done.visit.heard]
    assert kinds.index("text") > max(nth for nth, kind in enumerate(kinds) if kind == "binary")
    assert done.reading.verdict is Verdict.FORCED_FINAL


def test_an_endpoint_of_the_server_behind_the_force_is_a_final_too() -> None:
    answer = (
        Line("the blue kettle", after_s=0.05, final=True, marked=False),
        Line("is on the shelf", after_s=0.15, final=True),
    )
    heard = spoken("the blue kettle", SPEECH.start_ms, SPEECH.end_ms)
    reading = measured(Script(heard, (answer,))).reading
    assert (reading.verdict, reading.transcript) == (Verdict.FORCED_FINAL, TEXT)
    assert reading.time_to_final_ns == pytest.approx(50e6, abs=1e6)
    assert reading.last_final is not None
    assert reading.last_final.at_ns - (reading.zero_ns or 0) == pytest.approx(150e6, abs=1e6)
