"""The series behind the metrics: a registry built from the table, with labels that cannot grow.

Every series that a configuration can have is there from the start, at 0, and none besides.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from exporters.metric_table import (
    CLOSED,
    CONFIGURED,
    METRICS,
    OTHER,
    PREFIX,
    Metric,
    label_sets,
)
from exporters.settings import Stream


class Series:
    """All series of the table. Changed by one thread, read by scrapes of any."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._families = {metric.name: _made(metric, self.registry) for metric in METRICS}
        self._labels = {metric.name: metric.labels for metric in METRICS}
        self._known: dict[str, set[tuple[str, ...]]] = {metric.name: set() for metric in METRICS}

    def configure(self, streams: Iterable[Stream], schedules: Iterable[str]) -> None:
        """Start the series of what is now configured at 0, and end those of what no longer is."""
        streams, schedules = list(streams), list(schedules)
        for metric in METRICS:
            if metric.kind == "info" or not metric.labels:
                continue
            wanted = set(label_sets(metric, streams, schedules))
            family = self._families[metric.name]
            for gone in self._known[metric.name] - wanted:
                family.remove(*gone)
            for new in wanted - self._known[metric.name]:
                family.labels(*new)
            self._known[metric.name] = wanted

    def family(self, name: str) -> Any:  # noqa: ANN401
        """All series of one metric together."""
        return self._families[name]

    def known(self, name: str) -> set[tuple[str, ...]]:
        """The label values that a metric has under this configuration."""
        return self._known[name]

    def child(self, name: str, **labels: str) -> Any:  # noqa: ANN401
        """The series with these labels; the one of ``other`` for what is not configured."""
        family = self._families[name]
        if not labels:
            return family
        values = tuple(labels[label] for label in self._labels[name])
        if values not in self._known[name]:
            values = tuple(admitted(label, labels[label]) for label in self._labels[name])
        return family.labels(*values)

    def info(self, name: str, labels: Mapping[str, str] | None) -> None:
        """Set the series of an info that has these labels; one that is not given is empty."""
        if labels:
            values = [str(labels.get(label, "")) for label in self._labels[name]]
            self._families[name].labels(*values).set(1)


def _made(metric: Metric, registry: CollectorRegistry) -> Any:  # noqa: ANN401
    name = PREFIX + metric.name
    if metric.kind == "counter":
        return Counter(name, metric.help, metric.labels, registry=registry)
    if metric.kind == "histogram":
        return Histogram(
            name, metric.help, metric.labels, buckets=metric.buckets, registry=registry
        )
    return Gauge(name, metric.help, metric.labels, registry=registry)


def admitted(label: str, value: str) -> str:
    """A label value that cannot make the number of series grow."""
    if label in CONFIGURED:
        return OTHER
    return value if value in CLOSED[label] else OTHER
