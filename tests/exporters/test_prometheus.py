"""What is counted of each record; read as a scraper reads it."""

from collections.abc import Iterable
from typing import Any

import pytest
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from exporters.metric_table import CLOSED, METRICS, PREFIX, label_sets
from exporters.prometheus import Metrics
from exporters.settings import Stream
from measure.events import (
    Connected,
    Event,
    ForceSent,
    FrameSent,
    MessageReceived,
    NoSpeech,
    Notice,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    Transcript,
    Unread,
)
from measure.wire import frames_record, to_record
from tests.exporters.records import STREAM, S, finished, started

STREAMS = [Stream(**STREAM), Stream("other_one", "big", "calls", "fallback")]
MODEL = {"provider": "local", "model": "tiny"}
SCORED = {**MODEL, "dataset": "files", "mode": "streaming"}
MS = 1_000_000
MONEY = {"period": "day", "spent_usd": 1.0, "limit_usd": 2.0}


def fed(*records: dict[str, Any], schedules: Iterable[str] = ()) -> Metrics:
    metrics = Metrics(STREAMS, schedules)
    for record in records:
        metrics.take(record)
    return metrics


def heard(*events: Event) -> list[dict[str, Any]]:
    return [to_record(event, "s-1") for event in events]


def value(metrics: Metrics, name: str, **labels: str) -> float:
    """One sample, which must be there."""
    found = metrics.registry.get_sample_value(PREFIX + name, labels)
    assert found is not None, f"{name} {labels}"
    return found


def series(metrics: Metrics) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
    return {
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in metrics.registry.collect()
        if family.name.startswith(PREFIX)
        for sample in family.samples
    }


def test_every_series_that_can_be_is_there_from_the_start_at_zero() -> None:
    metrics = fed(schedules=["hourly"])
    for metric in METRICS:
        suffix = "_count" if metric.kind == "histogram" else ""
        for values in label_sets(metric, STREAMS, ["hourly"]):
            labels = dict(zip(metric.labels, values, strict=True))
            expected = float(metric.name in ("harness_healthy", "config_last_reload_successful"))
            assert value(metrics, metric.name + suffix, **labels) == expected, metric.name


def test_a_usable_session_is_counted_with_its_latencies() -> None:
    metrics = fed(started(), finished())
    assert value(metrics, "sessions_total", **STREAM) == 1
    assert value(metrics, "time_to_final_seconds_sum", **STREAM) == pytest.approx(0.3125)
    assert value(metrics, "time_to_final_seconds_bucket", **STREAM, le="0.25") == 0
    assert value(metrics, "time_to_final_seconds_bucket", **STREAM, le="0.315") == 1
    assert value(metrics, "time_to_first_partial_seconds_sum", **STREAM) == pytest.approx(0.101)
    flow = {**MODEL, "flow": "forced"}
    assert value(metrics, "final_selections_total", **flow, selection="forced_final") == 1
    assert value(metrics, "last_success_timestamp_seconds", **STREAM) == 1_700_000_007
    for reason in CLOSED["reason"]:
        assert value(metrics, "session_failures_total", **flow, reason=reason) == 0


def test_what_was_final_before_zero_is_observed_as_zero() -> None:
    early = finished(verdict="already_final", selection="already_final", time_to_final_ns=-7 * S)
    metrics = fed(early)
    assert value(metrics, "time_to_final_seconds_sum", **STREAM) == 0
    assert value(metrics, "time_to_final_seconds_bucket", **STREAM, le="0.0") == 1
    flow = {**MODEL, "flow": "forced"}
    assert value(metrics, "final_selections_total", **flow, selection="already_final") == 1


def test_missing_is_missing_and_never_zero() -> None:
    metrics = fed(finished(time_to_first_partial_ns=None, rtt_ns=None, score=None))
    assert value(metrics, "time_to_first_partial_seconds_count", **STREAM) == 0
    assert value(metrics, "tcp_rtt_seconds_count", provider="local") == 0
    assert value(metrics, "wer_audio_seconds_total", **SCORED, transcript="final") == 0


