"""Events as plain records and back: what crosses to another process and lies in the journal.

A record is a dict of strings, numbers, bytes and None, ready to be packed: ``k`` is its kind,
``t`` the moment (nanoseconds on the monotonic clock), ``s`` the session it belongs to; the other
keys are the event's own fields. Kinds and keys that are not known here are skipped, so that
journals of older and newer versions stay readable.

    event ─to_record─> {"k": "transcript", "t": …, "s": …, "text": …} ─from_record─> event
    50 FrameSent ─frames_record─> {"k": "frames", …} ─frames_of─> 50 FrameSent
"""

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, get_args, get_type_hints

from measure.events import EVENTS, Event, FrameSent
from measure.faults import Fault, FaultKind, Whose

Record = dict[str, object]
FRAMES = "frames"
"""The kind of a record that holds many frames at once."""
FRAMES_IN_ONE_RECORD = 50
"""One second of audio: what is lost at most when this program is killed between two events."""


def to_record(event: Event, session_id: str) -> Record:
    """The record of one event. Exact: ``from_record`` gives an equal event."""
    record: Record = {"k": event.kind, "t": event.at_ns, "s": session_id}
    for name in _FIELDS[event.kind]:
        value = getattr(event, name)
        record[name] = _fault_record(value) if isinstance(value, Fault) else value
    return record


def from_record(record: Mapping[str, object]) -> Event | None:
    """The event of one record; None where the record is no event, or of a kind not known here.

    Raises ValueError, with kind and key, for a record that cannot be what its kind says.
    """
    kind = record.get("k")
    if not isinstance(kind, str):
        raise ValueError(f"a record without a kind: k is {_shown(kind)}, it must be text")
    if kind not in EVENTS:
        return None
    values = {"at_ns": _checked(kind, "t", record.get("t"), int)}
    for name, (wanted, optional) in _FIELDS[kind].items():
        if name in record:
            values[name] = _checked(kind, name, record[name], wanted)
        elif not optional:
            raise ValueError(f"{kind}: {name} is missing")
    return EVENTS[kind](**values)


