"""The table a buyer reads: sorting, cells, notes, Markdown, CSV, plain values."""

import csv
import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from exporters.report_table import (
    SORTS,
    Chapter,
    Estimate,
    Latency,
    Line,
    PriceTag,
    Report,
    markdown_of,
    notes_of,
    plain_of,
    ranked,
    text_of,
    write_csv,
)

NONE = Estimate(None, 0)
OWN = PriceTag(4.3, "2026-11-02", "a page", False, "as read on 2026-11-02 at a page (your list)")
UNPRICED = PriceTag(None, missing="it is in no list")


def latency(mean: float, n: int = 40) -> Latency:
    quantiles = {name: Estimate(mean + 1, n) for name in ("p50", "p90", "p95", "p99")}
    return Latency(Estimate(mean, n, mean - 10, mean + 10), quantiles)


LINE = Line(
    model="a/quick",
    variant=0,
    flow="forced",
    wer=Estimate(0.0523, 50, 0.041, 0.063),
    first_partial_wer=Estimate(0.21, 48, 0.18, 0.24),
    time=latency(250.4),
    first_partial=latency(90.0),
    success=Estimate(0.98, 50, 0.94, 0.995),
    answered=49,
    failed=1,
    voided=2,
    early=3,
    price=OWN,
    signature="speechbench 0.1.0 | host a | error 0.08/0.41ms@8 fit",
    harness_error="0.08/0.41ms@8 fit",
)
BROKEN = replace(
    LINE,
    model="a/broken",
    wer=NONE,
    first_partial_wer=NONE,
    time=Latency(NONE),
    first_partial=Latency(NONE),
    success=Estimate(0.0, 4),
    answered=0,
    failed=4,
    price=replace(OWN, usd=0.01),
)


def report(*lines: Line, definition: str = "method") -> Report:
    chapter = Chapter("Corpus calls", "calls", lines)
    return Report("a day", "AA-WER v2.2", definition, "wer", (chapter,))


def shown(*lines: Line) -> str:
    console = Console(width=170, file=StringIO(), record=True)
    for part in text_of(report(*lines)):
        console.print(part)
    return console.export_text()


def notes(*lines: Line) -> list[str]:
    whole = report(*lines)
    return list(notes_of(whole, whole.chapters[0]))


def rows(*lines: Line) -> list[dict[str, str]]:
    out = StringIO()
    write_csv(out, report(*lines))
    return list(csv.DictReader(StringIO(out.getvalue())))


BETTER = {
    "wer": replace(LINE, wer=Estimate(0.01, 1)),
    "time": replace(LINE, time=latency(1.0)),
    "first_partial": replace(LINE, first_partial=latency(1.0)),
    "success": replace(LINE, success=Estimate(1.0, 1)),
    "price": replace(LINE, price=replace(OWN, usd=0.5)),
}


@pytest.mark.parametrize("by", SORTS)
def test_the_best_comes_first(by: str) -> None:
    better = replace(BETTER[by], model="z/better")
    assert [line.model for line in ranked([LINE, better], by)] == ["z/better", "a/quick"]


@pytest.mark.parametrize("by", SORTS)
def test_who_never_answered_comes_last_however_it_is_sorted(by: str) -> None:
    unpriced = replace(LINE, model="z/unpriced", price=UNPRICED)
    assert ranked([BROKEN, unpriced, LINE], by)[-1] == BROKEN


def test_what_has_no_figure_comes_behind_what_has() -> None:
    unscored = replace(LINE, model="a/unscored", wer=NONE)
    assert ranked([unscored, LINE], "wer") == [LINE, unscored]


def test_without_words_the_time_decides() -> None:
    slow = replace(LINE, model="a/a", wer=NONE, time=latency(900.0))
    quick = replace(LINE, model="b/b", wer=NONE)
    assert ranked([slow, quick], "wer") == [quick, slow]


def test_figures_stand_with_their_intervals_and_n() -> None:
    text = shown(LINE)
    for said in ("5.2", "4.1 to 6.3, n 50", "250", "240 to 260, n 40", "98.0", "94.0 to 99.5"):
        assert said in text


