"""A recorded session told to a stopwatch again, without the frames that can change nothing.

Most of a session is frames, and of a second of them the stopwatch needs to see only a few: the
latest one, those beyond the budget, those with which speech begins, the endpoint is complete or
padding starts, and once the endpoint is near the last one (how far time and audio have come). Where
the waiting may end among them, or they are not as paced frames are, it is told all. The reading is
exactly the same.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import sub

from measure.events import (
    Event,
    FrameSent,
    MessageReceived,
    SpeechEnd,
    SpeechStart,
    Tick,
    Transcript,
)
from measure.heard import Heard, Said
from measure.records import MS, Endpoint, Reading, Rule
from measure.replay import Recorded
from measure.stopwatch import RECEIVED, Stopwatch
from measure.turns import Turns
from measure.wire import FRAMES, FrameColumns, columns_of, frames_record, from_record
from measure.words import ReadWords

Told = Event | FrameColumns
"""What can be told: one event, or the frames of a record."""


@dataclass(frozen=True)
class Replayed:
    """What a stopwatch showed of one turn of a session, and what else can be asked of it."""

    rule: Rule
    reading: Reading
    speech_end: SpeechEnd | None
    """The end of speech that is the endpoint."""
    frames: Sequence[FrameColumns]
    """All frames of the session, also those that the watch did not need to see."""
    transcripts: Sequence[Transcript] | None
    """Those that came before the watch was done; None where several turns may share them."""
    messages: Sequence[MessageReceived] = ()
    """What came before the watch was done."""
    read_words: ReadWords | None = None
    """Reads word times from the provider's messages; None where it gives none."""

    @cached_property
    def said(self) -> list[Said] | None:
        """The transcripts, each with the utterance as it stood then."""
        if self.transcripts is None:
            return None
        heard = Heard(self.rule.joiner)
        for number, transcript in enumerate(self.transcripts):
            heard.add((transcript.at_ns, number), transcript)
        return heard.everything()

    @property
    def first_sent_ns(self) -> int | None:
        """When the first frame left."""
        return self.sent_ns(float("-inf"))

    def sent_ns(self, audio_ms: float) -> int | None:
        """When the frame left that completed the audio up to there; None where none did."""
        frame = self._frame_with(audio_ms)
        return None if frame is None else frame.at_ns

    def captured_ns(self, audio_ms: float) -> int | None:
        """When a microphone took up the sound at that place; None where none did or says so."""
        frame = self._frame_with(audio_ms)
        if frame is None or frame.captured_ns is None:
            return None
        return frame.captured_ns - round((frame.audio_ms - audio_ms) * MS)

    def _frame_with(self, audio_ms: float) -> FrameSent | None:
        for columns in self.frames:
            if len(columns) and columns.audio_ms[-1] >= audio_ms:
                return columns.frame(bisect_left(columns.audio_ms, audio_ms))
        return None


def retold(
    recorded: Recorded, rule: Rule | None = None, read_words: ReadWords | None = None
) -> list[Replayed]:
    """The turns of a session; one, but where every end of speech is an endpoint.

    Under the rule of then or another one. Raises ValueError for a damaged record.
    """
    rule = rule or recorded.rule
    if rule.endpoint is Endpoint.EVERY:
        return _turns(rule, list(told_of(recorded.rest)))
    return [Retelling(rule, told_of(recorded.rest)).replayed(read_words)]


def _turns(rule: Rule, story: Sequence[Told]) -> list[Replayed]:
    """Every frame is told: what a turn sees of another one is not for this file to know."""
    turns = Turns(rule)
    for event in _events(story):
        turns.feed(event)
    frames = [told for told in story if isinstance(told, FrameColumns)]
    ends = [told for told in story if isinstance(told, SpeechEnd)]
    return [
        Replayed(
            rule,
            turn.reading(),
            ends[turn.number - 1] if turn.number <= len(ends) else None,
            frames,
            transcripts=None,
        )
        for turn in turns.begun
    ]


def _events(story: Iterable[Told]) -> Iterator[Event]:
    for told in story:
        if isinstance(told, FrameColumns):
            yield from map(told.frame, range(len(told)))
        else:
            yield told


class Retelling:
    """Tells one stopwatch a whole story."""

    def __init__(self, rule: Rule, story: Iterable[Told]) -> None:
        """Raises ValueError where time goes back in the story."""
        self.watch = Stopwatch(rule)
        self.told = 0
        """How much of the story was told before the watch was done."""
        self._rule = rule
        self._frames: list[FrameColumns] = []
        self._speech_end: SpeechEnd | None = None
        self._messages: list[MessageReceived] = []
        self._transcripts: list[Transcript] = []
        self._thinning = _Thinning(rule)
        for told in story:
            self._tell(told)

    def replayed(self, read_words: ReadWords | None = None) -> Replayed:
        """All of it, with the reading; the same as if the watch had been told every frame."""
        return Replayed(
            self._rule,
            self.watch.reading(),
            self._speech_end,
            self._frames,
            self._transcripts,
            self._messages,
            read_words,
        )

    def _tell(self, told: Told) -> None:
        if isinstance(told, FrameSent):  # frames that were recorded one by one
            told = columns_of(frames_record([told], ""))
        if isinstance(told, FrameColumns):
            self._frames.append(told)
            self._thinning.feed(told, self.watch)
        else:
            self._tell_event(told)
        self.told += not self.watch.done

    def _tell_event(self, event: Event) -> None:
        if self.watch.done:
            return
        if not isinstance(event, RECEIVED):
            self._thinning.check(event.at_ns, self.watch)
        deadline_ns = self.watch.deadline_ns
        self.watch.feed(event)
        now_ns = self._thinning.now_ns = max(self._thinning.now_ns, event.at_ns)
        if self.watch.done and deadline_ns is not None and now_ns >= deadline_ns:
            return  # it was over before this
        match event:
            case Transcript():
                self._transcripts.append(event)
            case MessageReceived():
                self._messages.append(event)
            case SpeechStart() if self._thinning.speech_start_ms is None:
                self._thinning.speech_start_ms = event.audio_ms
            case SpeechEnd() if self._speech_end is None:
                self._speech_end = event
                self._thinning.endpoints_ms = (event.audio_ms, event.known_ms)


