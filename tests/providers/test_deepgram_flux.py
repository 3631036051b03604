"""Flux' turns, one message at a time."""

import pytest

from measure.events import Event, ForceRejected, Notice, StreamReady, Transcript, Unread
from measure.faults import FaultKind, Whose
from measure.records import Flow
from providers.codec import Ending, ForceContext, Options
from providers.deepgram_flux import Flux
from providers.deepgram_flux_turns import FluxTurns
from tests.providers.talk import AT_NS, KEY, heard, orders, refused, settings


def codec(model: str = "flux-general-en", **options: str) -> Flux:
    return Flux(Options(**options), model=model)


def turn(event: str, text: str, index: int = 0, **more: object) -> dict[str, object]:
    said = {"type": "TurnInfo", "event": event, "turn_index": index, "transcript": text}
    return {**said, "words": [], **more}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"type": "Connected", "sequence_id": 0}, StreamReady(AT_NS)),
        (turn("StartOfTurn", "good"), Transcript(AT_NS, "good", False, segment="0")),
        (turn("Update", "good day", 3), Transcript(AT_NS, "good day", False, segment="3")),
        (turn("EagerEndOfTurn", "good"), Transcript(AT_NS, "good", False, segment="0")),
        (
            turn("EndOfTurn", "good day", trigger="manual"),
            Transcript(AT_NS, "good day", True, True, "0"),
        ),
        (
            turn("EndOfTurn", "good day", 1, trigger="model"),
            Transcript(AT_NS, "good day", True, False, "1"),
        ),
        (
            turn("EndOfTurn", "good day", trigger="timeout"),
            Transcript(AT_NS, "good day", True, False, "0"),
        ),
        (turn("EndOfTurn", "good day"), Transcript(AT_NS, "good day", True, False, "0")),
        (turn("EndOfTurn", "", trigger="manual"), Transcript(AT_NS, "", True, True, "0")),
        ({"type": "Warning", "code": "SOMETHING"}, Notice(AT_NS, "Warning")),
        ({"type": "Novelty"}, Unread(AT_NS, "Novelty")),
    ],
)
def test_what_a_message_says(message: dict[str, object], said: Event) -> None:
    assert heard(codec(), message) == [said]


def test_an_update_without_words_is_no_event() -> None:
    assert heard(codec(), turn("Update", "")) == []


@pytest.mark.parametrize("name", ["code", "description", "message"])
def test_a_warning_that_no_turn_is_open_rejects_the_force(name: str) -> None:
    warning: dict[str, object] = {"type": "Warning", name: "FORCE_END_TURN_NO_ACTIVE_TURN"}
    assert heard(codec(), warning) == [ForceRejected(AT_NS, "FORCE_END_TURN_NO_ACTIVE_TURN")]


def test_it_is_driven_so_that_only_our_force_ends_a_turn() -> None:
    assert settings(codec()) == {
        "model": "flux-general-en",
        "encoding": "linear16",
        "sample_rate": "16000",
        "eot_threshold": "1.0",
        "eot_timeout_ms": "30000",
    }
    assert orders(codec()) == [{"type": "ForceEndTurn"}, {"type": "CloseStream"}]
    assert codec().open(KEY).headers == {"Authorization": f"Token {KEY}"}
    assert codec().facts.ending is Ending.CLOSED


def test_the_multilingual_model_is_told_the_language() -> None:
    multi = "flux-general-multi"
    assert settings(codec(multi, language="de-CH"))["language_hint"] == "de"
    assert "language_hint" not in settings(codec(multi, language="multi"))
    assert codec(multi).facts.price is not None
    assert codec().facts.price is None


def test_the_english_model_refuses_another_language_in_one_line() -> None:
    assert settings(codec(language="en-GB"))["model"] == "flux-general-en"
    with pytest.raises(ValueError, match=r"^Deepgram: flux-general-en understands English alone"):
        codec(language="de")


def test_an_end_without_a_code_is_in_order_once_we_asked_for_it() -> None:
    stream = codec()
    broken = stream.closed(None, "")
    assert broken is not None
    assert (broken.whose, broken.kind) == (Whose.NETWORK, FaultKind.CLOSED)
    list(stream.finish())
    assert stream.closed(None, "") is None
    failed = stream.closed(1011, "NET-0000")
    assert failed is not None
    assert failed.kind is FaultKind.SERVER


def test_an_error_tells_its_code_and_its_words() -> None:
    fault = refused(codec(), {"type": "Error", "code": "NEW_CODE", "description": "no\n luck"})
    assert (fault.kind, fault.detail) == (FaultKind.SERVER, "NEW_CODE no luck")


@pytest.mark.parametrize(
    "message", [{"type": "TurnInfo", "event": "Update"}, {"kind": 1}, "[]", b"\xff"]
)
def test_a_message_that_breaks_its_rules_is_a_protocol_fault(
    message: dict[str, object] | str | bytes,
) -> None:
    assert refused(codec(), message).kind is FaultKind.PROTOCOL


def test_where_the_model_ends_its_turns_nothing_is_forced() -> None:
    stream = FluxTurns(Options())
    asked = settings(stream)
    assert (asked["eot_threshold"], asked["eot_timeout_ms"]) == ("0.7", "5000")
    assert list(stream.force(ForceContext(0))) == []
    assert stream.facts.rule.flow is Flow.FALLBACK
    ended = turn("EndOfTurn", "good day", trigger="model")
    assert heard(stream, ended) == [Transcript(AT_NS, "good day", True, False, "0")]
