"""Vosk's replies: one to each message, and no word of what it is the reply to."""

import json

import pytest

from daemon.conformance.promise import subject_of
from daemon.conformance.stage import SPEECH, TEXT, Performance, performed
from daemon.fakes.script import Faults, Line, Script, spoken
from measure.events import Event, StreamDone, Transcript, Unread
from measure.records import Verdict
from providers import CATALOG
from providers.codec import ForceContext, Options
from providers.vosk import Vosk
from tests.providers.talk import heard


def measured(script: Script, faults: Faults | None = None) -> Performance:
    return performed(subject_of("vosk/server", CATALOG["vosk/server"], None), script, faults)


@pytest.mark.parametrize(
    ("said", "events"),
    [
        ({"partial": "good day"}, [Transcript(7, "good day", False)]),
        ({"partial": ""}, []),
        ({"text": "good day", "result": [{"word": "good"}]}, [Transcript(7, "good day", True)]),
        ({"text": ""}, [Transcript(7, "", True)]),
        (
            {"alternatives": [{"text": " good day", "confidence": 1}, {"text": "no"}]},
            [Transcript(7, "good day", True)],
        ),
        ({"spk": []}, [Unread(7, "neither partial nor text")]),
    ],
)
def test_what_a_reply_says(said: dict[str, object], events: list[Event]) -> None:
    assert heard(Vosk(Options()), said) == events


def test_orders_are_spelt_as_the_server_compares_them() -> None:
    codec = Vosk(Options())
    assert [*codec.force(ForceContext(0)), *codec.finish()] == ['{"reset" : 1}', '{"eof" : 1}']


def test_the_server_is_told_the_rate_before_any_audio() -> None:
    (hello,) = Vosk(Options()).hello()
    assert json.loads(hello)["config"]["sample_rate"] == 16_000


def test_only_behind_the_end_a_final_says_that_all_is_said() -> None:
    codec = Vosk(Options())
    assert StreamDone(7) not in heard(codec, {"text": "good"})
    list(codec.finish())
    assert heard(codec, {"partial": ""}, {"text": ""})[-1] == StreamDone(7)


def test_a_natural_final_before_the_force_and_one_behind_it_make_one_text() -> None:
    lines = (
        *spoken("the blue", SPEECH.start_ms, 300.0),
        Line("the blue", 350.0, final=True),
        Line("kettle", 500.0),
    )
    answer = (Line("kettle on the shelf", after_s=0.15, final=True),)
    reading = measured(Script(lines, (answer,))).reading
    assert reading.verdict is Verdict.FORCED_FINAL
    assert reading.transcript == "the blue kettle on the shelf"
    assert reading.time_to_final_ns == pytest.approx(150e6, abs=1e6)


def test_an_older_server_that_does_not_know_reset_never_answers() -> None:
    reading = measured(Script(spoken(TEXT, SPEECH.start_ms, SPEECH.end_ms))).reading
    assert (reading.verdict, reading.time_to_final_ns) == (Verdict.NO_FINAL, None)


def test_a_key_is_sent_only_where_there_is_one() -> None:
    codec = Vosk(Options())
    assert codec.open("").headers == {}
    assert codec.open("s3cret").headers == {"Authorization": "Bearer s3cret"}
