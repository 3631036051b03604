"""A finished turn as lines that stay on the terminal, or go to a file.

    turn 3  speech 0:12.4 - 0:15.1, ended 14:03:27.1  force +226 ms after it
      deepgram/nova-3  final  312 ms  first partial  101 ms  forced_final  “good morning”

Durations are as they are published: of a valid reading only, and 0 for what was there before zero;
there the verdict says how long before. What is missing is a dash.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from exporters.turn_groups import SpokenTurn
from exporters.turn_stream import Told
from measure.records import MS, Remark, Verdict

NOTHING = "\N{EN DASH}"
_DIGITS = 4
"""Durations are lined up from turn to turn as long as they have no more."""
_MARGIN, _DEEPER = 2, 4
_GAP_TEXT = Text("  ")
_DURATIONS = 3
"""So many columns hold the model and its durations; they stay together."""


def turn_lines(
    turn: SpokenTurn, width: int | None = None, zone: tzinfo | None = None
) -> list[RenderableType]:
    """The heading and a line for each model; ``zone`` None: the host's own.

    ``width``: of the terminal in columns; what has no room in its line goes below it. None: lines
    may be of any length.
    """
    cells = [_numbers(told) for told in turn.told]
    said = [_said(told) for told in turn.told]
    widths = [max(cell.cell_len for cell in column) for column in zip(*cells, strict=True)]
    whole = [_line(_lined_up(row, widths), parts) for row, parts in zip(cells, said, strict=True)]
    printed = _heading(turn, width, zone)
    if all(_fits(line, width) for line in whole):
        return [*printed, *whole]
    beside = len(widths) if _fits(_line(_lined_up(cells[0], widths), []), width) else _DURATIONS
    for row, parts in zip(cells, said, strict=True):
        printed.append(_line(_lined_up(row, widths)[:beside], []))
        printed.append(_below(_GAP_TEXT.join([*row[beside:], *parts])))
    return printed


def place(audio_ms: float) -> str:
    """A place in the audio, in minutes and seconds: 0:12.4."""
    tenths = round(audio_ms / 100)
    hours, minutes = divmod(tenths // 600, 60)
    seconds = f"{tenths % 600 // 10:02d}.{tenths % 10}"
    return f"{hours}:{minutes:02d}:{seconds}" if hours else f"{minutes}:{seconds}"


def plain(text: str) -> str:
    """What others wrote, without what would control a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def _heading(turn: SpokenTurn, width: int | None, zone: tzinfo | None) -> list[RenderableType]:
    heading = Text(f"turn {turn.number}", style="bold")
    if turn.again:
        heading.append(", later", style="yellow")
    end = NOTHING if turn.end_ms is None else place(turn.end_ms)
    heading.append(f"  speech {place(turn.start_ms)} {NOTHING} {end}")
    if turn.ended_unix_ns is not None:
        heading.append(f", ended {_time_of_day(turn.ended_unix_ns, zone)}")
    parts = [*_zeros(turn), *_xrun(turn)]
    whole = _GAP_TEXT.join([heading, *parts])
    if _fits(whole, width):
        return [whole]
    return [heading, *(_below(part) for part in parts)]


def _zeros(turn: SpokenTurn) -> list[Text]:
    """How long after the end of speech the watches started."""
    said = []
    for word, asked in (("force", True), ("without force", False)):
        after_ns = [one.zero_after_ns for one in turn.told if one.asked is asked]
        known_ns = [ns for ns in after_ns if ns is not None]
        said += [f"{word} {_range(known_ns)}"] if known_ns else []
    return [Text(", ".join(said) + " after it", style="bold")] if said else []


def _xrun(turn: SpokenTurn) -> list[Text]:
    readings = [one.reading for one in turn.told if one.reading is not None]
    marked = any(Remark.XRUN in reading.remarks for reading in readings)
    return [Text("xrun: the sound device lost audio", style="yellow")] if marked else []


def _range(durations_ns: Sequence[int]) -> str:
    """One number where all are about the same."""
    least, most = (f"{ns / MS:+.0f}" for ns in (min(durations_ns), max(durations_ns)))
    return f"{least} ms" if least == most else f"{least} to {most} ms"


def _time_of_day(unix_ns: int, zone: tzinfo | None) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=unix_ns // 1000)
    local = moment.astimezone(zone)
    return f"{local:%H:%M:%S}.{local.microsecond // 100_000}"


def _numbers(told: Told) -> list[Text]:
    reading = told.reading
    final_ns = None if reading is None else reading.time_to_final_ns
    partial_ns = None if reading is None else reading.time_to_first_partial_ns
    valid = reading is not None and reading.valid
    verdict = "no reading" if reading is None else reading.verdict.value
    if reading is not None and reading.verdict is Verdict.ALREADY_FINAL and final_ns is not None:
        verdict += f" ({final_ns / MS:+.0f} ms)"
    return [
        Text(plain(told.model)),
        _duration("final", final_ns if valid else None),
        _duration("first partial", partial_ns if valid else None),
        Text(verdict, style="green" if valid else "red"),
    ]


def _duration(what: str, duration_ns: int | None) -> Text:
    number = NOTHING if duration_ns is None else f"{max(0.0, duration_ns / MS):.0f}"
    unit = "   " if duration_ns is None else " ms"
    return Text.assemble((f"{what} ", "dim"), f"{number:>{_DIGITS}}{unit}")


def _said(told: Told) -> list[Text]:
    """What is remarkable, and what was heard."""
    if told.reading is None:
        return [Text(plain(told.why), style="dim")]
    reading = told.reading
    remarks = [remark.value for remark in reading.remarks]
    remarks += [plain(str(reading.fault))] if reading.fault is not None else []
    said = [Text(", ".join(remarks), style="yellow")] if remarks else []
    heard = plain(reading.transcript).strip()
    return [*said, Text(f"“{heard}”" if heard else NOTHING, style="italic" if heard else "dim")]


def _lined_up(cells: Sequence[Text], widths: Sequence[int]) -> list[Text]:
    """As wide as the widest of their columns."""
    return [
        Text.assemble(cell, " " * (width - cell.cell_len))
        for cell, width in zip(cells, widths, strict=True)
    ]


def _line(cells: Sequence[Text], parts: Sequence[Text]) -> Text:
    return Text.assemble(" " * _MARGIN, _GAP_TEXT.join([*cells, *parts]))


def _below(text: Text) -> RenderableType:
    return Padding(text, (0, 0, 0, _DEEPER))


def _fits(line: Text, width: int | None) -> bool:
    return width is None or line.cell_len <= width
