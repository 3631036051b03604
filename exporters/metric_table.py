"""Every metric that is served, as a table: what it counts, by which labels, in which buckets.

Labels are either closed (all their values are in ``CLOSED``) or come from the configuration
(provider, model, dataset, flow, schedule). Nothing a provider says ever becomes one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal

from exporters.settings import LEVELS, Stream
from measure.faults import FaultKind
from measure.records import ANSWERED, OUR_FAULT, Flow, Verdict

PREFIX = "speechbench_"
OTHER = "other"
"""The label of whatever is not configured, or not known here."""

# Buckets are a public interface: moving a bound breaks the queries and rules of others.
_R10 = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
R10 = (
    *(round(step / 100, 6) for step in _R10 if step >= 2),
    *(round(step / 10, 6) for step in _R10),
    *_R10,
    10.0,
)
"""Preferred numbers, ten a decade, from 20 ms to 10 s: p50 within 2 %, p95 within 8 %."""
LATENCY = (0.0, *R10)
"""With a bucket of its own for answers that were there before they were asked for."""
FINE = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075),
    *(0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 1.0),
)
"""For what this program does itself."""
NET = (
    *(0.001, 0.002, 0.004, 0.0063, 0.01, 0.016, 0.025, 0.04, 0.063, 0.1),
    *(0.16, 0.25, 0.4, 0.63, 1.0, 1.6, 2.5, 5.0, 10.0),
)
"""For connections."""
WAIT = (0.01, 0.1, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
"""For what is due and may not begin yet."""
UNSENT = (0.0, 640.0, 1600.0, 3200.0, 6400.0, 16_000.0, 32_000.0, 64_000.0, 320_000.0)
"""In bytes: nothing, then 20, 50, 100 and 200 ms, half, one, two and ten seconds of usual audio."""

PROVIDER = ("provider",)
MODEL = ("provider", "model")
STREAM = ("provider", "model", "dataset", "flow")
SCORED = ("provider", "model", "dataset", "mode", "transcript")
CONFIGURED = frozenset({"provider", "model", "dataset", "flow", "schedule", "who"})

REASONS = (
    *(kind.value for kind in FaultKind if kind is not FaultKind.HARNESS),
    *(Verdict.NO_FINAL.value, Verdict.ACK_ONLY.value),
    *(verdict.value for verdict in Verdict if verdict in OUR_FAULT),
    OTHER,
)
"""Why a session gave no usable result: a fault's kind, or the verdict where that says it all."""
NONE = "none"
CLOSE_CODES = (
    *("1000", "1001", "1002", "1003", "1005", "1006", "1007", "1008", "1009", "1010"),
    *("1011", "1012", "1013", "1014", NONE, OTHER),
)
"""Those of the websocket standard; none where the connection just broke off."""
EVERYONE = "all providers"
"""Whose budget it is where it is not one provider's."""
CLOSED = {
    "reason": REASONS,
    "selection": (*(verdict.value for verdict in Verdict if verdict in ANSWERED), NONE),
    "mode": ("streaming",),
    "transcript": ("final", "first_partial"),
    "operation": ("substitution", "insertion", "deletion"),
    "phase": ("prepare", "dns", "tcp", "tls", "upgrade"),
    "direction": ("sent", "received"),
    "kind": ("audio", "control", "partial", "final", "error", "other"),
    "outcome": ("detected", "none", "early"),
    "level": LEVELS,
    "code": CLOSE_CODES,
    "why": (
        *("still_running", "provider_busy", "too_many", "provider_paused", "over_budget"),
        *("journal_full", "exporter_gone", "worker_gone", "selftest", "not_running", OTHER),
    ),
    "cause": ("died", "hung", "left", OTHER),
    "period": ("day", "month"),
    "measure": ("time_to_final", "time_to_first_partial"),
    "streams": ("1", "8", "32", "100", OTHER),
    "statistic": ("p50", "p99", "max"),
    "fitness": ("fit", "usable", "unfit"),
    "feature": ("real_time", "memory_locked", "precise_timer"),
}
"""Every value of the labels that the configuration does not decide."""
FLOWS = tuple(flow.value for flow in Flow)


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of the table; ``name`` is without the prefix."""

    name: str
    kind: Literal["counter", "gauge", "histogram", "info"]
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()
    from_start: bool = True
    """Its series are there from the start, at 0; False where 0 would be a wrong number."""


def _counter(name: str, labels: tuple[str, ...], text: str) -> Metric:
    return Metric(name, "counter", labels, text)


def _gauge(name: str, labels: tuple[str, ...], text: str) -> Metric:
    return Metric(name, "gauge", labels, text)


def _histogram(name: str, labels: tuple[str, ...], buckets: tuple[float, ...], text: str) -> Metric:
    return Metric(name, "histogram", labels, text, buckets)


METRICS = (
    # What was measured.
    _counter(
        "sessions_total",
        STREAM,
        "Streaming sessions ended, whether or not they gave a usable result.",
    ),
    _counter(
        "session_failures_total",
        (*MODEL, "flow", "reason"),
        "Streaming sessions that gave no usable result, by reason.",
    ),
    _gauge("sessions_active", PROVIDER, "Streaming sessions open now."),
    _histogram(
        "time_to_final_seconds",
        STREAM,
        LATENCY,
        "From zero to the transcript used as final; 0 when it had arrived before.",
    ),
    _histogram(
        "time_to_first_partial_seconds",
        STREAM,
        LATENCY,
        "From zero to the first partial transcript after it.",
    ),
    _counter(
        "final_selections_total",
        (*MODEL, "flow", "selection"),
        "Which transcript the timing rule took as final.",
    ),
    _gauge(
        "last_success_timestamp_seconds",
        STREAM,
        "Unix time of the newest usable session; 0 before the first.",
    ),
    # Words: rates are made from sums where they are asked for.
    _counter(
        "wer_weighted_audio_seconds_total",
        SCORED,
        "Sum of word error rate times audio seconds of each scored recording.",
    ),
    _counter("wer_audio_seconds_total", SCORED, "Sum of audio seconds of each scored recording."),
    _counter(
        "word_errors_total",
        (*SCORED, "operation"),
        "Word edits against the reference, by operation.",
    ),
    _counter("reference_words_total", SCORED, "Words in the references scored."),
    # What it cost.
    _counter("audio_sent_seconds_total", (*MODEL, "mode"), "Audio handed to the service."),
    _counter(
        "billed_cost_dollars_total",
        (*MODEL, "mode"),
        "Estimated list-price cost of what was sent.",
    ),
    Metric(
        "budget_spent_dollars",
        "gauge",
        ("who", "period"),
        "Spent or set aside in this day or month (UTC), of a budget that is configured.",
        from_start=False,
    ),
    Metric(
        "budget_limit_dollars",
        "gauge",
        ("who", "period"),
        "What may be spent in a day or month; a run that would exceed it does not begin.",
        from_start=False,
    ),
    # The network.
    _histogram(
        "connect_duration_seconds",
        ("provider", "phase"),
        NET,
        "Opening a stream, by phase: prepare (a request before), dns, tcp, tls, upgrade.",
    ),
    _histogram(
        "tcp_rtt_seconds",
        PROVIDER,
        NET,
        "Smoothed round-trip time from TCP_INFO, sampled at zero.",
    ),
    _counter("tcp_retransmits_total", PROVIDER, "TCP segments retransmitted, from TCP_INFO."),
    _counter(
        "ws_messages_total",
        (*MODEL, "direction", "kind"),
        "Websocket messages by direction and by what they were.",
    ),
    _counter(
        "ws_closes_total",
        (*MODEL, "code"),
        "Connections ended, by the code of the provider's Close; none where it just broke off.",
    ),
    # This program: is it fit to measure?
    _histogram(
        "pacing_lateness_seconds",
        (),
        FINE,
        "How late each frame was handed to the socket against its due time.",
    ),
    _counter("frames_total", (), "Audio frames handed to a socket."),
    _counter("frames_late_total", (), "Audio frames handed to a socket more than 20 ms late."),
    # No send waits: what the kernel does not take at once is queued, and leaves behind the rest.
    # So there is no time spent in sending; that the other side holds us up shows in what is left.
    _histogram(
        "unsent_at_zero_bytes",
        PROVIDER,
        UNSENT,
        "What had not left this host at zero; more than one message of audio voids the session.",
    ),
    _histogram("loop_lag_seconds", (), FINE, "Delay between the due time and the run of a probe."),
    _histogram(
        "host_stall_seconds",
        (),
        FINE,
        "The longest that the host ran nothing, in each second, by a sentinel process of its own.",
    ),
    _histogram(
        "receive_gap_seconds",
        (),
        FINE,
        "From a message's arrival, stamped by the kernel, to the reading of it by this program.",
    ),
    _counter(
        "receive_unstamped_total",
        (),
        "Messages without a stamp of the kernel: they count from when this program read them.",
    ),
    _gauge(
        "host_allows",
        ("feature",),
        "1 where this host allows it, else 0; without a precise timer pacing is a plain sleep.",
    ),
    _histogram(
        "endpoint_trigger_duration_seconds",
        (),
        FINE,
        "From the frame that completes the endpoint to the force handed to the socket.",
    ),
    _gauge(
        "harness_healthy",
        (),
        "1 when pacing, loop, clock and journal are inside their limits, else 0.",
    ),
    _counter(
        "worker_restarts_total",
        ("cause",),
        "Workers replaced: died, hung (killed by this program), left (its records went nowhere).",
    ),
    _counter("journal_records_total", (), "Records written to the journal."),
    _counter("journal_bytes_total", (), "Bytes written to the journal."),
    _histogram("journal_fsync_duration_seconds", (), FINE, "Duration of fdatasync on the journal."),
    _counter(
        "journal_dropped_records_total",
        (),
        "Records lost before the journal or refused by the disk.",
    ),
    _gauge(
        "sink_queue_records",
        (),
        "Records waiting between the measuring process and the exporter process.",
    ),
    _counter(
        "endpoints_total",
        ("provider", "outcome"),
        "Ends of speech: detected, none (speech ran to the end), early (more speech followed).",
    ),
    _counter(
        "log_messages_total",
        ("level",),
        "Log events by level, also those below the level that is written.",
    ),
    Metric(
        "selftest_error_seconds",
        "gauge",
        ("measure", "streams", "statistic"),
        "Size of this harness's own error in the newest self-test.",
        from_start=False,
    ),
    _gauge(
        "selftest_verdict",
        ("fitness",),
        "1 for the verdict of the newest self-test, else 0; all 0 before the first.",
    ),
    _gauge(
        "selftest_timestamp_seconds",
        (),
        "Unix time of the newest self-test; 0 before the first.",
    ),
    # Runs, configuration, build.
    _counter("runs_total", ("schedule",), "Runs ended."),
    _counter("run_failures_total", ("schedule",), "Runs that ended without all their sessions."),
    _counter(
        "runs_missed_total",
        ("schedule", "provider", "why"),
        "Runs that were due and did not begin, by what kept them.",
    ),
    _histogram(
        "run_wait_seconds",
        PROVIDER,
        WAIT,
        "From the moment at which a run was due to its beginning; in no latency.",
    ),
    _gauge("next_run_timestamp_seconds", ("schedule",), "Unix time at which the next run is due."),
    _gauge("last_run_timestamp_seconds", ("schedule",), "Unix time at which the newest run ended."),
    _gauge("config_last_reload_successful", (), "1 if the newest configuration was taken, else 0."),
    _gauge(
        "config_last_reload_success_timestamp_seconds",
        (),
        "Unix time at which the newest configuration was taken.",
    ),
    Metric(
        "build_info",
        "info",
        ("version", "revision", "python", "onnxruntime", "silero_model", "normalizer"),
        "Always 1; labels describe the build.",
    ),
    Metric(
        "model_info",
        "info",
        (*MODEL, "api_version", "force_endpoint", "chunk_ms"),
        "Always 1; labels describe how a model is driven.",
    ),
)
"""The whole table, in the order in which it is served."""


def label_sets(
    metric: Metric, streams: Iterable[Stream], schedules: Iterable[str]
) -> list[tuple[str, ...]]:
    """Every set of label values that this metric has under a configuration; all start at 0."""
    if metric.kind == "info" or not metric.from_start:
        return []
    stream_labels = [label for label in metric.labels if label in STREAM]
    projected = dict.fromkeys(
        tuple(getattr(stream, label) for label in stream_labels) for stream in streams
    )
    others = [label for label in metric.labels if label not in STREAM]
    values = [tuple(schedules) if label == "schedule" else CLOSED[label] for label in others]
    found = []
    for from_stream in projected if stream_labels else [()]:
        for rest in product(*values):
            named = dict(zip([*stream_labels, *others], (*from_stream, *rest), strict=True))
            found.append(tuple(named[label] for label in metric.labels))
    return found
