"""One measurement as a time line in the terminal: a chart of lanes, the events, the watch's words.

ms         -600      -400      -200         0       +200
audio    ·▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬│─────────
speech      ├──────────────────────────┤┈┈┈┈┈│
force                                        ▲
partials          ○    ○     ○               │    ○
finals                                       │         ●
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from exporters.timeline_marks import (
    Lane,
    Mark,
    Sent,
    Stretch,
    Timeline,
    round_step_ms,
    signed_ms,
    ticks_ms,
)
from measure.records import MS

MARGIN = 18
"""Columns for the names of the lanes."""
MOST_COLUMNS = 160
LEAST_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs of a drawing."""

    audio: str
    padding: str
    bar: str
    ends: tuple[str, str]
    wait: str
    zero: str
    late: str
    """From in time to beyond the budget."""
    marks: dict[Lane, str]


SIGNS = Glyphs(
    "▬",
    "─",
    "─",
    ("├", "┤"),
    "┈",
    "│",
    "▁▂▃▄▅▆▇█",
    {
        Lane.WATCH: "◉",
        Lane.STREAM: "◆",
        Lane.FORCE: "▲",
        Lane.PARTIALS: "○",
        Lane.FINALS: "●",
        Lane.CONFIRM: "✓",
        Lane.TROUBLE: "✗",
    },
)
PLAIN = Glyphs(
    "=",
    "-",
    "-",
    ("[", "]"),
    ".",
    "|",
    "_.-:=+*#",
    {
        Lane.WATCH: "O",
        Lane.STREAM: "+",
        Lane.FORCE: "^",
        Lane.PARTIALS: "o",
        Lane.FINALS: "@",
        Lane.CONFIRM: "v",
        Lane.TROUBLE: "x",
    },
)
"""For terminals that cannot show the others."""
COLOURS = {Lane.FORCE: "magenta", Lane.FINALS: "green", Lane.CONFIRM: "cyan", Lane.TROUBLE: "red"}


def print_timeline(console: Console, line: Timeline) -> None:
    """Draw it, as wide as the console is."""
    for text in drawn(line, console.width, plain=not console.encoding.startswith("utf")):
        console.print(text, no_wrap=True, overflow="crop", crop=True)
    console.print()
    console.print(events_table(line))
    console.print()
    for said in line.says:
        console.print(Text(f"  {said}"))


def drawn(line: Timeline, width: int, *, plain: bool = False) -> Iterator[Text]:
    """The chart, a line each."""
    signs = PLAIN if plain else SIGNS
    columns = max(LEAST_COLUMNS, min(width, MOST_COLUMNS) - MARGIN - 1)
    scale = _Scale(*line.span_ns, columns)
    yield Text(line.title, style="bold")
    yield _lane(f"ms from {line.origin}"[: MARGIN - 1], _axis(scale), "dim")
    yield _lane("audio", _audio(line.frames, scale, signs))
    yield _lane("lateness", _lateness(line, scale, signs), "yellow")
    yield _lane("speech", _speech(line, scale, signs), "blue")
    for lane in Lane:
        marks = [mark for mark in line.marks if mark.lane is lane]
        if marks:
            yield _lane(lane.value, _marks(marks, scale, signs), COLOURS.get(lane, ""))
    for stretch in line.definitions:
        yield _lane(stretch.name, _stretch(stretch, scale, signs), "cyan")


def events_table(line: Timeline) -> Table:
    """Every event with its moment; frames between two of them in one row."""
    table = Table(title="What happened", title_justify="left", title_style="bold", box=None)
    table.add_column(f"ms from {line.origin}", justify="right", no_wrap=True)
    table.add_column("audio ms", justify="right", no_wrap=True)
    table.add_column("what", no_wrap=True)
    table.add_column("", overflow="fold")
    for row in rows(line):
        table.add_row(*map(Text, row))
    return table


def rows(line: Timeline) -> Iterator[tuple[str, str, str, str]]:
    """Moment, place in the audio, what, detail."""
    marks = sorted(line.marks, key=lambda mark: mark.at_ns)
    frames = list(line.frames)
    for mark in marks:
        yield from _frames_row(_taken(frames, mark.at_ns))
        yield signed_ms(mark.at_ns), "", mark.what, mark.detail
    yield from _frames_row(frames)


def _taken(frames: list[Sent], until_ns: int) -> list[Sent]:
    """Those that left up to then, taken away from the list."""
    count = next((n for n, sent in enumerate(frames) if sent.at_ns > until_ns), len(frames))
    taken, frames[:count] = frames[:count], []
    return taken


