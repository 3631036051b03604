"""Charts as SVG: bars, and curves over a logarithmic axis. Text stays text. Pure."""

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from benchmarks.clients import ABSOLUTE, NAIVE, OURS, TRIO, C
from benchmarks.figure import Chart, Curve

WIDTH = 760
LEFT, RIGHT, TOP = 190, 90, 50
PLOT = WIDTH - LEFT - RIGHT
BAR, GAP = 18, 6
CURVES_HEIGHT = 300
COLOURS = {OURS: "#0072b2", C: "#7f7f7f", ABSOLUTE: "#e69f00", TRIO: "#009e73", NAIVE: "#cc79a7"}
"""Told apart by those who see colours differently, too."""
DASHED = "TLS"
"""A series of this name is drawn with a broken line."""
LOGARITHMIC_FROM = 50.0
"""Bars whose lengths differ by more than this are drawn on a logarithmic axis."""
SMALLEST = 0.1
_STYLE = """
svg { font: 13px system-ui, sans-serif; background: #ffffff; }
text { fill: #222222; } .title { font-weight: 600; font-size: 15px; } .dim { fill: #666666; }
.grid { stroke: #dddddd; } .limit { stroke: #d00000; stroke-dasharray: 4 3; }
path { fill: none; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  svg { background: #16181d; } text { fill: #e6e6e6; } .dim { fill: #a0a0a0; }
  .grid { stroke: #3a3d44; } .limit { stroke: #ff6b6b; }
}
"""


def svg(chart: Chart) -> str:
    """The whole picture."""
    height, parts = _bars(chart) if chart.kind == "bars" else _curves(chart)
    inner = "\n".join([_text(12, 24, chart.title, "title"), *parts])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">\n<title>{escape(chart.title)}</title>\n'
        f"<style>{_STYLE}</style>\n{inner}\n</svg>\n"
    )


class Axis:
    """Where a value lies along the plot, linear or logarithmic."""

    def __init__(self, values: Iterable[float], *, logarithmic: bool) -> None:
        positive = [value for value in values if value > 0] or [1.0]
        self._logarithmic = logarithmic
        self._low = 10 ** math.floor(math.log10(max(min(positive), SMALLEST)))
        self._high = max(positive)
        if logarithmic:
            self._high = 10 ** math.ceil(math.log10(max(self._high, self._low * 10)))

    def at(self, value: float) -> float:
        """In pixels, from the left end of the plot."""
        if not self._logarithmic:
            return PLOT * value / self._high
        value = max(value, self._low)
        return PLOT * math.log(value / self._low) / math.log(self._high / self._low)

    def ticks(self) -> Iterator[float]:
        """The decades, or five even steps."""
        if not self._logarithmic:
            yield from (self._high * step / 5 for step in range(6))
            return
        decades = round(math.log10(self._high / self._low))
        yield from (self._low * 10**step for step in range(decades + 1))


def _bars(chart: Chart) -> tuple[int, list[str]]:
    values = [value for group in chart.bars.values() for value in group.values()]
    shown = [value for value in values if value > 0]
    wide = bool(shown) and max(shown) / max(min(shown), SMALLEST) > LOGARITHMIC_FROM
    limit = [] if chart.limit is None else [chart.limit]
    axis = Axis([*values, *limit], logarithmic=wide)
    parts: list[str] = []
    y = TOP
    for name, group in chart.bars.items():
        if name:
            parts.append(_text(12, y + 13, name, "dim"))
            y += BAR + GAP
        for client, value in group.items():
            parts += _bar(axis, y, client, value)
            y += BAR + GAP
    frame = _grid(axis, y, chart.unit, logarithmic=wide) + _limit(axis, y, chart.limit)
    return y + 40, frame + parts


def _bar(axis: Axis, y: float, client: str, value: float) -> list[str]:
    width = max(1.0, axis.at(value))
    return [
        _text(LEFT - 8, y + 13, client, anchor="end"),
        f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{_colour(client)}"/>',
        _text(LEFT + width + 6, y + 13, number(value)),
    ]


def _curves(chart: Chart) -> tuple[int, list[str]]:
    limit = [] if chart.limit is None else [chart.limit]
    axis = Axis(
        [*(x for curve in chart.curves.values() for x, _ in curve), *limit], logarithmic=True
    )
    bottom = TOP + CURVES_HEIGHT
    parts = _grid(axis, bottom, chart.unit, logarithmic=True) + _limit(axis, bottom, chart.limit)
    for share in (0.0, 0.25, 0.5, 0.75, 0.99):
        y = bottom - CURVES_HEIGHT * share
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + PLOT}" y1="{y}" y2="{y}"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{share:.0%}", "dim", anchor="end"))
    parts.append(_text(12, TOP + 4, "share of all", "dim"))
    for row, (name, curve) in enumerate(chart.curves.items()):
        parts += _line(axis, bottom, name, curve)
        parts += _key(bottom + 56 + row * 20, name)
    return bottom + 60 + 20 * len(chart.curves), parts


def _line(axis: Axis, bottom: float, name: str, curve: Curve) -> list[str]:
    points = " L".join(
        f"{LEFT + axis.at(value):.1f},{bottom - CURVES_HEIGHT * share:.1f}"
        for value, share in curve
    )
    return [f'<path d="M{points}" {_pen(name)}/>'] if curve else []


def _key(y: float, name: str) -> list[str]:
    return [
        f'<path d="M{LEFT},{y} L{LEFT + 30},{y}" {_pen(name)}/>',
        _text(LEFT + 40, y + 4, name),
    ]


def _pen(name: str) -> str:
    broken = ' stroke-dasharray="6 4"' if DASHED in name else ""
    return f'stroke="{_colour(name)}"{broken}'


def _grid(axis: Axis, bottom: float, unit: str, *, logarithmic: bool) -> list[str]:
    parts = []
    for tick in axis.ticks():
        x = LEFT + axis.at(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}"/>')
        parts.append(_text(x, bottom + 16, number(tick), "dim", anchor="middle"))
    scale = f"{unit}, logarithmic" if logarithmic else unit
    return [*parts, _text(LEFT + PLOT, bottom + 33, scale, "dim", anchor="end")]


def _limit(axis: Axis, bottom: float, limit: float | None) -> list[str]:
    if limit is None:
        return []
    x = LEFT + axis.at(limit)
    return [
        f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}"/>',
        _text(x + 4, TOP - 10, f"target {number(limit)}", "dim"),
    ]


def _colour(name: str) -> str:
    """By the client a series is of."""
    return next((colour for client, colour in _longest(COLOURS) if name.startswith(client)), "#888")


def _longest(colours: dict[str, str]) -> Sequence[tuple[str, str]]:
    return sorted(colours.items(), key=lambda item: -len(item[0]))


def _text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(said)}</text>'


def number(value: float) -> str:
    """As people read it: three digits that count, thousands apart."""
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.1e}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    rounded = round(value, digits)
    return f"{rounded:,.0f}" if abs(value) >= 100 else f"{rounded:.{digits}f}"
