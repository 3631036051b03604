"""The pages in a real browser: all is within a phone, can be read, and is what was measured."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import pytest

from exporters.health import Health
from exporters.pages import SHOWN
from exporters.prometheus import Metrics
from exporters.recent import Recent
from exporters.routes import Sources, app_of
from exporters.web import Web
from measure.records import SECOND
from tests.exporters.records import finished
from tests.ops.browser import Browser, Screen, browser
from tests.ops.process import awaited
from tests.ops.world import FAILING, LOCAL, STEADY, World

NOW_S = 1_700_000_100.0
LONG = "a-name-as-long-as-people-give-them-where-nobody-stops-them-" + "on" * 40
PHONE, DESK = Screen(), Screen(1280, 900, mobile=False)
SCREENS = {
    "phone": PHONE,
    "small phone": Screen(320, 568),
    "tablet": Screen(820, 1180),
    "small desk": Screen(1160, 900, mobile=False),
    "between": Screen(1140, 900, mobile=False),
    "desk": DESK,
    "dark phone": Screen(dark=True),
    "dark desk": Screen(1280, 900, mobile=False, dark=True),
    "phone without scripts": Screen(scripts=False),
}
TOO_WIDE = """[...document.body.querySelectorAll("*")]
  .filter(one => !one.closest(".cards thead") || innerWidth > 1152)
  .filter(one => one.getBoundingClientRect().right > innerWidth + 0.5)
  .map(one => one.tagName + " " + one.textContent.slice(0, 60))"""
HARD_TO_READ = """(() => {
  const paper = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  const light = colour => colour.slice(0, 3).map(value => value / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const contrast = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  return [...document.body.querySelectorAll("*")]
    .filter(one => [...one.childNodes].some(node => node.nodeType == 3 && node.data.trim()))
    .map(one => [one.textContent.slice(0, 40), getComputedStyle(one).color])
    .map(([text, colour]) => [text, colour.match(/[0-9.]+/g).map(Number)])
    .filter(([, colour]) => contrast(light(colour), light(paper)) < 4.5)
})()"""
ROWS = """[...document.querySelectorAll("#sessions tbody tr")]
  .map(row => [...row.children].map(cell => cell.innerText.trim()))"""
MODELS = """[...document.querySelectorAll("main > section")[0].querySelectorAll("tbody tr")]
  .map(row => [...row.children].map(cell => cell.innerText.trim()))"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as made:
        yield made


@contextmanager
def served(recent: Recent, *, ready: bool = True) -> Iterator[str]:
    """The pages about what is told; gives their address."""
    health = Health(lambda: 0)
    health.ready = ready
    sources = Sources(Metrics().registry, health, recent, lambda: NOW_S)
    web = Web(("127.0.0.1", 0), app_of(sources))
    try:
        yield f"http://{web.address}"
    finally:
        web.close()


def told(*records: dict[str, Any]) -> Recent:
    recent = Recent("0.1.0", "host-" + LONG)
    for record in records:
        recent.take(record)
    return recent


def everything() -> Recent:
    """All that a page can show at once, with names of any length."""
    detail = "the provider said " + LONG * 3
    fault = {"whose": "provider", "kind": "quota", "detail": detail}
    broken = {"verdict": "provider_error", "valid": False, "time_to_final_ns": None, "fault": fault}
    streams = [{"provider": "p", "model": f"p/{LONG}", "dataset": "d", "flow": "forced"}]
    budget = {"who": LONG, "period": "month", "spent_usd": 12_345.6789, "limit_usd": 99_999.99}
    return told(
        {"k": "configured", "t": 1, "successful": True, "text": LONG * 9, "streams": streams},
        {"k": "configured", "t": 2, "successful": False, "error": f"{LONG}: there is no such"},
        {
            "k": "agenda",
            "t": 3,
            "next_run_unix_s": {LONG: NOW_S + 9999, "b": NOW_S},
            "paused_until_unix_s": {LONG: NOW_S + 45},
        },
        {"k": "spending", "t": 4, "budgets": [budget, {**budget, "who": "b", "spent_usd": 0.0}]},
        {"k": "job_missed", "t": 5, "why": "over_budget", "count": 123_456},
        {"k": "host_prepared", "t": 6, "refused": [f"memory_lock: {LONG}"]},
        {"k": "selftest", "t": 7, "summary": LONG, "wall_unix_ns": 1_700_000_000 * SECOND},
        finished("s-1", model=f"p/{LONG}", clip=LONG),
        finished("s-2", model=f"p/{LONG}", clip=LONG, **broken),
        finished("s-3", time_to_final_ns=123_456_789_000_000),
    )


def looked_over(chromium: Browser, url: str, screen: Screen) -> None:
    """Show a page: nothing of it is wider than the screen, and all of it can be read."""
    chromium.show(url, screen)
    assert chromium.value("innerWidth") == screen.width
    assert chromium.value("document.documentElement.scrollWidth") <= screen.width
    assert chromium.value(TOO_WIDE) == []
    assert chromium.value(HARD_TO_READ) == []


@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS)
def test_whatever_is_told_fits_the_screen_and_can_be_read(
    chromium: Browser, screen: Screen
) -> None:
    with served(everything()) as url:
        looked_over(chromium, url + "/", screen)
        assert len(chromium.value(ROWS)) == 3


