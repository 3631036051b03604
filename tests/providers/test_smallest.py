"""Pulse's words, one message at a time."""

import pytest

from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.faults import FaultKind
from providers.codec import Options
from providers.smallest import Smallest
from tests.providers.talk import AT_NS, KEY, heard, orders, refused, settings


def codec(**options: str) -> Smallest:
    return Smallest(Options(**options))


def said(text: str, *, final: bool, last: bool = False, **more: object) -> dict[str, object]:
    told = {"type": "transcription", "status": "success", "transcript": text}
    return {**told, "is_final": final, "is_last": last, **more}


@pytest.mark.parametrize(
    ("message", "events"),
    [
        (said("good", final=False), [Transcript(AT_NS, "good", final=False)]),
        (said("", final=False), []),
        (said("good day", final=True), [Transcript(AT_NS, "good day", final=True)]),
        (said("", final=True), [Transcript(AT_NS, "", final=True)]),
        (
            said("day", final=True, last=True),
            [Transcript(AT_NS, "day", final=True), StreamDone(AT_NS)],
        ),
        (said("", final=True, last=True), [StreamDone(AT_NS)]),
        (said("a", final=True, error=None), [Transcript(AT_NS, "a", final=True)]),
        ({"type": "speech_started"}, [Notice(AT_NS, "speech_started")]),
        ({"type": "novelty"}, [Unread(AT_NS, "novelty")]),
    ],
)
def test_what_a_message_says(message: dict[str, object], events: list[Event]) -> None:
    assert heard(codec(), message) == events


def test_it_is_driven_so_that_only_our_force_or_a_long_silence_makes_a_final() -> None:
    assert settings(codec(language="hi-IN")) == {
        "model": "pulse",
        "language": "hi",
        "encoding": "linear16",
        "sample_rate": "16000",
        "endpointing": "false",
        "eou_timeout_ms": "10000",
        "word_timestamps": "false",
        "format": "true",
    }
    assert orders(codec()) == [{"type": "finalize"}, {"type": "close_stream"}]
    assert codec().open(KEY).headers == {"Authorization": f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("message", "kind", "detail"),
    [
        ({"status": "error", "message": "no key", "status_code": 401}, FaultKind.AUTH, "no key"),
        ({"type": "error", "code": 429, "error": "too many"}, FaultKind.RATE, "too many"),
        ({"error": {"message": "no\n luck", "code": 402}}, FaultKind.QUOTA, "no luck"),
        ({"error": "no luck"}, FaultKind.SERVER, "no luck"),
        ({"error": ["odd"]}, FaultKind.SERVER, ""),
    ],
)
def test_an_error_of_any_shape_tells_its_kind_and_its_words(
    message: dict[str, object], kind: FaultKind, detail: str
) -> None:
    fault = refused(codec(), message)
    assert fault.kind is kind
    assert fault.detail.endswith(detail)