def test_a_failed_session_has_a_reason_and_no_latency() -> None:
    fault = {"whose": "provider", "kind": "rate", "detail": "HTTP 429", "retry_after_s": None}
    failed = finished(verdict="provider_error", selection=None, valid=False, fault=fault)
    metrics = fed(failed)
    flow = {**MODEL, "flow": "forced"}
    assert value(metrics, "sessions_total", **STREAM) == 1
    assert value(metrics, "session_failures_total", **flow, reason="rate") == 1
    assert value(metrics, "final_selections_total", **flow, selection="none") == 1
    assert value(metrics, "time_to_final_seconds_count", **STREAM) == 0
    assert value(metrics, "wer_audio_seconds_total", **SCORED, transcript="final") == 0
    assert value(metrics, "last_success_timestamp_seconds", **STREAM) == 0


def test_a_session_that_we_spoilt_publishes_nothing() -> None:
    """It has a selection and a value, and neither counts."""
    metrics = fed(finished(verdict="harness_late", valid=False))
    flow = {**MODEL, "flow": "forced"}
    assert value(metrics, "session_failures_total", **flow, reason="harness_late") == 1
    assert value(metrics, "time_to_final_seconds_count", **STREAM) == 0
    for selection in CLOSED["selection"]:
        assert value(metrics, "final_selections_total", **flow, selection=selection) == 0


def test_word_errors_are_weighted_by_audio_so_that_a_ratio_of_sums_is_the_rate() -> None:
    short = finished(audio_ms=1000.0)
    score = {"reference_words": 4, "substitutions": 2, "insertions": 1, "deletions": 1}
    long = finished(audio_ms=3000.0, score=score)
    metrics = fed(short, long)
    final = {**SCORED, "transcript": "final"}
    assert value(metrics, "wer_weighted_audio_seconds_total", **final) == pytest.approx(3.2)
    assert value(metrics, "wer_audio_seconds_total", **final) == pytest.approx(4)
    assert value(metrics, "reference_words_total", **final) == 14
    for operation, count in (("substitution", 3), ("insertion", 1), ("deletion", 2)):
        assert value(metrics, "word_errors_total", **final, operation=operation) == count
    first = {**SCORED, "transcript": "first_partial"}
    assert value(metrics, "wer_weighted_audio_seconds_total", **first) == pytest.approx(2)


def test_of_no_reference_words_there_is_no_rate_but_insertions_count() -> None:
    score = {"reference_words": 0, "substitutions": 0, "insertions": 3, "deletions": 0}
    metrics = fed(finished(score=score))
    final = {**SCORED, "transcript": "final"}
    assert value(metrics, "wer_audio_seconds_total", **final) == 0
    assert value(metrics, "word_errors_total", **final, operation="insertion") == 3


def test_frames_count_with_their_lateness_and_their_audio() -> None:
    sent = [
        FrameSent(0, 0, 20.0),
        FrameSent(20 * MS, 20 * MS, 40.0),  # on the spot
        FrameSent(60 * MS, 40 * MS, 60.0),  # exactly one frame late: not yet counted
        FrameSent(81 * MS, 60 * MS, 80.0),
        FrameSent(79 * MS, 80 * MS, 100.0),  # early
    ]
    metrics = fed(started(), frames_record(sent, "s-1"), frames_record(sent[-1:], "s-1"))
    assert value(metrics, "frames_total") == 6
    assert value(metrics, "frames_late_total") == 1
    assert value(metrics, "pacing_lateness_seconds_sum") == pytest.approx(0.041)
    assert value(metrics, "pacing_lateness_seconds_bucket", le="0.0001") == 4
    sent_s = value(metrics, "audio_sent_seconds_total", **MODEL, mode="streaming")
    assert sent_s == pytest.approx(0.1)
    audio = {**MODEL, "direction": "sent", "kind": "audio"}
    assert value(metrics, "ws_messages_total", **audio) == 6


