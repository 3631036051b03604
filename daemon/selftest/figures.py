"""From sessions to figures: what was measured minus what was true, and how the host behaved. Pure.

An error is signed: positive where we showed more than was true. Of errors there is the middle one
with its sign, and how large they are without it. A p99 of fewer than a hundred values would be
their largest under another name, so then there is none.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from daemon.selftest.codec import FINAL, PARTIAL, SENT, Said, said_in
from measure.events import FrameSent
from measure.measurement import Measurement, rank
from measure.records import MS, Reading
from measure.wire import FRAMES, Record, frames_of

ENOUGH_FOR_P99 = 100
UNSURE_NS = MS // 4
"""A server whose message left later than this after it read its clock was held up in between."""
MESSAGE = "message_received"
KEPT = frozenset({MESSAGE, FRAMES})
"""The kinds of records from which the figures are made."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Some durations. None of none; ``p99_ns`` also where they are too few to have one."""

    n: int = 0
    p50_ns: int | None = None
    p99_ns: int | None = None
    max_ns: int | None = None

    @property
    def tail_ns(self) -> int | None:
        """The p99; of too few, the largest."""
        return self.max_ns if self.p99_ns is None else self.p99_ns


def spread_of(values_ns: Iterable[int]) -> Spread:
    """Their middle, their upper end, and how many there are."""
    ordered = sorted(values_ns)
    if not ordered:
        return Spread()
    p99_ns = rank(ordered, 0.99) if len(ordered) >= ENOUGH_FOR_P99 else None
    return Spread(len(ordered), rank(ordered, 0.50), p99_ns, ordered[-1])


@dataclass(frozen=True, slots=True)
class ErrorSpread:
    """How far readings were from the truth."""

    bias_ns: int | None = None
    """The middle one, signed."""
    worst_ns: int | None = None
    """The largest one, signed."""
    size: Spread = Spread()
    """How large they were, without the sign."""


def error_spread_of(errors_ns: Iterable[int]) -> ErrorSpread:
    """Both views of signed errors."""
    ordered = sorted(errors_ns)
    return ErrorSpread(
        bias_ns=rank(ordered, 0.50),
        worst_ns=max(ordered, key=abs, default=None),
        size=spread_of(abs(error_ns) for error_ns in ordered),
    )


class Stalls(Protocol):
    """What a sentinel saw of the host's own standstills: how late its wakes were."""

    @property
    def late_p50_ns(self) -> int | None: ...
    @property
    def late_p99_ns(self) -> int | None: ...
    @property
    def late_max_ns(self) -> int | None: ...
    @property
    def n(self) -> int: ...


def spread_of_stalls(stalls: Stalls) -> Spread:
    """The sentinel's report as a spread."""
    p99_ns = stalls.late_p99_ns if stalls.n >= ENOUGH_FOR_P99 else None
    return Spread(stalls.n, stalls.late_p50_ns, p99_ns, stalls.late_max_ns)


@dataclass(frozen=True, slots=True)
class Heard:
    """One message of the server, with our stamps."""

    at_ns: int
    read_ns: int | None
    said: Said


@dataclass(frozen=True, slots=True)
class Errors:
    """Of one session; None where there is no reading, or the truth is not known."""

    final_ns: int | None = None
    partial_ns: int | None = None


def errors_of(reading: Reading, heard: Sequence[Heard]) -> Errors:
    """Our reading minus the truth: when the server sent, minus when the force had come to it."""
    forced_ns = next((one.said.heard_ns for one in heard if one.said.heard_ns is not None), None)
    if forced_ns is None or not reading.valid:
        return Errors()
    final, partial = reading.final, reading.first_partial
    final_sent_ns = _sent_ns(heard, FINAL, final.text) if final else None
    partial_sent_ns = _sent_ns(heard, PARTIAL, partial.text) if partial else None
    return Errors(
        _difference(reading.time_to_final_ns, final_sent_ns, forced_ns),
        _difference(reading.time_to_first_partial_ns, partial_sent_ns, forced_ns),
    )


def _sent_ns(heard: Sequence[Heard], kind: str, text: str) -> int | None:
    """When the server sent that; None where it is not known to a quarter of a millisecond."""
    last = next((one.said for one in heard if one.said.kind == SENT), None)
    if last is None:
        return None
    for said in (one.said for one in heard):
        if (said.kind, said.text) == (kind, text):
            left_ns = last.left_ns.get(kind, said.sent_ns)
            return said.sent_ns if left_ns - said.sent_ns <= UNSURE_NS else None
    return None


