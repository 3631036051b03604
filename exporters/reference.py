"""docs/metrics.md and docs/logs.md, made from the tables that the code itself uses.

``python -m exporters.reference docs`` writes them anew; a test finds them out of date.
"""

import sys
from pathlib import Path

from exporters.log_table import EVENTS
from exporters.metric_table import (
    CLOSED,
    FINE,
    LATENCY,
    METRICS,
    NET,
    PREFIX,
    UNSENT,
    WAIT,
    Metric,
)

_BUCKETS = {LATENCY: "latency", FINE: "fine", NET: "net", WAIT: "wait", UNSENT: "unsent"}


def metrics_page() -> str:
    """docs/metrics.md."""
    rows = [
        f"| `{PREFIX}{metric.name}` | {metric.kind} | {_labels(metric)} | {_buckets(metric)} "
        f"| {metric.help} |"
        for metric in METRICS
    ]
    labels = [
        f"- `{name}`: {', '.join(f'`{v}`' for v in values)}" for name, values in CLOSED.items()
    ]
    bounds = [
        f"- {name}: {', '.join(f'{bound:g}' for bound in buckets)}"
        for buckets, name in _BUCKETS.items()
    ]
    return "\n".join(
        [
            "# Metrics",
            "",
            "Made from `exporters/metric_table.py` by `python -m exporters.reference docs`.",
            "",
            "Every series that a configuration can have is there from the start, at 0. Labels hold",
            "names from the configuration or the values below, never what a provider says.",
            "Quantiles from histograms are good for trends; published figures are the journal's.",
            "",
            "| metric | kind | labels | buckets | what it is |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "",
            "## Values of labels",
            "",
            *labels,
            "",
            "## Bounds of buckets, in seconds; of what is unsent, in bytes",
            "",
            *bounds,
            "",
            "## What is not measured",
            "",
            "- How long one window of the voice-activity detector takes: no detector runs while a",
            "  recording is streamed. Its ends of speech are surveyed before measuring begins.",
            "- How long a frame spends in sending: no send waits. What the kernel does not take",
            "  at once is queued; `speechbench_unsent_at_zero_bytes` shows what was left at zero.",
            "",
        ]
    )


def logs_page() -> str:
    """docs/logs.md."""
    rows = [
        f"| `{event.name}` | {event.level} | {event.when} "
        f"| {', '.join(f'`{field}`' for field in event.fields)} |"
        for event in EVENTS
    ]
    return "\n".join(
        [
            "# Log events",
            "",
            "Made from `exporters/log_table.py` by `python -m exporters.reference docs`.",
            "",
            "One line each on standard error: JSON, or for people where that is a terminal. Every",
            "line has `timestamp` (UTC), `level`, `event` and `mono_ns` (the monotonic clock, as",
            "in the journal). No line holds a key, and none what was said unless that is turned",
            "on. Lines about one session have `session_id`; those of a worker have `worker`.",
            "",
            "| event | level | when | fields |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


PAGES = {"metrics.md": metrics_page, "logs.md": logs_page}


def _labels(metric: Metric) -> str:
    return ", ".join(f"`{label}`" for label in metric.labels) or "-"


def _buckets(metric: Metric) -> str:
    return _BUCKETS.get(metric.buckets, "-" if not metric.buckets else "own")


def main(folder: Path) -> None:
    """Write both pages."""
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
