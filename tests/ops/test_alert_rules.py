"""The rules as they are written: they load, do as their tests say, and know every metric."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from measure.records import OUR_FAULT
from tests.ops.queries import complaints, known
from tests.ops.world import ALERTS, ROOT, RULES

TESTS = sorted((ALERTS / "tests").glob("*.yml"))


def rules() -> list[dict[str, Any]]:
    texts = [(ALERTS / name).read_text(encoding="utf-8") for name in RULES]
    groups = [group for text in texts for group in yaml.safe_load(text)["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def recorded() -> list[str]:
    return [rule["record"] for rule in rules() if "record" in rule]


ALERT_RULES = [rule for rule in rules() if "alert" in rule]


def promtool(*arguments: str, folder: Path = ALERTS) -> None:
    done = subprocess.run(
        ["promtool", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_can_load_the_rules() -> None:
    promtool("check", "rules", *RULES)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_the_rules_do_as_their_tests_say(path: Path) -> None:
    promtool("test", "rules", path.name, folder=path.parent)


@pytest.mark.parametrize("rule", ALERT_RULES, ids=lambda rule: rule["alert"])
def test_an_alert_fires_in_a_test_says_how_urgent_it_is_and_what_to_do(
    rule: dict[str, Any],
) -> None:
    name = rule["alert"]
    cases = [
        case
        for path in TESTS
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]
        for case in test.get("alert_rule_test", ())
        if case["alertname"] == name
    ]
    assert any(case["exp_alerts"] for case in cases)
    assert rule["labels"]["severity"] in ("page", "ticket")
    page, _, place = rule["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^#+ (\w+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert place == name.lower()
    assert name in headings


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("record") or rule["alert"])
def test_a_rule_asks_only_for_what_there_is(rule: dict[str, Any]) -> None:
    assert complaints(rule["expr"], known(recorded())) == []


def test_the_configuration_in_the_document_is_one_that_prometheus_takes(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (config,) = (block for block in blocks if "scrape_configs" in block)
    (tmp_path / "prometheus.yml").write_text(config, encoding="utf-8")
    (tmp_path / "speechbench").mkdir()
    for name in RULES:
        shutil.copy(ALERTS / name, tmp_path / "speechbench")
    promtool("check", "config", "prometheus.yml", folder=tmp_path)
    assert all(yaml.safe_load(block) for block in blocks)


def test_a_query_for_what_there_is_not_is_found_out() -> None:
    names = known(recorded())
    assert complaints("sum by (x (rate(a[5m]))", names)
    assert complaints("speechbench_session_total", names) == [
        "there is no series speechbench_session_total"
    ]
    assert complaints('speechbench_sessions_total{modle="a"}', names)
    assert complaints("sum by (reason) (speechbench_sessions_total)", names)
    assert complaints("sum by (model) (speechbench_sessions_total)", names) == []


def test_what_this_program_spoiled_is_held_against_no_provider() -> None:
    ours = {verdict.value for verdict in OUR_FAULT}
    asked = [
        words for rule in rules() for words in re.findall(r'reason[!=]~"([^"]+)"', rule["expr"])
    ]
    assert asked
    assert all(set(words.split("|")) == ours for words in asked)
