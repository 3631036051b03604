"""The metrics: a registry built from the table, and fed from records.

Fed with what the measuring process hands over and nothing else; every series that a configuration
can have is there from the start, at 0, and none besides.
"""

from collections.abc import Callable, Iterable, Mapping
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

from exporters.logs import LINES
from exporters.metric_table import (
    CLOSED,
    CONFIGURED,
    EVERYONE,
    METRICS,
    NONE,
    OTHER,
    PREFIX,
    Metric,
    label_sets,
)
from exporters.reasons import ours, reason
from exporters.settings import Stream, streams_of
from measure.records import MS, SECOND
from measure.wire import frames_of

Fields = Mapping[str, Any]
LATE_NS = 20 * MS
MODE = "streaming"
_MESSAGE_KINDS = {
    "transcript": "partial",
    "force_acknowledged": "control",
    "force_rejected": "error",
    "notice": "control",
    "stream_ready": "control",
    "stream_done": "control",
    "failed": "error",
}
"""What a received message was, by the event that its codec made of it."""
_WEIGHT = ("other", "control", "partial", "final", "error")
"""Where a message made several events, the later word here names it."""
_OPEN_AT_MOST = 1000
"""How many open sessions are remembered."""
_EXEMPLAR_CHARACTERS = 128
"""What OpenMetrics allows for all of an exemplar's labels."""


