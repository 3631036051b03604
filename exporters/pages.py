"""The status page as plain HTML: readable on a phone, without scripts or anything fetched."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from exporters.recent import Recent

Fields = Mapping[str, Any]
SHOWN = 50
"""So many of the last sessions are on the page."""

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bad: #c22; --good: #282; }
@media (prefers-color-scheme: dark) { :root { --bad: #f77; --good: #7c7; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1rem auto; padding: 0 .8rem; }
body { max-width: 70rem; }
h1 { font-size: 1.25rem; margin: 0 0 .2rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bad { color: var(--bad); } .good { color: var(--good); } nav a { margin-right: 1rem; }
@media (max-width: 40rem) { .more { display: none; } }
"""


def status_page(recent: Recent, *, unwell: str | None, unready: str | None, now_s: float) -> str:
    """The whole page. ``now_s`` is Unix time."""
    body = [
        f"<h1>speechbench on {escape(recent.host)}</h1>",
        _health(recent, unwell, unready),
        _NAVIGATION,
        *_section("Next runs", _next_runs(recent, now_s)),
        *_section("Left alone", _pauses(recent, now_s)),
        *_section("Budgets", _budgets(recent.spending)),
        *_section("Missed runs since the start", _missed(recent.missed)),
        *_section("This host", _host(recent)),
        *_section("Last sessions", _sessions(recent.sessions)),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>speechbench on {escape(recent.host)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )


_NAVIGATION = (
    '<nav><a href="metrics">Metrics</a><a href="api/v1/sessions">Sessions (JSON)</a>'
    '<a href="config">Configuration</a><a href="-/healthy">Healthy?</a>'
    '<a href="-/ready">Ready?</a></nav>'
)


def _health(recent: Recent, unwell: str | None, unready: str | None) -> str:
    trouble = unwell or unready
    state = (
        '<span class="good">measuring</span>'
        if trouble is None
        else f'<span class="bad">not measuring: {escape(trouble)}</span>'
    )
    reloaded = ""
    if recent.reloaded and not recent.reloaded.get("successful"):
        why = escape(str(recent.reloaded.get("error") or "no reason given"))
        reloaded = f'<p class="bad">The newest configuration was not taken: {why}</p>'
    return f"<p>{state} · version {escape(recent.version)}</p>{reloaded}"


def _section(title: str, content: str | None) -> Iterable[str]:
    return [] if content is None else [f"<h2>{title}</h2>", content]


def _next_runs(recent: Recent, now_s: float) -> str | None:
    runs = sorted(recent.next_runs.items(), key=lambda run: run[1])
    if not runs:
        return None
    rows = [(escape(name), _moment(at_s), _ahead(at_s - now_s)) for name, at_s in runs[:SHOWN]]
    return _table(("what", "when (UTC)", "in"), rows)


def _pauses(recent: Recent, now_s: float) -> str | None:
    rows = [
        (escape(provider), _moment(until_s), _ahead(until_s - now_s))
        for provider, until_s in sorted(recent.pauses.items())
        if until_s > now_s
    ]
    return _table(("provider", "until (UTC)", "for"), rows) if rows else None


def _budgets(budgets: Sequence[Fields]) -> str | None:
    rows = [
        (
            escape(str(budget["who"])),
            escape(str(budget["period"])),
            f"${budget['spent_usd']:.4f}",
            f"${budget['limit_usd']:.2f}",
        )
        for budget in budgets
    ]
    return _table(("who", "period", "#spent", "#may spend"), rows) if rows else None


def _missed(missed: Mapping[str, int]) -> str | None:
    rows = [(escape(why), str(count)) for why, count in sorted(missed.items())]
    return _table(("why", "#runs"), rows) if rows else None


def _host(recent: Recent) -> str | None:
    lines = []
    if recent.selftest:
        lines.append(f"Self-test: {escape(str(recent.selftest.get('summary', 'done')))}")
    else:
        lines.append(
            "Self-test: none yet; <code>speechbench selftest</code> measures our own error"
        )
    lines += [f"Refused: {escape(str(text))}" for text in recent.setup.get("refused", ())]
    return "".join(f"<p>{line}</p>" for line in lines)


def _sessions(sessions: Sequence[Fields]) -> str:
    if not sessions:
        return "<p>None yet.</p>"
    rows = [_session(one) for one in reversed(sessions[-SHOWN:])]
    head = (
        *("when (UTC)", "model", "*clip", "verdict"),
        *("#final ms", "#*first partial ms", "#*errors", "#*worst late ms"),
    )
    return _table(head, rows)


def _session(one: Fields) -> tuple[str, ...]:
    verdict = escape(str(one["verdict"]))
    if not one.get("valid"):
        verdict = f'<span class="bad">{verdict}</span>'
    words = one.get("reference_words")
    errors = "" if words is None else f"{one.get('word_errors')} of {words}"
    late_us = one.get("late_max_us")
    return (
        _moment(one["wall_unix_s"]),
        escape(str(one.get("model"))),
        escape(str(one.get("clip"))),
        verdict,
        _number(one.get("time_to_final_ms")),
        _number(one.get("time_to_first_partial_ms")),
        errors,
        "" if late_us is None else f"{late_us / 1000:.2f}",
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """``#`` before a head: a column of numbers; ``*``: left out where there is little room."""
    kinds = [
        " ".join(name for sign, name in (("#", "n"), ("*", "more")) if sign in head[:2])
        for head in heads
    ]
    titles = [head.lstrip("#*") for head in heads]
    head = "".join(f'<th class="{k}">{t}</th>' for k, t in zip(kinds, titles, strict=True))
    lines = [
        "<tr>" + "".join(f'<td class="{k}">{c}</td>' for k, c in zip(kinds, row, strict=True))
        for row in rows
    ]
    return f'<div class="wide"><table><tr>{head}</tr>{"</tr>".join(lines)}</tr></table></div>'


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _moment(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _ahead(seconds: float) -> str:
    if seconds <= 0:
        return "now"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
