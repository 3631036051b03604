"""How a model stands: medians of what is usable, and whose fault the rest was."""

from typing import Any

from exporters.logs import canonical
from exporters.standing import Standing, standings
from tests.exporters.records import SCORE, finished

MS = 1_000_000


def session(model: str, **changes: Any) -> dict[str, object]:  # noqa: ANN401
    return dict(canonical(finished(model=model, flow="forced", **changes)))


def failed(verdict: str, kind: str | None = None) -> dict[str, Any]:
    fault = None if kind is None else {"whose": "provider", "kind": kind, "detail": "x"}
    return {"verdict": verdict, "valid": False, "fault": fault, "time_to_final_ns": None}


def test_a_model_that_was_not_measured_yet_has_no_figures() -> None:
    (one,) = standings([("a/m", "forced")], [])
    assert one == Standing("a/m", "forced", 0, 0, 0, None, None, 0, 0)


def test_figures_are_medians_of_the_usable_and_words_are_added_up() -> None:
    told = [
        *(session("a/m", time_to_final_ns=ms * MS) for ms in (100, 400, 150)),
        session("a/m", valid=False, verdict="harness_late", time_to_final_ns=900 * MS),
    ]
    (one,) = standings([], told)
    assert one.final_ms == 150
    assert one.first_partial_ms == 101
    words = SCORE["reference_words"], SCORE["substitutions"] + SCORE["deletions"]
    assert (one.words, one.word_errors) == (3 * words[0], 3 * words[1])


def test_failures_are_the_providers_and_what_we_spoiled_is_neither() -> None:
    told = [
        session("a/m"),
        session("a/m", **failed("provider_error", "quota")),
        session("a/m", **failed("no_final")),
        session("a/m", **failed("harness_stalled")),
    ]
    (one,) = standings([("a/m", "forced")], told)
    assert (one.sessions, one.failed, one.spoiled) == (4, 2, 1)


def test_what_had_been_final_before_zero_counts_as_0() -> None:
    told = [session("a/m", time_to_final_ns=ms * MS) for ms in (-300, 100)]
    (one,) = standings([], told)
    assert one.final_ms == 50


def test_the_quickest_is_first_and_those_without_a_final_are_last() -> None:
    told = [session("slow/m", time_to_final_ns=900 * MS), session("quick/m")]
    found = standings([("none/m", "forced"), ("slow/m", "forced")], told)
    assert [one.model for one in found] == ["quick/m", "slow/m", "none/m"]


def test_two_flows_of_a_model_are_never_mixed() -> None:
    told = [session("a/m"), {**session("a/m"), "flow": "fallback"}]
    assert [(one.flow, one.sessions) for one in standings([], told)] == [
        ("forced", 1),
        ("fallback", 1),
    ]
