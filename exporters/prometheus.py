"""The metrics: fed from the records that the measuring process hands over, and nothing else."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry

from exporters.logs import LINES
from exporters.metric_table import CLOSED, EVERYONE, OTHER
from exporters.series import Series, admitted
from exporters.session_counts import SessionCounts
from exporters.settings import Stream, streams_of
from measure.records import SECOND

Fields = Mapping[str, Any]


class Metrics:
    """Everything that is counted. ``take`` may be called from one thread, scrapes from any."""

    def __init__(
        self,
        streams: Iterable[Stream] = (),
        schedules: Iterable[str] = (),
        build: Mapping[str, str] | None = None,
        models: Iterable[Mapping[str, str]] = (),
    ) -> None:
        self._series = Series()
        self._sessions = SessionCounts(self._series)
        self._budgeted: set[tuple[str, str]] = set()
        self._healthy = True
        self._journal_full = False
        self._journal_counts = (0, 0, 0)
        self._takes: dict[str, Callable[[Fields], None]] = {
            "run_finished": self._run_finished,
            "job_begun": self._job_begun,
            "job_missed": self._job_missed,
            "spending": self._spending,
            "host_prepared": self._host_prepared,
            "agenda": self._agenda,
            "heartbeat": self._heartbeat,
            "records_lost": self._records_lost,
            "worker_restarts": self._worker_restarts,
            "configured": self._configured,
            "selftest": self._selftest,
            **self._sessions.takes,
        }
        self.configure(streams, schedules)
        self._series.info("build_info", build)
        self._show_models(models)
        self._series.child("config_last_reload_successful").set(1)
        self._series.child("harness_healthy").set(1)

    @property
    def registry(self) -> CollectorRegistry:
        """What is scraped."""
        return self._series.registry

    def configure(self, streams: Iterable[Stream], schedules: Iterable[str]) -> None:
        """Start the series of what is now configured at 0, and end those of what no longer is."""
        self._series.configure(streams, schedules)

    def take(self, record: Fields) -> None:
        """Count one record; kinds that count nothing are skipped.

        Raises KeyError, TypeError or ValueError for a record that is not what its kind says.
        """
        take = self._takes.get(record["k"])
        if take is not None:
            take(record)
        if record["k"] in LINES:
            self._lines(record)

    def journal_stands(self, records: int, size: int, lost: int, *, full: bool) -> None:
        """How much the journal has written and lost by now, and whether it is full."""
        stands = (records, size, lost)
        names = ("journal_records_total", "journal_bytes_total", "journal_dropped_records_total")
        for name, now, before in zip(names, stands, self._journal_counts, strict=True):
            self._series.child(name).inc(now - before)
        self._journal_counts = stands
        self._journal_full = full
        self._show_health()

    def journal_synced(self, duration_ns: int) -> None:
        self._series.child("journal_fsync_duration_seconds").observe(duration_ns / SECOND)

    def _run_finished(self, record: Fields) -> None:
        self._sessions.forget_run(record.get("run_id"))
        schedule = record.get("schedule")
        if schedule is None:
            return  # run by hand
        self._series.child("runs_total", schedule=schedule).inc()
        if not record.get("complete", True):
            self._series.child("run_failures_total", schedule=schedule).inc()
        if record.get("wall_unix_ns") is not None:
            last = self._series.child("last_run_timestamp_seconds", schedule=schedule)
            last.set(record["wall_unix_ns"] / SECOND)

    def _job_begun(self, record: Fields) -> None:
        wait = self._series.child("run_wait_seconds", provider=str(record["provider"]))
        wait.observe(max(0, record["waited_ns"]) / SECOND)

    def _job_missed(self, record: Fields) -> None:
        labels = {label: str(record[label]) for label in ("schedule", "provider")}
        why = admitted("why", str(record["why"]))
        self._series.child("runs_missed_total", **labels, why=why).inc(record.get("count", 1))

    def _spending(self, record: Fields) -> None:
        """What is spent of each budget there is; one that is no longer there takes its series."""
        whose = {EVERYONE} | {provider for (provider,) in self._series.known("sessions_active")}
        budgets = {
            (b["who"] if b["who"] in whose else OTHER, b["period"]): b
            for b in record["budgets"]
            if b["period"] in CLOSED["period"] and b.get("limit_usd") is not None
        }
        for name, key in (
            ("budget_spent_dollars", "spent_usd"),
            ("budget_limit_dollars", "limit_usd"),
        ):
            family = self._series.family(name)
            for gone in self._budgeted - set(budgets):
                family.remove(*gone)
            for labels, budget in budgets.items():
                family.labels(*labels).set(budget[key])
        self._budgeted = set(budgets)

    def _host_prepared(self, record: Fields) -> None:
        for feature in CLOSED["feature"]:
            self._series.child("host_allows", feature=feature).set(int(bool(record.get(feature))))

    def _heartbeat(self, record: Fields) -> None:
        """The measuring process's own health; every field may be missing.

        ``healthy`` (bool), ``waiting`` (records), ``loop_lag_ns`` (a list),
        ``host_late_max_ns`` (of the sentinel, since the last heartbeat).
        """
        self._healthy = bool(record.get("healthy", True))
        self._show_health()
        self._series.child("sink_queue_records").set(record.get("waiting", 0))
        for value_ns in record.get("loop_lag_ns", ()):
            self._series.child("loop_lag_seconds").observe(max(0, value_ns) / SECOND)
        if record.get("host_late_max_ns") is not None:
            self._series.child("host_stall_seconds").observe(record["host_late_max_ns"] / SECOND)

    def _agenda(self, record: Fields) -> None:
        for schedule, moment in record["next_run_unix_s"].items():
            self._series.child("next_run_timestamp_seconds", schedule=schedule).set(moment)

    def _records_lost(self, record: Fields) -> None:
        self._series.child("journal_dropped_records_total").inc(record["count"])

    def _worker_restarts(self, record: Fields) -> None:
        cause = admitted("cause", str(record["cause"]))
        self._series.child("worker_restarts_total", cause=cause).inc()

    def _configured(self, record: Fields) -> None:
        """A new configuration: taken, with its ``streams`` and ``schedules``, or refused."""
        taken = bool(record["successful"])
        self._series.child("config_last_reload_successful").set(int(taken))
        if taken:
            self.configure(streams_of(record["streams"]), record["schedules"])
            self._show_models(record.get("models", ()))
            moment = self._series.child("config_last_reload_success_timestamp_seconds")
            moment.set(record["wall_unix_ns"] / SECOND)

    def _show_models(self, models: Iterable[Mapping[str, str]]) -> None:
        self._series.family("model_info").clear()
        for model in models:
            self._series.info("model_info", model)

    def _selftest(self, record: Fields) -> None:
        """What this harness adds to a number, as its newest self-test found it.

        ``verdict``, ``wall_unix_ns``, and ``levels``: of each, ``streams``, ``final_error`` and
        ``partial_error`` with their ``size``. Of too few sessions there is no p99.
        """
        self._series.family("selftest_error_seconds").clear()
        for level in record["levels"]:
            for name, key in (
                ("time_to_final", "final_error"),
                ("time_to_first_partial", "partial_error"),
            ):
                self._show_error(name, str(level["streams"]), level[key]["size"])
        for fitness in CLOSED["fitness"]:
            self._series.child("selftest_verdict", fitness=fitness).set(
                int(fitness == record["verdict"])
            )
        moment = self._series.child("selftest_timestamp_seconds")
        moment.set(record["wall_unix_ns"] / SECOND)

    def _show_error(self, name: str, streams: str, size: Fields) -> None:
        labels = {"measure": name, "streams": streams}
        for statistic in CLOSED["statistic"]:
            size_ns = size[f"{statistic}_ns"]
            if size_ns is not None:
                error = self._series.child("selftest_error_seconds", **labels, statistic=statistic)
                error.set(size_ns / SECOND)

    def _lines(self, record: Fields) -> None:
        """Everything that the log tells of it, whatever else it counts as."""
        for line in LINES[record["k"]](record):
            known = line.level if line.level in CLOSED["level"] else "info"
            self._series.child("log_messages_total", level=known).inc()

    def _show_health(self) -> None:
        self._series.child("harness_healthy").set(int(self._healthy and not self._journal_full))
