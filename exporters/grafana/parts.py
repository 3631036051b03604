"""What the three dashboards are built of: panels, variables, and how queries are written.

Every panel has a unit, every query the data source that is chosen at the top of the dashboard.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grafana_foundation_sdk.builders import bargauge, common, heatmap, prometheus, stat, table
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import timeseries as lines
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SECONDS, SHARE, COUNT, DOLLARS, BYTES = "s", "percentunit", "short", "currencyUSD", "bytes"
AGE, PLAIN, YES_NO = "dtdurations", "none", "bool_yes_no"
SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
WINDOWS = ("30m", "1h", "6h", "1d", "7d")
WINDOW = "6h"
"""Over so much each point of a line is worked out: sessions are sparse."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel. ``name`` is its legend, or the title of its column in a table."""

    expr: str
    name: str = ""
    unit: str = ""
    """Of its column in a table."""


def quantile(share: float, metric: str, by: str, chosen: str, window: str = "$window") -> str:
    """The quantile of a histogram over a window, for each ``by``."""
    kept = f"{by}, le" if by else "le"
    grown = increase(f"{metric}_bucket", chosen, window)
    return f"histogram_quantile({share:g}, sum by ({kept}) ({grown}))"


def increase(metric: str, chosen: str = "", window: str = "$window") -> str:
    """How much a counter grew in a window."""
    return f"increase(speechbench_{metric}{{{chosen}}}[{window}])"


def or_zero(grown: str, by: str) -> str:
    """What there is of each ``by``; where there is nothing at all, one line at 0."""
    return f"sum by ({by}) ({grown}) > 0 or sum({grown}) == 0"


def share(part: str, whole: str) -> str:
    """A part of a whole, where there is a whole."""
    return f"({part}) / (({whole}) > 0)"


def curves(title: str, unit: str, *queries: Query, about: str = "", width: int = 12) -> Any:
    """Lines over time."""
    panel = lines.Panel().fill_opacity(0).line_width(1.5).span_nulls(True)
    return _panel(panel, title, unit, queries, about, width, 8).legend(_legend())


def bars(title: str, unit: str, *queries: Query, about: str = "", width: int = 12) -> Any:
    """Bars over time, one on the other."""
    stacked = common.StackingConfig().mode(shapes.StackingMode.NORMAL)
    panel = lines.Panel().draw_style(shapes.GraphDrawStyle.BARS).fill_opacity(70).line_width(0)
    return _panel(panel.stacking(stacked), title, unit, queries, about, width, 8).legend(_legend())


def figure(
    title: str,
    unit: str,
    query: Query,
    *,
    about: str = "",
    width: int = 4,
    bad: float | None = None,
) -> Any:
    """One number, or a few; red from ``bad`` on."""
    panel = stat.Panel().graph_mode(shapes.BigValueGraphMode.NONE).thresholds(_thresholds(bad))
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return _panel(panel, title, unit, [query], about, width, 4, instant=True)


def ranking(
    title: str,
    unit: str,
    query: Query,
    *,
    about: str = "",
    width: int = 12,
    top: float | None = None,
) -> Any:
    """Bars side by side, each with its number; a full one is ``top``, or the longest."""
    panel = bargauge.Panel().orientation(shapes.VizOrientation.HORIZONTAL)
    panel.display_mode(shapes.BarGaugeDisplayMode.BASIC).min(0).thresholds(_thresholds(None))
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    if top is not None:
        panel.max(top)
    return _panel(panel, title, unit, [query], about, width, 8, instant=True)


def distribution(title: str, unit: str, expr: str, *, about: str = "", width: int = 12) -> Any:
    """Where the values of a histogram lie, over time: the darker, the more."""
    panel = heatmap.Panel().calculate(False).y_axis(heatmap.YAxisConfig().unit(unit))
    made = _panel(panel, title, unit, [], about, width, 8)
    target = prometheus.Dataquery().expr(expr).legend_format("{{le}}").ref_id("A")
    return made.with_target(target.range().datasource(SOURCE).format(PromQueryFormat.HEATMAP))


