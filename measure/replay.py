"""Measurements read again from records: the same events, the same stopwatch, the same reading.

records ─group by session─> events ─> Turns(rule) ─> Reading
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from measure.events import Event
from measure.measurement import Measurement, reference_of
from measure.records import Endpoint, FinalRule, Flow, ForceAt, Reading, Rule
from measure.turns import Turn, Turns
from measure.wire import Record, events_of

_ENUMS: dict[str, type[StrEnum]] = {
    "flow": Flow,
    "final_rule": FinalRule,
    "force_at": ForceAt,
    "endpoint": Endpoint,
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


@dataclass(frozen=True, slots=True)
class Recorded:
    """The records of one session, not yet turned into events."""

    started: Record
    rest: tuple[Record, ...]
    """Everything behind its beginning, in order; the end too, where there is one."""

    @property
    def session_id(self) -> str:
        return str(self.started.get("s"))

    @property
    def rule(self) -> Rule:
        """The rule that was in force. Raises ValueError where the record holds none."""
        return Session(self.started, (), None).rule

    @property
    def session(self) -> Session:
        """With all its events. Raises ValueError for a record that is not what its kind says."""
        finished = [record for record in self.rest if record.get("k") == "session_finished"]
        return Session(self.started, tuple(events_of(self.rest)), finished[0] if finished else None)


def recorded_of(records: Iterable[Record]) -> Iterator[Recorded]:
    """Each session as soon as its end has been read, so that only open ones are kept in mind.

    Those whose end was not recorded come last; those whose beginning is missing are left out.
    """
    open_sessions: dict[object, list[Record]] = {}
    for record in records:
        kind, session_id = record.get("k"), record.get("s")
        if kind == "session_started":
            open_sessions[session_id] = [record]
        elif (recorded := open_sessions.get(session_id)) is not None:
            recorded.append(record)
            if kind == "session_finished":
                del open_sessions[session_id]
                yield Recorded(recorded[0], tuple(recorded[1:]))
    for recorded in open_sessions.values():
        yield Recorded(recorded[0], tuple(recorded[1:]))


def turns_of(session: Session, rule: Rule | None = None) -> list[Turn]:
    """The turns of a session, under the rule of then or another one; with one endpoint, one."""
    turns = Turns(rule or session.rule)
    for event in session.events:
        turns.feed(event)
    return turns.begun


def reading_of(session: Session, rule: Rule | None = None) -> Reading:
    """What the stopwatch shows for these events; of several turns, for the last one."""
    return turns_of(session, rule)[-1].reading()


def measurements_of(session: Session, rule: Rule | None = None) -> list[Measurement]:
    """The measurements as they were made then, one for each turn."""
    rule = rule or session.rule
    return [_measurement(session, rule, turn) for turn in turns_of(session, rule)]


def measurement_of(session: Session, rule: Rule | None = None) -> Measurement:
    """The measurement as it was made then; of several turns, that of the last one."""
    return measurements_of(session, rule)[-1]


def _measurement(session: Session, rule: Rule, turn: Turn) -> Measurement:
    started = session.started
    last = session.finished or {}
    reference = _text(started, "reference") if started.get("reference") is not None else None
    circumstances = turn.tally.circumstances()
    return Measurement(
        session_id=_text(started, "s"),
        run_id=_text(started, "run_id"),
        model=_text(started, "model"),
        corpus=_text(started, "dataset"),
        clip=_text(started, "clip"),
        audio_ms=_number(started, "audio_ms") or circumstances.sent_ms,  # live audio has no length
        flow=Flow(_text(started, "flow")),
        reading=turn.reading(),
        circumstances=circumstances,
        started_wall_ns=int(_number(started, "wall_unix_ns")),
        wall_ns=round(_number(last, "wall_ms") * 1e6) if "wall_ms" in last else 0,
        signature=_text(started, "signature"),
        reference=reference_of(reference, rule),
        turn=turn.number,
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
