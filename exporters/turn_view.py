"""What a person watches who speaks to several models at once: each turn, as soon as it is read.

Turns that are over stay, as lines; below them a picture shows how things stand now. Where there is
no terminal the lines are all there is.

    turn 3  speech 0:12.4 - 0:15.1, ended 14:03:27.1  force +226 ms after it
      deepgram/nova-3  final  312 ms  first partial  101 ms  forced_final  “good morning”
    USB Audio  clock +12 ± 3 ppm  delay 41 ms  no xruns  0:17.9
    deepgram/nova-3  speech  and how are

It is drawn by the exporter process, which gets every event anyway, and through a writer that drops
what a terminal does not take: neither can make a frame late or keep a record from the journal.
"""

import io
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from exporters.logs import LineWriter
from exporters.turn_groups import Groups, SpokenTurn
from exporters.turn_lines import NOTHING, place, plain, turn_lines
from exporters.turn_stream import Stream
from measure.events import DeviceSampled
from measure.records import MS
from measure.wire import Record

REFRESH_NS = 150 * MS
SAME_XRUN_MS = 20.0
"""Each stream tells of the same xrun, at about the same place."""
_STYLES = {"speech": "green", "waiting for the final": "yellow"}


class TurnView:
    """Fed with records like every exporter; ``draw`` puts it on the terminal."""

    def __init__(
        self,
        console: Console,
        *,
        zone: tzinfo | None = None,
        behind: Callable[[], bool] = lambda: False,
    ) -> None:
        """``zone``: whose time of day is shown; None: the host's own.

        ``behind``: what was printed last has not reached the terminal yet.
        """
        self._console = console
        self._zone = zone
        self._behind = behind
        self._groups = Groups()
        self._device = _Device()
        self._again: set[str] = set()
        """The models that have had a stream before."""
        self._failures: dict[str, str] = {}
        """Why a stream of each model failed last."""
        self._drawn_ns = 0
        self._closed = False
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(console=console, auto_refresh=False, transient=True)

    def take(self, record: Record) -> None:
        """Take note of one record. Raises ValueError where it is not what its kind says."""
        match record.get("k"):
            case "session_started":
                self._begin(record)
            case "said":
                self._print(Text(plain(str(record.get("text")))))
            case _:
                self._follow(record)

    def _follow(self, record: Record) -> None:
        stream = self._groups.stream(record.get("s"))
        if stream is None:
            return
        ended, began = stream.ended, stream.sent_ms > 0
        turns = self._groups.take(stream, record)
        self._device.note(stream)
        if stream.failed and not ended:
            self._tell_failed(stream)
        if stream.model in self._again and stream.sent_ms and not began:
            at = place(stream.shared_ms(0.0))
            self._print(Text(plain(f"{stream.model}: opened again at {at}"), style="yellow"))
        self._show(turns)

    def draw(self, now_ns: int) -> None:
        """Show how things stand; not more often than eyes can follow, or than a terminal takes."""
        if now_ns - self._drawn_ns < REFRESH_NS:
            return
        self._drawn_ns = now_ns
        self._show(self._groups.overdue(now_ns))
        if self._live is not None and not self._behind():
            self._live.start()  # not before, for it hides the cursor; once is enough
            self._live.update(self._picture(), refresh=True)

    def print_line(self, line: bytes) -> None:
        """A line of the log, above the picture."""
        self._print(Text(line.decode("utf-8", "replace").rstrip("\n")))

    def close(self) -> None:
        """Take the picture away; what was printed stays, and what was awaited is printed."""
        if self._closed:
            return
        self._closed = True
        self._show(self._groups.rest())
        if self._live is not None:
            self._live.stop()
        elif self._device.xruns:
            self._print(self._device.line())

    def _begin(self, started: Record) -> None:
        known = len(self._groups.newest)
        stream = self._groups.begin(started)
        if len(self._groups.newest) == known:
            self._again.add(stream.model)
        device = started.get("device")
        if isinstance(device, str) and device != self._device.name:
            self._device.name = device
            if self._live is None:
                self._print(Text(f"input: {plain(device)}"))

    def _tell_failed(self, stream: Stream) -> None:
        """Once, where it is tried again and again and always fails alike."""
        said = stream.why_ended
        if stream.sent_ms or self._failures.get(stream.model) != said:
            self._print(Text(plain(f"{stream.model}: {said}"), style="red"))
        self._failures[stream.model] = said

    def _show(self, turns: Sequence[SpokenTurn]) -> None:
        width = None if self._live is None else self._console.width
        for turn in turns:
            for line in turn_lines(turn, width, self._zone):
                self._console.print(line, soft_wrap=width is None)

    def _print(self, line: Text) -> None:
        self._console.print(line, soft_wrap=self._live is None)

    def _picture(self) -> Group:
        width = self._console.width
        streams = self._groups.newest.values()
        return Group(self._device.line(width), *_stream_lines(list(streams), width))


