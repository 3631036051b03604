"""One stream that somebody speaks into, followed while it goes on, from the records of its events.

The same pure machine that times it elsewhere runs here once more over the same events, so that what
it shows is what is measured. It is fed nothing but recorded events: the passing of time is one.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from measure.events import (
    Cancelled,
    DeviceSampled,
    Event,
    Failed,
    FrameSent,
    NoSpeech,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    StreamReady,
    Transcript,
    Xrun,
)
from measure.records import MS, Flow, Reading
from measure.replay import rule_of
from measure.turns import Turn, Turns
from measure.wire import Record, events_of

FRAMES_KEPT = 512
"""How many frames are remembered, to find when an end of speech was heard: 10 s of 20 ms."""
TEXT_KEPT = 1000
"""How many characters of a turn's finals are kept to be shown while it goes on."""


@dataclass(slots=True)
class Speech:
    """One speech, and what is known of its end. Places are on the time line of all streams."""

    start_ms: float
    known_ms: float
    """The place up to which a detector must have heard to know of its start; of this stream."""
    end: SpeechEnd | None = None
    end_ms: float | None = None
    ended_ns: int | None = None
    """When its end was taken up by the device, else when it was sent; None: not known."""
    zero_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What one model gave in one turn."""

    model: str
    asked: bool
    """A message of ours made zero."""
    reading: Reading | None
    """None: it has none, and ``why`` says why."""
    why: str = ""
    zero_after_ns: int | None = None
    """From the end of speech to zero."""


class Stream:
    """Follows one session. Raises ValueError for records that are not what their kind says."""

    def __init__(self, started: Record) -> None:
        rule = started.get("rule")
        if not isinstance(rule, Mapping) or "flow" not in rule:
            raise ValueError(f"session {started.get('s')}: its record has no rule")
        self.session_id = str(started.get("s"))
        self.model = str(started.get("model"))
        self.joined_ms = _place(started.get("joined_ms"))
        """Where its first sample lies on the time line of all streams; None: it has none yet."""
        self.rule = rule_of(rule)
        self.speeches: list[Speech] = []
        self.sent_ms = 0.0
        self.finished = False
        """No more records will come."""
        self.device: DeviceSampled | None = None
        self.xruns: list[Xrun] = []
        """Those that nobody has taken yet."""
        self.settled_text = ""
        self.partial = ""
        self._wall_ns = _whole(started.get("wall_unix_ns")) - _whole(started.get("t"))
        self._turns = Turns(self.rule)
        self._frames: deque[FrameSent] = deque(maxlen=FRAMES_KEPT)
        self._ready = False
        self._end: Event | None = None
        self._spoken = 0
        self._ended = 0

    def take(self, record: Record) -> None:
        """Take note of one of its records."""
        if record.get("k") == "session_finished":
            self.finished = True
            return
        for event in events_of([record]):
            self._turns.feed(event)
            self._note(event)
        self._note_zero(self._turns.begun[-1])

    def told(self, number: int) -> Told | None:
        """What it gave in this turn; None while that may still change."""
        begun = self._turns.begun
        if number > len(begun):
            return self._without(self.why_ended or "ended") if self.finished else None
        turn = begun[number - 1]
        if not (self.finished or self._stands(turn)):
            return None
        self._note_zero(turn)
        speech = self.speeches[number - 1]
        ends = (speech.zero_ns, speech.ended_ns)
        after_ns = None if None in ends else (speech.zero_ns or 0) - (speech.ended_ns or 0)
        return Told(self.model, self.asked, turn.reading(), zero_after_ns=after_ns)

    def absent(self, start_ms: float) -> Told:
        """It has no part in the turn whose speech began there."""
        waits = "" if self._ready else "not connected"
        late = "opened later" if self.joined_ms is None or self.joined_ms > start_ms else ""
        return self._without(self.why_ended or waits or late or "heard no speech")

    @property
    def asked(self) -> bool:
        """A message of ours makes zero."""
        return self.rule.flow is not Flow.FALLBACK

    @property
    def place_ms(self) -> float:
        """How far its audio has come, on the time line of all streams."""
        return self.shared_ms(self.sent_ms)

    def shared_ms(self, audio_ms: float) -> float:
        """A place in its own audio, on the time line of all streams."""
        return (self.joined_ms or 0.0) + audio_ms

    @property
    def ended(self) -> bool:
        """Nothing will be measured in it any more."""
        return self.finished or self._end is not None

    @property
    def failed(self) -> bool:
        return isinstance(self._end, Failed)

    @property
    def why_ended(self) -> str:
        """In a few words; empty while it goes on."""
        match self._end:
            case Failed(fault=fault):
                return f"failed: {fault}"
            case StreamClosed(code=code, reason=reason):
                words = ["closed", *([str(code)] if code is not None else []), reason]
                return " ".join(filter(None, words))
            case Cancelled():
                return "stopped"
            case NoSpeech():
                return "no speech"
        return "ended" if self.finished else ""

    @property
    def state(self) -> str:
        """What it is doing, in a few words."""
        if self.ended:
            return self.why_ended
        if not self.sent_ms:
            return "ready" if self._ready else "connecting"
        turn = self._turns.begun[-1]
        waits = turn.watch.zero_ns is not None
        if self._spoken >= turn.number and not waits:
            return "speech"
        return "waiting for the final" if waits and not turn.watch.done else "listening"

    def wall_unix_ns(self, at_ns: int) -> int:
        """A moment of this session in the calendar."""
        return self._wall_ns + at_ns

    # What happens

    def _note(self, event: Event) -> None:
        match event:
            case FrameSent():
                self._frames.append(event)
                self.sent_ms = event.audio_ms
            case SpeechStart():
                start_ms = self.shared_ms(event.audio_ms)
                self.speeches.append(Speech(start_ms, event.known_ms))
            case SpeechEnd() if self._ended < len(self.speeches):
                speech = self.speeches[self._ended]
                speech.end, speech.end_ms = event, self.shared_ms(event.audio_ms)
                self._ended += 1
            case Transcript():
                self._hear(event)
            case StreamReady():
                self._ready = True
            case DeviceSampled():
                self.device = event
                if self.joined_ms is None:  # the first word of a device is where audio begins
                    self.joined_ms = event.heard_ms - event.audio_ms
            case Xrun():
                self.xruns.append(event)
            case Failed() | StreamClosed() | Cancelled() | NoSpeech():
                self._end = self._end or event
        self._note_speech()

    def _note_speech(self) -> None:
        """Audio in which there is speech has been sent: what was heard before is shown no more."""
        ahead = self.speeches[self._spoken : self._spoken + 1]
        if ahead and ahead[0].known_ms <= self.sent_ms:
            self._spoken += 1
            self.settled_text = self.partial = ""

    def _hear(self, said: Transcript) -> None:
        if not said.final:
            self.partial = said.text or self.partial
            return
        joiner = self.rule.joiner if self.settled_text else ""
        self.settled_text = f"{self.settled_text}{joiner}{said.text}"[-TEXT_KEPT:]
        self.partial = ""

    # What stands

    def _stands(self, turn: Turn) -> bool:
        """Nothing that may still come changes its reading."""
        latest = self._turns.begun[-1]
        if turn.watch.done and turn.watch.zero_ns is not None:
            return True
        zero_ns = latest.watch.zero_ns
        return turn.number < latest.number - (zero_ns is None)

    def _note_zero(self, turn: Turn) -> None:
        """Find out when the end of its speech was heard, while that is still known."""
        zero_ns = turn.watch.zero_ns
        if zero_ns is None or turn.number > len(self.speeches):
            return
        speech = self.speeches[turn.number - 1]
        if speech.zero_ns is None:
            speech.zero_ns = zero_ns
            speech.ended_ns = None if speech.end is None else self._heard_ns(speech.end.audio_ms)

    def _heard_ns(self, audio_ms: float) -> int | None:
        """When the device took up the sound at that place, else when it was sent."""
        holds = None
        for frame in reversed(self._frames):
            if frame.audio_ms < audio_ms:
                break
            holds = frame
        else:
            return None  # it lies before all that are remembered, or at the very beginning
        if holds is None:
            return None
        if holds.captured_ns is None:
            return holds.at_ns
        return holds.captured_ns - round((holds.audio_ms - audio_ms) * MS)

    def _without(self, why: str) -> Told:
        return Told(self.model, self.asked, None, why)


def _place(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
