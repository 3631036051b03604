"""One measurement as marks on lanes of time: what both the terminal's drawing and the picture show.

Moments count from zero, or from the first frame where the watch never started. Pure.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from measure.definitions import DEFINITIONS, Measured, Missing, Unit, Value
from measure.definitions.retelling import Replayed
from measure.events import (
    Cancelled,
    ClockStepped,
    Connected,
    Event,
    Failed,
    FinishSent,
    ForceAcknowledged,
    ForceRejected,
    ForceSent,
    FrameSent,
    HostStalled,
    LoopStalled,
    NoSpeech,
    Notice,
    SpeechStart,
    StreamClosed,
    StreamDone,
    StreamReady,
    Transcript,
    Unread,
    Xrun,
)
from measure.records import MS, Endpoint, Flow, Reading, Rule
from measure.replay import Session
from measure.stopwatch import Stopwatch


class Lane(StrEnum):
    """Where a mark stands."""

    WATCH = "watch"
    STREAM = "stream"
    FORCE = "force"
    PARTIALS = "partials"
    FINALS = "finals"
    CONFIRM = "confirm"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at one moment."""

    at_ns: int
    lane: Lane
    what: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """One frame."""

    at_ns: int
    late_ns: int
    audio_ms: float
    padding: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """From one moment to another; where a value has no two moments of its own, both are None."""

    name: str
    from_ns: int | None
    to_ns: int | None
    said: str
    """Its value with its unit, or why there is none."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Everything that a drawing shows."""

    title: str
    origin: str
    """What moments count from."""
    frames: Sequence[Sent]
    speech: Stretch | None
    decision: Stretch | None
    """The wait until a detector can know that speech has ended."""
    marks: Sequence[Mark]
    definitions: Sequence[Stretch]
    says: Sequence[str]
    """What the watch says, a line each."""
    budget_ns: int
    """By how much a frame may be late."""

    @property
    def span_ns(self) -> tuple[int, int]:
        """The first and the last moment that is shown; never the same one."""
        moments = [mark.at_ns for mark in self.marks] + [sent.at_ns for sent in self.frames]
        for stretch in (self.speech, self.decision, *self.definitions):
            if stretch is not None:
                moments += [at for at in (stretch.from_ns, stretch.to_ns) if at is not None]
        first, last = min(moments, default=0), max(moments, default=0)
        return first, max(last, first + MS)


def timeline_of(session: Session, told: Replayed, names: Sequence[str]) -> Timeline:
    """A session, told under some rule, with the values of these definitions."""
    reading = told.reading
    frames = [event for event in session.events if isinstance(event, FrameSent)]
    zero_ns = reading.zero_ns
    events_ns = [event.at_ns for event in (*frames, *session.events)]
    origin_ns = zero_ns if zero_ns is not None else (events_ns[0] if events_ns else 0)
    place = _Placing(told, session.events, origin_ns)
    started = session.started
    return Timeline(
        title=clean(f"{started.get('model')}, {started.get('clip')}, session {started.get('s')}"),
        origin=_origin(zero_ns, frames),
        frames=[
            Sent(one.at_ns - origin_ns, one.at_ns - one.due_ns, one.audio_ms, one.padding)
            for one in frames
        ],
        speech=place.speech(),
        decision=place.decision(),
        marks=[
            *_watch_marks(session.events, told.rule, origin_ns, zero_ns),
            *_marks(session.events, origin_ns, reading),
        ],
        definitions=[_stretch(name, DEFINITIONS[name].of(told), origin_ns) for name in names],
        says=[*_says(reading, told.rule, origin_ns)],
        budget_ns=told.rule.late_budget_ns,
    )


def value_said(unit: Unit, value: Value) -> str:
    """A value as people read it."""
    match value:
        case Missing(reason):
            return f"none: {reason}"
        case Measured(count) if unit is Unit.TIMES:
            return f"{count} times"
    return f"{value.value / MS:.3f} ms"