def _difference(measured_ns: int | None, sent_ns: int | None, forced_ns: int) -> int | None:
    if measured_ns is None or sent_ns is None:
        return None
    return measured_ns - (sent_ns - forced_ns)


@dataclass(frozen=True, slots=True)
class Level:
    """Everything that was found with one number of streams at the same time."""

    streams: int
    sessions: int
    final_error: ErrorSpread = ErrorSpread()
    """Of the time to final."""
    partial_error: ErrorSpread = ErrorSpread()
    """Of the time to first partial."""
    invalid: Mapping[str, int] = field(default_factory=dict)
    """Sessions whose reading does not count, by verdict."""
    untold: int = 0
    """Sessions with a reading of which the truth is not known: the server was too late itself."""
    lateness: Spread = Spread()
    """Of frames against their due times."""
    rate_error_ppm: float | None = None
    """How much faster than real time audio left, in millionths."""
    force_delay: Spread = Spread()
    """From the frame that completes the endpoint to the force."""
    receive_gap: Spread = Spread()
    """From the kernel's stamp of a message to our own."""
    user_stamped: int = 0
    """How many messages had no stamp of the kernel."""
    sentinel: Spread = Spread()
    """The host's own standstills meanwhile."""

    @property
    def invalid_count(self) -> int:
        return sum(self.invalid.values())


def level_of(
    streams: int,
    measurements: Sequence[Measurement],
    records: Iterable[Record],
    sentinel: Spread,
) -> Level:
    """The figures of one part of the course; ``records`` are those of ``KEPT`` kinds."""
    heard, frames = _sorted(records)
    errors = [errors_of(one.reading, heard.get(one.session_id, ())) for one in measurements]
    valid = sum(one.reading.valid for one in measurements)
    finals_ns = [one.final_ns for one in errors if one.final_ns is not None]
    messages = [one for those in heard.values() for one in those]
    gaps_ns = [one.read_ns - one.at_ns for one in messages if one.read_ns is not None]
    seen = [one.circumstances.force_delay_ns for one in measurements]
    return Level(
        streams=streams,
        sessions=len(measurements),
        final_error=error_spread_of(finals_ns),
        partial_error=error_spread_of(
            one.partial_ns for one in errors if one.partial_ns is not None
        ),
        invalid=dict(
            Counter(one.reading.verdict.value for one in measurements if not one.reading.valid)
        ),
        untold=valid - len(finals_ns),
        lateness=spread_of(
            frame.at_ns - frame.due_ns for those in frames.values() for frame in those
        ),
        rate_error_ppm=rate_error_ppm(frames.values()),
        force_delay=spread_of(delay_ns for delay_ns in seen if delay_ns is not None),
        receive_gap=spread_of(gaps_ns),
        user_stamped=len(messages) - len(gaps_ns),
        sentinel=sentinel,
    )


def rate_error_ppm(streams: Iterable[Sequence[FrameSent]]) -> float | None:
    """How much faster than real time audio left, over all streams; None of no audio."""
    audio_ns = took_ns = 0.0
    for frames in streams:
        if len(frames) > 1:
            audio_ns += (frames[-1].audio_ms - frames[0].audio_ms) * 1e6
            took_ns += frames[-1].at_ns - frames[0].at_ns
    return (audio_ns / took_ns - 1) * 1e6 if took_ns else None


def _sorted(
    records: Iterable[Record],
) -> tuple[dict[str, list[Heard]], dict[str, list[FrameSent]]]:
    """Messages and frames by session."""
    heard: dict[str, list[Heard]] = {}
    frames: dict[str, list[FrameSent]] = {}
    for record in records:
        session_id = str(record["s"])
        if record["k"] == FRAMES:
            frames.setdefault(session_id, []).extend(frames_of(record))
        elif record["k"] == MESSAGE:
            heard.setdefault(session_id, []).append(_heard(record))
    return heard, frames


def _heard(record: Record) -> Heard:
    at_ns, read_ns, raw = record["t"], record.get("read_ns"), record["raw"]
    assert isinstance(at_ns, int) and isinstance(raw, str | bytes)  # noqa: PT018
    return Heard(at_ns, read_ns if isinstance(read_ns, int) else None, said_in(raw))