def test_who_never_answered_is_not_available_and_its_failures_are_counted() -> None:
    (row,) = [line for line in shown(BROKEN).splitlines() if line.startswith("│ a/broken")]
    cells = [cell.strip() for cell in row.split("│")[1:-1]]
    assert cells[1:7] == ["n/a"] * 6
    assert "a/broken: 4 of 4 failed (100.0%)" in notes(BROKEN)


def test_what_is_not_counted_is_said() -> None:
    said = notes(LINE)
    assert "a/quick: 2 not counted: our own fault, or nothing to measure" in said
    assert "a/quick: 3 answered before zero, published as 0" in said


def test_every_line_has_its_signature_and_the_hosts_own_error() -> None:
    said = notes(LINE, BROKEN)
    assert f"a/quick | {LINE.signature}" in said
    assert "a/quick, a/broken: what this harness adds to a time: 0.08/0.41ms@8 fit" in said


def test_a_price_never_stands_without_its_day_and_source() -> None:
    assert "4.30 (2026-11-02)" in shown(LINE)
    assert "a/quick: price as read on 2026-11-02 at a page (your list)" in notes(LINE)


def test_a_shipped_price_is_marked_in_its_cell() -> None:
    assert "4.30 (2026-11-02, shipped)" in shown(replace(LINE, price=replace(OWN, shipped=True)))


def test_a_price_of_nothing_is_no_missing_price() -> None:
    assert "0.00 (2026-11-02)" in shown(replace(LINE, price=replace(OWN, usd=0.0)))
    assert "a/quick: no price: it is in no list" in notes(replace(LINE, price=UNPRICED))


@pytest.mark.parametrize(("n", "marked"), [(19, True), (20, False)])
def test_a_quantile_of_too_few_values_is_marked(n: int, marked: bool) -> None:
    line = replace(LINE, time=latency(250.0, n))
    assert ("~251" in shown(line)) == marked
    assert any("too few values" in note for note in notes(line)) == marked


def test_several_ways_of_measuring_one_model_are_told_apart() -> None:
    text = shown(replace(LINE, variant=1), replace(LINE, variant=2))
    assert "a/quick (1)" in text
    assert "a/quick (2)" in text


def test_the_heading_says_what_the_time_is() -> None:
    assert any("| time to final ms |" in line for line in markdown_of(report(LINE)))
    other = report(LINE, definition="speech_end")
    assert any("| speech_end ms |" in line for line in markdown_of(other))


def test_markdown_has_one_cell_for_each_heading_whatever_stands_in_a_name() -> None:
    lines = list(markdown_of(report(replace(LINE, model="a|b\nc"), BROKEN)))
    table = [line.replace("\\|", "") for line in lines if line.startswith("|")]
    assert len(table) == 4
    assert {line.count("|") for line in table} == {10}


def test_csv_has_a_row_for_each_model_and_leaves_blank_what_there_is_none_of() -> None:
    quick, broken = rows(LINE, BROKEN)
    assert (quick["corpus"], quick["model"], quick["wer"]) == ("calls", "a/quick", "0.0523")
    assert (quick["wer_low"], quick["wer_high"], quick["wer_n"]) == ("0.041", "0.063", "50")
    assert (quick["time_ms_mean"], quick["time_ms_p95"]) == ("250.4", "251.4")
    assert (broken["wer"], broken["time_ms_mean"], broken["failed"]) == ("", "", "4")
    assert quick["signature"] == LINE.signature
    assert quick["harness_error"] == LINE.harness_error
    assert quick["price_provenance"] == OWN.provenance


def test_plain_values_can_be_written_as_json() -> None:
    document = json.loads(json.dumps(plain_of(report(LINE))))
    (line,) = document["chapters"][0]["lines"]
    assert line["wer"] == {"value": 0.0523, "n": 50, "low": 0.041, "high": 0.063}
    assert line["price"]["provenance"] == OWN.provenance