@dataclass(slots=True)
class _Device:
    """The sound device that all streams hear."""

    name: str = ""
    sampled: DeviceSampled | None = None
    xruns: int = 0
    place_ms: float = 0.0
    _recent: "deque[_Xrun]" = field(default_factory=lambda: deque(maxlen=64))

    def note(self, stream: Stream) -> None:
        """What a stream says of it."""
        self.sampled = stream.device or self.sampled
        self.place_ms = max(self.place_ms, stream.place_ms)
        while stream.xruns:
            xrun = stream.xruns.pop(0)
            self._count(stream.session_id, xrun.what, stream.shared_ms(xrun.audio_ms))

    def line(self, width: int | None = None) -> Text:
        """Its name, its clock, and how well it does."""
        lost = f"{self.xruns or 'no'} xrun{'' if self.xruns == 1 else 's'}"
        clock, delay = _clock(self.sampled), _delay(self.sampled)
        facts = [fact for fact in (clock, delay, lost, place(self.place_ms)) if fact]
        behind = "  " + "  ".join(facts)
        name = Text(plain(self.name) or "microphone", style="bold", no_wrap=True)
        line = Text.assemble(name, (behind, "yellow" if self.xruns else ""), no_wrap=True)
        if width is not None and line.cell_len > width:
            name.truncate(max(1, width - cell_len(behind)), overflow="ellipsis")
            line = Text.assemble(name, behind, no_wrap=True)
            line.truncate(width, overflow="ellipsis")
        return line

    def _count(self, session_id: str, what: str, at_ms: float) -> None:
        """Once, though each stream tells of it."""
        for known in self._recent:
            same = known.what == what and abs(known.at_ms - at_ms) <= SAME_XRUN_MS
            if same and session_id not in known.told_by:
                known.told_by.add(session_id)
                return
        self._recent.append(_Xrun(what, at_ms, {session_id}))
        self.xruns += 1


@dataclass(slots=True)
class _Xrun:
    what: str
    at_ms: float
    told_by: set[str]


class Through(io.StringIO):
    """A file for a console whose text goes through a writer that never waits."""

    def __init__(self, writer: LineWriter, *, terminal: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self._writer = writer
        self._terminal = terminal
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # there it may be changed
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str, /) -> int:
        """Let it wait for its turn; dropped where too much waits."""
        self._writer.write(text.encode(self._encoding, "replace"))
        return len(text)


def turn_view(writer: LineWriter, *, terminal: bool, encoding: str) -> TurnView:
    """The view on what the writer leads to."""
    file = Through(writer, terminal=terminal, encoding=encoding)
    return TurnView(Console(file=file), behind=lambda: writer.waiting > 0)


def _stream_lines(streams: Sequence[Stream], width: int) -> list[Text]:
    """A line for each: its model, what it does, and the end of what it hears."""
    models = max((cell_len(plain(one.model)) for one in streams), default=0)
    states = max((cell_len(one.state) for one in streams if not one.ended), default=0)
    return [_stream_line(stream, models, states, width) for stream in streams]


def _stream_line(stream: Stream, models: int, states: int, width: int) -> Text:
    model, state = plain(stream.model), plain(stream.state)
    line = Text(model + " " * (models - cell_len(model)), no_wrap=True, overflow="ellipsis")
    if stream.ended:
        line.append(f"  {state}", style="red" if stream.failed else "dim")
    else:
        line.append(f"  {state:<{states}}", style=_STYLES.get(state, "dim"))
        line.append("  ")
        line.append(_heard(stream, width - line.cell_len))
    line.truncate(width, overflow="ellipsis")
    return line


def _heard(stream: Stream, columns: int) -> Text:
    """The end of what has been heard in the turn that is on; what may still change is slanted."""
    joiner = stream.rule.joiner if stream.settled_text and stream.partial else ""
    settled = plain(stream.settled_text + joiner)
    text = Text.assemble(settled, (plain(stream.partial), "italic"))
    if text.cell_len <= columns:
        return text
    cut, left = len(text.plain), columns - 1
    while cut and (left := left - cell_len(text.plain[cut - 1])) >= 0:
        cut -= 1
    return Text.assemble("…", text[cut:])


def _clock(sampled: DeviceSampled | None) -> str:
    if sampled is None or sampled.drift_ppm is None:
        return f"clock {NOTHING}"
    error_ppm = sampled.drift_error_ppm
    error = "" if error_ppm is None else f" ± {error_ppm:.0f}"
    return f"clock {sampled.drift_ppm:+.0f}{error} ppm"


def _delay(sampled: DeviceSampled | None) -> str:
    known = sampled is not None and sampled.delay_ns is not None
    return (
        f"delay {(sampled.delay_ns or 0) / MS:.0f} ms" if known and sampled else f"delay {NOTHING}"
    )
