"""Soniox' tokens, one message at a time."""

import json

import pytest

from measure.events import Event, StreamDone, Transcript
from measure.faults import FaultKind
from providers.codec import ForceContext, Options
from providers.soniox import Soniox
from tests.providers.talk import AT_NS, KEY, heard, orders, refused


def codec(**options: str) -> Soniox:
    return Soniox(Options(**options))


def tokens(sure: str = "", may_change: str = "", **more: object) -> dict[str, object]:
    """Each word a token, those of ``sure`` final ones."""
    said = [{"text": word, "is_final": True} for word in sure.split("|") if word]
    said += [{"text": word, "is_final": False} for word in may_change.split("|") if word]
    return {"tokens": said, "total_audio_proc_ms": 20, **more}


def partial(text: str) -> Transcript:
    return Transcript(AT_NS, text, final=False)


def final(text: str, *, forced: bool) -> Transcript:
    return Transcript(AT_NS, text, final=True, forced=forced)


def test_final_tokens_add_up_and_the_others_are_said_again() -> None:
    said = heard(
        codec(), tokens(may_change="go|od"), tokens("go|od", " da"), tokens("", " day"), tokens()
    )
    assert said == [partial("good"), partial("good da"), partial("good day")]


def test_a_segment_is_final_when_the_force_is_answered_and_not_before() -> None:
    said = heard(codec(), tokens("good"), tokens(" day"), tokens("<fin>"))
    assert said == [partial("good"), partial("good day"), final("good day", forced=True)]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (tokens("a| b|<fin>"), [final("a b", forced=True)]),
        (tokens("a|<end>"), [final("a", forced=False)]),
        (tokens("<fin>"), [final("", forced=True)]),
        (tokens("a|<fin>| b"), [final("a", forced=True), partial(" b")]),
        (tokens("a|<fin>| b|<fin>"), [final("a", forced=True), final(" b", forced=True)]),
        (tokens("a|<end>", " b"), [final("a", forced=False), partial(" b")]),
        (tokens(finished=True), [StreamDone(AT_NS)]),
        (tokens(finished=False), []),
    ],
)
def test_what_a_message_says(message: dict[str, object], said: list[Event]) -> None:
    assert heard(codec(), message) == said


def test_what_was_final_word_by_word_is_so_when_the_stream_is_over() -> None:
    said = heard(codec(), tokens("good| day"), tokens(finished=True))
    assert said == [partial("good day"), final("good day", forced=False), StreamDone(AT_NS)]


def test_it_is_configured_without_an_endpoint_of_its_own() -> None:
    (said,) = codec(language="de-CH").hello()
    assert json.loads(said) == {
        "model": "stt-rt-v5",
        "audio_format": "pcm_s16le",
        "sample_rate": 16_000,
        "num_channels": 1,
        "language_hints": ["de"],
        "language_hints_strict": True,
        "enable_endpoint_detection": False,
    }
    assert KEY not in said
    assert codec().open(KEY).headers == {"Authorization": f"Bearer {KEY}"}


def test_without_a_language_it_finds_out_by_itself() -> None:
    (said,) = codec(language="multi").hello()
    assert "language_hints" not in json.loads(said)


def test_the_force_says_how_much_silence_there_was_and_the_end_is_no_text_at_all() -> None:
    context = ForceContext(3620.0, silence_ms=120.4)
    assert orders(codec(), context) == [{"type": "finalize", "trailing_silence_ms": 120}, ""]


def test_a_token_without_text_is_a_protocol_fault() -> None:
    assert refused(codec(), {"tokens": [{"is_final": True}]}).kind is FaultKind.PROTOCOL
