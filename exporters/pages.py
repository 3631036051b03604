"""The status page: what is measured, how it stands, what comes next, and whether all is well."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from exporters.glossary import FIGURES, MISSED, VERDICTS
from exporters.markup import (
    NONE,
    Cell,
    Column,
    Markup,
    ahead,
    bad,
    document,
    moment,
    number,
    section,
    table,
)
from exporters.recent import Recent
from exporters.standing import Standing, standings
from measure.records import SECOND

Fields = Mapping[str, Any]
SHOWN = 50
"""So many of the last sessions are on the page."""
DETAIL_CHARACTERS = 200
"""So much of what a provider said is shown."""
_NAVIGATION = (
    '<nav aria-label="Pages"><ul><li><a href="#sessions">Last sessions</a></li>'
    '<li><a href="api/v1/sessions">Sessions as JSON</a></li><li><a href="metrics">Metrics</a></li>'
    '<li><a href="config">Configuration</a></li><li><a href="-/healthy">Healthy?</a></li>'
    '<li><a href="-/ready">Ready?</a></li></ul></nav>'
)


def status_page(recent: Recent, *, unwell: str | None, unready: str | None, now_s: float) -> str:
    """The whole page. ``now_s`` is Unix time."""
    small = (
        section("Next runs", _next_runs(recent, now_s)),
        section("Budgets", _budgets(recent.spending)),
        section("Providers left alone", _pauses(recent, now_s)),
        section("Runs missed since the start", _missed(recent.missed)),
        section("This host", _host(recent)),
    )
    return document(
        f"speechbench on {recent.host}",
        "<header>",
        f"<h1>speechbench on {escape(recent.host)}</h1>",
        _health(recent, unwell or unready, now_s),
        _NAVIGATION,
        "</header><main>",
        section("Models", _models(recent)),
        f'<div class="pair">{"".join(small)}</div>',
        section("Last sessions", _sessions(recent), anchor="sessions"),
        _WORDS,
        "</main>",
    )


def _health(recent: Recent, trouble: str | None, now_s: float) -> str:
    state = (
        '<span class="state good">measuring</span>'
        if trouble is None
        else f'<span class="state bad">not measuring: {escape(trouble)}</span>'
    )
    lines = [
        '<p class="quiet">How long speech-to-text takes from the end of speech '
        "to the final transcript.</p>",
        f"<p>{state} · {moment(now_s).html} · version {escape(recent.version)}</p>",
    ]
    if recent.reloaded and not recent.reloaded.get("successful"):
        why = escape(str(recent.reloaded.get("error") or "no reason given"))
        lines.append(f'<p class="bad">The newest configuration was not taken: {why}</p>')
    return "".join(lines)


def _models(recent: Recent) -> str:
    rows = [_model(one) for one in standings(recent.streams, recent.sessions)]
    if not rows:
        return "<p>What is measured is not known yet.</p>"
    columns = (
        Column("model"),
        Column("flow"),
        Column("time to final (ms)", number=True),
        Column("first partial (ms)", number=True),
        Column("word errors", number=True),
        Column("sessions", number=True),
        Column("failed", number=True),
        Column("not counted", number=True),
    )
    count = len(recent.sessions)
    caption = (
        "No session has ended yet."
        if not count
        else f"Medians, and sums, of the last {count} sessions."
    )
    return table(columns, rows, caption=caption, cards=True)


def _model(one: Standing) -> tuple[Cell, ...]:
    rate = f"{100 * one.word_errors / one.words:.1f} % of {one.words}" if one.words else NONE
    return (
        one.model,
        one.flow,
        number(one.final_ms),
        number(one.first_partial_ms),
        rate,
        str(one.sessions),
        str(one.failed),
        str(one.spoiled),
    )


def _next_runs(recent: Recent, now_s: float) -> str:
    runs = sorted(recent.next_runs.items(), key=lambda run: run[1])
    if not runs:
        return "<p>None is planned yet.</p>"
    rows = [(name, moment(at_s), ahead(at_s - now_s)) for name, at_s in runs[:SHOWN]]
    return table((Column("schedule"), Column("at"), Column("in", number=True)), rows)


def _pauses(recent: Recent, now_s: float) -> str | None:
    rows = [
        (provider, moment(until_s), ahead(until_s - now_s))
        for provider, until_s in sorted(recent.pauses.items())
        if until_s > now_s
    ]
    columns = (Column("provider"), Column("until"), Column("for", number=True))
    caption = "After a refusal for its key, its quota or its rate limit."
    return table(columns, rows, caption=caption) if rows else None


def _budgets(budgets: Sequence[Fields]) -> str | None:
    columns = (
        Column("whose"),
        Column("each (UTC)"),
        Column("spent (US$)", number=True),
        Column("of (US$)", number=True),
        Column("share", number=True),
    )
    rows = [
        (
            str(budget["who"]),
            str(budget["period"]),
            f"{budget['spent_usd']:.4f}",
            f"{budget['limit_usd']:.2f}",
            _share(budget["spent_usd"], budget["limit_usd"]),
        )
        for budget in budgets
    ]
    return table(columns, rows, cards=True) if rows else None


def _share(spent_usd: float, limit_usd: float) -> Markup:
    share = spent_usd / limit_usd if limit_usd > 0 else 1.0
    said = f"{100 * share:.0f} %"
    return Markup(f'<meter min="0" max="1" high=".8" value="{share:.3f}">{said}</meter> {said}')


def _missed(missed: Mapping[str, int]) -> str | None:
    rows = [(MISSED.get(why, why), str(count)) for why, count in sorted(missed.items())]
    return table((Column("why"), Column("runs", number=True)), rows) if rows else None


def _host(recent: Recent) -> str:
    lines = [_selftest(recent.selftest)]
    lines += [f"Refused: {escape(str(text))}" for text in recent.setup.get("refused", ())]
    return "".join(f"<p>{line}</p>" for line in lines)


def _selftest(selftest: Fields) -> str:
    if not selftest:
        return "Self-test: none yet; <code>speechbench selftest</code> measures our own error."
    made_ns = selftest.get("wall_unix_ns")
    when = "" if made_ns is None else f" ({moment(made_ns / SECOND).html})"
    return f"Self-test: {escape(str(selftest.get('summary', 'done')))}{when}"


def _sessions(recent: Recent) -> str:
    if not recent.sessions:
        return "<p>None has ended yet; each is here as soon as it has.</p>"
    columns = (
        Column("model"),
        Column("began"),
        Column("clip"),
        Column("verdict"),
        Column("time to final (ms)", number=True),
        Column("first partial (ms)", number=True),
        Column("word errors", number=True),
        Column("latest frame (ms)", number=True),
    )
    shown = recent.sessions[-SHOWN:]
    caption = f"The newest {len(shown)}, the last that ended first."
    return table(columns, [_session(one) for one in reversed(shown)], caption=caption, cards=True)


def _session(one: Fields) -> tuple[Cell, ...]:
    words = one.get("reference_words")
    late_us = one.get("late_max_us")
    return (
        str(one.get("model")),
        moment(one["wall_unix_s"]),
        str(one.get("clip")),
        _verdict(one),
        number(_published_ms(one.get("time_to_final_ms"))),
        number(_published_ms(one.get("time_to_first_partial_ms"))),
        NONE if words is None else f"{one.get('word_errors')} of {words}",
        number(None if late_us is None else late_us / 1000, 2),
    )


def _verdict(one: Fields) -> Cell:
    verdict = str(one["verdict"])
    if one.get("valid"):
        return verdict
    reason = one.get("reason")
    said = (None if reason == verdict else reason, one.get("fault_detail"))
    return bad(verdict, ": ".join(str(part) for part in said if part)[:DETAIL_CHARACTERS])


def _published_ms(value_ms: float | None) -> float | None:
    """What had been there before zero is published as 0."""
    return None if value_ms is None else max(0.0, value_ms)


def _explained(words: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<dt>{escape(word)}</dt><dd>{escape(means)}</dd>" for word, means in words)


_WORDS = (
    "<section><h2>What the words mean</h2><details><summary>Figures and verdicts</summary><dl>"
    + _explained([*FIGURES.items(), *((v.value, means) for v, means in VERDICTS.items())])
    + "</dl></details></section>"
)
