"""What a fake says and when, and what it does wrong: frozen values, nothing that happens.

script = Script.for_force("the blue kettle", end_ms=1500, after_s=0.15)
faults = Faults(hang_up=HangUp(Moment.FORCE, reset=True))
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, pairwise


@dataclass(frozen=True, slots=True)
class Line:
    """One transcript."""

    text: str | None
    """None: the words of the last partial, or none where a final has settled them."""
    audio_ms: float = 0.0
    """It becomes due once so much audio has come; the lines of an answer are due with the force."""
    after_s: float = 0.0
    """How long after that it is said."""
    final: bool = False
    marked: bool | None = None
    """It is marked as the answer to a force; None: as the provider does it, finals of answers."""
    times: int = 1
    """How often it is said in one breath."""
    waits: bool = False
    """It is said only behind the next final, which overtakes it."""


def spoken(text: str, start_ms: float, end_ms: float, *, after_s: float = 0.0) -> tuple[Line, ...]:
    """Partials that grow word by word while the audio from ``start_ms`` to ``end_ms`` comes."""
    words = text.split()
    step_ms = (end_ms - start_ms) / len(words) if words else 0.0
    return tuple(
        Line(" ".join(words[:count]), start_ms + count * step_ms, after_s)
        for count in range(1, len(words) + 1)
    )


@dataclass(frozen=True, slots=True)
class Script:
    """What one stream is told while all goes well."""

    lines: tuple[Line, ...] = ()
    """Said as the audio comes."""
    answers: tuple[tuple[Line, ...], ...] = ()
    """What each force is answered with, the first one first; further forces get no answer."""
    speech: tuple[tuple[float, float], ...] = ()
    """Where speech starts and ends (ms of audio), for who asked to be told."""
    rest: str | None = None
    """What is left to say when the stream is finished; None: the words of an open partial."""
    finish_s: float = 0.05
    """How long it takes to finish the stream."""

    def with_overtaking(self) -> "Script":
        """Each final overtakes the partial before it: in the lines, and from them to an answer."""
        said = [*sorted(self.lines, key=lambda line: (line.audio_ms, line.after_s))]
        counts = [len(said)]
        for answer in self.answers:
            said += sorted(answer, key=lambda line: line.after_s)
            counts.append(len(answer))
        pairs = pairwise([*said, Line(None)])
        bent = iter([replace(one, waits=not one.final and after.final) for one, after in pairs])
        lines, *answers = (tuple(islice(bent, count)) for count in counts)
        return replace(self, lines=lines, answers=tuple(answers))

    @classmethod
    def for_force(
        cls, text: str, *, start_ms: float = 0.0, end_ms: float, after_s: float = 0.15
    ) -> "Script":
        """``text`` as growing partials, and as the answer to the first force after ``after_s``."""
        answer = Line(text, after_s=after_s, final=True)
        return cls(spoken(text, start_ms, end_ms), ((answer,),), ((start_ms, end_ms),))

    @classmethod
    def for_pause(
        cls, text: str, *, start_ms: float = 0.0, end_ms: float, pause_ms: float = 300.0
    ) -> "Script":
        """``text`` as growing partials, and as a final ``pause_ms`` of audio after its end."""
        last = Line(text, end_ms + pause_ms, final=True)
        return cls((*spoken(text, start_ms, end_ms), last), (), ((start_ms, end_ms),))


class Moment(StrEnum):
    """When something goes wrong. Each comes once in a stream."""

    CONNECTED = "connected"
    """There is a connection and nothing has been answered yet."""
    OPEN = "open"
    """The websocket is open."""
    AUDIO = "audio"
    """So much audio has come as is said beside it."""
    FORCE = "force"
    """The force has been read."""
    FINAL = "final"
    """The first final of an answer leaves; where nothing can be forced, the first final."""
    FINISH = "finish"
    """The message has been read that ends the stream."""


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection ends: with a Close, by being shut (FIN), or by being reset (RST).

    At FINAL a Close leaves in the same bytes as the final. Where there is no socket below,
    a reset is a shut.
    """

    moment: Moment
    audio_ms: float = 0.0
    after_s: float = 0.0
    code: int | None = None
    """The code of the Close; None: there is no Close."""
    reason: str = ""
    reset: bool = False


GARBAGE = "}{ this is no message"
EMPTY = ""
HUGE = '{"type": "Huge", "padding": "' + "x" * (2 * 1024 * 1024) + '"}'
"""More than two MiB in one message that is otherwise in order."""
BINARY = bytes(range(256))


@dataclass(frozen=True, slots=True)
class Interjection:
    """A message out of turn."""

    message: str | bytes
    moment: Moment
    audio_ms: float = 0.0
    after_s: float = 0.0
    times: int = 1
    raw: bool = False
    """Bytes that go out as they are, in no websocket frame; at CONNECTED always."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP answer instead of a stream."""

    status: int
    retry_after_s: int | None = None
    upgrade: bool = False
    """Only the websocket is refused, not a request before it."""