def test_opening_is_counted_by_phase_and_a_phase_that_was_not_is_not() -> None:
    opened = Connected(1, None, 3 * MS, 10 * MS, None, 20 * MS, "127.0.0.1:80")
    metrics = fed(started(), *heard(opened))
    count = {
        phase: value(metrics, "connect_duration_seconds_count", provider="local", phase=phase)
        for phase in CLOSED["phase"]
    }
    assert count == {"prepare": 0, "dns": 1, "tcp": 1, "tls": 0, "upgrade": 1}


def test_a_received_message_counts_once_as_the_weightiest_of_what_it_said() -> None:
    story = [
        *heard(MessageReceived(1, "{}"), Transcript(1, "a", final=False)),
        *heard(MessageReceived(2, "{}"), Transcript(2, "a", final=True), Notice(2, "usage")),
        *heard(MessageReceived(3, "{}"), Notice(3, "hello")),
        *heard(MessageReceived(4, "{}"), Unread(4, "?")),
        *heard(MessageReceived(5, "{}")),
        *heard(ForceSent(6, 6)),
    ]
    metrics = fed(started(), *story, finished())
    received = {
        kind: value(metrics, "ws_messages_total", **MODEL, direction="received", kind=kind)
        for kind in CLOSED["kind"]
    }
    assert received == {"audio": 0, "control": 1, "partial": 1, "final": 1, "error": 0, "other": 2}
    assert value(metrics, "ws_messages_total", **MODEL, direction="sent", kind="control") == 1


def test_ends_of_speech_count_by_how_they_came() -> None:
    story = heard(SpeechEnd(1, 10.0, 20.0), SpeechStart(2, 30.0, 40.0), SpeechStart(3, 50.0, 60.0))
    story += heard(SpeechEnd(4, 70.0, 80.0, at_eof=True), NoSpeech(5))
    metrics = fed(started(), *story)
    outcomes = {
        outcome: value(metrics, "endpoints_total", provider="local", outcome=outcome)
        for outcome in CLOSED["outcome"]
    }
    assert outcomes == {"detected": 1, "early": 1, "none": 2}


def test_what_a_session_cost_counts_whether_or_not_it_was_usable() -> None:
    metrics = fed(finished(), finished(verdict="no_final", valid=False))
    dollars = value(metrics, "billed_cost_dollars_total", **MODEL, mode="streaming")
    assert dollars == pytest.approx(0.001)
    assert value(metrics, "tcp_retransmits_total", provider="local") == 4
    assert value(metrics, "tcp_rtt_seconds_count", provider="local") == 2
    assert value(metrics, "endpoint_trigger_duration_seconds_count") == 2


def test_sessions_are_active_from_start_to_finish() -> None:
    metrics = fed(started("s-1"), started("s-2"))
    assert value(metrics, "sessions_active", provider="local") == 2
    metrics.take(finished("s-1"))
    assert value(metrics, "sessions_active", provider="local") == 1


def test_a_session_whose_end_was_lost_is_over_with_its_run() -> None:
    metrics = fed(started("s-1"), started("s-2", run_id="r-2"))
    metrics.take({"k": "run_finished", "t": 9, "run_id": "r-1"})
    assert value(metrics, "sessions_active", provider="local") == 1


def test_runs_count_by_schedule_and_a_run_by_hand_does_not() -> None:
    run = {"k": "run_finished", "t": 9, "run_id": "r", "wall_unix_ns": 17 * S}
    metrics = fed(
        run,
        {**run, "schedule": "hourly"},
        {**run, "schedule": "hourly", "complete": False},
        schedules=["hourly"],
    )
    assert value(metrics, "runs_total", schedule="hourly") == 2
    assert value(metrics, "run_failures_total", schedule="hourly") == 1
    assert value(metrics, "last_run_timestamp_seconds", schedule="hourly") == 17


def test_a_connection_is_counted_by_the_code_of_its_close() -> None:
    closed = [StreamClosed(1, code) for code in (1000, 1011, 1011, None, 4321)]
    metrics = fed(started(), *heard(*closed))
    counts = {
        code: value(metrics, "ws_closes_total", **MODEL, code=code)
        for code in ("1000", "1011", "none", "other", "1008")
    }
    assert counts == {"1000": 1, "1011": 2, "none": 1, "other": 1, "1008": 0}


