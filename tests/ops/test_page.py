"""The page that is drawn of a dashboard: numbers as people read them, and nothing left out."""

import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import pytest

from exporters.grafana import draw
from exporters.grafana.__main__ import FOLDER
from exporters.grafana.ask import Prometheus, Refused, Series, Stretch, filled_in
from exporters.grafana.page import Looking, lines_of, main, page, seconds
from exporters.grafana.parts import AGE, BYTES, COUNT, DOLLARS, SECONDS, SHARE, YES_NO
from exporters.grafana.units import shown, ticks
from tests.ops.png import SIGNATURE, chunk, packed, rgb

STRETCH = Stretch(1_000_000, 1_003_600, 60)
SIZE = (600, 200)


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0.1875, SECONDS, "188 ms"),
        (0.0000704, SECONDS, "70.4 µs"),
        (0, SECONDS, "0 s"),
        (2.5, SECONDS, "2.5 s"),
        (-0.02, SECONDS, "-20 ms"),
        (5400, AGE, "1.5 h"),
        (0.0833, SHARE, "8.33 %"),
        (1, SHARE, "100 %"),
        (1234567, COUNT, "1,234,567"),
        (12.5, DOLLARS, "$12.50"),
        (0.0042, DOLLARS, "$0.0042"),
        (46.1 * 1024**2, BYTES, "46.1 MiB"),
        (1, YES_NO, "yes"),
        (math.nan, SECONDS, "-"),
    ],
)
def test_a_number_is_shown_in_its_unit(value: float, unit: str, said: str) -> None:
    assert shown(value, unit) == said


def test_ticks_are_round_and_within() -> None:
    assert ticks(0, 2.4, SECONDS) == pytest.approx([0, 1, 2])
    assert ticks(0, 3 * 1024**2, BYTES) == pytest.approx([0, 1024**2, 2 * 1024**2, 3 * 1024**2])
    assert ticks(0, 0.001, SECONDS)[1] == pytest.approx(0.00025)
    assert ticks(1, 1, COUNT) == [1]


def test_variables_are_filled_in_and_what_is_not_chosen_is_all() -> None:
    expr = 'rate(a{model=~"$model",flow=~"$flow"}[$__rate_interval]) + b[$window] + c[$__range]'
    assert filled_in(expr, {"model": "x", "window": "1h"}, STRETCH) == (
        'rate(a{model=~"x",flow=~".*"}[240s]) + b[1h] + c[3600s]'
    )


def test_a_legend_takes_the_labels_of_its_series() -> None:
    series = [Series({"model": "a/m", "flow": "forced"}, ((1.0, 2.0),))]
    (line,) = lines_of({"legendFormat": "{{model}} p50 {{none}}"}, series)
    assert line.name == "a/m p50 "


def test_buckets_are_drawn_one_by_one_not_summed_up() -> None:
    """Two values up to 0.1, none between 0.1 and 0.2, one above."""
    rows = [("0.1", 2.0), ("0.2", 2.0), ("+Inf", 3.0)]
    buckets = [draw.Line(bound, ((1_001_000.0, count),)) for bound, count in rows]
    drawn = draw.distribution(buckets, SIZE, SECONDS, STRETCH)
    assert drawn.count("<rect") == 2
    assert 'fill-opacity="1.00"' in drawn
    assert 'fill-opacity="0.71"' in drawn


def test_names_cannot_break_out_of_the_page() -> None:
    line = draw.Line("<script>", ((1_001_000.0, 1.0),))
    assert "<script>" not in draw.ranking([line], 400, COUNT)


class Canned(Prometheus):
    """Answers every query with one series, or with none."""

    found: bool = True

    def at(self, expr: str, moment_s: float) -> list[Series]:
        labels = {"model": "a/m", "le": "0.1", "instance": "h"}
        return [Series(labels, ((moment_s, 0.25),))] if self.found else []

    def over(self, expr: str, stretch: Stretch) -> list[Series]:
        return self.at(expr, stretch.end_s)


class Empty(Canned):
    found = False


def dashboard(name: str) -> Mapping[str, Any]:
    made: Mapping[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return made


@pytest.mark.parametrize("name", ["overview", "model", "harness"])
@pytest.mark.parametrize("prometheus", [Canned("http://x"), Empty("http://x")])
def test_a_page_has_every_panel_whatever_there_is(name: str, prometheus: Prometheus) -> None:
    made = page(dashboard(name), Looking(prometheus, STRETCH, {"window": "1h"}))
    for panel in dashboard(name)["panels"]:
        assert f">{panel['title'].replace(chr(39), '&#x27;')}<" in made
    assert ("nothing yet" in made) == isinstance(prometheus, Empty)
    assert "<script" not in made


def test_a_length_of_time_is_read_or_refused_in_words() -> None:
    assert seconds("7d") == 7 * 86_400
    for wrong in ("", "7", "d", "-1h", "0h", "1w"):
        with pytest.raises(ValueError, match="write 90s, 30m, 6h or 7d"):
            seconds(wrong)


def test_a_prometheus_that_is_not_there_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["overview", "--prometheus", "http://127.0.0.1:1", "--out", "/dev/null"]
    assert main(asked) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert issubclass(Refused, RuntimeError)


def test_a_picture_is_packed_without_a_change_where_it_has_few_colours() -> None:
    """Every way in which PNG writes a row, undone by hand for the expectation."""
    row = [(10, 20, 30), (40, 50, 60), (10, 20, 30)]
    flat = bytes(value for pixel in row for value in pixel)
    same_as_left = bytes([10, 20, 30, 30, 30, 30, 226, 226, 226])
    average = bytes([5, 10, 15, 15, 15, 15, 241, 241, 241])
    zeros = bytes(9)
    paeth = bytes([0] * 9)
    rows = [b"\0" + flat, b"\1" + same_as_left, b"\2" + zeros, b"\3" + average, b"\4" + paeth]
    header = struct.pack(">IIBBBBB", 3, 5, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b"")]
    made = rgb(SIGNATURE + b"".join(chunk(kind, body) for kind, body in parts))
    assert made.tolist()[:3] == [[list(pixel) for pixel in row]] * 3
    assert made.tolist()[4] == made.tolist()[3]
    small = packed(SIGNATURE + b"".join(chunk(kind, body) for kind, body in parts))
    assert small.startswith(SIGNATURE)
    assert b"PLTE" in small