def told_of(records: Iterable[Mapping[str, object]]) -> Iterator[Told]:
    """What these records tell, in their order; what is no event is skipped."""
    for record in records:
        if record.get("k") == FRAMES:
            yield columns_of(record)
        elif (event := from_record(record)) is not None:
            yield event


class _Thinning:
    """Feeds a stopwatch those frames that it has to see."""

    def __init__(self, rule: Rule) -> None:
        self.now_ns = 0
        """How far the story has come."""
        self.speech_start_ms: float | None = None
        """None while it is not known: whether words came before it may turn on any frame."""
        self.endpoints_ms: tuple[float, ...] = ()
        """The places that may complete the endpoint, once they are known."""
        self._budget_ns = rule.late_budget_ns
        self._sent_ms = 0.0
        self._late_max_ns: int | None = None
        self._padded = False

    def feed(self, frames: FrameColumns, watch: Stopwatch) -> None:
        if watch.done or not len(frames):
            return
        self.check(frames.start_ns + frames.at_ns[0], watch)
        before_zero = watch.zero_ns is None
        indexes = self._needed(frames, before_zero) if self._paced(frames) else range(len(frames))
        last_ns = frames.start_ns + frames.at_ns[-1]
        following = 0
        for index in indexes:
            if watch.deadline_ns is not None and last_ns >= watch.deadline_ns:
                break  # the watch may be done among these
            watch.feed(frames.frame(index))
            following = index + 1
        else:
            following = len(frames)
        for index in range(following, len(frames)):
            watch.feed(frames.frame(index))
        self.now_ns = max(self.now_ns, last_ns)
        self._sent_ms = frames.audio_ms[-1]

    def check(self, at_ns: int, watch: Stopwatch) -> None:
        """Where time goes back behind a frame that was left out, the watch has to see that too."""
        if at_ns < self.now_ns:
            watch.feed(Tick(self.now_ns))

    def _paced(self, frames: FrameColumns) -> bool:
        """Time and audio only go on, as when frames are paced, and it is known where speech is.

        Where a live detector has yet to tell that, any frame may turn out to have mattered.
        """
        at_ns, audio_ms = frames.at_ns, frames.audio_ms
        return (
            self.speech_start_ms is not None
            and bool(self.endpoints_ms)
            and frames.start_ns + at_ns[0] >= self.now_ns
            and audio_ms[0] >= self._sent_ms
            and sorted(at_ns) == at_ns
            and sorted(audio_ms) == audio_ms
        )

    def _needed(self, frames: FrameColumns, before_zero: bool) -> list[int]:
        """The frames that may matter. Until the endpoint is near, the last one need not."""
        needed = {*self._late(frames), *self._reached(frames)}
        if not before_zero or not self._uneventful(frames):
            needed.add(len(frames) - 1)
        if frames.padding and not self._padded:
            self._padded = True
            first = (frames.padding & -frames.padding).bit_length() - 1
            needed |= {first, max(first - 1, 0)}
        return sorted(needed)

    def _uneventful(self, frames: FrameColumns) -> bool:
        """None has been late, and the endpoint, which is known, still lies ahead of all of them."""
        in_time = self._late_max_ns is not None and self._late_max_ns <= self._budget_ns
        return in_time and frames.audio_ms[-1] < min(self.endpoints_ms)

    def _late(self, frames: FrameColumns) -> list[int]:
        """All beyond the budget; the latest where it is later than any before."""
        late_ns = list(map(sub, frames.at_ns, frames.due_ns))
        latest_ns = max(late_ns)
        if self._late_max_ns is None or latest_ns > self._late_max_ns:
            self._late_max_ns = latest_ns
            if latest_ns <= self._budget_ns:
                return [late_ns.index(latest_ns)]
        return [index for index, ns in enumerate(late_ns) if ns > self._budget_ns]

    def _reached(self, frames: FrameColumns) -> list[int]:
        """Those that first reach the start of speech and what may be the endpoint."""
        before_ms, sent_ms, start_ms = self._sent_ms, frames.audio_ms[-1], self.speech_start_ms
        reached = [
            bisect_left(frames.audio_ms, place_ms)
            for place_ms in self.endpoints_ms
            if before_ms < place_ms <= sent_ms
        ]
        if start_ms is not None and before_ms <= start_ms < sent_ms:
            reached.append(bisect_right(frames.audio_ms, start_ms))
        return reached
