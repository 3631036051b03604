"""The log: what people and log collectors read, one line for each thing that happened.

    record ─> line (level, event, fields) ─> no transcripts, no secrets ─> JSON or console ─> stderr

JSON where standard error is no terminal; with the priority in front where it is the system
journal's. Never a word of a transcript, unless that is asked for.
"""

import os
import queue
import select
import threading
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import orjson
import structlog

from exporters.journal import Clock
from exporters.reasons import ours, reason
from exporters.redact import redacted
from exporters.settings import LEVELS

Fields = Mapping[str, Any]
_PRIORITY = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
"""As the system journal numbers them."""
_SPOKEN = frozenset({"transcript", "text", "reference", "first_partial_text", "raw"})
"""The fields that hold what was said."""
_ENVELOPE = frozenset({"k", "t", "s"})
_OURS = ("timestamp", "level", "event", "mono_ns")
"""The first keys of every line; a field of the same name gets a "_" behind it."""
_BLAMED = (
    *("session_id", "run_id", "provider", "model", "clip"),
    *("reason", "fault_detail", "retry_after_s", "late_max_us"),
)
"""What a line on a session without a usable result says."""
WAITING_LINES = 1000
"""How many lines wait for a slow reader of standard error; more are dropped and counted."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened, as it will be read."""

    level: str
    event: str
    fields: Fields


class Log:
    """Writes the lines that records make. For one thread; never waits for whoever reads them."""

    def __init__(
        self,
        writer: "Writer",
        clock: Clock,
        *,
        style: str,
        level: str = "info",
        transcripts: bool = False,
        priorities: bool = False,
        colors: bool = False,
    ) -> None:
        """``style`` is ``json`` or ``console``; ``priorities``: ``<6>`` in front of each line."""
        self._clock = clock
        self._writer = writer
        processors: list[Any] = [] if transcripts else [_without_transcripts]
        processors += [_without_secrets, _without_half_characters]
        processors += [_json] if style == "json" else [_without_controls, _console(colors=colors)]
        processors += [_with_priority] if priorities else []
        self._logger = structlog.wrap_logger(
            structlog.BytesLogger(writer),  # type: ignore[arg-type]  # of a file it needs no more
            processors=processors,
            wrapper_class=structlog.make_filtering_bound_logger(level),
            context_class=dict,
            cache_logger_on_first_use=True,
        )

    def take(self, record: Fields) -> None:
        """Write what is to be said of one record: mostly nothing.

        Raises KeyError, TypeError or ValueError for a record that is not what its kind says.
        """
        lines = LINES.get(record["k"])
        if lines is None:
            return
        if dropped := self._writer.take_dropped():
            self._write(Line("error", "log_lines_dropped", {"count": dropped}), record["t"])
        for line in lines(record):
            self._write(line, record["t"])

    def _write(self, line: Line, at_ns: int) -> None:
        level = line.level if line.level in LEVELS else "info"
        fields = {f"{key}_" if key in _OURS else key: line.fields[key] for key in line.fields}
        write = getattr(self._logger, level)
        # Given whole, as "event": names like "self" among the fields would stand in the way.
        write({**dict(zip(_OURS, self._ours(level, line.event, at_ns), strict=True)), **fields})

    def _ours(self, level: str, event: str, at_ns: int) -> tuple[str, str, str, int]:
        wall_ns = self._clock.wall_ns() - (self._clock.mono_ns() - at_ns)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=wall_ns // 1000)
        return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}", level, event, at_ns


class Writer(Protocol):
    """Where lines go."""

    def write(self, line: bytes) -> None: ...
    def flush(self) -> None: ...
    def take_dropped(self) -> int: ...


