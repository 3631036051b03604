"""Short words for telling a story to the stopwatch, and any story at all for the laws.

Told stories start their watch at ``ZERO``, unless they say otherwise. Drawn stories have their
moments on the points where something could tip over.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from measure.events import (
    BytesUnsent,
    Cancelled,
    ClockStepped,
    Event,
    Failed,
    FinishSent,
    ForceAcknowledged,
    ForceRejected,
    ForceSent,
    FrameSent,
    HostStalled,
    LoopStalled,
    MessageReceived,
    NetworkSampled,
    NoSpeech,
    Notice,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    StreamDone,
    Tick,
    Transcript,
    Unread,
    Xrun,
)
from measure.faults import Fault, FaultKind, Whose
from measure.records import MS, SECOND, FinalRule, Flow, ForceAt, Reading, Rule
from measure.replay import Recorded
from measure.stopwatch import Stopwatch
from measure.wire import Record, Recorder

ZERO = 100 * SECOND
START_MS = 200.0
END_MS = 900.0
"""Where speech ends."""
KNOWN_MS = 1000.0
"""Where that can be known."""

MARKED = Rule(Flow.FORCED, FinalRule.MARKER)
ITEM = Rule(Flow.FORCED, FinalRule.ITEM)
ACKED = Rule(Flow.FORCED, FinalRule.ACK)
NEXT = Rule(Flow.FORCED, FinalRule.NEXT)
FALLBACK = Rule(Flow.FALLBACK)
CLOSE = Rule(Flow.CLOSE)
DEADLINE = ZERO + MARKED.patience_ns
GRACE_OVER = ZERO + FALLBACK.grace_ns


def told(rule: Rule, story: Iterable[Event]) -> Stopwatch:
    """A stopwatch that has been fed the whole story."""
    watch = Stopwatch(rule)
    for event in story:
        watch.feed(event)
    return watch


def read(rule: Rule, story: Iterable[Event]) -> Reading:
    return told(rule, story).reading()


def partial(at_ns: int, text: str, segment: str | None = None) -> Transcript:
    return Transcript(at_ns, text, final=False, segment=segment)


def final(
    at_ns: int, text: str, *, forced: bool | None = None, segment: str | None = None
) -> Transcript:
    return Transcript(at_ns, text, final=True, forced=forced, segment=segment)


def forced_final(at_ns: int, text: str, segment: str | None = None) -> Transcript:
    """A final that its provider marks as the answer to the force."""
    return final(at_ns, text, forced=True, segment=segment)


def frame(at_ns: int, audio_ms: float, *, late_ns: int = 0, padding: bool = False) -> FrameSent:
    return FrameSent(at_ns, due_ns=at_ns - late_ns, audio_ms=audio_ms, padding=padding)


def force(at_ns: int = ZERO, *, late_ns: int = 0) -> ForceSent:
    return ForceSent(at_ns, due_ns=at_ns - late_ns)


def finish(at_ns: int = ZERO, *, late_ns: int = 0) -> FinishSent:
    return FinishSent(at_ns, due_ns=at_ns - late_ns)


def failed(at_ns: int, whose: Whose, kind: FaultKind) -> Failed:
    return Failed(at_ns, Fault(whose, kind, "as it said"))


SURVEYED = (SpeechStart(0, START_MS, START_MS + 64), SpeechEnd(0, END_MS, KNOWN_MS))
"""The detector has heard the whole clip beforehand."""


def spoken(*before: Event) -> list[Event]:
    """The speech has been sent, up to where its end can be known; ``before`` came meanwhile."""
    early = [event for event in before if event.at_ns <= ZERO - 80 * MS]
    rest = [event for event in before if event.at_ns > ZERO - 80 * MS]
    speech = [frame(ZERO - 80 * MS, 920.0)] if rest else []
    return [*SURVEYED, frame(1, 500.0), *early, *speech, *rest, frame(ZERO, KNOWN_MS)]


def forced(*before: Event) -> list[Event]:
    """The same, and the force has been sent."""
    return [*spoken(*before), force()]


def closing(*before: Event) -> list[Event]:
    """The same, but the end of the stream has been announced."""
    return [*spoken(*before), finish()]


def recorded(rule: Rule, story: Iterable[Event]) -> Recorded:
    """The same as it lies in the journal."""
    records: list[Record] = []
    recorder = Recorder("s", records.append)
    for event in story:
        recorder.note(event)
    recorder.flush()
    names = {name: getattr(rule, name) for name in rule.__dataclass_fields__}
    return Recorded({"k": "session_started", "s": "s", "rule": names}, tuple(records))


# Any story.

rules = st.builds(
    Rule,
    flow=st.sampled_from(Flow),
    final_rule=st.sampled_from(FinalRule),
    joiner=st.sampled_from([" ", ""]),
    echo_counts=st.booleans(),
    force_at=st.sampled_from(ForceAt),
    confirm_ns=st.sampled_from([2 * SECOND, 2 * SECOND, SECOND // 4]),
)

EXACT_NS = (0, 20 * MS, 100 * MS, SECOND // 2, SECOND, 2 * SECOND, 10 * SECOND)
gaps = st.sampled_from(sorted({abs(ns + off) for ns in EXACT_NS for off in (-1, 0, 1)}))
"""How long until the next event: whatever a rule compares with, and one nanosecond either side."""
TIPPING = sorted(ZERO + ns + off for ns in EXACT_NS for off in (-1, 0, 1))
"""The same, counted from zero."""
EARLIER = sorted({ZERO - ns + off for ns in EXACT_NS for off in (-1, 0, 1) if off <= ns})
late_budgets = st.sampled_from([-1, 0, 20 * MS, 20 * MS + 1])
seldom_late = st.sampled_from([-1, 0, 0, 0, 20 * MS, 20 * MS, 20 * MS, 20 * MS + 1])
faults = st.builds(Fault, st.sampled_from(Whose), st.sampled_from(FaultKind))
texts = st.sampled_from(["good", "good", " day", "day", "Good, day", "good day", "", " "])
segments = st.sampled_from([None, None, None, "a", "b"])

partials = st.builds(Transcript, st.just(0), texts, st.just(False), st.none(), segments)
finals = st.builds(
    Transcript, st.just(0), texts, st.just(True), st.sampled_from([None, True, False]), segments
)
acknowledgements = st.just(ForceAcknowledged(0))
others = st.sampled_from(
    [
        ForceRejected(0, "too soon"),
        Notice(0, "metadata"),
        Unread(0, "news"),
        StreamDone(0),
        MessageReceived(0, "{}"),
        MessageReceived(0, "{}", 1),
        StreamDone(0),
    ]
)
asides = st.one_of(acknowledgements, others)
frames = st.builds(FrameSent, st.just(0), seldom_late, st.just(0.0), st.booleans())
stalls = st.sampled_from([20 * MS, 20 * MS + 1, 100 * MS, SECOND // 2 + 1, 2 * SECOND, 11 * SECOND])
ours = st.one_of(
    st.builds(ForceSent, st.just(0), late_budgets),
    st.builds(FinishSent, st.just(0), late_budgets),
    st.builds(LoopStalled, st.just(0), stalls),
    st.builds(HostStalled, st.just(0), st.sampled_from([0, 1, 100 * MS, SECOND]), stalls),
    st.builds(
        ClockStepped, st.just(0), st.sampled_from([30 * MS, 50 * MS, 50 * MS + 1, -50 * MS - 1])
    ),
    st.builds(BytesUnsent, st.just(0), st.sampled_from([640, 641]), st.just(640)),
    st.sampled_from([Tick(0), NetworkSampled(0, 1, 1, 0)]),
    st.sampled_from([SpeechStart(0, 0.0, 64.0), SpeechEnd(0, END_MS, KNOWN_MS, at_eof=True)]),
    st.builds(Xrun, st.just(0), st.just("input_lost"), st.sampled_from([0.0, START_MS, 1000.0])),
)
ends = st.one_of(
    st.builds(StreamClosed, st.just(0), st.sampled_from([1000, 1001, None])),
    st.builds(Failed, st.just(0), faults),
    st.sampled_from([Cancelled(0), NoSpeech(0)]),
)
KINDS = (partials, finals, partials, finals, partials, finals, asides, frames, ours, ends)
"""Transcripts are what most of a story is made of."""


@dataclass
class Telling:
    """Gives events their moments: ours never go back, nor do those that were received."""

    now_ns: int = 0
    received_ns: int = 0
    sent_ms: float = 0.0

    def stamp(self, event: Event, at_ns: int, back_ns: int = 0) -> Event:
        self.now_ns = max(self.now_ns, at_ns)
        match event:
            case FrameSent(due_ns=late_ns):
                self.sent_ms += 20
                return replace(
                    event, at_ns=self.now_ns, due_ns=self.now_ns - late_ns, audio_ms=self.sent_ms
                )
            case ForceSent(due_ns=late_ns) | FinishSent(due_ns=late_ns):
                return replace(event, at_ns=self.now_ns, due_ns=self.now_ns - late_ns)
            case HostStalled(ended_ns=ago_ns):
                return replace(event, at_ns=self.now_ns, ended_ns=self.now_ns - ago_ns)
        if isinstance(event, RECEIVED):
            self.received_ns = max(self.received_ns, self.now_ns - back_ns)
            return replace(event, at_ns=self.received_ns)
        return replace(event, at_ns=self.now_ns)


RECEIVED = (
    Transcript,
    ForceAcknowledged,
    ForceRejected,
    Notice,
    Unread,
    StreamDone,
    MessageReceived,
)
backs = st.sampled_from([0, 0, 0, 0, 1, 20 * MS, SECOND])


@st.composite
def stories(draw: st.DrawFn, *, older_stamps: bool = True) -> list[Event]:
    """Any events in any order, at first often as a measurement begins."""
    telling = Telling()
    story: list[Event] = []

    def tell(event: Event, at_ns: int) -> None:
        back_ns = draw(backs) if older_stamps and isinstance(event, RECEIVED) else 0
        story.append(telling.stamp(event, at_ns, back_ns))

    opening = draw(st.sampled_from(["started"] * 8 + ["surveyed", "nothing"]))
    if opening != "nothing":
        start = draw(st.sampled_from([START_MS, START_MS, START_MS, 980.0, KNOWN_MS]))
        telling.sent_ms = draw(st.sampled_from([END_MS - 40, END_MS - 40, 0.0]))
        story += [
            SpeechStart(0, start, start),
            SpeechEnd(0, END_MS, KNOWN_MS, at_eof=draw(st.booleans())),
            telling.stamp(FrameSent(0, 0, 0.0), 0),
        ]
    if opening == "started":
        before = draw(st.lists(st.sampled_from(EARLIER), max_size=4))
        for at_ns in sorted(before):
            tell(
                draw(draw(st.sampled_from([partials, finals, partials, finals, asides, frames]))),
                at_ns,
            )
        telling.sent_ms = max(telling.sent_ms, KNOWN_MS - 20)
        late_ns, padding = draw(seldom_late), draw(st.sampled_from([False, False, False, True]))
        tell(FrameSent(0, late_ns, 0.0, padding), ZERO)
        tell(ForceSent(0, draw(seldom_late)), ZERO)
        tell(FinishSent(0, draw(seldom_late)), ZERO)
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=7)):
        nearby, tipping = telling.now_ns + draw(gaps), draw(st.sampled_from(TIPPING))
        tell(draw(kind), tipping if draw(st.booleans()) and tipping >= telling.now_ns else nearby)
    return story


def later(story: Sequence[Event], by_ns: int) -> list[Event]:
    """The same story at another time of the host's clock."""
    return [_later(event, by_ns) for event in story]


def _later(event: Event, by_ns: int) -> Event:
    if isinstance(event, FrameSent | ForceSent | FinishSent):
        return replace(event, at_ns=event.at_ns + by_ns, due_ns=event.due_ns + by_ns)
    if isinstance(event, HostStalled):
        return replace(event, at_ns=event.at_ns + by_ns, ended_ns=event.ended_ns + by_ns)
    return replace(event, at_ns=event.at_ns + by_ns)
