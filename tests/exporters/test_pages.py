"""The status page shows how things stand, and whatever a provider says stays text."""

from html.parser import HTMLParser

from exporters.glossary import MISSED
from exporters.pages import DETAIL_CHARACTERS, SHOWN, status_page
from exporters.recent import KEPT, Recent
from tests.exporters.records import S, finished

NOW_S = 1_700_000_100.0


def fed(*records: dict[str, object]) -> Recent:
    recent = Recent("0.1.0", "host-1")
    for record in records:
        recent.take(record)
    return recent


def page(recent: Recent, unwell: str | None = None, unready: str | None = None) -> str:
    return status_page(recent, unwell=unwell, unready=unready, now_s=NOW_S)


class Wellformed(HTMLParser):
    """Collects text, and fails where a tag is closed that was not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> tuple[str, set[str]]:
    parser = Wellformed()
    parser.feed(html)
    assert parser.open == []
    return " ".join(parser.text), parser.tags


def test_an_empty_page_says_that_there_is_nothing_yet() -> None:
    text, _ = read(page(fed()))
    assert "measuring" in text
    assert "What is measured is not known yet." in text
    assert "None has ended yet" in text
    assert "None is planned yet." in text
    assert "Self-test: none yet" in text


def test_nothing_on_the_page_is_run_or_fetched() -> None:
    html = page(fed(finished()))
    _, tags = read(html)
    assert not tags & {"script", "link", "img", "iframe"}
    assert "http" not in html


def test_why_nothing_is_measured_is_said() -> None:
    text, _ = read(page(fed(), unready="the journal is full"))
    assert "not measuring: the journal is full" in text


def test_a_session_is_a_line_with_the_newest_first() -> None:
    text, _ = read(
        page(fed(finished("s-1", clip="clip-1"), finished("s-2", clip="clip-2", valid=False)))
    )
    assert text.index("clip-2") < text.index("clip-1")
    assert "forced_final" in text
    assert "312" in text


def test_what_a_provider_says_stays_text() -> None:
    evil = "<script>alert(1)</script>"
    html = page(
        fed(
            finished(clip=evil, verdict="provider_error", valid=False),
            {"k": "configured", "t": 1, "successful": False, "error": evil},
        )
    )
    text, tags = read(html)
    assert "script" not in tags
    assert "alert(1)" in text


def test_no_transcript_is_on_the_page_or_in_the_list() -> None:
    recent = fed(finished(transcript="a secret of somebody"))
    assert "somebody" not in page(recent)
    assert all("transcript" not in one for one in recent.sessions)


def test_money_pauses_and_next_runs_are_there() -> None:
    recent = fed(
        {
            "k": "agenda",
            "t": 1,
            "next_run_unix_s": {"daily": NOW_S + 3600 * 3},
            "paused_until_unix_s": {"deepgram": NOW_S + 45, "gone": 1.0},
        },
        {
            "k": "spending",
            "t": 3,
            "budgets": [{"who": "deepgram", "period": "day", "spent_usd": 0.25, "limit_usd": 1.0}],
        },
        {"k": "job_missed", "t": 4, "why": "over_budget", "count": 2},
        {"k": "job_missed", "t": 5, "why": "over_budget"},
    )
    text, _ = read(page(recent))
    for said in ("3.0 h", "45 s", "0.2500", "1.00", "25 %", MISSED["over_budget"], " 3"):
        assert said in text
    assert "gone" not in text
    assert recent.missed == {"over_budget": 3}


def test_only_so_many_sessions_are_remembered_and_fewer_shown() -> None:
    recent = fed(*(finished(f"s-{n}", clip=f"clip-{n:04}") for n in range(KEPT + 10)))
    assert len(recent.sessions) == KEPT
    assert page(recent).count(">clip-") == SHOWN


def test_sessions_since_a_moment_are_those_that_began_later() -> None:
    recent = fed(*(finished(f"s-{n}", wall_unix_ns=n * S) for n in range(5)))
    assert [one["session_id"] for one in recent.since(2)] == ["s-3", "s-4"]
    assert len(recent.since(-1)) == 5


def test_a_configuration_that_was_refused_leaves_the_running_one() -> None:
    recent = fed(
        {"k": "configured", "t": 1, "successful": True, "text": "a = 1"},
        {"k": "configured", "t": 2, "successful": False, "error": "line 3: no"},
    )
    assert recent.configuration == "a = 1"
    assert "line 3: no" in page(recent)


def configured(*streams: tuple[str, str]) -> dict[str, object]:
    told = [{"provider": "p", "model": m, "dataset": "d", "flow": f} for m, f in streams]
    return {"k": "configured", "t": 1, "successful": True, "text": "", "streams": told}


def test_what_is_to_be_measured_is_there_before_anything_was() -> None:
    text, _ = read(page(fed(configured(("a/one", "forced"), ("b/two", "fallback")))))
    for said in ("a/one", "fallback", "b/two", "No session has ended yet."):
        assert said in text


def test_why_a_session_failed_is_below_its_verdict_in_short() -> None:
    fault = {"whose": "provider", "kind": "quota", "detail": "no more " + "money " * 100}
    text, _ = read(page(fed(finished(verdict="provider_error", valid=False, fault=fault))))
    assert "quota: no more money" in text
    assert "money " * (DETAIL_CHARACTERS // 6) not in text


def test_what_had_been_final_before_zero_is_shown_as_0() -> None:
    early = finished(
        verdict="already_final", time_to_final_ns=-5_000_000, time_to_first_partial_ns=None
    )
    html = page(fed(early))
    assert "-5" not in html
    assert '<td role="cell" class="n" data-label="time to final (ms)">0</td>' in html


def test_every_moment_on_the_page_has_its_zone() -> None:
    agenda = {"k": "agenda", "t": 1, "next_run_unix_s": {"s": NOW_S}, "paused_until_unix_s": {}}
    html = page(fed(agenda, finished()))
    assert html.count("<time ") == html.count(" UTC</time>") == 3


def test_a_budget_of_nothing_is_spent_whole() -> None:
    budget = {"who": "p", "period": "day", "spent_usd": 0.0, "limit_usd": 0.0}
    text, _ = read(page(fed({"k": "spending", "t": 1, "budgets": [budget]})))
    assert "100 %" in text
