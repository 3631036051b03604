"""What sessions count: answers, failures, words, audio and messages, from their records."""

from collections.abc import Callable, Mapping
from typing import Any

from exporters.metric_table import CLOSED, NONE
from exporters.reasons import ours, reason
from exporters.series import Series, admitted
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


class SessionCounts:
    """Counts what is told of sessions; remembers those that are open."""

    def __init__(self, series: Series) -> None:
        self._series = series
        self._open: dict[str, _Open] = {}
        self.takes: dict[str, Callable[[Fields], None]] = {
            "session_started": self._session_started,
            "turn_finished": self._turn_finished,
            "session_finished": self._session_finished,
            "frames": self._frames,
            "connected": self._connected,
            "message_received": self._message_received,
            "force_sent": self._force_sent,
            "speech_start": self._speech_start,
            "speech_end": self._speech_end,
            "no_speech": self._no_speech,
            "stream_closed": self._stream_closed,
            **dict.fromkeys(_MESSAGE_KINDS, self._message_read),
        }
        """What takes each kind of record."""

    def forget_run(self, run_id: object) -> None:
        """What is still open of a run that has ended was lost on the way."""
        self._open = {s: open_ for s, open_ in self._open.items() if open_.run_id != run_id}
        self._show_active()

    def _session_started(self, record: Fields) -> None:
        self._open[record["s"]] = _Open(
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
        self._series.child("sessions_total", **stream).inc()
        why = reason(record["verdict"], record.get("fault"))
        if why is not None:
            self._series.child("session_failures_total", **flow, reason=why).inc()
        if not ours(record["verdict"]):
            selection = record["selection"] if why is None else NONE
            self._series.child("final_selections_total", **flow, selection=selection or NONE).inc()
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
                self._series.child(f"{name}_seconds", **stream).observe(seconds, exemplar)
        self._series.child("last_success_timestamp_seconds", **stream).set(
            record["wall_unix_ns"] / SECOND
        )
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
            self._series.child("word_errors_total", **labels, operation=operation).inc(count)
        words = score["reference_words"]
        if words > 0:  # of no words there is no rate
            rate = sum(edits.values()) / words
            self._series.child("wer_weighted_audio_seconds_total", **labels).inc(rate * audio_s)
            self._series.child("wer_audio_seconds_total", **labels).inc(audio_s)
            self._series.child("reference_words_total", **labels).inc(words)

    def _expense(self, record: Fields, provider: str, model: str) -> None:
        """What every session costs and shows of the network, usable or not."""
        if record.get("cost_usd") is not None:
            billed = self._series.child("billed_cost_dollars_total", **_streaming(provider, model))
            billed.inc(record["cost_usd"])
        if record.get("rtt_ns") is not None:
            rtt = self._series.child("tcp_rtt_seconds", provider=provider)
            rtt.observe(record["rtt_ns"] / SECOND)
        if record.get("unsent_bytes") is not None:
            unsent = self._series.child("unsent_at_zero_bytes", provider=provider)
            unsent.observe(record["unsent_bytes"])
        if record.get("retransmits") is not None:
            self._series.child("tcp_retransmits_total", provider=provider).inc(
                record["retransmits"]
            )
        if record.get("force_delay_ns") is not None:
            delay_s = max(0, record["force_delay_ns"]) / SECOND
            self._series.child("endpoint_trigger_duration_seconds").observe(delay_s)

    def _frames(self, record: Fields) -> None:
        frames = frames_of(record)
        lateness = self._series.child("pacing_lateness_seconds")
        for frame in frames:
            lateness.observe(max(0, frame.at_ns - frame.due_ns) / SECOND)
        self._series.child("frames_total").inc(len(frames))
        late = sum(frame.at_ns - frame.due_ns > LATE_NS for frame in frames)
        self._series.child("frames_late_total").inc(late)
        session = self._open.get(record["s"])
        if session is None:
            return
        sent_ms = frames[-1].audio_ms
        audio = self._series.child("audio_sent_seconds_total", **_streaming(**session.model))
        audio.inc(max(0.0, sent_ms - session.sent_ms) / 1000)
        session.sent_ms = max(session.sent_ms, sent_ms)
        self._message(session, "sent", "audio", len(frames))

    def _connected(self, record: Fields) -> None:
        session = self._open.get(record["s"])
        if session is None:
            return
        for phase in CLOSED["phase"]:
            if record.get(f"{phase}_ns") is not None:
                self._series.child(
                    "connect_duration_seconds", provider=session.model["provider"], phase=phase
                ).observe(record[f"{phase}_ns"] / SECOND)

    def _message(self, session: "_Open", direction: str, kind: str, count: int = 1) -> None:
        labels = {"direction": direction, "kind": kind}
        self._series.child("ws_messages_total", **session.model, **labels).inc(count)

    def _force_sent(self, record: Fields) -> None:
        if (session := self._open.get(record["s"])) is not None:
            self._message(session, "sent", "control")

    def _message_received(self, record: Fields) -> None:
        """Count the one before: what it was is known only from the events that follow it."""
        if record.get("read_ns") is None:
            self._series.child("receive_unstamped_total").inc()
        else:
            gap_s = max(0, record["read_ns"] - record["t"]) / SECOND
            self._series.child("receive_gap_seconds").observe(gap_s)
        if (session := self._open.get(record["s"])) is not None:
            self._count_message(session)
            session.message = "other"

    def _message_read(self, record: Fields) -> None:
        session = self._open.get(record["s"])
        if session is None or session.message is None:
            return
        kind = "final" if record.get("final") else _MESSAGE_KINDS[record["k"]]
        session.message = max(session.message, kind, key=_WEIGHT.index)

    def _count_message(self, session: "_Open") -> None:
        if session.message is not None:
            self._message(session, "received", session.message)
            session.message = None

    def _endpoint(self, session: "_Open", outcome: str) -> None:
        provider = session.model["provider"]
        self._series.child("endpoints_total", provider=provider, outcome=outcome).inc()

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
            code = admitted("code", str(record.get("code") or NONE))
            self._series.child("ws_closes_total", **session.model, code=code).inc()

    def _show_active(self) -> None:
        for (provider,) in self._series.known("sessions_active"):
            count = sum(open_.model["provider"] == provider for open_ in self._open.values())
            self._series.child("sessions_active", provider=provider).set(count)


class _Open:
    """What has to be remembered of a session while it is open."""

    __slots__ = ("message", "model", "run_id", "sent_ms", "speech_ended")

    def __init__(self, stream: dict[str, str], run_id: object) -> None:
        self.model = {label: stream[label] for label in ("provider", "model")}
        self.run_id = run_id
        self.sent_ms = 0.0
        self.speech_ended = False
        self.message: str | None = None


def _streaming(provider: str, model: str) -> dict[str, str]:
    return {"provider": provider, "model": model, "mode": MODE}


def _exemplar(session_id: str) -> dict[str, str] | None:
    exemplar = {"session_id": session_id}
    fits = sum(map(len, (*exemplar, *exemplar.values()))) <= _EXEMPLAR_CHARACTERS
    return exemplar if fits else None