class Metrics:
    """Everything that is counted. ``take`` may be called from one thread, scrapes from any."""

    def __init__(
        self,
        streams: Iterable[Stream] = (),
        schedules: Iterable[str] = (),
        build: Mapping[str, str] | None = None,
        models: Iterable[Mapping[str, str]] = (),
    ) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._metrics = {metric.name: _made(metric, self.registry) for metric in METRICS}
        self._labels = {metric.name: metric.labels for metric in METRICS}
        self._known: dict[str, set[tuple[str, ...]]] = {metric.name: set() for metric in METRICS}
        self._open: dict[str, _Session] = {}
        self._budgeted: set[tuple[str, str]] = set()
        self._healthy = True
        self._journal_full = False
        self._journal_counts = (0, 0, 0)
        self._takes: dict[str, Callable[[Fields], None]] = {
            "session_started": self._session_started,
            "turn_finished": self._turn_finished,
            "session_finished": self._session_finished,
            "run_finished": self._run_finished,
            "job_begun": self._job_begun,
            "job_missed": self._job_missed,
            "spending": self._spending,
            "frames": self._frames,
            "connected": self._connected,
            "message_received": self._message_received,
            "force_sent": self._force_sent,
            "speech_start": self._speech_start,
            "speech_end": self._speech_end,
            "no_speech": self._no_speech,
            "stream_closed": self._stream_closed,
            "host_prepared": self._host_prepared,
            "agenda": self._agenda,
            "heartbeat": self._heartbeat,
            "records_lost": self._records_lost,
            "configured": self._configured,
            "selftest": self._selftest,
            **dict.fromkeys(_MESSAGE_KINDS, self._message_read),
        }
        self.configure(streams, schedules)
        self._info("build_info", build)
        self._show_models(models)
        self._child("config_last_reload_successful").set(1)
        self._child("harness_healthy").set(1)

    def take(self, record: Fields) -> None:
        """Count one record; kinds that count nothing are skipped.

        Raises KeyError, TypeError or ValueError for a record that is not what its kind says.
        """
        take = self._takes.get(record["k"])
        if take is not None:
            take(record)
        if record["k"] in LINES:
            self._lines(record)

    def configure(self, streams: Iterable[Stream], schedules: Iterable[str]) -> None:
        """Start the series of what is now configured at 0, and end those of what no longer is."""
        streams, schedules = list(streams), list(schedules)
        for metric in METRICS:
            if metric.kind == "info" or not metric.labels:
                continue
            wanted = set(label_sets(metric, streams, schedules))
            family = self._metrics[metric.name]
            for gone in self._known[metric.name] - wanted:
                family.remove(*gone)
            for new in wanted - self._known[metric.name]:
                family.labels(*new)
            self._known[metric.name] = wanted

    def journal_stands(self, records: int, size: int, lost: int, *, full: bool) -> None:
        """How much the journal has written and lost by now, and whether it is full."""
        stands = (records, size, lost)
        names = ("journal_records_total", "journal_bytes_total", "journal_dropped_records_total")
        for name, now, before in zip(names, stands, self._journal_counts, strict=True):
            self._child(name).inc(now - before)
        self._journal_counts = stands
        self._journal_full = full
        self._show_health()

    def journal_synced(self, duration_ns: int) -> None:
        self._child("journal_fsync_duration_seconds").observe(duration_ns / SECOND)

    def _child(self, name: str, **labels: str) -> Any:  # noqa: ANN401
        """The series with these labels; the one of ``other`` for what is not configured."""
        family = self._metrics[name]
        if not labels:
            return family
        values = tuple(labels[label] for label in self._labels[name])
        if values not in self._known[name]:
            values = tuple(_admitted(label, labels[label]) for label in self._labels[name])
        return family.labels(*values)

    def _info(self, name: str, labels: Mapping[str, str] | None) -> None:
        if labels:
            values = [str(labels.get(label, "")) for label in self._labels[name]]
            self._metrics[name].labels(*values).set(1)

    def _session_started(self, record: Fields) -> None:
        self._open[record["s"]] = _Session(
            {label: str(record[label]) for label in ("provider", "model", "dataset", "flow")},
            record.get("run_id"),
        )
        if len(self._open) > _OPEN_AT_MOST:  # the ends of so many were lost on the way
            del self._open[next(iter(self._open))]
        self._show_active()

    def _session_finished(self, record: Fields) -> None:
        session = self._open.pop(record["s"], None)
        if session is not None:
            self._count_message(session)
            self._show_active()
        stream = {label: str(record[label]) for label in ("provider", "model", "dataset", "flow")}
        flow = {label: stream[label] for label in ("provider", "model", "flow")}
        self._child("sessions_total", **stream).inc()
        why = reason(record["verdict"], record.get("fault"))
        if why is not None:
            self._child("session_failures_total", **flow, reason=why).inc()
        if not ours(record["verdict"]):
            selection = record["selection"] if why is None else NONE
            self._child("final_selections_total", **flow, selection=selection or NONE).inc()
        if record["valid"]:
            self._result(record, stream)
        self._expense(record, stream["provider"], stream["model"])

    def _turn_finished(self, record: Fields) -> None:
        """A turn before the last of a session: it is no session, but its answer counts."""
        stream = {label: str(record[label]) for label in ("provider", "model", "dataset", "flow")}
        if record["valid"]:
            self._result(record, stream)

    def _result(self, record: Fields, stream: dict[str, str]) -> None:
        """What is published of a usable session: latencies, words, when it was."""
        exemplar = _exemplar(record["s"])
        for name in ("time_to_final", "time_to_first_partial"):
            value_ns = record[f"{name}_ns"]
            if value_ns is not None:  # before zero is 0: a negative sum would look like a restart
                seconds = max(0, value_ns) / SECOND
                self._child(f"{name}_seconds", **stream).observe(seconds, exemplar)
        self._child("last_success_timestamp_seconds", **stream).set(record["wall_unix_ns"] / SECOND)
        audio_s = record["audio_ms"] / 1000
        self._words(record.get("score"), stream, "final", audio_s)
        self._words(record.get("first_partial_score"), stream, "first_partial", audio_s)

    def _words(
        self, score: Fields | None, stream: dict[str, str], transcript: str, audio_s: float
    ) -> None:
        if score is None:
            return
        labels = {label: stream[label] for label in ("provider", "model", "dataset")}
        labels |= {"mode": MODE, "transcript": transcript}
        edits = {name: score[f"{name}s"] for name in CLOSED["operation"]}
        for operation, count in edits.items():
            self._child("word_errors_total", **labels, operation=operation).inc(count)
        words = score["reference_words"]
        if words > 0:  # of no words there is no rate
            rate = sum(edits.values()) / words
            self._child("wer_weighted_audio_seconds_total", **labels).inc(rate * audio_s)
            self._child("wer_audio_seconds_total", **labels).inc(audio_s)
            self._child("reference_words_total", **labels).inc(words)

    def _expense(self, record: Fields, provider: str, model: str) -> None:
        """What every session costs and shows of the network, usable or not."""
        if record.get("cost_usd") is not None:
            billed = self._child("billed_cost_dollars_total", **_streaming(provider, model))
            billed.inc(record["cost_usd"])
        if record.get("rtt_ns") is not None:
            rtt = self._child("tcp_rtt_seconds", provider=provider)
            rtt.observe(record["rtt_ns"] / SECOND)
        if record.get("retransmits") is not None:
            self._child("tcp_retransmits_total", provider=provider).inc(record["retransmits"])
        if record.get("force_delay_ns") is not None:
            delay_s = max(0, record["force_delay_ns"]) / SECOND
            self._child("endpoint_trigger_duration_seconds").observe(delay_s)

    def _run_finished(self, record: Fields) -> None:
        """Besides counting: what is still open of this run was lost on the way."""
        run_id = record.get("run_id")
        self._open = {s: open_ for s, open_ in self._open.items() if open_.run_id != run_id}
        self._show_active()
        schedule = record.get("schedule")
        if schedule is None:
            return  # run by hand
        self._child("runs_total", schedule=schedule).inc()
        if not record.get("complete", True):
            self._child("run_failures_total", schedule=schedule).inc()
        if record.get("wall_unix_ns") is not None:
            last = self._child("last_run_timestamp_seconds", schedule=schedule)
            last.set(record["wall_unix_ns"] / SECOND)

    def _job_begun(self, record: Fields) -> None:
        wait = self._child("run_wait_seconds", provider=str(record["provider"]))
        wait.observe(max(0, record["waited_ns"]) / SECOND)

    def _job_missed(self, record: Fields) -> None:
        labels = {label: str(record[label]) for label in ("schedule", "provider")}
        why = _admitted("why", str(record["why"]))
        self._child("runs_missed_total", **labels, why=why).inc(record.get("count", 1))

    def _spending(self, record: Fields) -> None:
        """What is spent of each budget there is; one that is no longer there takes its series."""
        whose = {EVERYONE} | {provider for (provider,) in self._known["sessions_active"]}
        budgets = {
            (b["who"] if b["who"] in whose else OTHER, b["period"]): b
            for b in record["budgets"]
            if b["period"] in CLOSED["period"] and b.get("limit_usd") is not None
        }
        for name, key in (
            ("budget_spent_dollars", "spent_usd"),
            ("budget_limit_dollars", "limit_usd"),
        ):
            family = self._metrics[name]
            for gone in self._budgeted - set(budgets):
                family.remove(*gone)
            for labels, budget in budgets.items():
                family.labels(*labels).set(budget[key])
        self._budgeted = set(budgets)

    def _frames(self, record: Fields) -> None:
        frames = frames_of(record)
        lateness = self._child("pacing_lateness_seconds")
        for frame in frames:
            lateness.observe(max(0, frame.at_ns - frame.due_ns) / SECOND)
        self._child("frames_total").inc(len(frames))
        late = sum(frame.at_ns - frame.due_ns > LATE_NS for frame in frames)
        self._child("frames_late_total").inc(late)
        session = self._open.get(record["s"])
        if session is None:
            return
        sent_ms = frames[-1].audio_ms
        audio = self._child("audio_sent_seconds_total", **_streaming(**session.model))
        audio.inc(max(0.0, sent_ms - session.sent_ms) / 1000)
        session.sent_ms = max(session.sent_ms, sent_ms)
        self._message(session, "sent", "audio", len(frames))

    def _connected(self, record: Fields) -> None:
        session = self._open.get(record["s"])
        if session is None:
            return
        for phase in CLOSED["phase"]:
            if record.get(f"{phase}_ns") is not None:
                self._child(
                    "connect_duration_seconds", provider=session.model["provider"], phase=phase
                ).observe(record[f"{phase}_ns"] / SECOND)

    def _message(self, session: "_Session", direction: str, kind: str, count: int = 1) -> None:
        labels = {"direction": direction, "kind": kind}
        self._child("ws_messages_total", **session.model, **labels).inc(count)

    def _force_sent(self, record: Fields) -> None:
        if (session := self._open.get(record["s"])) is not None:
            self._message(session, "sent", "control")

    def _message_received(self, record: Fields) -> None:
        """Count the one before: what it was is known only from the events that follow it."""
        if record.get("read_ns") is None:
            self._child("receive_unstamped_total").inc()
        else:
            gap_s = max(0, record["read_ns"] - record["t"]) / SECOND
            self._child("receive_gap_seconds").observe(gap_s)
        if (session := self._open.get(record["s"])) is not None:
            self._count_message(session)
            session.message = "other"

    def _message_read(self, record: Fields) -> None:
        session = self._open.get(record["s"])
        if session is None or session.message is None:
            return
        kind = "final" if record.get("final") else _MESSAGE_KINDS[record["k"]]
        session.message = max(session.message, kind, key=_WEIGHT.index)

    def _count_message(self, session: "_Session") -> None:
        if session.message is not None:
            self._message(session, "received", session.message)
            session.message = None

    def _endpoint(self, session: "_Session", outcome: str) -> None:
        provider = session.model["provider"]
        self._child("endpoints_total", provider=provider, outcome=outcome).inc()

    def _speech_start(self, record: Fields) -> None:
        session = self._open.get(record["s"])
        if session is not None and session.speech_ended:
            session.speech_ended = False
            self._endpoint(session, "early")

    def _speech_end(self, record: Fields) -> None:
        if (session := self._open.get(record["s"])) is not None:
            session.speech_ended = True
            self._endpoint(session, "none" if record.get("at_eof") else "detected")

    def _no_speech(self, record: Fields) -> None:
        if (session := self._open.get(record["s"])) is not None:
            self._endpoint(session, "none")

    def _stream_closed(self, record: Fields) -> None:
        if (session := self._open.get(record["s"])) is not None:
            code = _admitted("code", str(record.get("code") or NONE))
            self._child("ws_closes_total", **session.model, code=code).inc()

    def _host_prepared(self, record: Fields) -> None:
        for feature in CLOSED["feature"]:
            self._child("host_allows", feature=feature).set(int(bool(record.get(feature))))

    def _heartbeat(self, record: Fields) -> None:
        """The measuring process's own health; every field may be missing.

        ``healthy`` (bool), ``waiting`` (records), ``loop_lag_ns`` and ``vad_ns`` (lists),
        ``host_late_max_ns`` (of the sentinel, since the last heartbeat),
        ``send_blocked_ns`` (provider: list).
        """
        self._healthy = bool(record.get("healthy", True))
        self._show_health()
        self._child("sink_queue_records").set(record.get("waiting", 0))
        for value_ns in record.get("loop_lag_ns", ()):
            self._child("loop_lag_seconds").observe(max(0, value_ns) / SECOND)
        if record.get("host_late_max_ns") is not None:
            self._child("host_stall_seconds").observe(record["host_late_max_ns"] / SECOND)
        for value_ns in record.get("vad_ns", ()):
            self._child("vad_inference_duration_seconds").observe(value_ns / SECOND)
        for provider, values_ns in record.get("send_blocked_ns", {}).items():
            for value_ns in values_ns:
                blocked = self._child("send_blocked_seconds", provider=provider)
                blocked.observe(value_ns / SECOND)

    def _agenda(self, record: Fields) -> None:
        for schedule, moment in record["next_run_unix_s"].items():
            self._child("next_run_timestamp_seconds", schedule=schedule).set(moment)

    def _records_lost(self, record: Fields) -> None:
        self._child("journal_dropped_records_total").inc(record["count"])

    def _configured(self, record: Fields) -> None:
        """A new configuration: taken, with its ``streams`` and ``schedules``, or refused."""
        taken = bool(record["successful"])
        self._child("config_last_reload_successful").set(int(taken))
        if taken:
            self.configure(streams_of(record["streams"]), record["schedules"])
            self._show_models(record.get("models", ()))
            moment = self._child("config_last_reload_success_timestamp_seconds")
            moment.set(record["wall_unix_ns"] / SECOND)

    def _show_models(self, models: Iterable[Mapping[str, str]]) -> None:
        self._metrics["model_info"].clear()
        for model in models:
            self._info("model_info", model)

    def _selftest(self, record: Fields) -> None:
        """What this harness adds to a number, as its newest self-test found it.

        ``verdict``, ``wall_unix_ns``, and ``levels``: of each, ``streams``, ``final_error`` and
        ``partial_error`` with their ``size``. Of too few sessions there is no p99.
        """
        self._metrics["selftest_error_seconds"].clear()
        for level in record["levels"]:
            for name, key in (
                ("time_to_final", "final_error"),
                ("time_to_first_partial", "partial_error"),
            ):
                self._show_error(name, str(level["streams"]), level[key]["size"])
        for fitness in CLOSED["fitness"]:
            self._child("selftest_verdict", fitness=fitness).set(int(fitness == record["verdict"]))
        moment = self._child("selftest_timestamp_seconds")
        moment.set(record["wall_unix_ns"] / SECOND)

    def _show_error(self, name: str, streams: str, size: Fields) -> None:
        labels = {"measure": name, "streams": streams}
        for statistic in CLOSED["statistic"]:
            size_ns = size[f"{statistic}_ns"]
            if size_ns is not None:
                error = self._child("selftest_error_seconds", **labels, statistic=statistic)
                error.set(size_ns / SECOND)

    def _lines(self, record: Fields) -> None:
        """Everything that the log tells of it, whatever else it counts as."""
        for line in LINES[record["k"]](record):
            known = line.level if line.level in CLOSED["level"] else "info"
            self._child("log_messages_total", level=known).inc()

    def _show_active(self) -> None:
        for (provider,) in self._known["sessions_active"]:
            count = sum(open_.model["provider"] == provider for open_ in self._open.values())
            self._child("sessions_active", provider=provider).set(count)

    def _show_health(self) -> None:
        self._child("harness_healthy").set(int(self._healthy and not self._journal_full))