@dataclass(frozen=True, slots=True)
class Flood:
    """More partials than anybody can want."""

    moment: Moment
    audio_ms: float = 0.0
    after_s: float = 0.0
    text: str = "flood"
    per_s: float = 1000.0
    for_s: float = 1.0

    @property
    def times(self) -> int:
        """How many there are."""
        return max(1, round(self.per_s * self.for_s))


@dataclass(frozen=True, slots=True)
class Pieces:
    """How one message leaves: in how many websocket frames, and in how many TCP segments."""

    frames: int = 1
    segments: int = 1
    gap_s: float = 0.02
    """Between two segments; long enough for each to arrive alone."""

    def cut(self, wire: bytes) -> list[bytes]:
        """``wire`` in so many segments, or in as many as it has bytes."""
        count = max(1, min(self.segments, len(wire)))
        return [
            wire[nth * len(wire) // count : (nth + 1) * len(wire) // count] for nth in range(count)
        ]


@dataclass(frozen=True, slots=True)
class Faults:
    """What a fake does wrong; as it stands, nothing."""

    connections: tuple[int, ...] | None = None
    """Which connections, counted from 1, are treated so; None: all."""
    listening: bool = True
    """False: nobody listens at its address, connections are refused."""
    black_hole: bool = False
    """No packet is ever answered at its address: connecting just takes for ever."""
    tcp_s: float = 0.0
    """For so long, from the start and after each connection, no other one is let in."""
    tls_s: float = 0.0
    """How long the TLS handshake is kept waiting."""
    refusal: Refusal | None = None
    prepare_s: float = 0.0
    """How long the HTTP request before the stream is kept waiting."""
    handshake_s: float = 0.0
    """How long the websocket is kept waiting to be opened."""
    hang_up: HangUp | None = None
    interjections: tuple[Interjection, ...] = ()
    stops_reading_ms: float | None = None
    """After so much audio nothing more is read; it goes on speaking."""
    min_audio_ms: float = 0.0
    """A shorter piece of audio is refused as the provider refuses what it cannot read."""
    idle_s: float | None = None
    """It hangs up after so long without audio or a sign of life; None: as the provider does."""
    flood: Flood | None = None
    pieces: Pieces = Pieces()
    delay_s: float = 0.0
    """By how much every transcript is late."""
    no_final: bool = False
    """The final that is waited for never comes."""
    no_partials: bool = False
    overtaking: bool = False
    """Each final overtakes the partial before it."""
    final_delay_s: float = 0.0
    duplicate_final: bool = False
    split_final: int = 1
    """In how many pieces a final comes; only the last one is marked."""
    split_gap_s: float = 0.05
    ack_s: float | None = None
    """So long after a force an empty final acknowledges it; the text comes later, unmarked."""
    unmarked: bool = False
    """No final is marked as an answer."""
    finish_unanswered: bool = False
    """The message that ends the stream is ignored, a Close is not."""
    close_unanswered: bool = False
    """No Close is ever sent and the connection stays open until the other side ends it."""

    def befall(self, connection: int) -> "Faults":
        """What goes wrong on the connection of this number."""
        spared = self.connections is not None and connection not in self.connections
        return Faults() if spared else self

    def bend(self, lines: Iterable[Line]) -> tuple[Line, ...]:
        """``lines`` as they come with these faults; only finals are bent."""
        return tuple(bent for line in lines for bent in self._bent(line))

    def bend_answer(self, lines: Iterable[Line]) -> tuple[Line, ...]:
        """The same for the answer to a force, in the order in which it is said."""
        bent = self.bend(replace(line, marked=self._mark(line)) for line in lines)
        if self.ack_s is not None:
            ack = Line("", after_s=self.ack_s, final=True, marked=not self.unmarked)
            bent = (ack, *bent)
        return tuple(sorted(bent, key=lambda line: line.after_s))

    def _mark(self, line: Line) -> bool:
        if self.unmarked or self.ack_s is not None:
            return False
        return line.final if line.marked is None else line.marked

    def _bent(self, line: Line) -> Iterator[Line]:
        if not line.final:
            yield line
            return
        if self.no_final:
            return
        late = replace(
            line,
            after_s=line.after_s + self.final_delay_s,
            times=line.times + self.duplicate_final,
        )
        yield from _split(late, self.split_final, self.split_gap_s)


def _split(line: Line, pieces: int, gap_s: float) -> Iterator[Line]:
    """``line`` in so many pieces, or in as many as it has words."""
    words = (line.text or "").split()
    pieces = min(pieces, len(words))
    if pieces < 2:
        yield line
        return
    for piece in range(pieces):
        part = words[piece * len(words) // pieces : (piece + 1) * len(words) // pieces]
        marked = line.marked if piece == pieces - 1 else False
        after_s = line.after_s + piece * gap_s
        yield replace(line, text=" ".join(part), after_s=after_s, marked=marked)