@pytest.mark.parametrize("path", ["/", "/config", "/nothing", "/-/ready", "/-/reload"])
def test_pages_that_say_little_fit_a_phone_too(chromium: Browser, path: str) -> None:
    with served(everything() if path == "/config" else told(), ready=False) as url:
        looked_over(chromium, url + path, PHONE)
        assert chromium.value("document.querySelectorAll('h1').length") == 1


def test_tables_laid_out_as_cards_are_still_tables_to_who_listens(chromium: Browser) -> None:
    with served(everything()) as url:
        counts = {}
        for name, screen in (("phone", PHONE), ("desk", DESK)):
            chromium.show(url + "/", screen)
            roles = chromium.roles()
            counts[name] = {
                role: roles.count(role) for role in ("table", "row", "columnheader", "cell")
            }
    assert counts["phone"] == counts["desk"]
    assert counts["desk"]["columnheader"] > 16


def test_headings_do_not_leave_out_a_level(chromium: Browser) -> None:
    with served(everything()) as url:
        chromium.show(url + "/", PHONE)
        levels = chromium.value("[...document.querySelectorAll('h1,h2,h3')].map(h => h.tagName)")
    assert levels[0] == "H1"
    assert set(levels[1:]) == {"H2"}


def sessions_of(world: World) -> list[dict[str, Any]]:
    url = f"http://{world.daemon_address}/api/v1/sessions"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return [json.loads(line) for line in answer.read().splitlines()]


def at_rest(world: World, chromium: Browser, screen: Screen) -> list[dict[str, Any]]:
    """Show the page of the daemon; gives the sessions as they were before and after that."""

    def look() -> list[dict[str, Any]] | None:
        before = sessions_of(world)
        looked_over(chromium, f"http://{world.daemon_address}/", screen)
        return before if before == sessions_of(world) else None

    return awaited("a moment in which no session ends", look)


def shown(one: dict[str, Any], name: str) -> str:
    return "-" if one[name] is None else f"{max(0, one[name]):.0f}"


@pytest.mark.parametrize("screen", [PHONE, Screen(scripts=False), DESK])
def test_the_figures_of_the_page_are_those_of_the_sessions(
    world: World, chromium: Browser, screen: Screen
) -> None:
    sessions = at_rest(world, chromium, screen)
    rows = chromium.value(ROWS)
    assert len(rows) == min(SHOWN, len(sessions))
    for row, one in zip(rows, reversed(sessions[-SHOWN:]), strict=True):
        words = one["reference_words"]
        assert row[0] == one["model"]
        assert row[1].endswith(" UTC")
        assert row[2] == one["clip"]
        assert row[3].splitlines()[0] == one["verdict"]
        assert row[4:6] == [
            shown(one, f"time_to_{which}_ms") for which in ("final", "first_partial")
        ]
        assert row[6] == ("-" if words is None else f"{one['word_errors']} of {words}")


def test_the_figures_of_each_model_are_those_of_its_sessions(
    world: World, chromium: Browser
) -> None:
    sessions = at_rest(world, chromium, PHONE)
    models = {row[0]: row for row in chromium.value(MODELS)}
    assert {STEADY, FAILING} <= set(models) <= {STEADY, FAILING, LOCAL}
    for model, row in models.items():
        of_it = [one for one in sessions if one["model"] == model]
        finals = [max(0, one["time_to_final_ms"]) for one in of_it if one["valid"]]
        assert row[2] == f"{median(finals):.0f}"
        assert int(row[5]) == len(of_it)
    assert int(models[FAILING][6]) > 0
