"""What is special in xAI's speech to text; the rest is the conformance kit's."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.fakes.xai import FakeXai
from measure.events import Event, StreamDone, Transcript
from providers.codec import HttpRequest, HttpResponse, Options
from providers.xai import Xai

WORDS = st.lists(st.sampled_from(["yes", "no", "good", "day"]), min_size=1, max_size=4)


def partial(
    codec: Xai, text: str, *, fixed: bool = False, over: bool = False, start: float | None = None
) -> list[Event]:
    said = {"type": "transcript.partial", "text": text, "is_final": fixed, "speech_final": over}
    more = {} if start is None else {"start": start, "duration": 1.0}
    return list(codec.decode(json.dumps({**said, **more}), 7))


def done(codec: Xai, text: str | None) -> list[Event]:
    said = {"type": "transcript.done", "duration": 3.0}
    more = {} if text is None else {"text": text}
    return list(codec.decode(json.dumps({**said, **more}), 7))


def test_what_is_fixed_is_no_final_before_the_utterance_is_over() -> None:
    codec = Xai(Options())
    assert partial(codec, "good", fixed=True, start=0.0) == [Transcript(7, "good", final=False)]
    assert partial(codec, "day", start=3.0) == [Transcript(7, "good day", final=False)]
    assert partial(codec, "Good day.", fixed=True, over=True, start=0.0) == [
        Transcript(7, "Good day.", final=True)
    ]
    assert partial(codec, "and", start=5.0) == [Transcript(7, "and", final=False)]


@given(st.lists(WORDS, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_no_word_is_lost_or_counted_twice(
    chunks: list[list[str]], repeats: bool, starts: bool
) -> None:
    """Whether the end of an utterance repeats all of it or says only what is new."""
    codec = Xai(Options())
    *fixed, last = [" ".join(chunk) for chunk in chunks]
    for number, text in enumerate(fixed):
        partial(codec, text, fixed=True, start=3.0 * number)
    whole = " ".join([*fixed, last])
    start = (0.0 if repeats else 3.0 * len(fixed)) if starts or not repeats else None
    (final,) = partial(codec, whole if repeats else last, fixed=True, over=True, start=start)
    assert final == Transcript(7, whole, final=True)


@pytest.mark.parametrize(
    ("text", "whole"),
    [("good day to you", "good day to you"), ("", "good day"), (None, "good day")],
)
def test_the_end_of_the_turn_says_what_no_end_of_an_utterance_has_said(
    text: str | None, whole: str
) -> None:
    codec = Xai(Options())
    partial(codec, "good day", fixed=True, start=0.0)
    assert done(codec, text) == [Transcript(7, whole, final=True), StreamDone(7)]


def test_a_turn_that_is_all_said_ends_without_a_final() -> None:
    codec = Xai(Options())
    partial(codec, "good day", fixed=True, over=True, start=0.0)
    assert done(codec, "") == [StreamDone(7)]


def test_a_region_is_left_out_of_the_language() -> None:
    assert "language=pt&" in Xai(Options(language="pt-BR")).open("key").url + "&"


@pytest.mark.parametrize(
    ("query", "status"), [("endpointing=5001", 400), ("encoding=opus", 400), ("sample_rate=1", 400)]
)
def test_the_fake_refuses_what_the_pages_do_not_allow(query: str, status: int) -> None:
    request = HttpRequest("GET", f"/v1/stt?{query}", {"authorization": "Bearer key"})
    answer = FakeXai().asked(request, secure=False)
    assert isinstance(answer, HttpResponse)
    assert answer.status == status
