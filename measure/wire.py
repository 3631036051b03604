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
from dataclasses import MISSING, dataclass, fields
from types import UnionType
from typing import Any, get_args, get_type_hints

from measure.events import EVENTS, Event, FrameSent
from measure.faults import Fault, FaultKind, Whose

Record = dict[str, object]
Types = tuple[type, ...]
_NUMBER_BYTES = 8
_INT, _STR, _BYTES, _SECONDS = (int,), (str,), (bytes,), (float, type(None))
FRAMES = "frames"
"""The kind of a record that holds many frames at once."""
FRAMES_IN_ONE_RECORD = 50
"""One second of audio: what is lost at most when this program is killed between two events."""


def to_record(event: Event, session_id: str) -> Record:
    """The record of one event. Exact: ``from_record`` gives an equal event."""
    record: Record = {"k": event.kind, "t": event.at_ns, "s": session_id}
    for name, _, _ in _FIELDS[event.kind]:
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
    at_ns = record.get("t")
    values = [at_ns if type(at_ns) is int else _checked(kind, "t", at_ns, _INT)]
    for name, allowed, default in _FIELDS[kind]:
        value = record.get(name, default)
        if value is MISSING:
            raise ValueError(f"{kind}: {name} is missing")
        values.append(value if type(value) in allowed else _checked(kind, name, value, allowed))
    return EVENTS[kind](*values)


