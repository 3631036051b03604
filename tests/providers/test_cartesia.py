"""Cartesia's words: bare orders, texts as they are, two ways of ending a turn."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from daemon.conformance.promise import subject_of
from daemon.conformance.stage import SPEECH, TEXT, Performance, performed
from daemon.fakes.script import Faults, Line, Script, spoken
from measure.events import Event, ForceAcknowledged, Notice, StreamReady, Transcript, Unread
from measure.records import FinalRule, Flow, Verdict
from providers import CATALOG
from providers.cartesia import Cartesia
from providers.cartesia_turns import CartesiaTurns
from providers.codec import Codec, ForceContext, Options

KEY = "s3cret-canary"


def transcript(text: str, *, is_final: bool) -> str:
    return json.dumps({"type": "transcript", "text": text, "is_final": is_final, "words": []})


def turn(name: str, text: str) -> str:
    return json.dumps({"type": f"turn.{name}", "transcript": text})


def understood(codec: Codec, *messages: str) -> list[Event]:
    return [event for message in messages for event in codec.decode(message, 7)]


def settings(codec: Codec) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(codec.open(KEY).url).query))


def measured(name: str, script: Script, faults: Faults | None = None) -> Performance:
    return performed(subject_of(name, CATALOG[name], None), script, faults)


def test_texts_stay_as_they_are_blanks_too() -> None:
    said = understood(
        Cartesia(Options()),
        transcript("good", is_final=False),
        transcript("good day", is_final=True),
        transcript(" to you", is_final=True),
    )
    assert said == [
        Transcript(7, "good", final=False),
        Transcript(7, "good day", final=True),
        Transcript(7, " to you", final=True),
    ]
    assert Cartesia(Options()).facts.rule.joiner == ""


def test_a_partial_without_words_is_no_event_and_an_empty_final_is_one() -> None:
    codec = Cartesia(Options())
    assert understood(codec, transcript("", is_final=False)) == []
    assert understood(codec, transcript("", is_final=True)) == [Transcript(7, "", final=True)]


def test_flush_done_acknowledges_and_names_no_final_as_ours() -> None:
    codec = Cartesia(Options())
    said = understood(codec, transcript("good", is_final=True), '{"type": "flush_done"}')
    assert said == [Transcript(7, "good", final=True, forced=None), ForceAcknowledged(7)]
    rule = codec.facts.rule
    assert (rule.flow, rule.final_rule) == (Flow.FORCED, FinalRule.ACK)


def test_its_orders_are_bare_words() -> None:
    codec = Cartesia(Options())
    assert [*codec.force(ForceContext(0)), *codec.finish()] == ["finalize", "close"]
    assert list(CartesiaTurns(Options()).finish()) == ['{"type":"close"}']


@pytest.mark.parametrize("codec", [Cartesia(Options()), CartesiaTurns(Options())])
def test_every_request_says_which_version_of_the_interface_it_means(codec: Codec) -> None:
    assert codec.open(KEY).headers == {"X-API-Key": KEY, "Cartesia-Version": "2026-03-01"}
    assert KEY not in codec.open(KEY).url


def test_only_ink_whisper_is_told_how_long_a_pause_may_be() -> None:
    assert "max_silence_duration_secs" not in settings(Cartesia(Options()))
    whisper = Cartesia(Options(language="de-AT"), model="ink-whisper")
    assert settings(whisper)["max_silence_duration_secs"] == "30"
    assert settings(whisper)["language"] == "de"


def test_audio_waits_for_connected_where_the_model_ends_turns() -> None:
    codec = CartesiaTurns(Options())
    assert codec.facts.greets
    assert understood(codec, '{"type": "connected", "request_id": "r1"}') == [StreamReady(7)]


def test_a_guess_at_the_end_of_a_turn_settles_nothing() -> None:
    said = understood(
        CartesiaTurns(Options()),
        '{"type": "turn.start"}',
        turn("update", "good"),
        turn("eager_end", "good day"),
        '{"type": "turn.resume"}',
        turn("update", "good day to"),
        turn("end", "Good day to you."),
        '{"type": "turn.novelty"}',
    )
    assert said == [
        Notice(7, "turn.start"),
        Transcript(7, "good", final=False),
        Transcript(7, "good day", final=False),
        Notice(7, "turn.resume"),
        Transcript(7, "good day to", final=False),
        Transcript(7, "Good day to you.", final=True),
        Unread(7, "turn.novelty"),
    ]


def test_two_finals_make_one_transcript_without_a_second_blank() -> None:
    done = measured("cartesia/ink-2", _script(), Faults(split_final=2))
    assert done.reading.verdict is Verdict.FORCED_FINAL
    assert done.reading.transcript == TEXT


def test_words_that_come_after_the_acknowledgement_count_and_so_does_their_time() -> None:
    done = measured("cartesia/ink-2", _script(), Faults(ack_s=0.05))
    reading = done.reading
    assert (reading.verdict, reading.transcript) == (Verdict.FORCED_FINAL, TEXT)
    assert reading.zero_ns is not None
    assert reading.confirmed_ns is not None
    assert reading.confirmed_ns - reading.zero_ns == pytest.approx(50e6, abs=1e6)
    assert reading.time_to_final_ns == pytest.approx(150e6, abs=1e6)


def test_a_turn_that_ends_too_late_is_read_by_its_first_partial_after_the_grace() -> None:
    later_ms = SPEECH.end_known_ms + 2200
    late = (Line(TEXT, later_ms), Line(f"{TEXT}.", later_ms + 500, final=True))
    script = Script((*spoken(TEXT, SPEECH.start_ms, SPEECH.end_ms), *late))
    done = measured("cartesia/ink-2-turns", script)
    assert done.reading.verdict is Verdict.LATE_PARTIAL
    assert done.reading.transcript == TEXT


def _script() -> Script:
    return Script.for_force(TEXT, start_ms=SPEECH.start_ms, end_ms=SPEECH.end_ms, after_s=0.15)
