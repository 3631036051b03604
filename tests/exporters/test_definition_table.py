"""Rescored figures: the table, the notes below it, CSV."""

import csv
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from exporters.definition_table import Figures, ModelFigures, notes_of, table_of, write_csv

FIGURES = Figures("ms", 120, 2, 250.04, 300.0, 310.0, 420.0, 260.5, {"no_final": 3, "odd": 1})
NONE = Figures("ms", 0, 0, None, None, None, None, None, {"no partial": 124})
COUNTS = Figures("times", 9, 0, 1.0, 2.0, 2.0, 2.0, 1.25, {})
NAMES = ["method", "first_partial", "corrections"]
MODEL = ModelFigures(
    "deepgram/nova-3",
    "forced",
    124,
    ("one",),
    {"method": FIGURES, "first_partial": NONE, "corrections": COUNTS},
)


def shown(*models: ModelFigures) -> str:
    console = Console(width=120, file=StringIO(), record=True)
    console.print(table_of(models, NAMES))
    return console.export_text()


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("│") if cell.strip()]


def test_definitions_stand_side_by_side() -> None:
    lines = [cells(line) for line in shown(MODEL).splitlines()]
    assert ["deepgram/nova-3, forced", "n", "124", "124", "124"] in lines
    assert ["valid", "120", "0", "9"] in lines
    assert ["p50", "250.0", "-", "1.00"] in lines
    assert ["mean", "260.5", "-", "1.25"] in lines


def test_a_quantile_of_too_few_values_is_marked() -> None:
    lines = [cells(line) for line in shown(MODEL).splitlines()]
    assert ["p90", "300.0", "-", "~2.00"] in lines
    assert ["p99", "420.0", "-", "~2.00"] in lines
    assert any("too few" in note for note in notes_of([MODEL], NAMES))


@pytest.mark.parametrize(("share", "enough"), [("p50", 2), ("p90", 10), ("p95", 20), ("p99", 100)])
def test_so_many_values_are_enough(share: str, enough: int) -> None:
    def marked(valid: int) -> bool:
        figures = {name: replace(FIGURES, valid=valid) for name in NAMES}
        lines = shown(replace(MODEL, figures=figures)).splitlines()
        return "~" in next(line for line in lines if f" {share} " in line)

    assert marked(enough - 1)
    assert not marked(enough)


def test_why_there_is_no_value_is_counted() -> None:
    notes = list(notes_of([MODEL], NAMES))
    assert "deepgram/nova-3, method: no value for 3 no_final, 1 odd" in notes
    assert "deepgram/nova-3, first_partial: no value for 124 no partial" in notes


def test_what_is_published_as_zero_is_counted_apart() -> None:
    notes = list(notes_of([MODEL], NAMES))
    assert "deepgram/nova-3, method: 2 answered before zero, published as 0" in notes


def test_numbers_that_were_made_differently_are_not_mixed_in_silence() -> None:
    mixed = replace(MODEL, signatures=("one", "two"))
    assert any("2 signatures" in note for note in notes_of([mixed], NAMES))
    assert not any("signatures" in note for note in notes_of([MODEL], NAMES))


def test_csv_has_a_row_for_each_model_and_definition() -> None:
    out = StringIO()
    write_csv(out, [MODEL])
    rows = list(csv.DictReader(StringIO(out.getvalue())))
    assert [row["definition"] for row in rows] == NAMES
    assert rows[0]["p50"] == "250.04"
    assert rows[0]["missing"] == "3 no_final; 1 odd"
    assert rows[1]["p50"] == ""
    assert rows[2]["unit"] == "times"