def test_how_long_a_run_waited_and_why_others_never_began() -> None:
    job = {"t": 9, "schedule": "hourly", "provider": "local", "model": "m", "dataset": "d"}
    metrics = fed(
        {"k": "job_begun", **job, "waited_ns": 3 * S},
        {"k": "job_missed", **job, "why": "provider_busy"},
        {"k": "job_missed", **job, "why": "not_running", "count": 40},
        {"k": "job_missed", **job, "why": "who knows"},
        schedules=["hourly"],
    )
    labels = {"schedule": "hourly", "provider": "local"}
    assert value(metrics, "run_wait_seconds_sum", provider="local") == 3
    assert value(metrics, "run_wait_seconds_bucket", provider="local", le="2.5") == 0
    assert value(metrics, "runs_missed_total", **labels, why="provider_busy") == 1
    assert value(metrics, "runs_missed_total", **labels, why="not_running") == 40
    assert value(metrics, "runs_missed_total", **labels, why="other") == 1


def test_workers_that_were_replaced_are_counted_by_what_had_become_of_them() -> None:
    causes = ("hung", "hung", "died", "who knows")
    metrics = fed(*({"k": "worker_restarts", "t": 1, "cause": cause} for cause in causes))
    counts = {
        cause: value(metrics, "worker_restarts_total", cause=cause)
        for cause in ("died", "hung", "left", "other")
    }
    assert counts == {"died": 1, "hung": 2, "left": 0, "other": 1}


def test_budgets_are_shown_while_they_are_there() -> None:
    def budget(who: str, limit_usd: float | None) -> dict[str, Any]:
        return {"who": who, "period": "day", "spent_usd": 0.25, "limit_usd": limit_usd}

    budgets = [budget("local", 2.0), budget("all providers", 5.0), budget("other_one", None)]
    metrics = fed({"k": "spending", "t": 1, "budgets": budgets})
    day = {"period": "day"}
    assert value(metrics, "budget_spent_dollars", who="local", **day) == 0.25
    assert value(metrics, "budget_limit_dollars", who="local", **day) == 2
    assert value(metrics, "budget_limit_dollars", who="all providers", **day) == 5
    metrics.take({"k": "spending", "t": 2, "budgets": [budget("local", 2.0)]})
    left = {labels for name, labels in series(metrics) if "budget_" in name}
    assert {dict(labels)["who"] for labels in left} == {"local"}


def test_a_heartbeat_says_how_the_measuring_process_is() -> None:
    beat = {
        "k": "heartbeat",
        "t": 1,
        "healthy": False,
        "waiting": 12,
        "loop_lag_ns": [1 * MS, 2 * MS],
        "host_late_max_ns": 7 * MS,
    }
    agenda = {"k": "agenda", "t": 1, "next_run_unix_s": {"hourly": 1234.5}}
    metrics = fed(beat, agenda, schedules=["hourly"])
    assert value(metrics, "harness_healthy") == 0
    assert value(metrics, "sink_queue_records") == 12
    assert value(metrics, "loop_lag_seconds_sum") == pytest.approx(0.003)
    assert value(metrics, "host_stall_seconds_sum") == pytest.approx(0.007)
    assert value(metrics, "next_run_timestamp_seconds", schedule="hourly") == 1234.5
    metrics.take({"k": "heartbeat", "t": 2})
    assert value(metrics, "harness_healthy") == 1


def test_what_had_not_left_this_host_at_zero_is_told_and_none_is_not_0() -> None:
    metrics = fed(*(finished(f"s-{n}", unsent_bytes=n) for n in (0, 640, 641, None)))
    name = "unsent_at_zero_bytes"
    assert value(metrics, f"{name}_count", provider="local") == 3
    assert value(metrics, f"{name}_sum", provider="local") == 1281
    assert value(metrics, f"{name}_bucket", provider="local", le="0.0") == 1
    assert value(metrics, f"{name}_bucket", provider="local", le="640.0") == 2


