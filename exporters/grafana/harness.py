"""The third dashboard: whether this program is fit to measure, and whether it does its work."""

from typing import Any

from exporters.grafana.parts import (
    AGE,
    BYTES,
    COUNT,
    DOLLARS,
    PLAIN,
    SECONDS,
    SHARE,
    YES_NO,
    Query,
    bars,
    board,
    chosen,
    curves,
    figure,
    filled,
    increase,
    or_zero,
    quantile,
    ranking,
    row,
    share,
    sheet,
    window,
)

_HOST = 'instance=~"$instance"'
_PROCESS = f'job="speechbench",{_HOST}'
_BY = "instance"
_BUILD = ("instance", "version", "python", "onnxruntime", "normalizer")


def harness() -> Any:
    """The dashboard."""
    made = board(
        "Speechbench: harness",
        "speechbench-harness",
        "What this program adds to what it measures, host by host, and whether it loses anything.",
        (chosen("instance", "harness_healthy"), window()),
    )
    return filled(
        made,
        *_figures(),
        row("Its own error"),
        *_errors(),
        row("Its own timing"),
        *_timing(),
        row("Journal and log"),
        *_journal(),
        row("Schedule and budget"),
        *_schedule(),
        row("Process"),
        *_process(),
    )


def _figures() -> tuple[Any, ...]:
    late = share(_summed("frames_late_total"), _summed("frames_total"))
    return (
        figure("Healthy", YES_NO, Query(_of("harness_healthy"), "{{instance}}")),
        figure(
            "Self-test",
            PLAIN,
            Query(f"{_of('selftest_verdict')} == 1", "{{instance}}: {{fitness}}"),
            about="The verdict of the newest self-test.",
        ),
        figure(
            "Age of the self-test",
            AGE,
            Query(f"time() - ({_of('selftest_timestamp_seconds')} > 0)", "{{instance}}"),
            bad=7 * 86_400,
        ),
        figure("Frames late", SHARE, Query(late, "{{instance}}"), bad=0.001),
        figure(
            "Records lost",
            COUNT,
            Query(_summed("journal_dropped_records_total"), "{{instance}}"),
            bad=1,
        ),
        figure(
            "Configuration taken",
            YES_NO,
            Query(_of("config_last_reload_successful"), "{{instance}}"),
        ),
    )


def _errors() -> tuple[Any, ...]:
    measure = _of("selftest_error_seconds", 'measure="time_to_final"')
    partial = _of("selftest_error_seconds", 'measure="time_to_first_partial"')
    name = "{{instance}} · {{streams}} streams · {{statistic}}"
    return (
        ranking(
            "Error of time to final, by the self-test",
            SECONDS,
            Query(f"sort({measure})", name),
            about="Size of the difference to a server that knows the truth.",
        ),
        ranking("Error of time to first partial, by the self-test", SECONDS, Query(partial, name)),
    )


def _timing() -> tuple[Any, ...]:
    def both(metric: str) -> tuple[Query, Query]:
        return (
            Query(quantile(0.5, metric, _BY, _HOST), "{{instance}} p50"),
            Query(quantile(0.99, metric, _BY, _HOST), "{{instance}} p99"),
        )

    return (
        curves("Lateness of frames", SECONDS, *both("pacing_lateness_seconds"), width=8),
        curves(
            "Force after its frame", SECONDS, *both("endpoint_trigger_duration_seconds"), width=8
        ),
        curves(
            "From a message's arrival to its reading",
            SECONDS,
            *both("receive_gap_seconds"),
            about="In no latency where the kernel stamps messages.",
            width=8,
        ),
        curves("Lag of the loop", SECONDS, *both("loop_lag_seconds"), width=8),
        curves(
            "Stalls of the host",
            SECONDS,
            *both("host_stall_seconds"),
            about="The longest of each second, by a process that does nothing else.",
            width=8,
        ),
        curves(
            "Frames late, of all",
            SHARE,
            Query(share(_summed("frames_late_total"), _summed("frames_total")), "{{instance}}"),
            about="Handed to a socket more than 20 ms late: such a session does not count.",
            width=8,
        ),
    )


def _journal() -> tuple[Any, ...]:
    return (
        curves(
            "Records written, a second",
            COUNT,
            Query(f"sum by ({_BY}) ({_rate('journal_records_total')})", "{{instance}}"),
            width=6,
        ),
        curves(
            "Written, bytes a second",
            BYTES,
            Query(f"sum by ({_BY}) ({_rate('journal_bytes_total')})", "{{instance}}"),
            width=6,
        ),
        curves(
            "fdatasync, p99",
            SECONDS,
            Query(quantile(0.99, "journal_fsync_duration_seconds", _BY, _HOST), "{{instance}}"),
            width=6,
        ),
        bars(
            "Log lines, by level",
            COUNT,
            Query(f"sum by (level) ({increase('log_messages_total', _HOST)})", "{{level}}"),
            width=6,
        ),
    )


def _schedule() -> tuple[Any, ...]:
    missed = increase("runs_missed_total", _HOST)
    return (
        curves(
            "Until the next run",
            AGE,
            Query(
                f"({_of('next_run_timestamp_seconds')} > 0) - time()", "{{instance}} {{schedule}}"
            ),
            about="Below 0 it is overdue.",
            width=6,
        ),
        bars(
            "Runs that did not begin",
            COUNT,
            Query(or_zero(missed, "why"), "{{why}}"),
            width=6,
        ),
        curves(
            "Waited before beginning, p95",
            SECONDS,
            Query(quantile(0.95, "run_wait_seconds", "provider", _HOST), "{{provider}}"),
            width=6,
        ),
        curves(
            "Sessions open",
            COUNT,
            Query(f"sum by (provider) ({_of('sessions_active')})", "{{provider}}"),
            width=6,
        ),
        ranking(
            "Budget spent",
            SHARE,
            Query(
                f"{_of('budget_spent_dollars')} / ({_of('budget_limit_dollars')} > 0)",
                "{{instance}} · {{who}}, {{period}}",
            ),
            top=1,
        ),
        curves(
            "Spent of the budget",
            DOLLARS,
            Query(_of("budget_spent_dollars"), "{{who}}, {{period}}"),
        ),
    )


def _process() -> tuple[Any, ...]:
    return (
        curves(
            "Memory of the exporter process",
            BYTES,
            Query(f"process_resident_memory_bytes{{{_PROCESS}}}", "{{instance}}"),
            width=8,
        ),
        curves(
            "Processor time of the exporter process",
            SHARE,
            Query(
                f"rate(process_cpu_seconds_total{{{_PROCESS}}}[$__rate_interval])", "{{instance}}"
            ),
            width=8,
        ),
        ranking(
            "What the host allows",
            YES_NO,
            Query(_of("host_allows"), "{{instance}} · {{feature}}"),
            width=8,
        ),
        sheet(
            "Builds",
            _BUILD,
            Query(
                f"max by ({', '.join(_BUILD)}) ({_of('build_info')})",
                "Running",
                YES_NO,
            ),
            height=5,
        ),
    )


def _of(metric: str, more: str = "") -> str:
    which = f"{_HOST},{more}" if more else _HOST
    return f"speechbench_{metric}{{{which}}}"


def _rate(metric: str) -> str:
    return f"rate({_of(metric)}[$__rate_interval])"


def _summed(metric: str) -> str:
    return f"sum by ({_BY}) ({increase(metric, _HOST)})"
