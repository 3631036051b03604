"""What flows and what is left: derived values, the defaults of the method, and the words for it."""

from dataclasses import astuple

import pytest

from measure.events import EVENTS, Event
from measure.faults import Fault, FaultKind, Whose
from measure.records import (
    ANSWERED,
    MS,
    OUR_FAULT,
    SECOND,
    Answer,
    AudioClip,
    Endpoint,
    FinalRule,
    Flow,
    ForceAt,
    Frame,
    Reading,
    Remark,
    Rule,
    Verdict,
    VoiceSettings,
)
from tests.measure.stories import failed

CLIP = AudioClip("day", b"\0" * 3200, 8000, "ab12")


def test_a_sample_has_two_bytes() -> None:
    assert CLIP.samples == 1600


def test_a_clip_lasts_as_long_as_its_samples() -> None:
    assert (CLIP.audio_ms, CLIP.audio_s) == (200.0, 0.2)


def test_a_clip_of_which_nothing_is_said_has_no_reference_and_no_remarks() -> None:
    assert (CLIP.reference, CLIP.corpus, CLIP.source, CLIP.remarks) == (None, "files", "", ())


def test_samples_are_not_shown() -> None:
    assert repr(CLIP.pcm) not in repr(CLIP)
    assert repr(CLIP.pcm) not in repr(Frame(0, CLIP.pcm, 20.0))


def test_a_frame_is_of_the_clip_unless_it_is_padding() -> None:
    assert not Frame(0, b"", 20.0).padding


def test_the_detectors_defaults_are_silero_s_own() -> None:
    assert astuple(VoiceSettings()) == (0.5, 100, 30)


def test_the_defaults_are_the_methods() -> None:
    assert (MS, SECOND) == (10**6, 10**9)
    assert Rule(Flow.FORCED) == Rule(
        flow=Flow.FORCED,
        final_rule=FinalRule.NONE,
        joiner=" ",
        echo_counts=False,
        force_at=ForceAt.DECISION,
        endpoint=Endpoint.LAST,
        grace_ns=2_000_000_000,
        patience_ns=10_000_000_000,
        confirm_ns=2_000_000_000,
        settle_ns=500_000_000,
        late_budget_ns=20_000_000,
        stall_budget_ns=20_000_000,
        clock_step_budget_ns=50_000_000,
    )


@pytest.mark.parametrize(
    ("flow", "force_at", "place_ms"),
    [
        (Flow.FORCED, ForceAt.DECISION, 1000.0),
        (Flow.FORCED, ForceAt.SPEECH_END, 900.0),
        (Flow.CLOSE, ForceAt.DECISION, 1000.0),
        (Flow.CLOSE, ForceAt.SPEECH_END, 900.0),
        (Flow.FALLBACK, ForceAt.DECISION, 1000.0),
        (Flow.FALLBACK, ForceAt.SPEECH_END, 1000.0),
    ],
)
def test_the_endpoint_is_where_its_end_can_be_known_or_where_it_is(
    flow: Flow, force_at: ForceAt, place_ms: float
) -> None:
    assert Rule(flow, force_at=force_at).endpoint_ms(900.0, 1000.0) == place_ms


def reading(verdict: Verdict, zero_ns: int | None = 100, answer: Answer | None = None) -> Reading:
    return Reading(zero_ns, verdict, None, answer, answer, None, None, None, "")


def test_a_time_counts_from_zero_and_has_its_sign() -> None:
    shown = reading(Verdict.ALREADY_FINAL, answer=Answer("good", 70))
    assert (shown.time_to_final_ns, shown.time_to_first_partial_ns) == (-30, -30)


@pytest.mark.parametrize(("zero_ns", "answer"), [(None, Answer("good", 70)), (100, None)])
def test_without_zero_or_answer_there_is_no_time(
    zero_ns: int | None, answer: Answer | None
) -> None:
    shown = reading(Verdict.NO_FINAL, zero_ns, answer)
    assert (shown.time_to_final_ns, shown.time_to_first_partial_ns) == (None, None)


def test_at_first_a_reading_has_no_remarks_and_no_fault() -> None:
    shown = reading(Verdict.NO_FINAL)
    assert (shown.remarks, shown.fault, shown.late_max_ns) == ((), None, None)


WITH_A_TIME = {
    Verdict.FORCED_FINAL,
    Verdict.CLOSED_FINAL,
    Verdict.NATURAL_FINAL,
    Verdict.LATE_PARTIAL,
    Verdict.LATE_FINAL,
    Verdict.LAST_PARTIAL,
    Verdict.ALREADY_FINAL,
}
SAYING_NOTHING = {
    Verdict.HARNESS_LATE,
    Verdict.HARNESS_STALLED,
    Verdict.SOCKET_STALLED,
    Verdict.CLOCK_STEP,
    Verdict.HARNESS_ERROR,
    Verdict.CANCELLED,
    Verdict.VAD_NEVER,
    Verdict.TURN_UNCLEAR,
}


@pytest.mark.parametrize("verdict", Verdict)
def test_only_what_is_answered_may_be_published(verdict: Verdict) -> None:
    assert reading(verdict).valid == (verdict in WITH_A_TIME)


def test_the_verdicts_are_answers_or_failures_or_say_nothing_of_the_provider() -> None:
    assert set(ANSWERED) == WITH_A_TIME
    assert set(OUR_FAULT) == SAYING_NOTHING
    assert set(Verdict) - WITH_A_TIME - SAYING_NOTHING == {
        Verdict.ACK_ONLY,
        Verdict.NO_FINAL,
        Verdict.CONNECTION_LOST,
        Verdict.PROVIDER_ERROR,
        Verdict.NETWORK_ERROR,
    }


@pytest.mark.parametrize(
    "kinds", [Verdict, Remark, Flow, FinalRule, ForceAt, Endpoint, Whose, FaultKind]
)
def test_each_word_is_its_own_name(kinds: type[Verdict]) -> None:
    assert all(word.value == word.name.lower() for word in kinds)


def test_a_provider_fails_in_six_ways_and_a_seventh_for_which_it_gives_no_reason() -> None:
    providers = {"auth", "quota", "rate", "protocol", "server", "timeout", "handshake"}
    assert {kind.value for kind in FaultKind} == providers | {"connect", "tls", "closed", "harness"}


def test_a_fault_says_whose_it_is_which_and_why() -> None:
    assert str(Fault(Whose.PROVIDER, FaultKind.RATE)) == "provider, rate"
    assert str(Fault(Whose.HOST, FaultKind.HARNESS, "no clock")) == "host, harness: no clock"
    assert Fault(Whose.HOST, FaultKind.HARNESS).retry_after_s is None
    assert failed(1, Whose.NETWORK, FaultKind.TLS).fault.detail == "as it said"


def test_every_kind_of_event_has_its_name() -> None:
    assert {event.kind for event in Event.__subclasses__()} == EVENTS.keys()
    assert all(event.kind == kind for kind, event in EVENTS.items())
