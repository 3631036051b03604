"""Draws the answers to a panel's queries as SVG. Ours, not Grafana's: plain, and good to print."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from math import isfinite, sqrt

from exporters.grafana.ask import Stretch
from exporters.grafana.units import shown, ticks

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f5539", "#555555")
"""Told apart by nearly everyone."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 10, 8, 22
_BAR = 21
_NAME, _LETTER = 0.62, 6.4
"""So much of the width of a ranking is for names at most; so wide is a letter of one."""


@dataclass(frozen=True, slots=True)
class Line:
    """One series with its name in the legend."""

    name: str
    points: tuple[tuple[float, float], ...]

    @property
    def finite(self) -> list[tuple[float, float]]:
        return [(moment, value) for moment, value in self.points if isfinite(value)]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a chart lies, and what its axes mean."""

    width: int
    height: int
    unit: str
    stretch: Stretch
    low: float = 0.0
    high: float = 1.0

    def x(self, moment_s: float) -> float:
        part = (moment_s - self.stretch.start_s) / self.stretch.length_s
        return _LEFT + part * (self.width - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return self.height - _BOTTOM - part * (self.height - _BOTTOM - _TOP)


def curves(lines: Sequence[Line], size: tuple[int, int], unit: str, stretch: Stretch) -> str:
    """Lines over time."""
    values = [value for line in lines for _, value in line.finite]
    frame = _frame(values, size, unit, stretch)
    drawn = []
    for number, line in enumerate(lines):
        points = " ".join(f"{frame.x(t):.1f},{frame.y(v):.1f}" for t, v in line.finite)
        if len(line.finite) == 1:
            ((t, v),) = line.finite
            drawn.append(f'<circle cx="{frame.x(t):.1f}" cy="{frame.y(v):.1f}" r="2"/>')
        drawn.append(f'<polyline points="{points}" stroke="{colour(number)}" class="line"/>')
    return _svg(frame, _axes(frame) + "".join(drawn))


def bars(lines: Sequence[Line], size: tuple[int, int], unit: str, stretch: Stretch) -> str:
    """Bars over time, one on the other."""
    totals: dict[float, float] = {}
    for line in lines:
        for moment, value in line.finite:
            totals[moment] = totals.get(moment, 0.0) + value
    frame = _frame(list(totals.values()), size, unit, stretch)
    width = max(1.0, 0.8 * (frame.x(stretch.start_s + stretch.step_s) - frame.x(stretch.start_s)))
    foot = dict.fromkeys(totals, 0.0)
    drawn = []
    for number, line in enumerate(lines):
        for moment, value in line.finite:
            top, base = frame.y(foot[moment] + value), frame.y(foot[moment])
            foot[moment] += value
            drawn.append(
                f'<rect x="{frame.x(moment) - width:.1f}" y="{top:.1f}" width="{width:.1f}" '
                f'height="{base - top:.1f}" fill="{colour(number)}"/>'
            )
    return _svg(frame, "".join(drawn) + _axes(frame))


def distribution(
    buckets: Sequence[Line], size: tuple[int, int], unit: str, stretch: Stretch
) -> str:
    """How many values lie between neighbouring bounds, over time; names are upper bounds."""
    ordered = sorted(buckets, key=lambda line: float(line.name))
    rows, below = [], dict[float, float]()
    for line in ordered:
        now = dict(line.finite)
        rows.append(
            (float(line.name), {t: max(0.0, v - below.get(t, 0.0)) for t, v in now.items()})
        )
        below = now
    filled = [i for i, (_, row) in enumerate(rows) if max(row.values(), default=0.0) > 0.01]
    if not filled:
        return _svg(Frame(*size, unit, stretch), "")
    kept = rows[max(0, filled[0] - 1) : filled[-1] + 2]
    frame = Frame(*size, unit, stretch, 0.0, float(len(kept)))
    most = max(value for _, row in kept for value in row.values())
    width = frame.x(stretch.start_s + stretch.step_s) - frame.x(stretch.start_s) + 0.3
    drawn = []
    for level, (_, row) in enumerate(kept):
        top, base = frame.y(level + 1), frame.y(level)
        drawn += [
            f'<rect x="{frame.x(t) - width:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{base - top:.1f}" fill="#0072b2" fill-opacity="{sqrt(value / most):.2f}"/>'
            for t, value in row.items()
            if value > 0.01
        ]
    every = max(1, len(kept) // 8)
    names = [
        _mark(frame, level + 1, shown(bound, unit) if isfinite(bound) else "more")
        for level, (bound, _) in enumerate(kept)
        if level % every == 0
    ]
    return _svg(frame, "".join(names) + _moments(frame) + "".join(drawn))


def ranking(lines: Sequence[Line], width: int, unit: str, top: float | None = None) -> str:
    """Bars side by side, each with its name and number; a full one is ``top``, or the longest."""
    most = max([top or 0.0, *(line.points[-1][1] for line in lines if line.finite)]) or 1.0
    longest = max((len(line.name) for line in lines), default=0)
    left = min(_NAME * width, longest * _LETTER + 12)
    room = width - left - 74
    drawn = []
    for number, line in enumerate(lines):
        value, top = line.points[-1][1], number * _BAR
        long = max(1.0, room * value / most) if isfinite(value) else 0.0
        drawn.append(
            f'<text x="{left - 8:.0f}" y="{top + 14}" class="end">{escape(line.name)}</text>'
            f'<rect x="{left:.0f}" y="{top + 3}" width="{long:.1f}" height="{_BAR - 7}" '
            f'fill="{COLOURS[0]}"/>'
            f'<text x="{left + long + 6:.0f}" y="{top + 14}">{escape(shown(value, unit))}</text>'
        )
    height = len(lines) * _BAR + 4
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}">' + (
        "".join(drawn) + "</svg>"
    )


def colour(number: int) -> str:
    """Of the series of that number."""
    return COLOURS[number % len(COLOURS)]


def _frame(values: list[float], size: tuple[int, int], unit: str, stretch: Stretch) -> Frame:
    low, high = min([0.0, *values]), max(values, default=0.0)
    if high <= low:
        high = low + 1.0
    return Frame(*size, unit, stretch, low, high * 1.05)


def _axes(frame: Frame) -> str:
    marks = [
        _mark(frame, value, shown(value, frame.unit))
        for value in ticks(frame.low, frame.high, frame.unit)
    ]
    return "".join(marks) + _moments(frame)


def _mark(frame: Frame, value: float, said: str) -> str:
    y = frame.y(value)
    return (
        f'<line x1="{_LEFT}" x2="{frame.width - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="end">{escape(said)}</text>'
    )


def _moments(frame: Frame) -> str:
    """Times of day, UTC; days where the stretch is long."""
    stretch = frame.stretch
    form = "%H:%M" if stretch.length_s < 2 * 86_400 else "%d %b"
    sizes = (60, 120, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 86_400)
    most = max(2, (frame.width - _LEFT) // 80)
    size = next((one for one in sizes if stretch.length_s / one <= most), 7 * 86_400)
    first = -(-stretch.start_s // size)
    marks = []
    while (moment := first * size) <= stretch.end_s:
        said = datetime.fromtimestamp(moment, UTC).strftime(form)
        place = f'x="{frame.x(moment):.1f}" y="{frame.height - 6}"'
        marks.append(f'<text {place} class="middle">{said}</text>')
        first += 1
    return "".join(marks)


def _svg(frame: Frame, inside: str) -> str:
    size = f'width="{frame.width}" height="{frame.height}"'
    return f'<svg viewBox="0 0 {frame.width} {frame.height}" {size}>{inside}</svg>'