def test_a_host_without_a_precise_timer_shows_it() -> None:
    metrics = fed({"k": "host_prepared", "t": 1, "real_time": True, "precise_timer": False})
    assert value(metrics, "host_allows", feature="real_time") == 1
    assert value(metrics, "host_allows", feature="precise_timer") == 0
    assert value(metrics, "host_allows", feature="memory_locked") == 0


def test_from_the_arrival_of_a_message_to_our_reading_is_told() -> None:
    message = {"k": "message_received", "t": 5 * MS, "s": "s-1", "raw": "{}"}
    metrics = fed(started(), {**message, "read_ns": 6 * MS}, {**message, "read_ns": None})
    assert value(metrics, "receive_gap_seconds_sum") == pytest.approx(0.001)
    assert value(metrics, "receive_gap_seconds_count") == 1
    assert value(metrics, "receive_unstamped_total") == 1


def test_the_journal_counts_as_it_stands_and_a_full_one_is_unhealthy() -> None:
    metrics = fed({"k": "records_lost", "t": 1, "count": 5, "why": "handoff_full"})
    metrics.journal_stands(10, 1000, 0, full=False)
    metrics.journal_stands(15, 1500, 2, full=True)
    metrics.journal_synced(3 * MS)
    assert value(metrics, "journal_records_total") == 15
    assert value(metrics, "journal_bytes_total") == 1500
    assert value(metrics, "journal_dropped_records_total") == 7
    assert value(metrics, "harness_healthy") == 0
    assert value(metrics, "journal_fsync_duration_seconds_sum") == pytest.approx(0.003)


def test_log_lines_count_by_level() -> None:
    said = {"k": "log", "t": 1, "event": "said"}
    metrics = fed(*({**said, "level": level} for level in ("error", "error", "odd")))
    assert value(metrics, "log_messages_total", level="error") == 2
    assert value(metrics, "log_messages_total", level="info") == 1
    metrics.take(finished())
    assert value(metrics, "log_messages_total", level="info") == 2


def test_the_build_and_how_a_model_is_driven_are_labels_of_ones() -> None:
    driven = {**MODEL, "api_version": "v1", "force_endpoint": "marker", "chunk_ms": "20"}
    metrics = Metrics(build={"version": "0.1.0", "python": "3.11"}, models=[driven])
    assert value(metrics, "model_info", **driven) == 1
    unsaid = dict.fromkeys(("revision", "onnxruntime", "silero_model", "normalizer"), "")
    assert value(metrics, "build_info", version="0.1.0", python="3.11", **unsaid) == 1


def test_a_target_that_is_no_longer_configured_takes_its_series_with_it() -> None:
    metrics = fed(started(), finished())
    kept = Stream("other_one", "big", "calls", "fallback")
    new = Stream("new", "n", "calls", "forced")
    streams = [
        {"provider": s.provider, "model": s.model, "dataset": s.dataset, "flow": s.flow}
        for s in (kept, new)
    ]
    configured = {"k": "configured", "t": 9, "successful": True, "streams": streams}
    metrics.take({**configured, "schedules": [], "wall_unix_ns": 5 * S})
    assert series(metrics) == series(Metrics([kept, new]))
    assert value(metrics, "config_last_reload_success_timestamp_seconds") == 5


def test_a_configuration_that_was_refused_changes_nothing_but_says_so() -> None:
    metrics = fed(started(), finished())
    before = series(metrics)
    metrics.take({"k": "configured", "t": 9, "successful": False})
    assert value(metrics, "config_last_reload_successful") == 0
    assert series(metrics) == before
    assert value(metrics, "sessions_total", **STREAM) == 1


def test_what_is_not_configured_counts_as_other() -> None:
    foreign = {"provider": "x", "model": "y", "dataset": "z", "flow": "forced"}
    metrics = fed(finished(**foreign))
    assert value(metrics, "sessions_total", **dict.fromkeys(foreign, "other")) == 1