def _frames_row(frames: Sequence[Sent]) -> Iterator[tuple[str, str, str, str]]:
    if not frames:
        return
    latest_ns = max(sent.late_ns for sent in frames)
    silent = sum(sent.padding for sent in frames)
    detail = f"latest {signed_ms(latest_ns)} ms" + (f", {silent} of silence" if silent else "")
    what = "1 frame" if len(frames) == 1 else f"{len(frames)} frames"
    yield signed_ms(frames[-1].at_ns), f"{frames[-1].audio_ms:g}", what, detail


@dataclass(frozen=True, slots=True)
class _Scale:
    """Moments to columns."""

    first_ns: int
    last_ns: int
    columns: int

    def column(self, at_ns: int) -> int:
        share = (at_ns - self.first_ns) / (self.last_ns - self.first_ns)
        return min(self.columns - 1, max(0, round(share * (self.columns - 1))))

    def blank(self) -> list[str]:
        return [" "] * self.columns

    def step_ms(self, least_columns: int) -> int:
        """A step between ticks that leaves room for their labels."""
        span_ms = (self.last_ns - self.first_ns) / MS
        return round_step_ms(span_ms * least_columns / self.columns)


def _lane(name: str, cells: Sequence[str], style: str = "") -> Text:
    return Text.assemble((name.ljust(MARGIN), "bold"), ("".join(cells).rstrip(), style))


def _axis(scale: _Scale) -> list[str]:
    cells = scale.blank()
    for ms in ticks_ms(scale.first_ns, scale.last_ns, scale.step_ms(10)):
        _write(cells, scale.column(ms * MS), f"{ms:+d}" if ms else "0")
    return cells


def _write(cells: list[str], column: int, text: str) -> None:
    """Write ``text`` with its middle at ``column``, or beside the edge."""
    start = max(0, min(column - len(text) // 2, len(cells) - len(text)))
    cells[start : start + len(text)] = text


def _audio(frames: Sequence[Sent], scale: _Scale, signs: Glyphs) -> list[str]:
    cells = scale.blank()
    for before, sent in zip([None, *frames], frames, strict=False):
        start = scale.column(sent.at_ns if before is None else before.at_ns)
        for column in range(start, scale.column(sent.at_ns) + 1):
            cells[column] = signs.padding if sent.padding else signs.audio
    return _zero(cells, scale, signs)


def _lateness(line: Timeline, scale: _Scale, signs: Glyphs) -> list[str]:
    """The latest frame of each column; the last sign is for what is beyond the budget."""
    cells, worst = scale.blank(), dict[int, int]()
    for sent in line.frames:
        column = scale.column(sent.at_ns)
        worst[column] = max(sent.late_ns, worst.get(column, sent.late_ns))
    for column, late_ns in worst.items():
        cells[column] = _late_sign(late_ns, line.budget_ns, signs.late)
    return cells


def _late_sign(late_ns: int, budget_ns: int, signs: str) -> str:
    if late_ns > budget_ns:
        return signs[-1]
    share = max(0, late_ns) / budget_ns if budget_ns else 0.0
    return signs[min(len(signs) - 2, int(share * (len(signs) - 1)))]


def _speech(line: Timeline, scale: _Scale, signs: Glyphs) -> list[str]:
    cells = scale.blank()
    if line.decision is not None:
        _bar(cells, line.decision, scale, signs.wait, signs.ends)
    if line.speech is not None:
        _bar(cells, line.speech, scale, signs.bar, signs.ends)
    return cells


def _bar(
    cells: list[str], stretch: Stretch, scale: _Scale, inside: str, ends: tuple[str, str]
) -> None:
    if stretch.from_ns is None or stretch.to_ns is None:
        return
    first, last = sorted((scale.column(stretch.from_ns), scale.column(stretch.to_ns)))
    cells[first : last + 1] = inside * (last - first + 1)
    cells[first], cells[last] = ends


def _marks(marks: Iterable[Mark], scale: _Scale, signs: Glyphs) -> list[str]:
    cells = _zero(scale.blank(), scale, signs)
    for mark in marks:
        cells[scale.column(mark.at_ns)] = signs.marks[mark.lane]
    return cells


def _zero(cells: list[str], scale: _Scale, signs: Glyphs) -> list[str]:
    if scale.first_ns <= 0 <= scale.last_ns and cells[scale.column(0)] == " ":
        cells[scale.column(0)] = signs.zero
    return cells


def _stretch(stretch: Stretch, scale: _Scale, signs: Glyphs) -> list[str]:
    cells = scale.blank()
    _bar(cells, stretch, scale, signs.bar, signs.ends)
    used = [index for index, cell in enumerate(cells) if cell != " "]
    said = f" {stretch.said} "
    if not used:
        _write(cells, 0, said[: scale.columns])
    elif scale.columns - used[-1] > len(said):
        cells[used[-1] + 1 : used[-1] + 1 + len(said)] = said
    elif used[0] >= len(said):
        cells[used[0] - len(said) : used[0]] = said
    else:
        _write(cells, (used[0] + used[-1]) // 2, said[: scale.columns])
    return cells
