"""Samples summed up: what counts, how parts become calls, what may stand together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.errors import UserError
from daemon.reporting import (
    Circumstances,
    Sample,
    chapters_of,
    estimated,
    refuse_mixed,
    samples_of,
)
from daemon.rescoring import told_under
from exporters.report_table import Chapter, Estimate, Line, PriceTag
from measure.definitions import METHOD
from measure.events import Event, Tick
from measure.records import MS, Endpoint
from measure.replay import Recorded
from scoring.interval import Interval
from scoring.profiles import PROFILES, Profile
from scoring.rejoin import part_name
from scoring.signature import parsed
from tests.measure.stories import DEADLINE, MARKED, ZERO, forced_final, partial, recorded
from tests.measure.stories import forced as forced_story

SIGNATURE = (
    "speechbench 0.1.0 | norm old 1 | rule forced g2 | corpus calls 11112222 | host a | "
    "error 0.08/0.41ms@8 fit"
)
SAMPLE = Sample(
    session_id="s",
    run_id="r",
    model="a/quick",
    corpus="calls",
    clip="one",
    audio_s=10.0,
    flow="forced",
    wall_ns=0,
    signature=SIGNATURE,
    verdict="forced_final",
    valid=True,
    voided=False,
    early=False,
    time_ms=200.0,
    first_partial_ms=50.0,
    text="good day to you",
    first_partial_text="good day",
    reference="good day to you",
)
FAILED = replace(
    SAMPLE,
    verdict="no_final",
    valid=False,
    time_ms=None,
    first_partial_ms=None,
    text=None,
    first_partial_text=None,
)
VOIDED = replace(FAILED, verdict="harness_late", voided=True)
LATEST = PROFILES["AA-WER v2.2"]
PLACES = [one.name for one in LATEST.corpora]
CALL = "thank you for standing by today"


def about(profile: Profile = LATEST, stand_ins: Mapping[str, str] | None = None) -> Circumstances:
    unpriced = PriceTag(None, missing="no")
    return Circumstances(profile, "a day", stand_ins or {}, lambda _: unpriced, "wer")


def chapters(samples: Sequence[Sample], settings: Circumstances | None = None) -> list[Chapter]:
    return chapters_of(samples, settings or about())


def line(*samples: Sample) -> Line:
    """The only line of the only corpus."""
    corpus, _ = chapters(samples)
    (only,) = corpus.lines
    return only


def part(number: int, text: str | None, parts: int = 2, **changes: object) -> Sample:
    clip = f"call 7 (part {number} of {parts})"
    whole = replace(
        SAMPLE,
        clip=clip,
        reference=None,
        part=part_name(clip),
        call_reference=CALL,
        text=text,
        first_partial_text=text,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def in_corpus(corpus: str, said: str = "good day to you", **changes: object) -> Sample:
    named = SIGNATURE.replace("calls", corpus)
    changed = replace(SAMPLE, corpus=corpus, signature=named, text=said)
    return replace(changed, **changes)  # type: ignore[arg-type]


def test_word_errors_are_weighted_by_seconds() -> None:
    wrong = replace(SAMPLE, clip="two", audio_s=30.0, text="good day to me")
    found = line(SAMPLE, wrong)
    assert found.wer.value == pytest.approx(30 * 0.25 / 40)
    assert found.wer.n == 2


def test_the_first_partial_has_word_errors_of_its_own() -> None:
    assert line(SAMPLE).first_partial_wer.value == 0.5


def test_latencies_count_each_sample_once_and_a_missing_one_is_no_zero() -> None:
    found = line(replace(SAMPLE, time_ms=100.0), replace(SAMPLE, clip="two", audio_s=90.0), FAILED)
    assert (found.time.mean.value, found.time.mean.n) == (150.0, 2)


def test_our_own_fault_is_excluded_and_counted() -> None:
    found = line(SAMPLE, VOIDED)
    assert (found.answered, found.failed, found.voided) == (1, 0, 1)
    assert found.success.value == 1.0


def test_a_failure_is_counted_against_success() -> None:
    found = line(SAMPLE, SAMPLE, SAMPLE, FAILED)
    assert (found.success.value, found.success.n, found.failed) == (0.75, 4, 1)
    assert found.success.low is not None


def test_a_model_that_never_answered_is_there_without_figures() -> None:
    found = line(FAILED, FAILED)
    assert (found.wer.value, found.time.mean.value, found.success.value) == (None, None, 0.0)


def test_what_answered_before_zero_is_counted_apart() -> None:
    assert line(replace(SAMPLE, early=True, time_ms=0.0), SAMPLE).early == 1


def test_measuring_a_recording_again_makes_its_interval_no_narrower() -> None:
    other = replace(SAMPLE, clip="two", text="good")
    third = replace(SAMPLE, clip="three", text="good day")
    once, often = line(SAMPLE, other, third), line(*[SAMPLE, other, third] * 5)
    assert once.wer == often.wer
    assert once.wer.low is not None


def test_each_measurement_of_a_recording_weighs_as_much_as_another() -> None:
    wrong = replace(SAMPLE, clip="two", text="good day to me")
    found = line(SAMPLE, SAMPLE, SAMPLE, wrong)
    assert found.wer.value == pytest.approx(0.25 / 4)


@pytest.mark.parametrize(("n", "there"), [(9, False), (10, True)])
def test_a_quantile_of_too_few_values_has_no_interval(n: int, there: bool) -> None:
    found = line(*(replace(SAMPLE, time_ms=100.0 + nth) for nth in range(n)))
    assert found.time.quantiles["p90"].value is not None
    assert (found.time.quantiles["p90"].low is not None) == there


def test_where_every_draw_gives_the_same_there_is_no_interval() -> None:
    assert estimated(1.0, 9, lambda: Interval(1.0, 1.0)) == Estimate(1.0, 9)
    assert estimated(None, 0, lambda: Interval(1.0, 2.0)) == Estimate(None, 0)


def test_parts_are_joined_to_the_call_before_they_are_scored() -> None:
    found = line(part(2, "standing by today"), part(1, "thank you for"))
    assert (found.wer.value, found.wer.n) == (0.0, 1)


def test_a_number_across_a_cut_is_one_number() -> None:
    first = part(1, "revenue grew twenty", call_reference="revenue grew 25%")
    second = part(2, "five percent", call_reference="revenue grew 25%")
    assert line(first, second).wer.value == 0.0


@pytest.mark.parametrize("lost", [FAILED, VOIDED])
def test_a_lost_part_makes_the_call_incomplete_and_that_is_said(lost: Sample) -> None:
    first = part(1, "thank you for")
    second = replace(lost, clip="call 7 (part 2 of 2)", reference=None, call_reference=CALL)
    found = line(first, replace(second, part=part_name(second.clip)))
    assert found.wer == Estimate(None, 0)
    assert "1 calls incomplete, a part was lost: they have no score" in found.notes


def test_a_call_whose_reference_was_not_recorded_has_no_score_and_that_is_said() -> None:
    found = line(*(part(n, "thank you", call_reference=None) for n in (1, 2)))
    assert found.wer == Estimate(None, 0)
    assert "1 calls without a recorded reference: they have no score" in found.notes


def test_a_calls_latency_is_the_mean_of_its_parts_and_one_sample() -> None:
    parts = [part(1, "thank you for", time_ms=100.0), part(2, "standing by today", time_ms=500.0)]
    found = line(*parts, replace(SAMPLE, time_ms=200.0))
    assert (found.time.mean.value, found.time.mean.n) == (250.0, 2)


def test_parts_of_different_runs_are_not_mixed() -> None:
    first, second = part(1, "thank you for"), part(2, "standing by today", run_id="another")
    assert line(first, second).wer.value is None


def test_a_call_that_was_measured_twice_in_a_run_is_two_calls() -> None:
    once = [part(1, "thank you for"), part(2, "standing by today")]
    again = [part(1, "thank you for", time_ms=400.0), part(2, "", time_ms=400.0)]
    found = line(*once, *again)
    assert (found.wer.value, found.wer.n) == (0.25, 1)
    assert found.time.mean.n == 2


def test_the_next_time_does_not_take_the_place_of_what_is_not_counted() -> None:
    lost = replace(VOIDED, clip="call 7 (part 2 of 2)", reference=None, wall_ns=1)
    lost = replace(lost, part=part_name(lost.clip), call_reference=CALL)
    again = [part(1, "thank you", wall_ns=2), part(2, "standing by today", wall_ns=3)]
    found = line(part(1, "thank you for"), lost, *again)
    assert found.wer.value == pytest.approx(1 / 6)
    assert "1 calls incomplete, a part was lost: they have no score" in found.notes


def test_a_call_weighs_as_long_as_all_its_parts() -> None:
    call = [part(1, "thank you for", audio_s=10.0), part(2, "", audio_s=20.0)]
    found = line(*call, replace(SAMPLE, audio_s=10.0))
    assert found.wer.value == pytest.approx(0.5 * 30 / 40)


def test_an_empty_reference_has_no_rate_and_its_words_are_counted() -> None:
    found = line(SAMPLE, replace(SAMPLE, clip="two", reference="", text="three more words"))
    assert (found.wer.value, found.wer.n) == (0.0, 1)
    assert any("in which 3 words were inserted" in note for note in found.notes)


def test_how_many_recordings_were_scored_is_said_where_it_is_not_all() -> None:
    found = line(SAMPLE, replace(FAILED, clip="two"))
    assert "word errors of 1 of 2 recordings" in found.notes


def test_the_signature_says_how_the_sum_was_made() -> None:
    worse = replace(SAMPLE, signature=SIGNATURE.replace("0.08/0.41ms", "0.20/1.50ms"))
    made = parsed(line(SAMPLE, worse).signature)
    assert made.norm.startswith("speechbench ")
    assert (made.window, made.host) == ("a day", "a")
    assert made.error == "0.20/1.50ms@8 fit"


def test_another_version_of_the_method_has_another_normaliser_in_its_signature() -> None:
    norms = {
        parsed(chapters([SAMPLE], about(PROFILES[name]))[0].lines[0].signature).norm
        for name in ("AA-WER v2.2", "AA-WER v2.1", "AA-WER v2.0")
    }
    assert len(norms) == 3


def test_a_new_self_test_is_no_other_way_of_measuring() -> None:
    newer = replace(SAMPLE, signature=SIGNATURE.replace("0.41", "0.50").replace("old 1", "new 2"))
    refuse_mixed([SAMPLE, newer])


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        (replace(SAMPLE, signature=SIGNATURE.replace("host a", "host b")), "host"),
        (replace(SAMPLE, signature=SIGNATURE.replace("g2", "g3")), "rule"),
        (replace(SAMPLE, signature=SIGNATURE.replace("1111", "3333")), "corpus"),
        (replace(SAMPLE, flow="close"), "flow"),
        (replace(SAMPLE, signature="something else"), "corpus, host, rule, signature, software"),
    ],
)
def test_mixed_signatures_are_refused_naming_what_differs(changed: Sample, parts: str) -> None:
    with pytest.raises(UserError) as error:
        refuse_mixed([SAMPLE, changed])
    said = str(error.value)
    assert f"a/quick: signatures are mixed that differ in {parts}; --by-signature" in said
    assert "\n" not in said


def test_different_corpora_and_different_models_are_no_mixture() -> None:
    other = replace(SAMPLE, model="b/slow", signature=SIGNATURE.replace("g2", "g3"))
    refuse_mixed([SAMPLE, in_corpus("others"), other])


def test_one_model_on_two_hosts_is_refused_also_across_corpora() -> None:
    elsewhere = in_corpus("others")
    moved = replace(elsewhere, signature=elsewhere.signature.replace("host a", "host b"))
    with pytest.raises(UserError, match="differ in host"):
        refuse_mixed([SAMPLE, moved])


def test_what_was_made_differently_can_be_kept_apart() -> None:
    moved = replace(SAMPLE, signature=SIGNATURE.replace("host a", "host b"), time_ms=900.0)
    corpus, _ = chapters([SAMPLE, moved])
    assert [one.label for one in corpus.lines] == ["a/quick (1)", "a/quick (2)"]
    assert [parsed(one.signature).host for one in corpus.lines] == ["a", "b"]
    assert "the rows were made differently: host" in corpus.notes


def test_without_a_corpus_there_is_no_overall_figure_and_that_is_said() -> None:
    *_, whole = chapters([SAMPLE])
    assert whole.lines == ()
    assert whole.notes == (f"no overall figure, without {', '.join(PLACES)}: a/quick",)


STAND_INS = dict(zip(PLACES, "xyz", strict=True))


def test_with_stand_ins_the_overall_figure_is_weighted_and_has_another_name() -> None:
    samples = [in_corpus("x", time_ms=200.0), in_corpus("y", "good day to me", time_ms=300.0)]
    samples.append(in_corpus("z", "good day me", time_ms=500.0))
    *_, whole = chapters(samples, about(stand_ins=STAND_INS))
    (only,) = whole.lines
    assert whole.title.startswith("WER weighted as in AA-WER v2.2 (x in place of AA-AgentTalk")
    assert only.wer.value == pytest.approx(float(Fraction(1, 4) * Fraction(1, 4) + Fraction(1, 8)))
    assert only.time.mean.value == 300.0
    assert only.wer.n == 3


def test_two_stand_ins_do_not_make_up_for_the_third() -> None:
    *_, whole = chapters([in_corpus("x"), in_corpus("y")], about(stand_ins=STAND_INS))
    assert whole.lines == ()
    assert f"without {PLACES[2]}" in whole.notes[0]


def test_a_part_of_a_published_corpus_does_not_stand_for_it() -> None:
    corpus, *_, whole = chapters([in_corpus(place) for place in PLACES])
    assert whole.lines == ()
    assert any("is the name of a published corpus" in note for note in corpus.notes)


SAMPLES = st.builds(
    replace,
    st.sampled_from([SAMPLE, FAILED, VOIDED]),
    clip=st.sampled_from(["one", "two", "three"]),
    session_id=st.uuids().map(str),
    model=st.sampled_from(["a/a", "b/b"]),
)


@given(st.lists(SAMPLES, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_in_which_sessions_came_changes_no_figure(
    samples: list[Sample], random: Random
) -> None:
    shuffled = [*samples]
    random.shuffle(shuffled)
    assert chapters(samples) == chapters(shuffled)


@given(st.lists(SAMPLES, min_size=1, max_size=12))
def test_every_session_is_counted_once(samples: list[Sample]) -> None:
    corpus, *_ = chapters(samples)
    assert sum(one.answered + one.failed + one.voided for one in corpus.lines) == len(samples)


def told_session(*events: Event, clip: str = "day", reference: str | None = "good") -> Recorded:
    """A recorded session in which these happened, before zero and after it."""
    before = [event for event in events if event.at_ns <= ZERO]
    after = [event for event in events if event.at_ns > ZERO]
    session = recorded(MARKED, [*forced_story(*before), *after])
    names = {"run_id": "r", "model": "a/b", "dataset": "files", "signature": "s"}
    numbers = {"audio_ms": 1000.0, "wall_unix_ns": 5}
    session.started.update({**names, **numbers, "clip": clip, "reference": reference})
    return session


def taken(*events: Event, clip: str = "day", reference: str | None = "good") -> Sample:
    """Its sample."""
    session = told_session(*events, clip=clip, reference=reference)
    (sample,) = samples_of(session, told_under(session, {}), METHOD)
    return sample


def test_what_was_final_before_zero_is_published_as_zero() -> None:
    early = taken(forced_final(ZERO - 40 * MS, "good"), forced_final(ZERO + 20 * MS, ""))
    assert (early.time_ms, early.early, early.valid) == (0.0, True, True)
    later = taken(forced_final(ZERO + 40 * MS, "good"))
    assert (later.time_ms, later.early) == (40.0, False)


def test_a_session_that_failed_has_no_first_partial_and_no_text() -> None:
    failed = taken(partial(ZERO + 30 * MS, "good"), Tick(DEADLINE))
    assert (failed.valid, failed.voided, failed.verdict) == (False, False, "no_final")
    assert (failed.first_partial_ms, failed.first_partial_text, failed.text) == (None, None, None)


def test_a_first_partial_counts_from_zero() -> None:
    found = taken(partial(ZERO + 30 * MS, "good"), forced_final(ZERO + 90 * MS, "good day"))
    assert (found.first_partial_ms, found.first_partial_text) == (30.0, "good")


def test_a_recording_with_a_reference_of_its_own_is_no_part_whatever_its_name() -> None:
    name, answer = "day (part 1 of 2)", forced_final(ZERO + 40 * MS, "good")
    assert taken(answer, clip=name).part is None
    assert taken(answer, clip=name, reference=None).part == part_name(name)


def test_a_reference_does_not_say_where_turns_begin() -> None:
    session = told_session(forced_final(ZERO + 40 * MS, "good"))
    (turn,) = told_under(session, {})
    of_many = replace(turn, rule=replace(turn.rule, endpoint=Endpoint.EVERY))
    references = [one.reference for one in samples_of(session, [turn, of_many], METHOD)]
    assert references == ["good", None]
