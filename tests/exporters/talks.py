"""Somebody speaks and several models hear it: the records that measuring processes make of that.

Places are on the time line of all streams; the audio of a place leaves at ``moment`` of it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from measure.events import (
    DeviceSampled,
    Event,
    Failed,
    ForceAcknowledged,
    ForceSent,
    FrameSent,
    SpeechEnd,
    SpeechStart,
    StreamReady,
    Tick,
    Transcript,
    Xrun,
)
from measure.faults import Fault, FaultKind, Whose
from measure.records import MS, SECOND, Endpoint, FinalRule, Flow, Rule
from measure.turns import Turns
from measure.wire import Record, Recorder

BEGAN_NS = 50 * SECOND
BEGAN_UNIX_NS = 1_700_000_000 * SECOND  # 22:13:20 UTC
DELAY_NS = 41 * MS
NOTICED_MS = 64.0
"""A detector knows of a start so much later,"""
SILENT_MS = 170.0
"""and of an end."""
FORCED = Rule(Flow.FORCED, FinalRule.NEXT, endpoint=Endpoint.EVERY)
ACKED = replace(FORCED, final_rule=FinalRule.ACK)
MARKED = replace(FORCED, final_rule=FinalRule.MARKER)
FALLBACK = replace(FORCED, flow=Flow.FALLBACK, final_rule=FinalRule.NONE)


def moment(place_ms: float) -> int:
    """When the audio of a place leaves."""
    return BEGAN_NS + round(place_ms * MS)


@dataclass
class Hearing:
    """One stream and what happens in it."""

    session_id: str
    model: str
    rule: Rule
    joined_ms: float = 0.0
    device: str | None = "USB Audio"
    events: list[Event] = field(default_factory=list)
    over_ms: float = 1e9
    """Where it breaks off."""

    def speech(self, start_ms: float, end_ms: float) -> None:
        """It is told of a speech, and forces at its end where that can be done."""
        start, known = start_ms - self.joined_ms, start_ms + NOTICED_MS
        self.events.append(SpeechStart(moment(known) + 3 * MS, start, known - self.joined_ms))
        end, known = end_ms - self.joined_ms, end_ms + SILENT_MS
        self.events.append(SpeechEnd(moment(known) + 3 * MS, end, known - self.joined_ms))
        if self.rule.flow is Flow.FORCED:
            at_ns = moment(known) + 4 * MS
            self.events.append(ForceSent(at_ns, at_ns))

    def says(self, place_ms: float, text: str, *, final: bool = False) -> None:
        marked = True if final and self.rule.final_rule is FinalRule.MARKER else None
        self.events.append(Transcript(moment(place_ms), text, final, marked))
        if final and self.rule.final_rule is FinalRule.ACK:
            self.events.append(ForceAcknowledged(moment(place_ms)))

    def fails(self, place_ms: float) -> None:
        fault = Fault(Whose.PROVIDER, FaultKind.SERVER, "out of order")
        self.events.append(Failed(moment(place_ms), fault))
        self.over_ms = place_ms

    def loses(self, place_ms: float) -> None:
        """The sound device lost audio there."""
        xrun = Xrun(moment(place_ms), "input_lost", place_ms - self.joined_ms, 12.0)
        self.events.append(xrun)

    def samples(self, place_ms: float, drift_ppm: float | None, error_ppm: float | None) -> None:
        at_ns, audio_ms = moment(place_ms), place_ms - self.joined_ms
        sampled = DeviceSampled(at_ns, audio_ms, place_ms, DELAY_NS, drift_ppm, error_ppm)
        self.events.append(sampled)

    @property
    def started(self) -> Record:
        at_ns = moment(self.joined_ms)
        device: Record = {} if self.device is None else {"device": self.device}
        return {
            "k": "session_started",
            "t": at_ns,
            "s": self.session_id,
            "model": self.model,
            "rule": asdict(self.rule),
            "wall_unix_ns": BEGAN_UNIX_NS + at_ns - BEGAN_NS,
            "live": True,
            "joined_ms": self.joined_ms,
            "audio_ms": 0.0,
            "clip": "live",
            **device,
        }

    @property
    def finished(self) -> Record:
        return {"k": "session_finished", "s": self.session_id}


def talk(hearings: Sequence[Hearing], until_ms: float, *, ends: bool = True) -> list[Record]:
    """The records of all of them, in the order in which they come, up to ``until_ms``.

    ``ends``: the sessions are finished then. A turn of one before its last is told again at its
    end, as it always is.
    """
    told: list[tuple[int, int, int, list[Record]]] = []
    for number, hearing in enumerate(hearings):
        records = _records(hearing, min(until_ms, hearing.over_ms))
        if not ends and hearing.over_ms > until_ms:
            records.pop()
        told += [(at_ns, number, index, [one]) for index, (at_ns, one) in enumerate(records)]
    return [
        record for _, _, _, records in sorted(told, key=lambda one: one[:3]) for record in records
    ]


def _records(hearing: Hearing, until_ms: float) -> list[tuple[int, Record]]:
    """Each with the moment at which it was handed over."""
    now_ns = moment(hearing.joined_ms)
    handed: list[tuple[int, Record]] = [(now_ns, hearing.started)]
    recorder = Recorder(hearing.session_id, lambda record: handed.append((now_ns, record)))
    turns = Turns(hearing.rule)

    def tell(event: Event) -> None:
        nonlocal now_ns
        now_ns = max(now_ns, event.at_ns)
        turns.feed(event)
        recorder.note(event)

    for event in [StreamReady(now_ns), *_in_time(hearing, until_ms)]:
        deadline_ns = turns.deadline_ns
        if deadline_ns is not None and now_ns < deadline_ns < event.at_ns:
            tell(Tick(deadline_ns))
        tell(event)
    recorder.flush()
    last = {**hearing.finished, "t": now_ns}
    earlier = [{**last, "k": "turn_finished"} for _ in turns.begun[:-1]]
    return handed + [(now_ns, record) for record in (*earlier, last)]


def _in_time(hearing: Hearing, until_ms: float) -> list[Event]:
    """What happens and the frames between, by their moments."""
    first, last = round(hearing.joined_ms / 20) + 1, round(until_ms / 20)
    frames = [
        FrameSent(
            moment(place_ms),
            moment(place_ms),
            place_ms - hearing.joined_ms,
            captured_ns=moment(place_ms) - DELAY_NS,
        )
        for place_ms in (20.0 * index for index in range(first, last + 1))
    ]
    happened = [event for event in hearing.events if event.at_ns <= moment(until_ms)]
    return sorted([*frames, *happened], key=lambda event: event.at_ns)