def sheet(title: str, by: Sequence[str], *columns: Query, about: str = "", height: int = 8) -> Any:
    """A table: a row for each set of the labels ``by``, a column for each query."""
    panel = table.Panel()
    made = _panel(panel, title, PLAIN, columns, about, 24, height, instant=True, as_table=True)
    renamed = {f"Value #{_ref(i)}": column.name for i, column in enumerate(columns)}
    order = {name: i for i, name in enumerate((*by, *renamed))}
    made.with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
    organized = {
        "excludeByName": {"Time": True},
        "indexByName": order,
        "renameByName": renamed,
    }
    made.with_transformation(models.DataTransformerConfig(id_val="organize", options=organized))
    for column in columns:
        unit = models.DynamicConfigValue(id_val="unit", value=column.unit or PLAIN)
        made.override_by_name(column.name, [unit])
    return made


def board(title: str, uid: str, about: str, variables: Iterable[Any]) -> Any:
    """An empty dashboard."""
    made = build.Dashboard(title).uid(uid).description(about).tags(["speechbench"])
    made.refresh("1m").time("now-7d", "now").timezone("utc").editable()
    made.tooltip(models.DashboardCursorSync.CROSSHAIR)
    source = build.DatasourceVariable("datasource").label("Data source").type("prometheus")
    for variable in (source, *variables):
        made.with_variable(variable)
    return made


def chosen(name: str, metric: str, given: str = "", *, several: bool = True) -> Any:
    """A variable whose values are those of a label."""
    query = f"label_values(speechbench_{metric}{{{given}}}, {name})"
    made = build.QueryVariable(name).label(name.capitalize()).query(query).datasource(SOURCE)
    made.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
    return made.multi(True).include_all(True).all_value(".*") if several else made


def window() -> Any:
    """The variable for how much each point of a line covers."""
    options = ",".join(WINDOWS)
    now = models.VariableOption(selected=True, text=WINDOW, value=WINDOW)
    return build.CustomVariable("window").label("Window").values(options).current(now)


def row(title: str) -> Any:
    """A heading."""
    return build.Row(title)


def filled(made: Any, *parts: Any) -> Any:
    """The dashboard with its rows and panels, in this order."""
    for part in parts:
        if isinstance(part, build.Row):
            made.with_row(part)
        else:
            made.with_panel(part)
    built = made.build()
    for number, panel in enumerate(built.panels, start=1):
        panel.id_val = number
    return built


def as_json(built: Any) -> str:
    """The same text for the same dashboard."""
    text: str = JSONEncoder(sort_keys=True, indent=1).encode(built)
    return text + "\n"


def _panel(
    panel: Any,
    title: str,
    unit: str,
    queries: Sequence[Query],
    about: str,
    width: int,
    height: int,
    *,
    instant: bool = False,
    as_table: bool = False,
) -> Any:
    panel.title(title).unit(unit).datasource(SOURCE).span(width).height(height)
    if about:
        panel.description(about)
    for i, query in enumerate(queries):
        target = prometheus.Dataquery().expr(query.expr).ref_id(_ref(i)).datasource(SOURCE)
        target = target.instant() if instant else target.range()
        if as_table:
            target.format(PromQueryFormat.TABLE)
        else:
            target.legend_format(query.name)
        panel.with_target(target)
    return panel


def _ref(index: int) -> str:
    return chr(ord("A") + index)


def _legend() -> Any:
    legend = common.VizLegendOptions().display_mode(shapes.LegendDisplayMode.LIST)
    return legend.placement(shapes.LegendPlacement.BOTTOM).show_legend(True)


def _thresholds(bad: float | None) -> Any:
    steps = [models.Threshold(value=None, color="green" if bad is not None else "blue")]
    if bad is not None:
        steps.append(models.Threshold(value=bad, color="red"))
    return build.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)