def frames_record(frames: Sequence[FrameSent], session_id: str) -> Record:
    """One record of many frames: columns of little-endian numbers, moments counted from ``t``.

    ``at_ns`` and ``due_ns`` are int64[n], ``audio_ms`` is float64[n], ``padding`` holds one bit a
    frame, the first frame's lowest. Exact: ``frames_of`` gives equal frames.
    """
    if not frames:
        raise ValueError("frames: a record of no frames")
    start_ns = frames[0].at_ns
    padding = sum(1 << i for i, frame in enumerate(frames) if frame.padding)
    return {
        "k": FRAMES,
        "t": start_ns,
        "s": session_id,
        "count": len(frames),
        "at_ns": _column("q", [frame.at_ns - start_ns for frame in frames]),
        "due_ns": _column("q", [frame.due_ns - start_ns for frame in frames]),
        "audio_ms": _column("d", [frame.audio_ms for frame in frames]),
        "padding": padding.to_bytes((len(frames) + 7) // 8, "little"),
    }


def frames_of(record: Mapping[str, object]) -> list[FrameSent]:
    """The frames of one record of kind ``frames``. Raises ValueError for a damaged one."""
    start_ns = _checked(FRAMES, "t", record.get("t"), int)
    count = _checked(FRAMES, "count", record.get("count"), int)
    at_ns = _numbers("q", record, "at_ns", count)
    due_ns = _numbers("q", record, "due_ns", count)
    audio_ms = _numbers("d", record, "audio_ms", count)
    bits = _checked(FRAMES, "padding", record.get("padding"), bytes)
    if len(bits) != (count + 7) // 8:
        raise ValueError(f"{FRAMES}: padding has {len(bits)} bytes for {count} frames")
    padding = int.from_bytes(bits, "little")
    return [
        FrameSent(start_ns + at_ns[i], start_ns + due_ns[i], audio_ms[i], bool(padding >> i & 1))
        for i in range(count)
    ]


def events_of(records: Iterable[Mapping[str, object]]) -> Iterator[Event]:
    """Every event in these records, in their order; frames one by one, all else skipped."""
    for record in records:
        if record.get("k") == FRAMES:
            yield from frames_of(record)
        elif (event := from_record(record)) is not None:
            yield event


class Recorder:
    """Turns the events of one session into records as they happen, frames in batches.

    A batch ends where any other event comes, so records keep the order in which events were fed,
    also at equal moments: that makes a replay exact.
    """

    def __init__(
        self,
        session_id: str,
        put: Callable[[Record], None],
        frames_in_one_record: int = FRAMES_IN_ONE_RECORD,
    ) -> None:
        self._session_id = session_id
        self._put = put
        self._most = frames_in_one_record
        self._frames: list[FrameSent] = []

    def note(self, event: Event) -> None:
        """Take one event; call ``flush`` after the last."""
        if isinstance(event, FrameSent):
            self._frames.append(event)
            if len(self._frames) >= self._most:
                self.flush()
            return
        self.flush()
        self._put(to_record(event, self._session_id))

    def flush(self) -> None:
        """Hand over the frames that still wait for a batch to be full."""
        if self._frames:
            record = frames_record(self._frames, self._session_id)
            self._frames = []
            self._put(record)


def _fault_record(fault: Fault) -> Record:
    return {
        "whose": fault.whose.value,
        "kind": fault.kind.value,
        "detail": fault.detail,
        "retry_after_s": fault.retry_after_s,
    }


def _fault(kind: str, value: Mapping[object, object]) -> Fault:
    whose = _checked(kind, "fault.whose", value.get("whose"), str)
    which = _checked(kind, "fault.kind", value.get("kind"), str)
    detail = _checked(kind, "fault.detail", value.get("detail", ""), str)
    retry_after_s = _checked(kind, "fault.retry_after_s", value.get("retry_after_s"), float | None)
    try:
        return Fault(Whose(whose), FaultKind(which), detail, retry_after_s)
    except ValueError as error:
        raise ValueError(f"{kind}: fault: {error}") from error


def _checked(kind: str, name: str, value: object, wanted: type | UnionType) -> Any:  # noqa: ANN401
    """``value`` if it is what the field ``name`` holds. Raises ValueError otherwise."""
    allowed = get_args(wanted) or (wanted,)
    if type(value) in allowed:
        return value
    if type(value) is int and float in allowed:  # a packer may have dropped the ".0"
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError(f"{kind}: {name} is too large for a float") from error
    if Fault in allowed and isinstance(value, Mapping):
        return _fault(kind, value)
    names = " or ".join("None" if t is type(None) else t.__name__ for t in allowed)
    raise ValueError(f"{kind}: {name} is {_shown(value)}, it must be {names}")


def _shown(value: object) -> str:
    """A value as an error may show it: short, and no provider's words in full."""
    return "missing" if value is None else f"a {type(value).__name__}"


def _column(code: str, values: Sequence[float]) -> bytes:
    try:
        column = array(code, values)
    except OverflowError as error:
        raise ValueError(f"{FRAMES}: moments more than 292 years apart") from error
    return _little_endian(column).tobytes()


def _numbers(code: str, record: Mapping[str, object], name: str, count: int) -> Sequence[Any]:
    raw = _checked(FRAMES, name, record.get(name), bytes)
    column = array(code)
    if count < 0 or len(raw) != count * column.itemsize:
        raise ValueError(f"{FRAMES}: {name} has {len(raw)} bytes for {count} frames")
    column.frombytes(raw)
    return _little_endian(column)


def _little_endian(column: "array[Any]") -> "array[Any]":
    if sys.byteorder == "big":
        column.byteswap()
    return column


def _fields_of(event: type[Event]) -> dict[str, tuple[type | UnionType, bool]]:
    """Its fields besides the moment: what each holds, and whether it may be left out."""
    hints = get_type_hints(event)
    return {
        field.name: (hints[field.name], field.default is not MISSING)
        for field in fields(event)
        if field.name != "at_ns"
    }


_FIELDS = {kind: _fields_of(event) for kind, event in EVENTS.items()}
