"""One dashboard as a page of HTML, for those without Grafana, and for pictures.

    python -m exporters.grafana.page overview --prometheus http://127.0.0.1:9090 --out overview.html

Reads the dashboard's JSON, asks Prometheus its queries, and draws the answers; no scripts in it.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from exporters.grafana import draw
from exporters.grafana.__main__ import DASHBOARDS, FOLDER
from exporters.grafana.ask import Prometheus, Refused, Series, Stretch, filled_in
from exporters.grafana.units import NOTHING, shown

WIDTH = 1240
_GAP = 8
_ROW = 30
_COLUMN = WIDTH / 24
_POINTS = 120
_HEAD = 32
_KEY = 20
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_STYLE = """
body{margin:12px;background:#eef0f3;color:#222;font:13px/1.3 "DejaVu Sans",sans-serif}
main{display:grid;grid-template-columns:repeat(24,1fr);grid-auto-rows:30px;gap:0;width:1240px}
h1{font-size:18px;margin:0 0 2px}.about{margin:0 0 10px;color:#555;width:1240px}
h2{grid-column:1/-1;font-size:14px;margin:8px 4px 0;align-self:center}
section{background:#fff;border:1px solid #d5d8dd;border-radius:3px;margin:4px;padding:6px 10px;
overflow:hidden;display:flex;flex-direction:column}
h3{font-size:12.5px;margin:0 0 4px;font-weight:600}
svg{display:block}svg text{font-size:11px;fill:#444}.end{text-anchor:end}.middle{text-anchor:middle}
.grid{stroke:#e3e5e9}.line{fill:none;stroke-width:1.8}
.key{font-size:11px;color:#444;height:16px;overflow:hidden;white-space:nowrap}
.key i{display:inline-block;width:10px;height:10px;margin:0 4px 0 0;border-radius:2px}
.key span{margin-right:12px}
.figure{flex:1;display:flex;flex-wrap:wrap;gap:2px 14px;align-items:center;justify-content:center}
.figure div{text-align:center}.figure b{font-size:23px;color:#00664a;display:block}
.figure.two b{font-size:17px}
.figure .bad{color:#b3261e}.figure small{font-size:10.5px;color:#555}
table{border-collapse:collapse;width:100%}td,th{padding:3px 8px;text-align:right;
border-bottom:1px solid #e3e5e9;font-size:12.5px}td:first-child,th:first-child{text-align:left}
"""


@dataclass(frozen=True, slots=True)
class Looking:
    """At what, and with which choices."""

    prometheus: Prometheus
    stretch: Stretch
    chosen: Mapping[str, str]

    def answers(self, panel: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], list[Series]]]:
        """Each query of a panel with the series it finds."""
        found = []
        for target in panel["targets"]:
            expr = filled_in(target["expr"], self.chosen, self.stretch)
            if target.get("instant"):
                series = self.prometheus.at(expr, self.stretch.end_s)
            else:
                series = self.prometheus.over(expr, self.stretch)
            found.append((target, series))
        return found


def page(dashboard: Mapping[str, Any], looking: Looking) -> str:
    """The whole page."""
    parts = [_part(panel, looking) for panel in dashboard["panels"]]
    stretch = looking.stretch
    moments = [
        datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")
        for moment in (stretch.start_s, stretch.end_s)
    ]
    used = {one["name"] for one in dashboard["templating"]["list"]}
    asked = ", ".join(f"{name} {looking.chosen[name]}" for name in looking.chosen if name in used)
    said = f"{moments[0]} to {moments[1]} UTC" + (f" · {asked}" if asked else "")
    title = escape(dashboard["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style><h1>{title}</h1>"
        f'<p class="about">{escape(dashboard["description"])}<br>{escape(said)}</p>'
        f"<main>{''.join(parts)}</main></html>\n"
    )


def lines_of(target: Mapping[str, Any], series: list[Series]) -> list[draw.Line]:
    """The series of one query, named as its legend says."""
    legend = target.get("legendFormat") or ""
    return [
        draw.Line(
            re.sub(r"{{(\w+)}}", lambda label, one=one: one.labels.get(label[1], ""), legend),
            one.points,
        )
        for one in series
    ]


def _part(panel: Mapping[str, Any], looking: Looking) -> str:
    place = panel["gridPos"]
    x, y, w, h = (int(place.get(side, 0)) for side in "xywh")
    where = f"grid-column:{x + 1}/span {w};grid-row:{y + 1}/span {h}"
    if panel["type"] == "row":
        return f'<h2 style="{where}">{escape(panel["title"])}</h2>'
    size = (int(w * _COLUMN) - 2 * _GAP - 24, h * _ROW - 2 * _GAP - _HEAD - _KEY)
    inside = _inside(panel, looking, size)
    return f'<section style="{where}"><h3>{escape(panel["title"])}</h3>{inside}</section>'


def _inside(panel: Mapping[str, Any], looking: Looking, size: tuple[int, int]) -> str:
    unit, kind = panel["fieldConfig"]["defaults"]["unit"], panel["type"]
    answers = looking.answers(panel)
    if kind == "table":
        return _table(panel, answers)
    lines = [line for target, series in answers for line in lines_of(target, series)]
    if not any(line.finite for line in lines):
        return '<div class="figure"><small>nothing yet</small></div>'
    if kind == "stat":
        return _figure(panel, lines, unit)
    if kind == "bargauge":
        ordered = sorted(lines, key=lambda line: line.points[-1][1])
        return draw.ranking(ordered, size[0], unit, panel["fieldConfig"]["defaults"].get("max"))
    if kind == "heatmap":
        return draw.distribution(lines, size, unit, looking.stretch)
    custom = panel["fieldConfig"]["defaults"].get("custom", {})
    chart = draw.bars if custom.get("drawStyle") == "bars" else draw.curves
    there = [line for line in lines if line.finite]
    return chart(there, size, unit, looking.stretch) + _key(there, unit)


def _figure(panel: Mapping[str, Any], lines: list[draw.Line], unit: str) -> str:
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    bad = [step["value"] for step in steps if step["color"] == "red"]
    said = []
    for line in lines:
        value = line.points[-1][1]
        red = ' class="bad"' if bad and value >= bad[0] else ""
        name = f"<small>{escape(line.name)}</small>" if line.name else ""
        # A name that ends in a word of its own says more than the 1 it stands for.
        word = line.name.rpartition(": ")[2] if ": " in line.name else shown(value, unit)
        said.append(f"<div><b{red}>{escape(word)}</b>{name}</div>")
    several = " two" if len(said) > 1 else ""
    return f'<div class="figure{several}">{"".join(said)}</div>'


def _key(lines: list[draw.Line], unit: str) -> str:
    names = [
        f'<span><i style="background:{draw.colour(number)}"></i>'
        f"{escape(line.name)}: {escape(shown(line.finite[-1][1], unit))}</span>"
        for number, line in enumerate(lines)
        if line.name
    ]
    return f'<div class="key">{"".join(names)}</div>'


def _table(panel: Mapping[str, Any], answers: list[tuple[Mapping[str, Any], list[Series]]]) -> str:
    """Rows by their labels, as Grafana merges them; a dash where a query has nothing."""
    organized = panel["transformations"][-1]["options"]
    columns = list(organized["renameByName"].values())
    by = [name for name in organized["indexByName"] if not name.startswith("Value #")]
    units = {
        one["matcher"]["options"]: one["properties"][0]["value"]
        for one in panel["fieldConfig"]["overrides"]
    }
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for column, (_, series) in zip(columns, answers, strict=True):
        for one in series:
            row = rows.setdefault(tuple(one.labels.get(name, "") for name in by), {})
            row[column] = shown(one.last, units[column])
    head = "".join(f"<th>{escape(name)}</th>" for name in (*by, *columns))
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escape(value)}</td>" for value in key)
        + "".join(f"<td>{escape(row.get(column, NOTHING))}</td>" for column in columns)
        + "</tr>"
        for key, row in sorted(rows.items())
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def seconds(said: str) -> float:
    """``90s``, ``6h``, ``7d``. Raises ValueError."""
    number, unit = said[:-1], said[-1:]
    if unit not in _UNITS or not number.isdigit() or int(number) == 0:
        raise ValueError(f"{said!r} is no stretch of time; write 90s, 30m, 6h or 7d")
    return float(int(number) * _UNITS[unit])


def looking_back(prometheus: Prometheus, length_s: float, chosen: Mapping[str, str]) -> Looking:
    """At the time until now."""
    now_s = time.time()
    step_s = max(1.0, float(int(length_s / _POINTS)))
    return Looking(prometheus, Stretch(now_s - length_s, now_s, step_s), chosen)


def main(arguments: list[str] | None = None) -> int:
    """Write the page; 1 where Prometheus does not answer."""
    parser = argparse.ArgumentParser(prog="python -m exporters.grafana.page")
    parser.add_argument("dashboard", choices=DASHBOARDS)
    parser.add_argument("--prometheus", default="http://127.0.0.1:9090", metavar="URL")
    parser.add_argument("--last", default="7d", metavar="TIME", help="90s, 30m, 6h, 7d")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    args = parser.parse_args(arguments)
    try:
        chosen = dict(one.split("=", 1) for one in args.set)
        looking = looking_back(Prometheus(args.prometheus.rstrip("/")), seconds(args.last), chosen)
        dashboard = json.loads((FOLDER / f"{args.dashboard}.json").read_text(encoding="utf-8"))
        args.out.write_text(page(dashboard, looking), encoding="utf-8")
    except (OSError, Refused, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
