"""The whole of it for real: Prometheus scrapes the daemon, records, shows, and alerts."""

import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from exporters.grafana.__main__ import DASHBOARDS
from exporters.grafana.ask import filled_in
from exporters.grafana.page import main
from tests.ops.process import awaited
from tests.ops.test_alert_rules import promtool, recorded
from tests.ops.test_dashboards import NAMES, panels
from tests.ops.world import CORPORA, FAILING, FIRST, SECOND, STEADY, World

WER = 2 / 12
"""Of what the fakes hear: one word is wrong, one is too many."""


def fetched(address: str, accept: str = "text/plain") -> str:
    asked = urllib.request.Request(f"http://{address}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def test_promtool_finds_nothing_wrong_with_the_metrics_and_the_configuration(world: World) -> None:
    for address in (world.daemon_address, world.second_address):
        done = subprocess.run(
            ["promtool", "check", "metrics"],
            input=fetched(address),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    promtool("check", "config", "prometheus.yml", folder=world.folder)


def test_both_hosts_are_scraped_and_every_rule_is_well(world: World) -> None:
    targets = world.prometheus.get("targets")["activeTargets"]
    assert {target["health"] for target in targets} == {"up"}
    groups = world.prometheus.get("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert [rule["name"] for rule in rules if rule["health"] != "ok"] == []
    assert {rule["name"] for rule in rules if rule["type"] == "recording"} == set(recorded())


@pytest.mark.parametrize("model", [STEADY, FAILING])
def test_what_prometheus_counts_is_what_the_log_tells(world: World, model: str) -> None:
    """Sessions go on ending meanwhile, and a session is counted just before it is told."""

    def told() -> int:
        ended = ('"event":"session_finished"', f'"model":"{model}"')
        return sum(all(word in line for word in ended) for line in world.daemon.said.splitlines())

    def counted() -> float:
        return world.number(f'sum(speechbench_sessions_total{{model="{model}"}})')

    before = told()
    awaited("the count of what was told", lambda: counted() >= before)
    ahead = counted()
    awaited("the telling of what was counted", lambda: told() >= ahead, patience_s=5)


@pytest.mark.parametrize("name", recorded())
def test_a_recorded_series_has_data(world: World, name: str) -> None:
    found = awaited(name, lambda: world.prometheus.at(name, time.time()))
    assert all(one.last == one.last for one in found if "success" in name or "wer" in name)


def test_word_error_rates_are_those_of_what_was_heard(world: World) -> None:
    of_corpus = "provider_model_dataset_mode_transcript:speechbench_wer:ratio_increase7d"
    steady = f'{{model="{STEADY}",transcript="final"}}'
    found = awaited(
        "a rate for each corpus",
        lambda: (
            of_each
            if len(of_each := world.prometheus.at(of_corpus + steady, time.time())) == 3
            else None
        ),
    )
    assert {one.labels["dataset"] for one in found} == set(CORPORA)
    assert [one.last for one in found] == [pytest.approx(WER)] * 3
    overall = "provider_model_mode_transcript:speechbench_wer_weighted:ratio_increase7d"
    assert awaited(overall, lambda: world.number(overall + steady)) == pytest.approx(WER)


def test_the_model_that_fails_is_seen_to_fail_and_the_other_is_not(world: World) -> None:
    success = "provider_model_flow:speechbench_session_success:ratio_increase7d"
    assert world.number(f'{success}{{model="{STEADY}"}}') == pytest.approx(1)
    closes = f'speechbench_ws_closes_total{{model="{FAILING}",code="1011"}}'
    awaited("a failure", lambda: world.number(closes) >= 1)
    failing = f'{success}{{model="{FAILING}"}}'
    awaited("its share", lambda: 0 < world.number(failing) < 1)


def test_a_session_can_be_found_from_a_bucket(world: World) -> None:
    """Exemplars are read back from Prometheus, and name sessions that the log knows."""
    stretch = world.stretch()
    found = world.prometheus.get(
        "query_exemplars",
        query="speechbench_time_to_final_seconds_bucket",
        start=f"{stretch.start_s:.3f}",
        end=f"{stretch.end_s:.3f}",
    )
    sessions = {
        exemplar["labels"]["session_id"] for series in found for exemplar in series["exemplars"]
    }
    assert sessions
    assert all(session in world.daemon.said for session in sessions)


@pytest.mark.parametrize("name", NAMES)
def test_every_query_of_a_dashboard_has_an_answer(world: World, name: str) -> None:
    stretch = world.stretch()
    chosen = {"window": "1m"}
    if name == "model.json":
        chosen |= {"model": STEADY, "provider": "deepgram"}
    empty = []
    for panel in panels(name):
        for target in panel["targets"]:
            expr = filled_in(target["expr"], chosen, stretch)
            if target.get("instant"):
                found = world.prometheus.at(expr, stretch.end_s)
            else:
                found = world.prometheus.over(expr, stretch)
            if not any(value == value for one in found for _, value in one.points):
                empty.append(f"{panel['title']}: {expr}")
    assert empty == []


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_drawn_without_grafana(world: World, tmp_path: Path, name: str) -> None:
    out = tmp_path / "page.html"
    which = ["--set", f"model={STEADY}", "--set", "provider=deepgram", "--set", "window=1m"]
    url = world.prometheus.url
    asked = [name, "--prometheus", url, "--last", "90s", "--out", str(out), *which]
    assert main(asked) == 0
    drawn = out.read_text(encoding="utf-8")
    assert "nothing yet" not in drawn
    assert "<svg" in drawn


def test_an_alert_about_the_failing_model_arrives(
    world: World, tell: Callable[[str], None]
) -> None:
    tell("waiting for an alert about the model that fails")
    alert = awaited(
        "the alert", lambda: world.webhook.firing("SpeechbenchFailureBurnFast", model=FAILING)
    )
    assert alert["labels"]["severity"] == "page"
    assert FAILING in alert["annotations"]["summary"]
    assert world.webhook.firing("SpeechbenchFailureBurnFast", model=STEADY) is None


def test_an_exporter_that_is_killed_is_told_of(world: World, tell: Callable[[str], None]) -> None:
    """The last test: nothing is measured after it."""
    tell("killing the second host, and waiting for the alert")
    assert world.webhook.firing("SpeechbenchDown") is None
    world.second_host.end(signal.SIGKILL)
    alert = awaited(
        "the alert",
        lambda: world.webhook.firing("SpeechbenchDown", instance=SECOND),
    )
    assert alert["labels"]["severity"] == "page"
    assert world.webhook.firing("SpeechbenchDown", instance=FIRST) is None
