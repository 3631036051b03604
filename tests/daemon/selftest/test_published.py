"""Where the harness's own error shows: in metrics, beside every summary, and in JSON."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from daemon.results import document_of, summaries_of
from daemon.selftest.figures import ErrorSpread
from daemon.selftest.result import record_of
from exporters.metric_table import PREFIX
from exporters.pages import status_page
from exporters.prometheus import Metrics
from exporters.recent import Recent
from exporters.table import print_run
from measure.measurement import Circumstances, Measurement
from measure.records import SECOND, Answer, Flow, Reading, Verdict
from tests.daemon.selftest.levels import WALL_NS, error, level, result

SERIES = PREFIX + "selftest_error_seconds"
FIT = "speechbench 0.1.0 | host a | error 0.08/0.41ms@8 fit"
LATER = "speechbench 0.1.0 | host a | error 0.09/0.70ms@8 fit"
UNKNOWN = "speechbench 0.1.0 | host a | error unknown"
OLD = "speechbench 0.1.0 | host a"


def measured(signature: str) -> Measurement:
    answer = Answer("a", 300)
    verdict = Verdict.FORCED_FINAL
    reading = Reading(0, verdict, verdict, answer, None, answer, answer, None, "a")
    return Measurement(
        "s1", "r1", "a/b", "files", "a.wav", 1000.0, Flow.FORCED, reading, Circumstances(), 0, 0,
        signature,
    )  # fmt: skip


def sample(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(PREFIX + name, labels)


def test_before_the_first_self_test_no_error_is_shown_at_all() -> None:
    metrics = Metrics()
    names = {one.name for family in metrics.registry.collect() for one in family.samples}
    assert SERIES not in names
    assert sample(metrics, "selftest_timestamp_seconds") == 0
    assert [sample(metrics, "selftest_verdict", fitness=one) for one in ("fit", "unfit")] == [0, 0]


def test_a_self_test_is_shown_by_level_and_statistic() -> None:
    metrics = Metrics()
    metrics.take(record_of(result(level(8, final_error=error(0.5, 4.0))), 1))
    labels = {"measure": "time_to_final", "streams": "8"}
    shown = {
        statistic: sample(metrics, "selftest_error_seconds", statistic=statistic, **labels)
        for statistic in ("p50", "p99", "max")
    }
    assert shown == {"p50": 0.0005, "p99": 0.004, "max": 0.009}
    assert sample(metrics, "selftest_verdict", fitness="usable") == 1
    assert sample(metrics, "selftest_timestamp_seconds") == WALL_NS / SECOND


def test_the_next_self_test_replaces_the_last_one_whole() -> None:
    metrics = Metrics()
    metrics.take(record_of(result(), 1))
    few = ErrorSpread(0, 0, replace(error(0.1, None).size, n=5))
    metrics.take(record_of(result(level(1, final_error=few, sessions=5)), 2))
    labels = {"measure": "time_to_final", "streams": "1"}
    assert sample(metrics, "selftest_error_seconds", statistic="p50", **labels) == 0.0001
    assert sample(metrics, "selftest_error_seconds", statistic="p99", **labels) is None
    labels["streams"] = "100"
    assert sample(metrics, "selftest_error_seconds", statistic="p50", **labels) is None
    assert sample(metrics, "selftest_verdict", fitness="fit") == 0
    assert sample(metrics, "selftest_verdict", fitness="unfit") == 1


def test_a_new_configuration_keeps_the_error() -> None:
    metrics = Metrics()
    metrics.take(record_of(result(), 1))
    metrics.configure([], ["hourly"])
    labels = {"measure": "time_to_final", "streams": "8", "statistic": "p50"}
    assert sample(metrics, "selftest_error_seconds", **labels) == 0.00008


def test_an_unusual_level_makes_no_series_of_its_own() -> None:
    metrics = Metrics()
    metrics.take(record_of(result(level(77)), 1))
    labels = {"measure": "time_to_final", "streams": "other", "statistic": "p50"}
    assert sample(metrics, "selftest_error_seconds", **labels) is not None


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        (FIT, "p50 0.08 ms, p99 0.41 ms with 8 streams at once: this host is fit"),
        (UNKNOWN, "unknown: speechbench selftest measures it"),
    ],
)
def test_the_footer_of_the_table_says_the_error(signature: str, words: str) -> None:
    out = io.StringIO()
    print_run(Console(file=out, width=160), [], summaries_of([measured(signature)]))
    assert words in out.getvalue()


def test_an_old_signature_has_no_line_about_the_error() -> None:
    out = io.StringIO()
    print_run(Console(file=out, width=160), [], summaries_of([measured(OLD)]))
    assert "our own error" not in out.getvalue()


def test_a_new_self_test_does_not_split_a_summary_and_the_worst_error_stands() -> None:
    (summary,) = summaries_of([measured(FIT), measured(LATER)])
    assert summary.measurements == 2
    assert summary.signature == LATER
    (summary,) = summaries_of([measured(FIT), measured(UNKNOWN), measured(LATER)])
    assert summary.signature == UNKNOWN


def test_the_document_has_the_error_in_numbers() -> None:
    document = document_of([measured(FIT), measured(OLD)], journal="j", complete=True, skipped=())
    (summary,) = document["summaries"]
    assert summary["harness_error"] == {
        "p50_ms": 0.08,
        "tail_ms": 0.41,
        "is_p99": True,
        "streams": 8,
        "verdict": "fit",
    }
    unknown = document_of([measured(UNKNOWN)], journal="j", complete=True, skipped=())
    assert unknown["summaries"][0]["harness_error"] is None


def test_the_status_page_says_the_error() -> None:
    recent = Recent("0.1.0", "a")
    recent.take(record_of(result(), 1))
    page = status_page(recent, unwell=None, unready=None, now_s=0)
    assert "Self-test: fit: error of time to final p50 0.080 ms, p99 0.410 ms" in page
