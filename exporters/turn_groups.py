"""The turns of a conversation that several models hear at once: whose turn is the same as whose.

Each stream counts its audio from where it joined; one that was opened again begins at 0 again. On
the time line of all of them the same speech begins at the same place: that makes one turn of it.

    stream a  0 ──────── speech ─── speech ──────── speech ──>
    stream b  0 ──────── speech ─── ✗
    again b                            0 ────────── speech ──>
    turn                 1          2               3
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from exporters.turn_stream import Speech, Stream, Told
from measure.records import SECOND
from measure.wire import Record

SAME_MS = 100.0
"""Speech that begins within this is the same, heard by several."""
ELSEWHERE_MS = 1000.0
"""A stream whose audio is so far behind a start of speech was not told of it, and never will be."""
OVERTIME_NS = 2 * SECOND
"""How much longer than its patience a model is awaited, of which no record comes any more."""
REMEMBERED = 50
"""So many turns that have been shown keep their number, should somebody come late."""


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One turn with what the models gave in it. Places are on the time line of all streams."""

    number: int
    start_ms: float
    end_ms: float | None
    """None: the speech had no end that was heard."""
    ended_unix_ns: int | None
    """When the end was heard, in the calendar."""
    told: tuple[Told, ...]
    again: bool = False
    """Most of it has been shown; these came late."""


@dataclass(slots=True)
class _Member:
    stream: Stream
    number: int
    """Of the turn, as the stream counts."""
    told: Told | None = None

    @property
    def speech(self) -> Speech:
        return self.stream.speeches[self.number - 1]


@dataclass(slots=True)
class _Group:
    number: int
    start_ms: float
    members: list[_Member] = field(default_factory=list)
    end_ms: float | None = None
    ended_unix_ns: int | None = None
    shown: bool = False

    def note_end(self, member: _Member) -> None:
        speech = member.speech
        if self.end_ms is None:
            self.end_ms = speech.end_ms
        if self.ended_unix_ns is None and speech.ended_ns is not None:
            self.ended_unix_ns = member.stream.wall_unix_ns(speech.ended_ns)

    def overdue(self, now_ns: int) -> bool:
        """The patience with every model that has a zero is over, and more."""
        zeros = [(one.speech.zero_ns, one.stream.rule.patience_ns) for one in self.members]
        over_ns = [zero_ns + patience_ns for zero_ns, patience_ns in zeros if zero_ns is not None]
        return bool(over_ns) and now_ns > max(over_ns) + OVERTIME_NS


class Groups:
    """Fed with records; gives each turn once all who heard it have a reading that stands."""

    def __init__(self) -> None:
        self.newest: dict[str, Stream] = {}
        """Of each model the stream that was opened last."""
        self._streams: dict[str, Stream] = {}
        self._open: list[_Group] = []
        self._past: deque[_Group] = deque(maxlen=REMEMBERED)
        self._count = 0

    def begin(self, started: Record) -> Stream:
        """A session has begun. Raises ValueError where its record does not say under what rule."""
        stream = Stream(started)
        self._streams[stream.session_id] = self.newest[stream.model] = stream
        return stream

    def stream(self, session_id: object) -> Stream | None:
        """The one that is open under that name."""
        return self._streams.get(str(session_id))

    def take(self, stream: Stream, record: Record) -> list[SpokenTurn]:
        """One record of a stream; gives the turns that are complete by it."""
        known = len(stream.speeches)
        stream.take(record)
        for index in range(known, len(stream.speeches)):
            self._join(_Member(stream, index + 1))
        if stream.finished:
            self._streams.pop(stream.session_id, None)
        return self._show(group for group in self._heard() if self._is_complete(group))

    def overdue(self, now_ns: int) -> list[SpokenTurn]:
        """The turns that are awaited in vain, with what there is of them."""
        waiting = [group for group in self._open if not group.shown]
        return self._show(group for group in waiting if group.overdue(now_ns))

    def rest(self) -> list[SpokenTurn]:
        """Nothing more will come: everything that has not been shown."""
        for stream in self._streams.values():
            stream.finished = True
        return self._show(self._heard())

    def _join(self, member: _Member) -> None:
        start_ms = member.speech.start_ms
        same = [one for one in self._open if abs(one.start_ms - start_ms) <= SAME_MS]
        past = [one for one in self._past if abs(one.start_ms - start_ms) <= SAME_MS]
        if same:
            same[0].members.append(member)
            return
        if past:
            number = past[0].number
        else:
            self._count += 1
            number = self._count
        self._open.append(_Group(number, start_ms, [member], shown=bool(past)))

    def _heard(self) -> list[_Group]:
        """Those that are not complete yet, with what has become known by now."""
        for group in self._open:
            for member in group.members:
                member.told = member.told or member.stream.told(member.number)
                group.note_end(member)
        return list(self._open)

    def _is_complete(self, group: _Group) -> bool:
        told = all(member.told is not None for member in group.members)
        return told and not any(self._may_join(one, group) for one in self._streams.values())

    def _may_join(self, stream: Stream, group: _Group) -> bool:
        """It hears the same audio, but has not come to this speech yet."""
        if group.shown or stream.ended or not stream.sent_ms:
            return False
        if any(member.stream is stream for member in group.members):
            return False
        return stream.shared_ms(0.0) <= group.start_ms > stream.place_ms - ELSEWHERE_MS

    def _show(self, groups: Iterable[_Group]) -> list[SpokenTurn]:
        shown = []
        for group in groups:
            shown.append(self._turn(group))
            group.members = [member for member in group.members if member.told is None]
            group.shown = True
            if not group.members:
                self._open.remove(group)
                self._past.append(group)
        return shown

    def _turn(self, group: _Group) -> SpokenTurn:
        order = list(self.newest)
        told = [
            one.told or Told(one.stream.model, one.stream.asked, None, "nothing came of it")
            for one in group.members
        ]
        there = {one.model for one in told}
        absent = (
            []
            if group.shown
            else [
                stream.absent(group.start_ms)
                for model, stream in self.newest.items()
                if model not in there
            ]
        )
        everybody = sorted([*told, *absent], key=lambda one: order.index(one.model))
        return SpokenTurn(
            group.number,
            group.start_ms,
            group.end_ms,
            group.ended_unix_ns,
            tuple(everybody),
            group.shown,
        )
