"""One measurement as a picture: SVG that reads on light and on dark ground, with text as text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from xml.sax.saxutils import escape

from exporters.timeline_marks import (
    Lane,
    Mark,
    Sent,
    Stretch,
    Timeline,
    clean,
    round_step_ms,
    signed_ms,
    ticks_ms,
)
from measure.records import MS

WIDTH = 1200
LEFT = 150
RIGHT = 30
TOP = 70
LANE = 30
LINE = 18
"""The height of a line of text."""
LINE_CHARS = 150
NARROW = 2.0
"""A bar of frames is at least so wide."""
LIGHT = {
    "ground": "#ffffff",
    "ink": "#1b1f24",
    "dim": "#59636e",
    "grid": "#d1d9e0",
    "audio": "#7d8590",
    "padding": "#c4cad1",
    "speech": "#0969da",
    "decision": "#9ec6f5",
    "partials": "#9a6700",
    "finals": "#1a7f37",
    "force": "#8250df",
    "trouble": "#cf222e",
    "span": "#0a7b83",
}
DARK = {
    "ground": "#0d1117",
    "ink": "#f0f6fc",
    "dim": "#9198a1",
    "grid": "#3d444d",
    "audio": "#9198a1",
    "padding": "#4a525b",
    "speech": "#4493f8",
    "decision": "#234a7d",
    "partials": "#d29922",
    "finals": "#3fb950",
    "force": "#ab7df8",
    "trouble": "#f85149",
    "span": "#39c5cf",
}
FILLED = {
    "ground": "ground",
    "title": "ink",
    "plain": "ink",
    "dim": "dim",
    "audio": "audio",
    "padding": "padding",
    "late": "trouble",
    "speech": "speech",
    "decision": "decision",
    "watch": "ink",
    "stream": "dim",
    "force": "force",
    "partials": "partials",
    "finals": "finals",
    "confirm": "speech",
    "trouble": "trouble",
}
"""The colour of each kind of shape. Each is written out: not every viewer knows CSS variables."""
STROKED = {"grid": "grid", "zero": "force", "span": "span"}


def _style() -> str:
    return "\n".join(
        [
            "svg { font: 13px system-ui, sans-serif; }",
            ".title { font-size: 16px; font-weight: 600; }",
            ".zero { stroke-dasharray: 4 3; }",
            ".span { stroke-width: 2; fill: none; }",
            *_colours(LIGHT),
            "@media (prefers-color-scheme: dark) {",
            *_colours(DARK),
            "}",
        ]
    )


def _colours(named: Mapping[str, str]) -> Iterator[str]:
    yield from (f".{kind} {{ fill: {named[name]}; }}" for kind, name in FILLED.items())
    yield from (f".{kind} {{ stroke: {named[name]}; }}" for kind, name in STROKED.items())


@dataclass(frozen=True, slots=True)
class _Scale:
    """Moments to places from left to right."""

    first_ns: int
    last_ns: int

    def x(self, at_ns: int) -> float:
        share = (at_ns - self.first_ns) / (self.last_ns - self.first_ns)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 2)

    @property
    def step_ms(self) -> int:
        """A step that gives about ten ticks."""
        return round_step_ms((self.last_ns - self.first_ns) / MS / 10)


def svg(line: Timeline) -> str:
    """The whole picture."""
    scale = _Scale(*line.span_ns)
    lanes = [*_lanes(line, scale)]
    lanes_end = TOP + LANE * len(lanes)
    words = [*_words(line)]
    height = lanes_end + LINE * (len(words) + 3)
    body = [
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
        _text(20, 30, line.title, "title"),
        *_axis(line, scale, lanes_end),
    ]
    for number, (name, drawn) in enumerate(lanes):
        y = TOP + LANE * number + LANE / 2
        body.append(f'<g transform="translate(0 {y:g})">{_text(20, 4, name)}{"".join(drawn)}</g>')
    for number, said in enumerate(words):
        body.append(_text(20, lanes_end + LINE * (number + 2), said, "plain" if number else "dim"))
    return "\n".join([*_opening(line, height), *body, "</svg>", ""])


def _opening(line: Timeline, height: float) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" role="img">'
    )
    yield f"<title>{_escaped(line.title)}</title>"
    yield f"<desc>{_escaped('; '.join(line.says))}</desc>"
    yield f"<style>{_style()}</style>"


def _axis(line: Timeline, scale: _Scale, bottom: float) -> Iterator[str]:
    yield _text(20, TOP - 10, f"ms from {line.origin}", "dim")
    for ms in ticks_ms(scale.first_ns, scale.last_ns, scale.step_ms):
        x = scale.x(ms * MS)
        style = "zero" if ms == 0 else "grid"
        yield f'<line class="{style}" x1="{x:g}" x2="{x:g}" y1="{TOP}" y2="{bottom:g}"/>'
        yield _text(x, TOP - 10, f"{ms:+d}" if ms else "0", "dim", anchor="middle")


def _lanes(line: Timeline, scale: _Scale) -> Iterator[tuple[str, Sequence[str]]]:
    yield "audio", [*_audio(line, scale)]
    yield "speech", [*_speech(line, scale)]
    for lane in Lane:
        marks = [mark for mark in line.marks if mark.lane is lane]
        if marks:
            yield lane.value, [_mark(mark, scale) for mark in marks]
    for stretch in line.definitions:
        yield stretch.name, [*_stretch(stretch, scale)]


def _audio(line: Timeline, scale: _Scale) -> Iterator[str]:
    """A bar for each frame, up to the one before; where many would be too narrow, for several."""
    left: float | None = None
    late_ns: list[int] = []
    for sent, following in zip_longest(line.frames, line.frames[1:]):
        right = scale.x(sent.at_ns)
        left = right - 1 if left is None else left
        late_ns.append(sent.late_ns)
        style = _frame_style(sent, line.budget_ns)
        alike = following is not None and _frame_style(following, line.budget_ns) == style
        if alike and right - left < NARROW:
            continue
        said = f"up to {sent.audio_ms:g} ms of audio, latest {signed_ms(max(late_ns))} ms"
        yield _bar(left, right, style, said)
        left, late_ns = right, []


def _frame_style(sent: Sent, budget_ns: int) -> str:
    if sent.late_ns > budget_ns:
        return "late"
    return "padding" if sent.padding else "audio"


def _speech(line: Timeline, scale: _Scale) -> Iterator[str]:
    for stretch, style in ((line.speech, "speech"), (line.decision, "decision")):
        if stretch is not None and stretch.from_ns is not None and stretch.to_ns is not None:
            left, right = scale.x(stretch.from_ns), scale.x(stretch.to_ns)
            yield _bar(left, right, style, f"{stretch.name}: {stretch.said}")


def _bar(left: float, right: float, style: str, said: str) -> str:
    width = max(right - left - 0.5, 0.5)
    return (
        f'<rect class="{style}" x="{left:g}" y="-7" width="{width:g}" height="14">'
        f"<title>{_escaped(said)}</title></rect>"
    )


def _mark(mark: Mark, scale: _Scale) -> str:
    x = scale.x(mark.at_ns)
    said = f"{signed_ms(mark.at_ns)} ms: {mark.what} {mark.detail}".strip()
    shape = f'<circle class="{mark.lane.value}" cx="{x:g}" cy="0" r="5.5">'
    return f"{shape}<title>{_escaped(said)}</title></circle>"


def _stretch(stretch: Stretch, scale: _Scale) -> Iterator[str]:
    if stretch.from_ns is None or stretch.to_ns is None:
        yield _text(LEFT, 4, stretch.said, "dim")
        return
    left, right = sorted((scale.x(stretch.from_ns), scale.x(stretch.to_ns)))
    yield f'<path class="span" d="M{left:g} -7V7M{left:g} 0H{right:g}M{right:g} -7V7"/>'
    if right < WIDTH - 200:
        yield _text(right + 8, 4, stretch.said)
    else:
        yield _text(left - 8, 4, stretch.said, anchor="end")


def _words(line: Timeline) -> Iterator[str]:
    """Below the lanes: what the watch says, and every transcript."""
    yield "What the watch says, and what was said"
    spoken = [mark for mark in line.marks if mark.lane in (Lane.PARTIALS, Lane.FINALS)]
    transcripts = (f"{signed_ms(one.at_ns)} ms {one.what}: {one.detail}" for one in spoken)
    for said in (*line.says, *transcripts):
        yield from wrap(said, LINE_CHARS, subsequent_indent="    ")


def _text(x: float, y: float, said: str, style: str = "plain", *, anchor: str = "start") -> str:
    where = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text class="{style}" {where}>{_escaped(said)}</text>'


def _escaped(said: str) -> str:
    return escape(clean(said))