class _Session:
    """What has to be remembered of a session while it is open."""

    __slots__ = ("message", "model", "run_id", "sent_ms", "speech_ended")

    def __init__(self, stream: dict[str, str], run_id: object) -> None:
        self.model = {label: stream[label] for label in ("provider", "model")}
        self.run_id = run_id
        self.sent_ms = 0.0
        self.speech_ended = False
        self.message: str | None = None


def _made(metric: Metric, registry: CollectorRegistry) -> Any:  # noqa: ANN401
    name = PREFIX + metric.name
    if metric.kind == "counter":
        return Counter(name, metric.help, metric.labels, registry=registry)
    if metric.kind == "histogram":
        return Histogram(
            name, metric.help, metric.labels, buckets=metric.buckets, registry=registry
        )
    return Gauge(name, metric.help, metric.labels, registry=registry)


def _admitted(label: str, value: str) -> str:
    """A label value that cannot make the number of series grow."""
    if label in CONFIGURED:
        return OTHER
    return value if value in CLOSED[label] else OTHER


def _streaming(provider: str, model: str) -> dict[str, str]:
    return {"provider": provider, "model": model, "mode": MODE}


def _exemplar(session_id: str) -> dict[str, str] | None:
    exemplar = {"session_id": session_id}
    fits = sum(map(len, (*exemplar, *exemplar.values()))) <= _EXEMPLAR_CHARACTERS
    return exemplar if fits else None
