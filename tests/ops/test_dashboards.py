"""The dashboards as they are committed: made by the code, and asking only for what there is."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from exporters.grafana.__main__ import FOLDER, pages
from exporters.grafana.ask import Stretch, filled_in
from tests.ops.queries import SCRAPED, complaints, known
from tests.ops.test_alert_rules import recorded

NAMES = [path.name for path in sorted(FOLDER.glob("*.json"))]
STRETCH = Stretch(0, 3600, 15)


def board(name: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return made


def panels(name: str) -> list[dict[str, Any]]:
    return [panel for panel in board(name)["panels"] if panel["type"] != "row"]


def targets(name: str) -> Iterator[dict[str, Any]]:
    for panel in panels(name):
        yield from panel["targets"]


def test_what_is_committed_is_what_the_code_makes_byte_for_byte() -> None:
    assert {name: (FOLDER / name).read_text(encoding="utf-8") for name in NAMES} == pages()


def test_ids_are_given_once() -> None:
    assert len({board(name)["uid"] for name in NAMES}) == len(NAMES) == 3
    for name in NAMES:
        ids = [panel["id"] for panel in board(name)["panels"]]
        assert len(set(ids)) == len(ids)
        assert None not in ids


@pytest.mark.parametrize("name", NAMES)
def test_a_panel_has_a_title_a_unit_and_queries(name: str) -> None:
    for panel in panels(name):
        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["targets"], panel["title"]
    titles = [panel["title"] for panel in panels(name)]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("name", NAMES)
def test_every_query_asks_the_data_source_that_is_chosen(name: str) -> None:
    variables = {one["name"]: one for one in board(name)["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    for target in targets(name):
        assert target["datasource"]["uid"] == "${datasource}"
    asked = {word for target in targets(name) for word in re.findall(r"\$(\w+)", target["expr"])}
    assert asked <= {*variables, "__range", "__rate_interval"}
    assert set(variables) - asked == {"datasource"}


@pytest.mark.parametrize("name", NAMES)
def test_queries_can_be_read_and_know_every_metric_and_label(name: str) -> None:
    names = known(recorded())
    wrong = [
        complaint
        for target in targets(name)
        for complaint in complaints(filled_in(target["expr"], {}, STRETCH), names)
    ]
    assert wrong == []
    labels = set().union(SCRAPED, *names.values())
    for target in targets(name):
        assert set(re.findall(r"{{(\w+)}}", target.get("legendFormat", ""))) <= labels
    for variable in board(name)["templating"]["list"]:
        query = re.fullmatch(r"label_values\((.*), (\w+)\)", str(variable.get("query")))
        if query is not None:
            assert query[2] in labels
            assert complaints(filled_in(query[1], {}, STRETCH), names) == []


@pytest.mark.parametrize("name", NAMES)
def test_panels_do_not_lie_on_one_another(name: str) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board(name)["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place.get("x", 0), place.get("x", 0) + place["w"])
            for y in range(place.get("y", 0), place.get("y", 0) + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
