"""The turns of one stream: a stopwatch for each, and none is given the answer of another.

Where every end of speech is an endpoint, each has a reading of its own. A turn begins when so much
of its speech has been sent that a detector must have noticed it; what was said before that belongs
to no later turn. Where only the last end counts there is one turn, and this adds nothing to it.

    speech 1 ─ force 1 ─ final 1 ─┬─ speech 2 ─ force 2 ─ final 2
    turn 1 ───────────────────────┴─ turn 2 ─────────────────────

Providers answer in order, so an answer that an earlier turn still lacks comes first: it is owed.
While one is owed no later turn can be sure of its own, and its verdict is ``turn_unclear``. The
same holds for a turn that has no answer yet when the next speech begins; only an answer that is
marked as one to a force can still be told apart, until the next force.

A provider may also add words to an answer that it has given. A final that comes while the next turn
speaks may be such a tail, unless the name of its segment says otherwise: that turn is unclear where
no partial had announced it, and is never ``already_final`` by it.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from measure.events import (
    Cancelled,
    ClockStepped,
    Event,
    Failed,
    ForceAcknowledged,
    FrameSent,
    HostStalled,
    LoopStalled,
    NoSpeech,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    Tick,
    Transcript,
    Xrun,
)
from measure.measurement import Tally
from measure.records import OUR_FAULT, SECOND, Endpoint, FinalRule, Flow, Reading, Rule, Verdict
from measure.stopwatch import Stopwatch

_OURS = (FrameSent, LoopStalled, HostStalled, ClockStepped, Xrun)
"""What a turn that begins has to know of the last second, for it may spoil its reading."""
_ENDS = (StreamClosed, Failed, Cancelled, NoSpeech)
_FOR_ALL = (Tick, LoopStalled, HostStalled, ClockStepped, Xrun, *_ENDS)


@dataclass(slots=True, eq=False)
class Turn:
    """One turn: what was measured of it, and under which circumstances."""

    number: int
    """From 1."""
    watch: Stopwatch
    tally: Tally = field(default_factory=Tally)
    unclear: bool = False
    """Its answer cannot be told from that of another turn."""
    announced: bool = False
    """There are words on show in it that await their final."""
    tailed: bool = False
    """A final that came before its zero may belong to what was said before."""

    def feed(self, event: Event) -> None:
        self.watch.feed(event)
        self.tally.feed(event)

    def hear(self, said: Transcript, *, its_own: bool) -> None:
        """What was given to this turn; ``its_own`` where the name of the segment says so."""
        if said.text.strip():
            speaks = self.number > 1 and self.watch.zero_ns is None
            if said.final and speaks and not its_own:
                self.tailed = True
                self.unclear |= not self.announced
            self.announced = not said.final
        self.feed(said)

    def reading(self) -> Reading:
        """What the stopwatch shows, if it may be believed that this is of this turn."""
        reading = self.watch.reading()
        unclear = self.unclear or (self.tailed and reading.selection is Verdict.ALREADY_FINAL)
        if not unclear or reading.verdict in OUR_FAULT:
            return reading
        return replace(reading, verdict=Verdict.TURN_UNCLEAR)


class Turns:
    """Times all turns of one stream. Feed it every event once, as it happens."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self.begun = [Turn(1, Stopwatch(rule))]
        """In their order. Those that never began, because the stream had ended, have no reading."""
        self._starts: list[SpeechStart] = []
        self._ends: list[SpeechEnd] = []
        self._recent: deque[Event] = deque()
        self._frame: FrameSent | None = None
        self._segments: dict[str, Turn] = {}
        self._waiting: Turn | None = None
        self._owed = 0
        self._now_ns = 0
        self._ended = False

    def feed(self, event: Event) -> None:
        """Take note of one event. Raises ValueError if one of ours is older than the one before."""
        if self._rule.endpoint is Endpoint.LAST:
            self._turn.feed(event)
            return
        self._let_time_pass(event)
        self._hand_over(event)
        self._note_zero()
        self._remember(event)
        while self._next_has_begun:
            self._begin()
            self._note_zero()

    @property
    def force_due(self) -> bool:
        """The force-endpoint message must be sent now."""
        return self._turn.watch.force_due

    @property
    def finish_due(self) -> bool:
        """The end of the stream must be announced now."""
        return self._turn.watch.finish_due

    @property
    def zero_ns(self) -> int | None:
        """When the watch of the turn that is on started."""
        return self._turn.watch.zero_ns

    @property
    def deadline_ns(self) -> int | None:
        """The next moment at which the mere passing of time changes something."""
        return self._open[0].watch.deadline_ns  # a turn that is behind it has no zero yet

    @property
    def spoken(self) -> bool:
        """Some speech has been told of."""
        return bool(self._starts)

    @property
    def speaking(self) -> bool:
        """Speech has begun and its end is not known."""
        return len(self._starts) > len(self._ends)

    @property
    def over(self) -> bool:
        """The last endpoint that is known has passed: nothing more has to be said."""
        return self.zero_ns is not None and len(self._starts) <= len(self.begun)

    @property
    def done(self) -> bool:
        """No turn that is known so far awaits anything."""
        return self._turn.watch.done and (self._ended or len(self._starts) <= len(self.begun))

    # What happens

    @property
    def _turn(self) -> Turn:
        return self.begun[-1]

    @property
    def _open(self) -> list[Turn]:
        """The turn that is on; before it the one whose own answer can still be told apart."""
        return [self._turn] if self._waiting is None else [self._waiting, self._turn]

    @property
    def _marked(self) -> bool:
        """The answer to a force says so, which no natural final does."""
        rule = self._rule
        return rule.flow is Flow.FORCED and rule.final_rule in (FinalRule.MARKER, FinalRule.ITEM)

    def _let_time_pass(self, event: Event) -> None:
        """What ends by itself has ended before the event; but a stall tells of the time before."""
        self._now_ns = max(self._now_ns, event.at_ns)
        if isinstance(event, LoopStalled | HostStalled):
            return
        for turn in self._open:
            if turn.watch.deadline_ns is not None and turn.watch.deadline_ns <= self._now_ns:
                turn.watch.feed(Tick(self._now_ns))
        if self._waiting is not None and self._waiting.watch.done:
            self._let_go(self._waiting)

    def _hand_over(self, event: Event) -> None:
        """Give the event to the turn that it belongs to."""
        match event:
            case SpeechStart():
                self._starts.append(event)
                self._tell_detected(event, len(self._starts))
            case SpeechEnd():
                self._ends.append(event)
                self._tell_detected(event, len(self._ends))
            case Transcript():
                heard_in = self._segments.get(event.segment or "")
                turn = self._turn_of(event)
                if turn is not None:
                    turn.hear(event, its_own=heard_in is turn)
            case ForceAcknowledged():
                turn = self._turn_of(event)
                if turn is not None:
                    turn.feed(event)
            case _:
                for turn in self._open if isinstance(event, _FOR_ALL) else [self._turn]:
                    turn.feed(event)
                self._ended = self._ended or isinstance(event, _ENDS)

    def _tell_detected(self, event: Event, number: int) -> None:
        """What the detector says of a turn; it may say so long before the turn begins."""
        if number == self._turn.number:
            self._turn.feed(event)

    def _turn_of(self, said: Transcript | ForceAcknowledged) -> Turn | None:
        """Whose words these are; None where they are owed to a turn that is past."""
        answers = self._answers(said)
        if self._owed and (answers or not self._marked):
            self._owed -= answers
            self._turn.unclear |= not self._marked
            return None
        if answers and self._rule.flow is Flow.FORCED:
            return self._open[0]
        return self._first_to_hear(said)

    def _first_to_hear(self, said: Transcript | ForceAcknowledged) -> Turn | None:
        """A named segment stays with the turn in which it was first heard, if that was awaiting."""
        if isinstance(said, ForceAcknowledged) or said.segment is None:
            return self._turn
        turn = self._segments.get(said.segment, self._turn)
        if not turn.watch.done:
            self._segments[said.segment] = turn
        return turn if turn in self._open else None

    def _answers(self, said: Transcript | ForceAcknowledged) -> bool:
        """The provider gives one of these for each turn, in the order of the turns."""
        if isinstance(said, ForceAcknowledged):
            return self._rule.flow is Flow.FORCED
        if self._rule.flow is Flow.FALLBACK:
            return said.final and bool(said.text.strip())
        return said.final and (said.forced is True or self._rule.final_rule is FinalRule.NEXT)

    # From turn to turn

    @property
    def _next_has_begun(self) -> bool:
        number = len(self.begun)
        if self._ended or self._frame is None or number >= len(self._starts):
            return False
        return self._starts[number].known_ms <= self._frame.audio_ms

    def _begin(self) -> None:
        earlier, index = self._turn, len(self.begun)
        turn = Turn(index + 1, Stopwatch(self._rule))
        known = [self._starts[index], *self._ends[index : index + 1], *self._recent]
        for event in sorted(known, key=lambda event: event.at_ns):
            turn.watch.feed(event)
        self.begun.append(turn)
        if self._waiting is not None:
            self._let_go(self._waiting)
        if self._marked and not earlier.watch.done:
            self._waiting = earlier
        else:
            self._let_go(earlier)

    def _note_zero(self) -> None:
        """Where the turn that is on has its zero, answers come in order: first what is owed."""
        if self.zero_ns is None:
            return
        if self._waiting is not None:
            self._let_go(self._waiting)
        self._turn.unclear |= self._owed > 0

    def _let_go(self, turn: Turn) -> None:
        """From now on nobody can tell whether a final is its answer."""
        self._waiting = None
        if not turn.watch.done and turn.reading().selection is None:
            turn.unclear = True
        self._owed += turn.watch.owes

    def _remember(self, event: Event) -> None:
        if isinstance(event, FrameSent):
            self._frame = event
        if isinstance(event, _OURS):
            self._recent.append(event)
        for old in [one for one in self._recent if one.at_ns < event.at_ns - SECOND]:
            if old is not self._frame:  # it tells how far the audio has come
                self._recent.remove(old)
