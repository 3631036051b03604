"""``speechbench conform``: what it shows, what it ends with, and what it refuses."""

import json
from functools import partial
from pathlib import Path

import pytest
import trio

from daemon.cli import main
from daemon.clock import HostClock
from daemon.commands import conform
from daemon.conformance.live import live_outcomes
from daemon.conformance.promise import Subject, Verdict
from daemon.fakes import FakeDeepgram, Line, Moment, Script
from daemon.fakes.script import Faults, Interjection
from daemon.fakes.server import Fake, listening
from providers import CATALOG
from providers.codec import Model, Options
from providers.deepgram import Deepgram

DESCRIBED = Path(__file__).parents[2] / "docs" / "providers" / "acme.toml"


class Shouting(Deepgram):
    def closed(self, code: int | None, reason: str) -> None:
        return None


def test_a_model_in_order_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "deepgram/nova-3"]) == 0
    said = capsys.readouterr().out
    assert "  kept    answer          forced_final after 150 ms\n" in said
    assert " 0 broken" in said


def test_a_broken_promise_ends_with_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model(partial(Shouting, model="nova-3"), "Nova")
    monkeypatch.setitem(CATALOG, "deepgram/nova-3", model)
    assert main(["conform", "deepgram/nova-3"]) == 1
    said = capsys.readouterr().out
    assert "  broken  closes          a connection that breaks off is no fault\n" in said


def test_as_json_it_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "gladia", "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["model"] == "gladia/solaria-1"
    verdicts = {one["name"]: one["verdict"] for one in report["promises"]}
    assert verdicts["answer"] == "kept"
    assert verdicts["turns"] == "skipped"


def test_the_promises_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--promises"]) == 0
    assert "canary" in capsys.readouterr().out


def test_a_described_provider_is_looked_at_like_any_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["conform", "--described", str(DESCRIBED)]) == 0
    assert "acme/fast-1: Acme Fast 1\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a model or a provider"),
        (["nobody"], "nobody: there is no such model or provider; allowed: "),
        (["deepgram", "gladia", "--url", "ws://x"], "--url belongs to one model"),
        (["--described", "/none.toml"], "/none.toml: cannot be read"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", *arguments]) != 0
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_mistakes_of_a_description_are_told_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('[[provider]]\nname = "acme/x"\nurl = "canary"\n')
    assert main(["conform", "--described", str(path)]) == 78
    said = capsys.readouterr().err
    assert (
        f"speechbench: {path}: provider[1].url: write ws://HOST/PATH or wss://HOST/PATH\n" in said
    )
    assert "canary" not in said


def test_without_its_key_nothing_is_measured_at_an_address(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEPGRAM_API_KEY", raising=False)
    assert main(["conform", "deepgram/nova-3", "--url", "ws://127.0.0.1:9"]) == 2
    assert "deepgram/nova-3: no key" in capsys.readouterr().err


KEY = "canary-6f1d2c-live"


def at_a_real_address(fake: Fake) -> list[tuple[str, Verdict, str]]:
    """What is seen of Deepgram's codec at ``fake``, which listens in another thread's loop."""
    subject = Subject("deepgram/nova-3", Model(lambda options: Deepgram(options), "Nova"))

    async def run() -> list[tuple[str, Verdict, str]]:
        async with listening(fake) as url:
            return await trio.to_thread.run_sync(
                lambda: [
                    (one.promise.name, one.verdict, one.reason)
                    for one in live_outcomes(subject, url, KEY)
                ]
            )

    return trio.run(run, clock=HostClock())


def test_at_a_real_address_a_real_clip_is_measured_with_the_key() -> None:
    script = Script(answers=((Line("good day", after_s=0.05, final=True),),))
    seen = at_a_real_address(FakeDeepgram(script, key=KEY))
    assert [(name, verdict) for name, verdict, _ in seen] == [
        ("live answer", Verdict.KEPT),
        ("live farewell", Verdict.KEPT),
        ("live key", Verdict.KEPT),
        ("live wrong key", Verdict.KEPT),
    ]
    assert "good day" in seen[0][2]


def test_a_provider_that_repeats_the_key_does_not_get_it_shown() -> None:
    faults = Faults(
        interjections=(Interjection(f'{{"type": "Error", "message": "{KEY}"}}', Moment.OPEN),)
    )
    seen = at_a_real_address(FakeDeepgram(Script(), faults, key=KEY))
    assert seen[0][:2] == ("live answer", Verdict.BROKEN)
    assert KEY not in repr(seen)


def test_every_model_of_a_provider_is_found_by_its_name() -> None:
    own = [name for name in CATALOG if name.startswith("local/")]
    assert list(conform.chosen(CATALOG, ["local"], everything=False)) == own
    assert list(conform.chosen(CATALOG, [], everything=True)) == list(CATALOG)
    assert CATALOG["deepgram/nova-3"].make(Options()).facts.greets is False
