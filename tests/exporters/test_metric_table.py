"""The table of metrics: names, labels and buckets that queries and rules rely on."""

import re
from itertools import pairwise
from math import prod

import pytest

from daemon.admission import Hindrance
from daemon.budget import ALL
from exporters.metric_table import (
    CLOSED,
    CONFIGURED,
    EVERYONE,
    FINE,
    LATENCY,
    METRICS,
    NET,
    OTHER,
    R10,
    Metric,
    label_sets,
)
from exporters.settings import Stream

STREAMS = [
    Stream("a", "one", "files", "forced"),
    Stream("a", "two", "files", "fallback"),
    Stream("b", "one", "files", "forced"),
    Stream("b", "one", "calls", "forced"),
]


def named(name: str) -> Metric:
    (metric,) = [metric for metric in METRICS if metric.name == name]
    return metric


def test_no_name_is_given_twice() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_named_as_prometheus_asks(metric: Metric) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.name.endswith("_info") == (metric.kind == "info")
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert metric.kind != "histogram" or metric.name.endswith(("_seconds", "_bytes"))
    assert metric.help.endswith(".")
    if metric.kind != "info":
        assert not set(metric.labels) & set(metric.name.split("_"))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_label_has_values_that_are_known_beforehand(metric: Metric) -> None:
    if metric.kind != "info":
        assert set(metric.labels) <= CONFIGURED | set(CLOSED)


def test_buckets_rise_and_have_the_bounds_of_the_method() -> None:
    for buckets in (LATENCY, FINE, NET):
        assert list(buckets) == sorted(set(buckets))
    assert LATENCY[0] == 0.0
    assert len(R10) == 28
    assert {0.1, 0.2, 0.25, 0.4, 0.5, 0.8, 1.0, 2.0, 2.5, 5.0} <= set(R10)
    assert 0.02 in FINE


def test_neighbouring_buckets_are_about_a_tenth_of_a_decade_apart() -> None:
    steps = [after / before for before, after in pairwise(R10)]
    assert all(1.2 < step < 1.3 for step in steps)


def test_a_metric_has_the_streams_that_are_configured_and_no_cross_product() -> None:
    assert label_sets(named("sessions_total"), STREAMS, []) == [
        ("a", "one", "files", "forced"),
        ("a", "two", "files", "fallback"),
        ("b", "one", "files", "forced"),
        ("b", "one", "calls", "forced"),
    ]
    assert label_sets(named("sessions_active"), STREAMS, []) == [("a",), ("b",)]


def test_labels_that_are_closed_take_every_value() -> None:
    failures = label_sets(named("session_failures_total"), STREAMS, [])
    assert len(failures) == 3 * len(CLOSED["reason"])
    assert ("a", "two", "fallback", "auth") in failures
    assert label_sets(named("log_messages_total"), [], []) == [
        (level,) for level in ("debug", "info", "warning", "error", "critical")
    ]


def test_schedules_come_from_the_configuration() -> None:
    assert label_sets(named("runs_total"), STREAMS, ["hourly", "daily"]) == [
        ("hourly",),
        ("daily",),
    ]


def test_the_number_of_series_is_bounded_by_the_configuration() -> None:
    """Ten providers with two models and three corpora: what one host is expected to serve."""
    streams = [
        Stream(f"p{p}", f"m{m}", f"d{d}", "forced")
        for p in range(10)
        for m in range(2)
        for d in range(3)
    ]
    series = sum(
        len(label_sets(metric, streams, ["hourly"]))
        * (len(metric.buckets) + 3 if metric.buckets else 1)
        for metric in METRICS
    )
    assert series < 10_000
    assert prod([10, 2, 3]) == len(streams)


def test_every_reason_for_a_missed_run_is_a_label_and_all_providers_have_one_name() -> None:
    assert {hindrance.value for hindrance in Hindrance} == set(CLOSED["why"]) - {OTHER}
    assert EVERYONE == ALL
