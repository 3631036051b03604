"""Every event of the log: its name, how grave it is, when it comes, and its fields.

The log is read by programs as well as by people; a name or a field that changes breaks their
queries. docs/logs.md is made from this table, and a test holds the code to it.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One kind of line."""

    name: str
    level: str
    when: str
    """A sentence: when it is written, and what to do about it where something is to be done."""
    fields: tuple[str, ...] = ()
    """Besides timestamp, level, event and mono_ns."""


EVENTS: Final = (
    # This program.
    LogEvent(
        "process_started",
        "info",
        "The daemon has read its configuration and prepares to measure.",
        ("version", "python", "onnxruntime", "silero_model", "normalizer", "config_path"),
    ),
    LogEvent(
        "process_ready",
        "info",
        "Measuring begins.",
        ("version", "models", "clips", "workers", "schedules", "listen", "journal"),
    ),
    LogEvent(
        "host_prepared",
        "info",
        "What this host allowed of real-time priority, memory lock and precise timers.",
        (
            *("real_time", "memory_locked", "precise_timer", "timer_slack_ns"),
            *("switch_interval_s", "frozen_objects", "cores", "kernel", "worker"),
        ),
    ),
    LogEvent(
        "host_refused",
        "warning",
        "Something the host does not allow; the text says what would allow it.",
        ("what",),
    ),
    LogEvent("metrics_listening", "info", "The web pages can be had.", ("address",)),
    LogEvent(
        "model_skipped", "warning", "A model cannot be measured: its key is missing.", ("reason",)
    ),
    LogEvent("configuration_taken", "info", "A new configuration is in force.", ("path",)),
    LogEvent(
        "configuration_refused",
        "error",
        "A new configuration has mistakes; the running one stays in force.",
        ("path", "error"),
    ),
    LogEvent(
        "web_configuration_taken",
        "info",
        "A changed web configuration file, or certificate, is in force.",
        ("path",),
    ),
    LogEvent(
        "web_configuration_refused",
        "error",
        "A changed web configuration file has mistakes; what it was before stays in force.",
        ("path", "error"),
    ),
    LogEvent(
        "shutdown_started", "info", "A signal ends the program; what runs is ended.", ("signal",)
    ),
    LogEvent(
        "exporter_restarted",
        "error",
        "The process that records had ended and was started again; what was lost is counted.",
        ("records_lost", "took_ms"),
    ),
    LogEvent("workers_reduced", "warning", "Fewer workers than asked for.", ("reason",)),
    LogEvent(
        "worker_ended",
        "error",
        "A measuring process has died or left sessions open; these are lost.",
        ("worker", "reason", "sessions_lost"),
    ),
    LogEvent(
        "worker_restarts",
        "error",
        "A measuring process has died, or hung and was killed; after a moment there is another.",
        ("worker", "cause", "exit", "sessions_lost", "in_s"),
    ),
    LogEvent(
        "harness_failed",
        "error",
        "This program failed in the middle of a session. Please report it.",
        ("session_id", "exception"),
    ),
    LogEvent(
        "watchdog_withheld",
        "error",
        "The service manager gets no sign of life: something does not move.",
        ("reason",),
    ),
    # Runs and sessions.
    LogEvent(
        "run_started",
        "info",
        "A run begins.",
        ("run_id", "schedule", "models", "dataset", "clips", "wall_unix_ns"),
    ),
    LogEvent(
        "run_finished",
        "info",
        "A run has ended.",
        (
            *("run_id", "schedule", "models", "dataset", "sessions", "failures"),
            *("complete", "duration_s", "wall_unix_ns"),
        ),
    ),
    LogEvent(
        "run_missed",
        "warning",
        "A run could not begin at its moment; it is not made up for.",
        ("schedule", "provider", "model", "dataset", "why", "detail", "count"),
    ),
    LogEvent(
        "provider_paused",
        "warning",
        "A provider refused us and is left alone for a while.",
        ("provider", "kind", "until_unix_s"),
    ),
    LogEvent(
        "spending_unreadable",
        "error",
        "What was spent before is not known: counting begins at 0. Look at the kept file.",
        ("path", "error", "kept"),
    ),
    LogEvent(
        "spending_unwritten",
        "error",
        "What is spent cannot be written down; after a restart it would be forgotten.",
        ("path", "error"),
    ),
    LogEvent("session_started", "debug", "A stream is about to be opened.", ("session_id", "…")),
    LogEvent(
        "session_finished",
        "info",
        "The one line that tells a whole session: verdict, values, circumstances. ``journalled`` "
        "is there, and false, where the disk refused its record: the journal names it as lost.",
        ("session_id", "verdict", "valid", "time_to_final_ms", "…"),
    ),
    LogEvent(
        "turn_finished",
        "info",
        "Where each end of speech counts: a turn before the last, as session_finished tells that.",
        ("session_id", "turn", "verdict", "valid", "time_to_final_ms", "…"),
    ),
    LogEvent(
        "session_failed",
        "warning",
        "The provider or the network gave no usable result.",
        ("session_id", "reason", "fault_detail", "retry_after_s"),
    ),
    LogEvent(
        "session_voided",
        "warning",
        "This host spoiled the session; it counts neither for nor against the provider.",
        ("session_id", "reason", "late_max_us"),
    ),
    LogEvent("selftest_started", "info", "The harness measures its own error.", ("reason",)),
    LogEvent(
        "selftest_finished",
        "info",
        "How large the harness's own error is here; a warning where this host is unfit.",
        ("verdict", "summary", "reasons", "advice"),
    ),
    LogEvent("selftest_failed", "warning", "The self-test could not be made.", ("reason",)),
    # The journal.
    LogEvent("journal_opened", "info", "A segment is begun.", ("path",)),
    LogEvent("journal_rotated", "info", "A segment is closed and the next begun.", ("path",)),
    LogEvent(
        "journal_removed",
        "info",
        "A segment is older or more than what is to be kept.",
        ("path", "bytes", "age_s", "reason"),
    ),
    LogEvent(
        "journal_removal_failed", "error", "A segment could not be removed.", ("path", "error")
    ),
    LogEvent(
        "journal_tail_truncated",
        "warning",
        "A torn end from an earlier stop was cut and kept.",
        ("path", "good_bytes", "dropped_bytes", "reason"),
    ),
    LogEvent("journal_damaged", "error", "Damage inside a segment was passed by.", ("path", "…")),
    LogEvent(
        "journal_recovery_failed",
        "error",
        "An earlier segment cannot be read or closed.",
        ("path", "error"),
    ),
    LogEvent(
        "journal_write_failed",
        "error",
        "The disk refuses records; they are counted as lost.",
        ("error",),
    ),
    LogEvent("journal_close_failed", "error", "A segment could not be closed.", ("error",)),
    LogEvent("journal_resumed", "warning", "The disk takes records again.", ("lost",)),
    LogEvent(
        "journal_disk_low",
        "error",
        "Less is free than is reserved: nothing new is measured.",
        ("free_bytes", "reserve_bytes"),
    ),
    LogEvent("journal_disk_has_room", "warning", "There is room again.", ("free_bytes",)),
    LogEvent("measuring_paused", "error", "No measurement begins.", ("reason",)),
    LogEvent("measuring_resumed", "warning", "Measurements begin again.", ("paused_s",)),
    LogEvent(
        "records_dropped",
        "error",
        "Records were lost before they reached the exporter process.",
        ("count", "why"),
    ),
    LogEvent(
        "record_unusable",
        "error",
        "A record is not what it should be. Please report it.",
        ("kind", "error"),
    ),
    LogEvent("log_lines_dropped", "error", "Nobody read standard error fast enough.", ("count",)),
)
"""The whole table, in the order of docs/logs.md."""
