"""A journal as two tables for other programs: a row for each session, a row for each event.

Every column has one type and may be empty. Durations and moments are in nanoseconds and signed, as
they were measured: nothing is rounded, clamped or left out because a reading is not valid.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, get_args, get_type_hints

from exporters.segment import UNREADABLE
from measure.events import EVENTS, Event
from measure.faults import Fault
from measure.measurement import Circumstances
from measure.wire import FRAMES, Record, frames_of, from_record

Row = dict[str, Any]


class Kind(StrEnum):
    """What a column holds."""

    INT = "int64"
    FLOAT = "float64"
    BOOL = "bool"
    TEXT = "string"


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a journal."""

    columns: Mapping[str, Kind]
    rows: Callable[[Iterable[Record]], Iterator[Row]]
    """Each with every column, in the order of ``columns``."""


_KINDS = {int: Kind.INT, float: Kind.FLOAT, bool: Kind.BOOL, str: Kind.TEXT}
_FAULT = {
    "fault_whose": Kind.TEXT,
    "fault_kind": Kind.TEXT,
    "fault_detail": Kind.TEXT,
    "fault_retry_after_s": Kind.FLOAT,
}
_COUNTS = ("reference_words", "substitutions", "insertions", "deletions")


def _kind_of(hint: Any) -> Kind:  # noqa: ANN401
    """The kind of a field; texts hold as JSON what no other kind can."""
    allowed = [one for one in get_args(hint) or (hint,) if one is not type(None)]
    return _KINDS.get(allowed[0], Kind.TEXT) if len(allowed) == 1 else Kind.TEXT


def _event_columns() -> dict[str, Kind]:
    columns = {
        "session_id": Kind.TEXT,
        "number": Kind.INT,
        "kind": Kind.TEXT,
        "at_ns": Kind.INT,
        "since_start_ns": Kind.INT,
    }
    for event in EVENTS.values():
        hints = get_type_hints(event)
        for field in fields(event):
            if hints[field.name] is Fault:
                columns |= _FAULT
            else:
                columns.setdefault(field.name, _kind_of(hints[field.name]))
    return {**columns, "raw_base64": Kind.TEXT, "problem": Kind.TEXT}


_SESSION_COLUMNS = {
    "session_id": Kind.TEXT,
    "run_id": Kind.TEXT,
    "started_unix_ns": Kind.INT,
    "host": Kind.TEXT,
    "version": Kind.TEXT,
    "provider": Kind.TEXT,
    "model": Kind.TEXT,
    "url": Kind.TEXT,
    "dataset": Kind.TEXT,
    "clip": Kind.TEXT,
    "clip_sha256": Kind.TEXT,
    "audio_ms": Kind.FLOAT,
    "rate_hz": Kind.INT,
    "wall_ms": Kind.FLOAT,
    "flow": Kind.TEXT,
    "verdict": Kind.TEXT,
    "selection": Kind.TEXT,
    "valid": Kind.BOOL,
    "time_to_final_ns": Kind.INT,
    "time_to_first_partial_ns": Kind.INT,
    "confirmed_ns": Kind.INT,
    "zero_ns": Kind.INT,
    "transcript": Kind.TEXT,
    "first_partial_text": Kind.TEXT,
    "reference": Kind.TEXT,
    "remarks": Kind.TEXT,
    **_FAULT,
    **{f"score_{name}": Kind.INT for name in _COUNTS},
    **{f"first_partial_score_{name}": Kind.INT for name in _COUNTS},
    **{name: _kind_of(hint) for name, hint in get_type_hints(Circumstances).items()},
    "cost_usd": Kind.FLOAT,
    "signature": Kind.TEXT,
    "rule": Kind.TEXT,
    "voice": Kind.TEXT,
    "complete": Kind.BOOL,
    "more": Kind.TEXT,
}
_RENAMED = {"s": "session_id", "wall_unix_ns": "started_unix_ns"}


def session_rows(records: Iterable[Record]) -> Iterator[Row]:
    """A row for each session as it ended, and for each earlier turn of those that have several.

    At last come the sessions that never ended, oldest first.

    ``complete`` is false where anything of it was lost, or cannot be read, or is missing.
    """
    started: dict[object, Record] = {}
    partial: set[object] = set()
    header: Record = {}
    for record in records:
        session_id = record.get("s")
        match record.get("k"):
            case "segment":
                header = record
            case "session_started":
                started[session_id] = {**record, **_origin(header)}
            case "turn_finished":
                so_far = started.get(session_id, {})
                yield _session_row({**so_far, **record}, complete=session_id not in partial)
            case "session_finished":
                begun = started.pop(session_id, None)
                complete = begun is not None and session_id not in partial
                partial.discard(session_id)
                yield _session_row({**(begun or {}), **record}, complete=complete)
            case "records_lost":
                named = record.get("sessions")
                partial.update(named if isinstance(named, list) and named else started)
            case kind if kind == UNREADABLE:
                partial.update(started)
    for begun in started.values():
        yield _session_row(begun, complete=False)


