"""WhisperLive's segments: all of them, again and again, the last one still open."""

import json

import pytest

from daemon.conformance.promise import subject_of
from daemon.conformance.stage import SPEECH, TEXT, performed
from daemon.fakes.script import Line, Script, spoken
from measure.events import Event, Notice, StreamDone, StreamReady, Transcript, Unread
from measure.faults import FaultKind
from measure.records import Verdict
from providers import CATALOG
from providers.codec import Options
from providers.whisperlive import WhisperLive
from tests.providers.talk import heard, refused

Shown = tuple[str, str, bool]
READY = {"uid": "u", "message": "SERVER_READY", "backend": "faster_whisper"}


def segments(*shown: Shown) -> dict[str, object]:
    """Segments as beginning, text and whether they are complete."""
    return {
        "uid": "u",
        "segments": [
            {"start": start, "end": "9.000", "text": text, "completed": complete}
            for start, text, complete in shown
        ],
    }


def understood(*messages: dict[str, object]) -> list[Event]:
    return heard(WhisperLive(Options()), *messages)


def test_what_is_open_is_a_partial_each_time_it_is_told() -> None:
    once = segments(("0.000", " good", False))
    assert understood(once, once) == [Transcript(7, "good", False)] * 2


def test_a_completed_segment_is_one_final_however_often_it_is_told() -> None:
    said = understood(
        segments(("0.000", " good", True), ("0.800", " day", False)),
        segments(("0.000", " good", True), ("0.800", " day", True)),
        segments(("0.000", " good", True), ("0.800", " day", True)),
    )
    assert said == [
        Transcript(7, "good", final=True),
        Transcript(7, "day", final=False),
        Transcript(7, "day", final=True),
    ]


def test_a_segment_that_has_slid_out_of_the_list_stays_final() -> None:
    said = understood(
        segments(("0.000", " good", True)),
        segments(("0.800", " day", True), ("1.400", " to", False)),
    )
    assert [one for one in said if isinstance(one, Transcript) and one.final] == [
        Transcript(7, "good", final=True),
        Transcript(7, "day", final=True),
    ]


def test_moments_are_compared_as_numbers() -> None:
    said = understood(segments(("9.500", " good", True)), segments(("10.200", " day", True)))
    assert said[-1] == Transcript(7, "day", final=True)


def test_what_was_open_and_is_told_no_more_is_taken_back() -> None:
    said = understood(
        segments(("0.000", " good", True), ("0.800", " hm", False)),
        segments(("0.000", " good", True)),
        segments(("0.000", " good", True)),
    )
    assert said[2:] == [Transcript(7, "", final=False)]


@pytest.mark.parametrize(
    ("said", "events"),
    [
        (READY, [StreamReady(7)]),
        ({"uid": "u", "status": "WARNING", "message": "slow"}, [Notice(7, "WARNING")]),
        ({"uid": "u", "language": "en", "language_prob": 0.9}, [Notice(7, "language")]),
        ({"uid": "u", "message": "NEWS"}, [Unread(7, "NEWS")]),
        ({"uid": "u"}, [Unread(7, "no segments")]),
    ],
)
def test_what_else_it_may_say(said: dict[str, object], events: list[Event]) -> None:
    assert understood(said) == events


@pytest.mark.parametrize(
    ("minutes", "retry_after_s"),
    [(2, 120.0), (0.5, 30.0), (-1, None), (1e300, None), ("soon", None), (None, None)],
)
def test_a_full_server_says_when_to_come_back(minutes: object, retry_after_s: float | None) -> None:
    fault = refused(WhisperLive(Options()), {"uid": "u", "status": "WAIT", "message": minutes})
    assert (fault.kind, fault.retry_after_s) == (FaultKind.RATE, retry_after_s)


def test_a_session_that_is_over_before_its_end_is_a_failure() -> None:
    over: dict[str, object] = {"uid": "u", "message": "DISCONNECT"}
    assert refused(WhisperLive(Options()), over).kind is FaultKind.TIMEOUT
    codec = WhisperLive(Options())
    assert list(codec.finish()) == [b"END_OF_AUDIO"]
    assert heard(codec, over) == [StreamDone(7)]


@pytest.mark.parametrize(("language", "said"), [("en-GB", "en"), ("fr", "fr"), ("multi", None)])
def test_the_language_is_left_open_where_it_is_to_be_found_out(
    language: str, said: str | None
) -> None:
    (hello,) = WhisperLive(Options(language=language), model="large-v3").hello()
    assert json.loads(hello)["language"] == said
    assert json.loads(hello)["model"] == "large-v3"


@pytest.mark.parametrize(
    ("pause_ms", "verdict"), [(1000.0, Verdict.NATURAL_FINAL), (2600.0, Verdict.LATE_PARTIAL)]
)
def test_its_own_end_counts_within_the_grace_and_else_the_first_partial_after_it(
    pause_ms: float, verdict: Verdict
) -> None:
    late = (Line(TEXT, SPEECH.end_ms + 2300.0),) if pause_ms > 2000 else ()
    last = Line(TEXT, SPEECH.end_ms + pause_ms, final=True)
    script = Script((*spoken(TEXT, SPEECH.start_ms, SPEECH.end_ms), *late, last))
    subject = subject_of("whisperlive/small", CATALOG["whisperlive/small"], None)
    reading = performed(subject, script).reading
    assert (reading.verdict, reading.transcript) == (verdict, TEXT)
