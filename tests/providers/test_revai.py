"""Rev.ai's words: lists of elements, with blanks of their own or without."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from daemon.conformance.promise import subject_of
from daemon.conformance.stage import SPEECH, TEXT, performed
from daemon.fakes.script import Line, Script, spoken
from measure.events import Event, StreamReady, Transcript
from measure.records import Verdict
from providers import CATALOG
from providers.codec import Options
from providers.revai import RevAi

KEY = "s3cret+canary/"


def hypothesis(kind: str, *values: str) -> str:
    """Words, and what stands between them in brackets: "[ ]"."""
    elements = [
        {"type": "punct", "value": value[1:-1]}
        if value.startswith("[")
        else {"type": "text", "value": value}
        for value in values
    ]
    return json.dumps({"type": kind, "ts": 0.3, "end_ts": 1.0, "elements": elements})


def understood(message: str) -> list[Event]:
    return list(RevAi(Options()).decode(message, 7))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (hypothesis("partial", "good", "day"), [Transcript(7, "good day", False)]),
        (hypothesis("partial"), []),
        (
            hypothesis("final", "Good", "[ ]", "day", "[,]", "[ ]", "you", "[.]"),
            [Transcript(7, "Good day, you.", True)],
        ),
        (hypothesis("final", "good", "day"), [Transcript(7, "good day", True)]),
        (hypothesis("final"), [Transcript(7, "", True)]),
    ],
)
def test_what_a_hypothesis_says(message: str, said: list[Event]) -> None:
    assert understood(message) == said


def test_audio_waits_for_connected() -> None:
    assert RevAi(Options()).facts.greets
    assert understood('{"type": "connected", "id": "j1"}') == [StreamReady(7)]


def test_an_element_that_is_no_word_is_left_out() -> None:
    noise = {"type": "unknown", "value": "<laugh>"}
    elements = [{"type": "text", "value": "good"}, noise, {"type": "text", "value": "day"}]
    message = json.dumps({"type": "partial", "elements": elements})
    assert understood(message) == [Transcript(7, "good day", False)]


def test_the_key_is_in_the_address_alone_and_arrives_as_it_is() -> None:
    codec = RevAi(Options(url="ws://proxy.test/own?tag=a"))
    request = codec.open(KEY)
    asked = dict(parse_qsl(urlsplit(request.url).query))
    assert asked["access_token"] == KEY
    assert asked["content_type"] == (
        "audio/x-raw;layout=interleaved;rate=16000;format=S16LE;channels=1"
    )
    assert asked["tag"] == "a"
    assert urlsplit(request.url).path == "/own"
    assert request.headers == {}
    assert KEY not in repr(request) + repr(codec) + repr(vars(codec))


def test_a_segment_that_ends_too_late_is_read_by_its_first_partial_after_the_grace() -> None:
    later_ms = SPEECH.end_known_ms + 2300
    late = (Line(TEXT, later_ms), Line(TEXT, later_ms + 500, final=True))
    script = Script((*spoken(TEXT, SPEECH.start_ms, SPEECH.end_ms), *late))
    reading = performed(subject_of("revai/reverb", CATALOG["revai/reverb"], None), script).reading
    assert (reading.verdict, reading.transcript) == (Verdict.LATE_PARTIAL, TEXT)