class LineWriter:
    """Writes lines to a file descriptor from a thread of its own, so that nobody waits for it."""

    def __init__(self, fd: int, waiting_lines: int = WAITING_LINES) -> None:
        self._fd = fd
        self._lines: queue.Queue[bytes | None] = queue.Queue(waiting_lines)
        self._dropped = 0
        self._broken = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Let one line wait for its turn; it is dropped where too many wait, or nobody reads."""
        try:
            if self._broken:
                raise queue.Full
            self._lines.put_nowait(line)
        except queue.Full:
            self._dropped += 1

    @property
    def waiting(self) -> int:
        """How many lines have not been written yet, but for the one that is being written."""
        return self._lines.qsize()

    def flush(self) -> None:
        """Nothing: lines are written as soon as they can be."""

    def take_dropped(self) -> int:
        """How many lines were dropped since this was last asked; 0 while there is still no room."""
        if self._lines.full() or self._broken:
            return 0
        dropped, self._dropped = self._dropped, 0
        return dropped

    def close(self, timeout_s: float = 1.0) -> None:
        """Write what waits, but for so long at most."""
        try:
            self._lines.put(None, timeout=timeout_s)
        except queue.Full:
            return
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                _write_all(self._fd, line)
            except OSError:  # nobody reads any more; the journal and the metrics go on
                self._broken = True
                return


def style_for(wanted: str, *, terminal: bool) -> str:
    """``json`` or ``console``, for ``auto`` by whether a person is watching."""
    if wanted != "auto":
        return wanted
    return "console" if terminal else "json"


def goes_to_the_system_journal(fd: int, variable: str | None) -> bool:
    """``fd`` is the stream that JOURNAL_STREAM (device:inode) names."""
    there = os.fstat(fd)
    return variable == f"{there.st_dev}:{there.st_ino}"


def canonical(record: Fields) -> dict[str, object]:
    """The fields of the one line that tells a session; times in the units people think in."""
    final, first = record.get("score"), record.get("first_partial_score")
    fault = record.get("fault") or {}
    return {
        "session_id": record["s"],
        **{key: record.get(key) for key in ("run_id", "provider", "model", "dataset", "clip")},
        **{key: record.get(key) for key in ("turn", "flow", "verdict", "selection", "valid")},
        "reason": reason(record["verdict"], record.get("fault")),
        "time_to_final_ms": _scaled(record, "time_to_final_ns", 1e6),
        "time_to_first_partial_ms": _scaled(record, "time_to_first_partial_ns", 1e6),
        "audio_ms": record.get("audio_ms"),
        "wall_ms": record.get("wall_ms"),
        "frames": record.get("frames"),
        "frames_late": record.get("frames_late"),
        "late_p99_us": _scaled(record, "late_p99_ns", 1e3),
        "late_max_us": _scaled(record, "late_max_ns", 1e3),
        "force_delay_us": _scaled(record, "force_delay_ns", 1e3),
        "partials": record.get("partials"),
        "finals": record.get("finals"),
        "rtt_ms": _scaled(record, "rtt_ns", 1e6),
        "connect_ms": _scaled(record, "connect_ns", 1e6),
        "retransmits": record.get("retransmits"),
        "word_errors": None if final is None else _errors(final),
        "reference_words": None if final is None else final["reference_words"],
        "wer_ratio": _rate(final),
        "first_partial_wer_ratio": _rate(first),
        "cost_usd": record.get("cost_usd"),
        "remarks": record.get("remarks"),
        **{f"fault_{key}": fault.get(key) for key in ("whose", "kind", "detail")},
        "retry_after_s": fault.get("retry_after_s"),
        "transcript": record.get("transcript"),
        "journalled": record.get("journalled"),
    }


def _session_finished(record: Fields) -> list[Line]:
    fields = {key: value for key, value in canonical(record).items() if value is not None}
    lines = [Line("info", "session_finished", fields)]
    if fields.get("reason") is not None:
        event = "session_voided" if ours(record["verdict"]) else "session_failed"
        lines.append(Line("warning", event, {key: fields[key] for key in _BLAMED if key in fields}))
    return lines


def _turn_finished(record: Fields) -> list[Line]:
    fields = {key: value for key, value in canonical(record).items() if value is not None}
    return [Line("info", "turn_finished", fields)]


def _session_started(record: Fields) -> list[Line]:
    keys = ("run_id", "provider", "model", "dataset", "clip", "flow", "audio_ms")
    fields = {"session_id": record["s"], **{key: record.get(key) for key in keys}}
    return [Line("debug", "session_started", fields)]


def _host_prepared(record: Fields) -> list[Line]:
    """What was prepared, and a warning for each thing that the host refused."""
    fields = {key: record[key] for key in record if key not in (*_ENVELOPE, "refused")}
    refused = record.get("refused", ())
    warnings = [Line("warning", "host_refused", {"what": text}) for text in refused]
    return [Line("info", "host_prepared", fields), *warnings]


def _log(record: Fields) -> list[Line]:
    session = {"session_id": record["s"]} if record.get("s") else {}
    fields = {**session, **record.get("fields", {})}
    return [Line(record["level"], str(record["event"]), fields)]


def _as_it_is(level: str, event: str) -> Callable[[Fields], list[Line]]:
    def lines(record: Fields) -> list[Line]:
        fields = {key: record[key] for key in record if key not in _ENVELOPE}
        return [Line(level, event, fields)]

    return lines


LINES: Mapping[str, Callable[[Fields], list[Line]]] = {
    "process_started": _as_it_is("info", "process_started"),
    "run_started": _as_it_is("info", "run_started"),
    "run_finished": _as_it_is("info", "run_finished"),
    "host_prepared": _host_prepared,
    "job_missed": _as_it_is("warning", "run_missed"),
    "session_started": _session_started,
    "turn_finished": _turn_finished,
    "session_finished": _session_finished,
    "records_lost": _as_it_is("error", "records_dropped"),
    "worker_restarts": _as_it_is("error", "worker_restarts"),
    "log": _log,
}
"""The kinds of records that are told in the log, and how."""


def _scaled(record: Fields, key: str, unit: float) -> float | None:
    value = record.get(key)
    return None if value is None else round(value / unit, 3)


def _errors(score: Fields) -> int:
    return int(score["substitutions"] + score["insertions"] + score["deletions"])


def _rate(score: Fields | None) -> float | None:
    if score is None or score["reference_words"] <= 0:
        return None
    return round(_errors(score) / int(score["reference_words"]), 6)


def _without_transcripts(_logger: object, _level: str, event: Any) -> Any:  # noqa: ANN401
    event["event"] = _unspoken(event["event"])
    return event


def _unspoken(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _unspoken(inner) for key, inner in value.items() if key not in _SPOKEN}
    return [_unspoken(inner) for inner in value] if isinstance(value, list) else value


def _without_secrets(_logger: object, _level: str, event: Any) -> Any:  # noqa: ANN401
    return redacted(event["event"])


def _without_half_characters(_logger: object, _level: str, event: Any) -> Any:  # noqa: ANN401
    return _each_text(event, lambda text: text.encode(errors="backslashreplace").decode())


def _without_controls(_logger: object, _level: str, event: Any) -> Any:  # noqa: ANN401
    """What a provider says must not move a person's cursor."""
    return _each_text(
        event, lambda text: "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    )


def _each_text(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)): _each_text(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_each_text(inner, change) for inner in value]
    return value


def _json(_logger: object, _level: str, event: MutableMapping[str, Any]) -> bytes:
    return orjson.dumps(event, default=repr)


def _console(*, colors: bool) -> Callable[[Any, str, MutableMapping[str, Any]], bytes]:
    renderer = structlog.dev.ConsoleRenderer(colors=colors, sort_keys=False)

    def render(logger: Any, level: str, event: MutableMapping[str, Any]) -> bytes:  # noqa: ANN401
        return str(renderer(logger, level, event)).encode()

    return render


def _with_priority(_logger: object, level: str, line: Any) -> bytes:  # noqa: ANN401
    return b"<%d>%b" % (_PRIORITY[level], line)


def _write_all(fd: int, line: bytes) -> None:
    left = memoryview(line)
    while left:
        try:
            left = left[os.write(fd, left) :]
        except BlockingIOError:  # somebody else made it non-blocking
            select.select([], [fd], [])
