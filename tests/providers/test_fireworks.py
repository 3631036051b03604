"""Fireworks' words: segments that are told again and again, each as it stands."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from daemon.conformance.promise import subject_of
from daemon.conformance.stage import SPEECH, TEXT, performed
from daemon.fakes.script import Line, Script, spoken
from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.records import Verdict
from providers import CATALOG
from providers.codec import Options
from providers.fireworks import Fireworks

Shown = tuple[int | str, str, bool]


def message(*segments: Shown, words: bool = True) -> str:
    """Segments as number, text, and whether all their words are final."""
    shown = []
    for name, text, final in segments:
        told = [{"word": word, "is_final": final} for word in text.split()] if words else None
        shown.append({"id": name, "text": text, "words": told})
    return json.dumps({"task": "transcribe", "text": "", "segments": shown})


def understood(*messages: str) -> list[Event]:
    codec = Fireworks(Options())
    return [event for one in messages for event in codec.decode(one, 7)]


def partial(text: str, segment: str) -> Transcript:
    return Transcript(7, text, final=False, segment=segment)


def final(text: str, segment: str) -> Transcript:
    return Transcript(7, text, final=True, segment=segment)


def test_a_segment_is_final_once_all_its_words_are() -> None:
    said = understood(message(("0", "good", False)), message(("0", "good day", True)))
    assert said == [partial("good", "0"), final("good day", "0")]


def test_a_later_segment_settles_the_earlier_ones() -> None:
    said = understood(
        message((0, "good", False)), message((0, "good day", False), (1, "to", False))
    )
    assert said == [partial("good", "0"), final("good day", "0"), partial("to", "1")]


def test_a_later_segment_settles_those_that_are_not_told_again() -> None:
    said = understood(message(("0", "good", False)), message(("1", "day", False)))
    assert said == [partial("good", "0"), final("good", "0"), partial("day", "1")]


def test_what_is_told_again_without_a_change_is_no_event() -> None:
    once = message(("0", "good day", True), ("1", "to", False))
    assert understood(once, once) == understood(once)


def test_a_settled_segment_may_be_corrected() -> None:
    said = understood(message(("0", "good bay", True)), message(("0", "good day", True)))
    assert said == [final("good bay", "0"), final("good day", "0")]


def test_what_was_said_of_a_settled_segment_before_never_comes_back() -> None:
    said = understood(
        message(("0", "good bay", False)),
        message(("0", "good day", True), ("1", "to", False)),
        message(("1", "to you", False)),
    )
    assert said[1:] == [final("good day", "0"), partial("to", "1"), partial("to you", "1")]


def test_an_open_segment_may_be_taken_back() -> None:
    said = understood(message(("0", "hm", False)), message(("0", "", False)))
    assert said == [partial("hm", "0"), partial("", "0")]


def test_numbers_are_put_in_their_order_not_in_that_of_letters() -> None:
    said = understood(message(("10", "day", False), ("9", "good", False)))
    assert said == [final("good", "9"), partial("day", "10")]


def test_without_words_only_a_later_segment_makes_one_final() -> None:
    said = understood(message(("0", "good", True), words=False))
    assert said == [partial("good", "0")]


@pytest.mark.parametrize(
    ("said", "event"),
    [
        ('{"checkpoint_id": "final"}', StreamDone(7)),
        ('{"checkpoint_id": "other"}', Notice(7, "no segments")),
        ('{"text": "good", "segments": null}', Notice(7, "no segments")),
        ('{"object": "stt.state.cleared"}', Notice(7, "stt.state.cleared")),
        ('{"object": "novelty"}', Unread(7, "novelty")),
    ],
)
def test_what_else_a_message_may_be(said: str, event: Event) -> None:
    assert understood(said) == [event]


def test_each_model_has_its_own_address_and_the_key_no_word_before_it() -> None:
    hosts = {}
    for model in ("asr-large", "asr-v2"):
        request = Fireworks(Options(), model=model).open("key")
        hosts[model] = urlsplit(request.url).hostname
        assert request.headers == {"Authorization": "key"}
    assert hosts == {
        "asr-large": "audio-streaming.us-virginia-1.direct.fireworks.ai",
        "asr-v2": "audio-streaming-v2.api.fireworks.ai",
    }


def test_the_language_is_left_open_where_it_is_to_be_found_out() -> None:
    asked = {
        language: dict(
            parse_qsl(urlsplit(Fireworks(Options(language=language)).open("k").url).query)
        )
        for language in ("en-GB", "multi")
    }
    assert asked["en-GB"]["language"] == "en"
    assert "language" not in asked["multi"]
    assert asked["multi"]["text_timeout_seconds"] == "1.0"


@pytest.mark.parametrize(
    ("pause_ms", "verdict"),
    [(1000.0, Verdict.NATURAL_FINAL), (2600.0, Verdict.LATE_PARTIAL)],
)
def test_its_own_end_counts_within_the_grace_and_else_the_first_partial_after_it(
    pause_ms: float, verdict: Verdict
) -> None:
    heard = spoken(TEXT, SPEECH.start_ms, SPEECH.end_ms)
    late = Line(f"{TEXT} there", SPEECH.end_ms + 2300.0)
    last = Line(f"{TEXT} there", SPEECH.end_ms + pause_ms, final=True)
    lines = (*heard, last) if pause_ms < 2000 else (*heard, late, last)
    subject = subject_of("fireworks/asr-large", CATALOG["fireworks/asr-large"], None)
    reading = performed(subject, Script(lines)).reading
    assert reading.verdict is verdict
    assert reading.transcript == f"{TEXT} there"
