"""The page and the pictures say what was measured, also where it falls short."""

import json
from xml.etree import ElementTree

import pytest
from rich.console import Console

from benchmarks.clients import ABSOLUTE, OURS, TRIO, C
from benchmarks.figure import Chart, Figure, Result, Target
from benchmarks.picture import number, svg
from benchmarks.report import Report, as_json, page, table

BARS = Chart("cost", "Cost & more", "µs", "bars", {"plain": {OURS: 12.0, TRIO: 900.0, C: 0.0}})
CURVES = Chart(
    "late", "Late", "µs", "curves", curves={f"{OURS}, TLS": [(1.0, 0.5), (90.0, 1.0)]}, limit=100.0
)
MISSED = Figure(
    "cost of a frame", "µs", {OURS: 12.0, ABSOLUTE: 15.0}, (Target(0.6, ABSOLUTE),), "why it is so"
)
MET = Figure("rate error", "ppm", {OURS: 3.0}, (Target(20.0), Target(2.0, C)))


def report(*figures: Figure) -> Report:
    return Report(
        date="2030-01-01 00:00 UTC",
        size="full",
        duration_s=600.0,
        facts={"processor": "one of these", "cores": "2"},
        busy=0.5,
        worst_stall_ms=4.2,
        skipped={C: "there is no C compiler (cc)"},
        results=[Result("Cost", "As said.", list(figures), BARS)],
    )


def test_the_page_names_what_fell_short_and_why() -> None:
    said = page(report(MISSED, MET))
    assert "**1 of 3 targets met**" in said
    assert "- cost of a frame: 0.800, target ≤ 0.6 x asyncio absolute (why it is so)" in said
    assert "- rate error: ≤ 2 x C" in said  # could not be told
    assert "- C was left out: there is no C compiler (cc)" in said
    assert "![Cost & more](performance/cost.svg)" in said
    assert "| processor | one of these |" in said


def test_the_table_of_the_page_has_no_empty_column() -> None:
    lines = page(report(MET)).splitlines()
    assert "| figure | ours | ratio | target |  |" in lines


def test_the_terminal_shows_a_row_for_each_target() -> None:
    console = Console(width=200, record=True, file=None, quiet=True)
    drawn = table(report(MISSED, MET))
    assert drawn.row_count == 3
    console.print(drawn)


def test_json_has_every_figure_with_its_verdicts() -> None:
    plain = json.loads(json.dumps(as_json(report(MISSED, MET))))
    assert plain["all_met"] is False
    assert [figure["name"] for figure in plain["figures"]] == ["cost of a frame", "rate error"]
    assert plain["figures"][0]["targets"] == [
        {"limit": 0.6, "against": ABSOLUTE, "at_least": False, "measured": 0.8, "met": False}
    ]
    assert plain["figures"][1]["targets"][1]["met"] is None


def test_all_is_met_where_nothing_was_missed() -> None:
    assert report(MET).all_met


@pytest.mark.parametrize("chart", [BARS, CURVES])
def test_a_picture_is_well_formed_and_says_its_title_and_series(chart: Chart) -> None:
    drawn = svg(chart)
    ElementTree.fromstring(drawn)
    for word in [chart.title.replace("&", "&amp;"), OURS, chart.unit]:
        assert word in drawn


def test_bars_of_a_hundredfold_range_are_drawn_to_a_logarithmic_scale() -> None:
    assert "µs, logarithmic" in svg(BARS)
    even = Chart("even", "Even", "µs", "bars", {"": {OURS: 12.0, TRIO: 40.0}})
    assert "logarithmic" not in svg(even)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.0000004, "4.0e-07"),
        (0.0451, "0.0451"),
        (1.234, "1.23"),
        (12.34, "12.3"),
        (-12.34, "-12.3"),
        (123.4, "123"),
        (48_342.1, "48,342"),
    ],
)
def test_a_number_has_three_digits_that_count(value: float, shown: str) -> None:
    assert number(value) == shown