def clean(text: str) -> str:
    """A provider's text without what could move a cursor or break a document."""
    return "".join(
        char if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn") else "�"
        for char in text
    )


def signed_ms(ns: int) -> str:
    """A moment or a lateness in milliseconds, with its sign."""
    return f"{ns / MS:+.3f}"


def round_step_ms(least_ms: float) -> int:
    """The smallest step of 1, 2 or 5 times a power of ten that is not below ``least_ms``."""
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= least_ms:
                return step * power
        power *= 10


def ticks_ms(first_ns: int, last_ns: int, step_ms: int) -> range:
    """Round moments between the first and the last, zero among them where it is inside."""
    first_ms = -(-first_ns // (step_ms * MS)) * step_ms
    return range(first_ms, last_ns // MS + 1, step_ms)


class _Placing:
    """Where the detector's places in the clip lie in time."""

    def __init__(self, told: Replayed, events: Iterable[Event], origin_ns: int) -> None:
        self._told = told
        self._origin_ns = origin_ns
        self._start = next((event for event in events if isinstance(event, SpeechStart)), None)

    def speech(self) -> Stretch | None:
        start, end = self._start, self._told.speech_end
        if start is None or end is None:
            return None
        said = f"{start.audio_ms:g} to {end.audio_ms:g} ms of audio"
        return Stretch("speech", self._at(start.audio_ms), self._at(end.audio_ms), said)

    def decision(self) -> Stretch | None:
        end = self._told.speech_end
        if end is None:
            return None
        said = f"known at {end.known_ms:g} ms of audio"
        return Stretch("decision", self._at(end.audio_ms), self._at(end.known_ms), said)

    def _at(self, audio_ms: float) -> int | None:
        at_ns = self._told.sent_ns(audio_ms)
        return None if at_ns is None else at_ns - self._origin_ns


def _origin(zero_ns: int | None, frames: Sequence[FrameSent]) -> str:
    if zero_ns is not None:
        return "zero"
    return "the first frame" if frames else "the first event"


def _stretch(name: str, value: Value, origin_ns: int) -> Stretch:
    said = value_said(DEFINITIONS[name].unit, value)
    if isinstance(value, Missing) or value.from_ns is None or value.to_ns is None:
        return Stretch(name, None, None, said)
    return Stretch(name, value.from_ns - origin_ns, value.to_ns - origin_ns, said)


def _marks(events: Iterable[Event], origin_ns: int, reading: Reading) -> Iterator[Mark]:
    confirmed_ns = reading.confirmed_ns
    for event in events:
        described = _described(event)
        if described is not None:
            yield Mark(event.at_ns - origin_ns, described[0], described[1], clean(described[2]))
    if confirmed_ns is not None:
        yield Mark(confirmed_ns - origin_ns, Lane.CONFIRM, "force confirmed")


def _watch_marks(
    events: Iterable[Event], rule: Rule, origin_ns: int, zero_ns: int | None
) -> Iterator[Mark]:
    """Zero, and the moment from which nothing could change the reading any more."""
    if zero_ns is not None:
        yield Mark(zero_ns - origin_ns, Lane.WATCH, "zero", "the watch starts")
    if rule.endpoint is Endpoint.EVERY:
        return  # each turn has a watch of its own
    watch = Stopwatch(rule)
    for event in events:
        deadline_ns = watch.deadline_ns
        watch.feed(event)
        if watch.done:
            at_ns = event.at_ns if deadline_ns is None else min(event.at_ns, deadline_ns)
            yield Mark(at_ns - origin_ns, Lane.WATCH, "done", "what comes now changes nothing")
            return


def _described(event: Event) -> tuple[Lane, str, str] | None:
    """Lane, what and detail of an event; None where it is drawn otherwise, or not at all."""
    describe = DESCRIBED.get(type(event))
    return None if describe is None else describe(event)


def _transcript(event: Transcript) -> tuple[Lane, str, str]:
    said = event.text if event.text.strip() else "(no text)"
    if not event.final:
        return Lane.PARTIALS, "partial", said
    kinds = {True: "final, forced", False: "final, natural", None: "final"}
    return Lane.FINALS, kinds[event.forced], said


def _asked(event: ForceSent | FinishSent) -> tuple[Lane, str, str]:
    what = "force sent" if isinstance(event, ForceSent) else "end of stream announced"
    return Lane.FORCE, what, f"{signed_ms(event.at_ns - event.due_ns)} ms after it was due"


def _xrun(event: Xrun) -> str:
    lost = "" if event.lost_ms is None else f", {event.lost_ms:.1f} ms are missing"
    return f"{event.what.replace('_', ' ')}{lost}"


def _closed(event: StreamClosed) -> tuple[Lane, str, str]:
    code = "without a Close" if event.code is None else f"Close {event.code}"
    return Lane.STREAM, "closed", f"{code} {event.reason}".strip()


Described = Callable[..., tuple[Lane, str, str]]
DESCRIBED: dict[type[Event], Described] = {
    Connected: lambda event: (Lane.STREAM, "connected", event.address),
    StreamReady: lambda _: (Lane.STREAM, "ready for audio", ""),
    StreamDone: lambda _: (Lane.STREAM, "provider is done", ""),
    StreamClosed: _closed,
    ForceSent: _asked,
    FinishSent: _asked,
    ForceAcknowledged: lambda _: (Lane.CONFIRM, "force acknowledged", ""),
    ForceRejected: lambda event: (Lane.TROUBLE, "force rejected", event.reason),
    Transcript: _transcript,
    Notice: lambda event: (Lane.STREAM, "notice", event.name),
    Unread: lambda event: (Lane.TROUBLE, "not understood", event.name),
    Failed: lambda event: (Lane.TROUBLE, "failed", str(event.fault)),
    Cancelled: lambda _: (Lane.TROUBLE, "cancelled", ""),
    LoopStalled: lambda event: (
        Lane.TROUBLE,
        "this program stood still",
        f"for {event.stalled_ns / MS:.3f} ms",
    ),
    HostStalled: lambda event: (
        Lane.TROUBLE,
        "the host stood still",
        f"for {event.stalled_ns / MS:.3f} ms",
    ),
    ClockStepped: lambda event: (
        Lane.TROUBLE,
        "the wall clock moved",
        f"by {signed_ms(event.step_ns)} ms",
    ),
    NoSpeech: lambda _: (Lane.TROUBLE, "no speech in the clip", ""),
    Xrun: lambda event: (Lane.TROUBLE, "the sound device failed", _xrun(event)),
}
"""How each kind of event is told; those that are not here are not drawn as marks."""


def _says(reading: Reading, rule: Rule, origin_ns: int) -> Iterator[str]:
    valid = "it counts" if reading.valid else "it does not count"
    yield f"verdict: {reading.verdict.value}, {valid}"
    if reading.selection is not None and reading.selection is not reading.verdict:
        yield f"selection: {reading.selection.value}"
    for name, answer in (("final", reading.final), ("first partial", reading.first_partial)):
        if answer is None:
            yield f"{name}: none"
        else:
            yield f"{name}: {signed_ms(answer.at_ns - origin_ns)} ms, “{clean(answer.text)}”"
    early = "" if rule.flow is Flow.FALLBACK else f", at {rule.force_at.value.replace('_', ' ')}"
    yield f"flow: {rule.flow.value}{early}"
    if reading.remarks:
        yield "remarks: " + ", ".join(remark.value for remark in reading.remarks)
    if reading.fault is not None:
        yield f"fault: {clean(str(reading.fault))}"
    if reading.late_max_ns is not None:
        yield f"latest frame: {signed_ms(reading.late_max_ns)} ms"