def event_rows(records: Iterable[Record]) -> Iterator[Row]:
    """A row for each event of each session, in the order of the journal; frames one by one.

    ``number`` counts the events of a session. What a newer program wrote of an event and this one
    cannot read is a row too: ``problem`` says why.
    """
    began_ns: dict[object, int] = {}
    counts: dict[object, int] = {}
    for record in records:
        session_id = record.get("s")
        match record.get("k"):
            case "session_started":
                began_ns[session_id] = _whole(record.get("t"))
            case "session_finished":
                began_ns.pop(session_id, None)
                counts.pop(session_id, None)
            case _ if session_id is not None:
                for row in _rows_of(record):
                    counts[session_id] = counts.get(session_id, 0) + 1
                    began = began_ns.get(session_id)
                    yield {
                        **row,
                        "session_id": session_id,
                        "number": counts[session_id],
                        "since_start_ns": None if began is None else row["at_ns"] - began,
                    }


def _rows_of(record: Record) -> list[Row]:
    try:
        if record.get("k") == FRAMES:
            events: list[Event] = [*frames_of(record)]
        else:
            event = from_record(record)
            events = [] if event is None else [event]
        return [_event_row(event) for event in events]
    except ValueError as error:
        at = {"kind": record.get("k"), "at_ns": _whole(record.get("t"))}
        return [{**_EMPTY_EVENT, **at, "problem": str(error)}]


def _event_row(event: Event) -> Row:
    row = {**_EMPTY_EVENT, "kind": event.kind}
    for name in _FIELDS[event.kind]:
        value = getattr(event, name)
        if isinstance(value, Fault):
            row |= {key: _cell(_FAULT[key], cell) for key, cell in _fault(asdict(value)).items()}
        elif isinstance(value, bytes):
            row["raw_base64"] = b64encode(value).decode()
        else:
            row[name] = _cell(EVENT_TABLE.columns[name], value)
    return row


def _session_row(record: Record, *, complete: bool) -> Row:
    """The columns of one session; what has none, or does not fit, is JSON in ``more``."""
    known = {_RENAMED.get(key, key): value for key, value in record.items()}
    known |= _fault(known.pop("fault", None))
    for score in ("score", "first_partial_score"):
        counts: Any = known.pop(score, None) or {}
        known |= {f"{score}_{name}": counts.get(name) for name in _COUNTS}
    remarks = known.get("remarks")
    if isinstance(remarks, list):
        known["remarks"] = ",".join(map(str, remarks))
    known["complete"] = complete
    more = {k: v for k, v in known.items() if k not in _SESSION_COLUMNS and k not in ("k", "t")}
    row: Row = dict.fromkeys(_SESSION_COLUMNS)
    for name, kind in _SESSION_COLUMNS.items():
        try:
            row[name] = _cell(kind, known.get(name))
        except ValueError:
            more[name] = known[name]
    return {**row, "more": _cell(Kind.TEXT, more or None)}


def _origin(header: Record) -> Record:
    return {key: header.get(key) for key in ("host", "version")}


def _fault(fault: Any) -> Row:  # noqa: ANN401
    if not isinstance(fault, Mapping):
        return dict.fromkeys(_FAULT)
    return {name: fault.get(name.removeprefix("fault_")) for name in _FAULT}


def _cell(kind: Kind, value: Any) -> Any:  # noqa: ANN401
    """A value as its column takes it. Raises ValueError where it cannot be in that column."""
    if value is None:
        return None
    if kind is Kind.TEXT:
        text = str(value) if isinstance(value, str) else json.dumps(value, default=repr)
        return text.encode("utf-8", "backslashreplace").decode()
    if kind is Kind.FLOAT and type(value) is int:
        return float(value)
    if _KINDS.get(type(value)) is not kind:
        raise ValueError(f"a {type(value).__name__} where the column holds {kind.value}")
    if kind is Kind.INT and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("a number too large for its column")
    return value


def _whole(value: object) -> int:
    return value if type(value) is int else 0


_FIELDS = {kind: [field.name for field in fields(event)] for kind, event in EVENTS.items()}
EVENT_TABLE = Table(_event_columns(), event_rows)
_EMPTY_EVENT: Row = dict.fromkeys(EVENT_TABLE.columns)
TABLES = {"sessions": Table(_SESSION_COLUMNS, session_rows), "events": EVENT_TABLE}