def frames_record(frames: Sequence[FrameSent], session_id: str) -> Record:
    """One record of many frames: columns of little-endian numbers, moments counted from ``t``.

    ``at_ns`` and ``due_ns`` are int64[n], ``audio_ms`` is float64[n], ``padding`` holds one bit a
    frame, the first frame's lowest. ``filled_ms``, float64[n], is there where a frame was filled
    up, ``captured_ns``, int64[n], where each was captured live. Exact: ``frames_of`` gives equal
    frames. Raises ValueError for no frames, or where only some of them were captured.
    """
    if not frames:
        raise ValueError("frames: a record of no frames")
    start_ns = frames[0].at_ns
    padding = sum(1 << i for i, frame in enumerate(frames) if frame.padding)
    filled_ms = [frame.filled_ms for frame in frames]
    record: Record = {
        "k": FRAMES,
        "t": start_ns,
        "s": session_id,
        "count": len(frames),
        "at_ns": _column("q", [frame.at_ns - start_ns for frame in frames]),
        "due_ns": _column("q", [frame.due_ns - start_ns for frame in frames]),
        "audio_ms": _column("d", [frame.audio_ms for frame in frames]),
        "padding": padding.to_bytes((len(frames) + 7) // 8, "little"),
    }
    if any(filled_ms):
        record["filled_ms"] = _column("d", filled_ms)
    captured_ns = [one.captured_ns - start_ns for one in frames if one.captured_ns is not None]
    if captured_ns:
        if len(captured_ns) != len(frames):
            raise ValueError(f"{FRAMES}: captured and other frames in one record")
        record["captured_ns"] = _column("q", captured_ns)
    return record


def frames_of(record: Mapping[str, object]) -> list[FrameSent]:
    """The frames of one record of kind ``frames``. Raises ValueError for a damaged one."""
    columns = columns_of(record)
    return [columns.frame(index) for index in range(len(columns))]


@dataclass(frozen=True, slots=True)
class FrameColumns:
    """The frames of one record as they were packed: for those who do not need each as an event."""

    start_ns: int
    """From which the moments count."""
    at_ns: list[int]
    due_ns: list[int]
    audio_ms: list[float]
    padding: int
    """One bit a frame, the first frame's lowest."""
    filled_ms: Sequence[float] = ()
    """Empty where none was filled up."""
    captured_ns: Sequence[int] = ()
    """Empty where they are no live audio."""

    def __len__(self) -> int:
        return len(self.at_ns)

    def frame(self, index: int) -> FrameSent:
        """One of them."""
        return FrameSent(
            self.start_ns + self.at_ns[index],
            self.start_ns + self.due_ns[index],
            self.audio_ms[index],
            bool(self.padding >> index & 1),
            self.filled_ms[index] if self.filled_ms else 0.0,
            self.start_ns + self.captured_ns[index] if self.captured_ns else None,
        )


def columns_of(record: Mapping[str, object]) -> FrameColumns:
    """The frames of one record of kind ``frames``. Raises ValueError for a damaged one."""
    start_ns = _checked(FRAMES, "t", record.get("t"), _INT)
    count = _checked(FRAMES, "count", record.get("count"), _INT)
    at_ns = _numbers("q", record, "at_ns", count)
    due_ns = _numbers("q", record, "due_ns", count)
    audio_ms = _numbers("d", record, "audio_ms", count)
    bits = _checked(FRAMES, "padding", record.get("padding"), _BYTES)
    if len(bits) != (count + 7) // 8:
        raise ValueError(f"{FRAMES}: padding has {len(bits)} bytes for {count} frames")
    filled_ms = _numbers("d", record, "filled_ms", count) if "filled_ms" in record else ()
    captured_ns = _numbers("q", record, "captured_ns", count) if "captured_ns" in record else ()
    padding = int.from_bytes(bits, "little")
    return FrameColumns(start_ns, at_ns, due_ns, audio_ms, padding, filled_ms, captured_ns)


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
    also at equal moments: that makes a replay exact. It ends as well between audio that was
    captured and audio that was not.
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
            if self._frames and _is_live(self._frames[0]) is not _is_live(event):
                self.flush()
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


def _is_live(frame: FrameSent) -> bool:
    return frame.captured_ns is not None


def _fault_record(fault: Fault) -> Record:
    return {
        "whose": fault.whose.value,
        "kind": fault.kind.value,
        "detail": fault.detail,
        "retry_after_s": fault.retry_after_s,
    }


def _fault(kind: str, value: Mapping[object, object]) -> Fault:
    whose = _checked(kind, "fault.whose", value.get("whose"), _STR)
    which = _checked(kind, "fault.kind", value.get("kind"), _STR)
    detail = _checked(kind, "fault.detail", value.get("detail", ""), _STR)
    retry_after_s = _checked(kind, "fault.retry_after_s", value.get("retry_after_s"), _SECONDS)
    try:
        return Fault(Whose(whose), FaultKind(which), detail, retry_after_s)
    except ValueError as error:
        raise ValueError(f"{kind}: fault: {error}") from error


def _checked(kind: str, name: str, value: object, allowed: Types) -> Any:  # noqa: ANN401
    """``value`` if it is what the field ``name`` holds. Raises ValueError otherwise."""
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


def _numbers(code: str, record: Mapping[str, object], name: str, count: int) -> list[Any]:
    raw = _checked(FRAMES, name, record.get(name), _BYTES)
    if len(raw) != count * _NUMBER_BYTES:
        raise ValueError(f"{FRAMES}: {name} has {len(raw)} bytes for {count} frames")
    if sys.byteorder == "little":
        return memoryview(raw).cast(code).tolist()  # type: ignore[call-overload, no-any-return]
    return _little_endian(array(code, raw)).tolist()


def _little_endian(column: "array[Any]") -> "array[Any]":
    if sys.byteorder == "big":
        column.byteswap()
    return column


def _fields_of(event: type[Event]) -> tuple[tuple[str, Types, object], ...]:
    """Its fields behind the moment: name, what it may hold, and what it is where it is left out."""
    hints = get_type_hints(event)
    moment, *others = fields(event)
    assert moment.name == "at_ns", "every event begins with its moment"
    return tuple((field.name, _types(hints[field.name]), field.default) for field in others)


def _types(wanted: type | UnionType) -> Types:
    return get_args(wanted) or (wanted,)


_FIELDS = {kind: _fields_of(event) for kind, event in EVENTS.items()}
