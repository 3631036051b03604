"""The parts of which pages are made: plain HTML, readable on a phone, aloud and in the dark.

No page needs a script, and nothing is fetched for one. What is given as text is escaped here; only
what is called markup is taken as it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

NONE = "-"
"""There was none; never shown as 0."""
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bad: #b3261e; --good: #1e6f1e;
  --quiet: #555; --panel: #8881; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #8fd88f; --quiet: #aaa; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 80rem;
  overflow-wrap: break-word; }
h1 { font-size: 1.4rem; line-height: 1.2; margin: 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p { margin: .4rem 0; } .quiet, caption, dt small { color: var(--quiet); }
.state { font-weight: 600; } .bad { color: var(--bad); } .good { color: var(--good); }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none;
  margin: .8rem 0 0; padding: 0; }
nav a { display: inline-block; padding: .3rem 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
  gap: 0 2.5rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 .3rem; }
td, th { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0;
  border-bottom: 1px solid var(--line); font-weight: normal; }
thead th, thead th.n { white-space: normal; font-weight: 600; vertical-align: bottom; }
.wide { overflow-x: auto; } .wide td, tbody th { overflow-wrap: anywhere; min-width: 6.5rem; }
.cards td.whole { min-width: 8rem; } main > section tbody th { min-width: 10.5rem; }
.wide td.n { min-width: 0; }
td:last-child, th:last-child { padding-right: 0; }
.n { text-align: right; white-space: nowrap; } time { white-space: nowrap; }
meter { width: 5rem; vertical-align: middle; } small { display: block; color: var(--quiet); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--panel); padding: .8rem; }
dt { margin-top: .6rem; font-weight: 600; } dd { margin: 0; } summary { cursor: pointer; }
@media (max-width: 72rem) {
  .cards table, .cards caption, .cards thead, .cards tbody { display: block; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  .cards tr { display: grid; gap: 0 .6rem; padding: .6rem 0;
    grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr));
    border-bottom: 1px solid var(--line); }
  .cards td, .cards tbody th { border: 0; padding: 0; text-align: left; white-space: normal; }
  .cards .whole { grid-column: 1 / -1; } .cards tbody th { font-weight: 600; }
  .cards td.n::before { content: attr(data-label) " "; color: var(--quiet); font-size: .85rem; }
}
@media (max-width: 40rem) {
  meter { display: none; } td, th { padding-right: .6rem; }
  time { white-space: normal; }
}
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; the unit of its numbers stands in the title."""

    title: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Markup:
    """HTML that is taken as it is."""

    html: str


Cell = str | Markup
"""Text, or HTML made here."""


def document(title: str, *body: str) -> str:
    """A whole page of HTML around markup."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )


def notice(title: str, text: str) -> str:
    """A page that shows a text as it is, such as the reason why there is nothing else."""
    return document(
        f"{title} · speechbench",
        f"<main><h1>{escape(title)}</h1><pre>{escape(text)}</pre></main>",
        '<nav aria-label="Pages"><ul><li><a href="/">Status page</a></li></ul></nav>',
    )


def section(title: str, content: str | None, *, anchor: str | None = None) -> str:
    """A part of a page under a heading; empty where it has no content."""
    if content is None:
        return ""
    named = "" if anchor is None else f' id="{escape(anchor)}"'
    return f"<section{named}><h2>{escape(title)}</h2>{content}</section>"


def table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell]],
    *,
    caption: str | None = None,
    cards: bool = False,
) -> str:
    """A table whose first column says what each row is about.

    ``cards``: where there is little room, each row is laid out as a card, a number below its name.
    """
    above = "" if caption is None else f"<caption>{escape(caption)}</caption>"
    heads = "".join(
        f'<th scope="col" role="columnheader"{_kind(column)}>{escape(column.title)}</th>'
        for column in columns
    )
    body = "".join(f'<tr role="row">{_cells(columns, row)}</tr>' for row in rows)
    kind = "wide cards" if cards else "wide"
    # The roles are said again: laid out as cards, a table is no table any more to those who listen.
    return (
        f'<div class="{kind}"><table role="table">{above}'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table></div>'
    )


def _cells(columns: Sequence[Column], row: Sequence[Cell]) -> str:
    first, *others = zip(columns, row, strict=True)
    cells = [f'<th scope="row" role="rowheader" class="whole">{_html(first[1])}</th>']
    cells += [
        f'<td role="cell"{_kind(column)}{_label(column)}>{_html(cell)}</td>'
        for column, cell in others
    ]
    return "".join(cells)


def _kind(column: Column) -> str:
    return ' class="n"' if column.number else ' class="whole"'


def _label(column: Column) -> str:
    return f' data-label="{escape(column.title)}"' if column.number else ""


def _html(cell: Cell) -> str:
    return cell.html if isinstance(cell, Markup) else escape(cell)


def moment(unix_s: float) -> Markup:
    """A moment of the calendar, with its zone."""
    at = datetime.fromtimestamp(unix_s, UTC)
    said = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    return Markup(f'<time datetime="{at:%Y-%m-%dT%H:%M:%SZ}">{said}</time>')


def bad(text: str, more: str = "") -> Markup:
    """What has gone wrong, and more about it in small."""
    below = f"<small>{escape(more)}</small>" if more else ""
    return Markup(f'<span class="bad">{escape(text)}</span>{below}')


def number(value: float | None, digits: int = 0) -> str:
    """A number with so many digits after the point."""
    return NONE if value is None else f"{value:.{digits}f}"


def ahead(seconds: float) -> str:
    """How long it is until then, as one would say it."""
    if seconds < 1:
        return "now"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