def odd(i: int) -> list[dict[str, Any]]:
    """Records in which every word that comes from outside is one that nobody has heard of."""
    names = ("provider", "model", "dataset", "flow", "verdict", "selection", "transcript", "run_id")
    words = {name: f"odd-{name}-{i}" for name in names}
    fault = {"whose": "odd", "kind": f"odd-{i}", "detail": f"odd-{i}"}
    return [
        started(f"odd-{i}", **words),
        to_record(Transcript(1, f"odd-{i}", final=True, segment=f"odd-{i}"), f"odd-{i}"),
        to_record(Unread(1, f"odd-{i}"), f"odd-{i}"),
        finished(f"odd-{i}", **words, valid=True),
        finished(f"odd-{i}", **words, valid=False, fault=fault),
        finished(f"odd-{i}", **{**words, "verdict": "provider_error"}, valid=False, fault=fault),
        finished(f"odd-{i}", **{**words, "verdict": "forced_final"}, valid=True),
        {"k": "log", "t": 1, "level": f"odd-{i}", "event": f"odd-{i}"},
        {"k": "run_finished", "t": 1, "schedule": f"odd-{i}", "wall_unix_ns": 1},
        {"k": "heartbeat", "t": 1, "next_run_unix_s": {f"odd-{i}": 1}},
        {"k": "job_begun", "t": 1, "provider": f"odd-{i}", "waited_ns": 1},
        {
            "k": "job_missed",
            "t": 1,
            "schedule": f"odd-{i}",
            "provider": f"odd-{i}",
            "why": f"o-{i}",
        },
        {"k": "spending", "t": 1, "budgets": [{**MONEY, "who": f"odd-{i}"}]},
        {"k": f"odd-{i}", "t": 1},
    ]


def test_nothing_that_comes_in_makes_the_number_of_series_grow() -> None:
    metrics = fed(*odd(0))
    before = series(metrics)
    for i in range(1, 100):
        for record in odd(i):
            metrics.take(record)
    assert series(metrics) == before
    assert "odd" not in str(before)


def test_no_session_id_becomes_a_label_but_it_is_an_exemplar() -> None:
    metrics = fed(started(), finished())
    assert all("s-1" not in dict(labels).values() for _, labels in series(metrics))
    page = generate_latest(metrics.registry)  # type: ignore[no-untyped-call]
    families = text_string_to_metric_families(page.decode())  # type: ignore[no-untyped-call]
    exemplars = {
        (sample.name, sample.exemplar.labels["session_id"])
        for family in families
        for sample in family.samples
        if sample.exemplar
    }
    assert (PREFIX + "time_to_final_seconds_bucket", "s-1") in exemplars


def test_a_session_id_too_long_for_an_exemplar_is_left_out() -> None:
    metrics = fed(finished("x" * 200))
    assert value(metrics, "time_to_final_seconds_count", **STREAM) == 1


def test_a_session_that_nobody_began_is_counted_all_the_same() -> None:
    story = heard(MessageReceived(1, "{}"), Transcript(1, "a", final=True), ForceSent(1, 1))
    story += heard(SpeechEnd(1, 1.0, 1.0), SpeechStart(1, 1.0, 1.0), NoSpeech(1))
    story += heard(Connected(1, None, None, 1, None, 1, "::1"))
    sent = frames_record([FrameSent(1, 1, 20.0)], "s-1")
    metrics = fed(*story, sent, finished())
    assert value(metrics, "sessions_total", **STREAM) == 1
    assert value(metrics, "frames_total") == 1
    assert value(metrics, "audio_sent_seconds_total", **MODEL, mode="streaming") == 0


def test_open_sessions_whose_ends_are_lost_do_not_pile_up() -> None:
    metrics = fed(*(started(f"s-{i}") for i in range(1_020)))
    assert value(metrics, "sessions_active", provider="local") == 1_000


def test_no_series_says_when_it_was_created() -> None:
    assert not [name for name, _ in series(fed(finished())) if name.endswith("_created")]
