"""Measurements read again from records: the same events, the same stopwatch, the same reading.

records ─group by session─> events ─> Stopwatch(rule) ─> Reading
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from measure.events import Event
from measure.measurement import Measurement, Tally
from measure.records import FinalRule, Flow, ForceAt, Reading, Rule
from measure.stopwatch import Stopwatch
from measure.wire import Record, events_of

_ENUMS: dict[str, type[StrEnum]] = {
    "flow": Flow,
    "final_rule": FinalRule,
    "force_at": ForceAt,
}


@dataclass(frozen=True, slots=True)
class Session:
    """Everything that was recorded of one session."""

    started: Record
    events: tuple[Event, ...]
    finished: Record | None
    """None where the program was killed before the session was over."""

    @property
    def rule(self) -> Rule:
        """The rule that was in force. Raises ValueError where the record holds none."""
        rule = self.started.get("rule")
        if not isinstance(rule, Mapping):
            raise ValueError(f"session {self.started.get('s')}: its record has no rule")
        return rule_of(rule)


def sessions_of(records: Iterable[Record]) -> Iterator[Session]:
    """Each session in the order in which it began; one whose beginning is missing is left out."""
    open_sessions: dict[object, list[Record]] = {}
    for record in records:
        session_id = record.get("s")
        if record.get("k") == "session_started":
            open_sessions[session_id] = [record]
        elif session_id in open_sessions:
            open_sessions[session_id].append(record)
    for recorded in open_sessions.values():
        started, *rest = recorded
        finished = [record for record in rest if record.get("k") == "session_finished"]
        yield Session(started, tuple(events_of(rest)), finished[0] if finished else None)


def reading_of(session: Session, rule: Rule | None = None) -> Reading:
    """What the stopwatch shows for these events, under the rule of then or another one."""
    watch = Stopwatch(rule or session.rule)
    for event in session.events:
        watch.feed(event)
    return watch.reading()


def measurement_of(session: Session, rule: Rule | None = None) -> Measurement:
    """The measurement as it was made then."""
    started = session.started
    tally = Tally()
    for event in session.events:
        tally.feed(event)
    last = session.finished or {}
    return Measurement(
        session_id=_text(started, "s"),
        run_id=_text(started, "run_id"),
        model=_text(started, "model"),
        corpus=_text(started, "dataset"),
        clip=_text(started, "clip"),
        audio_ms=_number(started, "audio_ms"),
        flow=Flow(_text(started, "flow")),
        reading=reading_of(session, rule),
        circumstances=tally.circumstances(),
        started_wall_ns=int(_number(started, "wall_unix_ns")),
        wall_ns=round(_number(last, "wall_ms") * 1e6) if "wall_ms" in last else 0,
        signature=_text(started, "signature"),
        reference=_text(started, "reference") if started.get("reference") is not None else None,
    )


def rule_of(record: Mapping[Any, Any]) -> Rule:
    """A rule from its record. Settings that were not known then have their defaults."""
    known = {field.name for field in fields(Rule)}
    values = {name: value for name, value in record.items() if name in known}
    for name, enum in _ENUMS.items():
        if name in values:
            values[name] = enum(values[name])
    return Rule(**values)


def _text(record: Record, key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{record.get('k')}: {key} is missing or not a text")
    return value


def _number(record: Record, key: str) -> float:
    value = record.get(key)
    if not isinstance(value, int | float):
        raise ValueError(f"{record.get('k')}: {key} is missing or not a number")
    return value
