"""``speechbench report`` on journals of real sessions, which virtual time makes exact."""

import csv
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import trio.testing

from daemon.cli import main
from daemon.commands.report import moment_of, tag_of
from daemon.fakes import Faults
from daemon.prices import price_lists
from measure.wire import Record
from scoring.price import prices_in
from tests.daemon.rescore_journals import FINAL_MS, forced, journalled, measured, natural

SIGNED = "speechbench 0.1.0 | rule forced g2 | host {} | error 0.08/0.41ms@8 fit"
PRICES = """
[[price]]
model = "deepgram/nova-3"
kind = "speech_to_text"
charging = "audio_time"
usd = 0.0043
date = 2026-11-02
source = "a page"
"""
STRAY_MS = 0.001
DAY_NS = 86_400 * 10**9
NOON_NS = 1_793_620_800 * 10**9
"""2026-11-02T12:00:00Z."""
Output = pytest.CaptureFixture[str]
Clock = trio.testing.MockClock


async def several(*pairs: Any) -> list[Record]:  # noqa: ANN401  a fake and an order each
    _, records = await measured(pairs or [forced(), forced(Faults(no_final=True)), natural()])
    return records


def changed(records: Sequence[Record], session_id: str, **fields: object) -> list[Record]:
    """The same with something else at the beginning of one session."""
    return [
        {**record, **fields}
        if record["k"] == "session_started" and record["s"] == session_id
        else record
        for record in records
    ]


def reported(output: Output, directory: Path, *options: str, code: int = 0) -> dict[str, Any]:
    """What ``--json`` says."""
    assert main(["report", str(directory), "--json", *options]) == code
    document: dict[str, Any] = json.loads(output.readouterr().out)
    return document


def lines(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of the first chapter, by model."""
    return {line["model"]: line for line in document["chapters"][0]["lines"]}


def refused(output: Output, *arguments: str, code: int = 2) -> str:
    """The one line that a mistake gives."""
    assert main(["report", *arguments]) == code
    said = output.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    return line


async def test_the_figures_are_those_of_replay(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    journalled(tmp_path, await several())
    found = lines(reported(capsys, tmp_path))["deepgram/nova-3"]
    assert main(["replay", str(tmp_path), "--json"]) == 0
    (replayed, _) = json.loads(capsys.readouterr().out)["summaries"]
    assert found["time"]["mean"]["value"] == pytest.approx(FINAL_MS, abs=STRAY_MS)
    assert found["time"]["quantiles"]["p50"]["value"] == replayed["time_to_final_ms"]["p50"]
    assert found["success"]["value"] == replayed["success_rate"] == 0.5
    assert found["wer"]["value"] == replayed["wer"] == 0.0
    assert found["first_partial_wer"]["value"] == replayed["first_partial_wer"]


async def test_the_table_has_models_by_rows_and_their_signatures_below(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    journalled(tmp_path, await several())
    assert main(["report", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if line.startswith("│ ")]
    assert [row.split()[1] for row in rows[::2]] == ["gladia/solaria-1", "deepgram/nova-3"]
    assert "deepgram/nova-3 | speechbench test | norm speechbench" in out
    assert "deepgram/nova-3: 1 of 2 failed (50.0%)" in out
    assert "no overall figure, without AA-AgentTalk" in out


async def test_a_model_that_never_answered_is_shown_last(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    journalled(tmp_path, await several(forced(Faults(no_final=True)), natural()))
    for sort in ("wer", "time", "success", "price", "first_partial"):
        *_, last = lines(reported(capsys, tmp_path, "--sort", sort)).values()
        assert (last["model"], last["time"]["mean"]["value"]) == ("deepgram/nova-3", None)


async def test_markdown_and_csv_hold_the_same_figures(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    journalled(tmp_path, await several())
    assert main(["report", str(tmp_path), "--markdown"]) == 0
    assert "| deepgram/nova-3 | 0.0 (n 1) |" in capsys.readouterr().out
    assert main(["report", str(tmp_path), "--csv"]) == 0
    rows = {row["model"]: row for row in csv.DictReader(StringIO(capsys.readouterr().out))}
    assert float(rows["deepgram/nova-3"]["time_ms_mean"]) == pytest.approx(FINAL_MS, abs=STRAY_MS)
    assert rows["deepgram/nova-3"]["signature"].startswith("speechbench test | norm ")


async def test_the_time_may_be_another_definitions(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    journalled(tmp_path, await several())
    document = reported(capsys, tmp_path, "--definition", "speech_end")
    assert document["definition"] == "speech_end"
    found = lines(document)["deepgram/nova-3"]["time"]["mean"]["value"]
    assert found == pytest.approx(FINAL_MS + 120, abs=STRAY_MS)


async def test_a_window_takes_what_began_inside_of_it(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    records = await several(forced(), forced(), forced())
    for nth in range(3):
        records = changed(records, f"s{nth}", wall_unix_ns=NOON_NS + nth * DAY_NS)
    journalled(tmp_path, records)

    def answered(*options: str) -> int:
        found = lines(reported(capsys, tmp_path, *options))["deepgram/nova-3"]
        return int(found["answered"])

    assert answered() == 3
    assert answered("--since", "2026-11-03") == 2
    assert answered("--until", "2026-11-03") == 1
    assert answered("--since", "2026-11-02T12:00", "--until", "2026-11-04T12:00Z") == 2
    assert answered("--since", "2026-11-02T13:00:00+01:00") == 3
    document = reported(capsys, tmp_path, "--since", "2026-11-03")
    assert document["window"] == "2026-11-03T00:00:00Z to 2026-11-04T12:00:00Z"
    line = lines(document)["deepgram/nova-3"]
    assert line["signature"].endswith(f"| window {document['window']}")
    said = refused(capsys, str(tmp_path), "--since", "2026-12-01")
    assert "all 3 sessions of this journal lie outside" in said


async def test_mixed_signatures_are_refused_and_can_be_kept_apart(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    records = await several(forced(), forced())
    records = changed(records, "s0", signature=SIGNED.format("a"))
    journalled(tmp_path, changed(records, "s1", signature=SIGNED.format("b")))
    said = refused(capsys, str(tmp_path))
    assert "deepgram/nova-3: signatures are mixed that differ in host; --by-signature" in said
    document = reported(capsys, tmp_path, "--by-signature")
    variants = [line["variant"] for line in document["chapters"][0]["lines"]]
    assert variants == [1, 2]
    errors = {line["harness_error"] for line in document["chapters"][0]["lines"]}
    assert errors == {"0.08/0.41ms@8 fit"}


def in_parts(pairs: Sequence[Any]) -> list[Any]:
    """The same, each streaming a part of one call."""
    return [
        (
            fake,
            replace(
                order,
                clip=replace(order.clip, name=f"call 7 (part {n} of {len(pairs)})", reference=None),
            ),
        )
        for n, (fake, order) in enumerate(pairs, start=1)
    ]


async def test_a_part_says_in_the_journal_of_which_call_it_is(autojump_clock: Clock) -> None:
    records = await several(*in_parts([forced(), forced()]), forced())
    started = [record for record in records if record["k"] == "session_started"]
    assert [(one["call"], one["part"], one["parts"]) for one in started[:2]] == [
        ("call 7", 1, 2),
        ("call 7", 2, 2),
    ]
    assert "call" not in started[2]


async def test_parts_are_scored_as_the_call(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    records = await several(*in_parts([forced(), forced()]))
    for name in ("s0", "s1"):
        records = changed(records, name, call_reference="good day good night")
    journalled(tmp_path, records)
    found = lines(reported(capsys, tmp_path))["deepgram/nova-3"]
    assert (found["wer"]["value"], found["wer"]["n"]) == (0.25, 1)
    assert found["time"]["mean"]["n"] == 1


async def test_without_the_calls_reference_there_is_no_score_and_that_is_said(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    journalled(tmp_path, await several(*in_parts([forced(), forced()])))
    found = lines(reported(capsys, tmp_path))["deepgram/nova-3"]
    assert found["wer"]["value"] is None
    assert found["notes"] == ["1 calls without a recorded reference: they have no score"]


async def test_a_session_without_its_end_is_left_out_and_that_is_said(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    records = await several(forced(), forced())
    journal = journalled(tmp_path, records[:-1], close=False)
    assert journal.path is not None
    document = reported(capsys, journal.path)
    found = lines(document)["deepgram/nova-3"]
    assert (found["answered"], found["failed"]) == (1, 0)
    assert document["notes"] == ["1 sessions left out: their end was not recorded"]


async def test_what_is_damaged_is_told_of_and_the_rest_is_shown(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    records = changed(await several(forced(), forced()), "s0", audio_ms="x")
    journalled(tmp_path, records)
    assert main(["report", str(tmp_path), "--json"]) == 1
    said = capsys.readouterr()
    assert "session s0: session_started: audio_ms is missing or not a number" in said.err
    assert lines(json.loads(said.out))["deepgram/nova-3"]["answered"] == 1


async def test_a_price_list_is_named_on_the_command_line_or_in_a_configuration(
    autojump_clock: Clock, tmp_path: Path, capsys: Output
) -> None:
    journal, prices, config = (tmp_path / name for name in ("j", "prices.toml", "bench.toml"))
    journal.mkdir()
    journalled(journal, await several(forced()))
    prices.write_text(PRICES)
    config.write_text('[report]\nprices = "prices.toml"\n')
    for options in (["--prices", str(prices)], ["--config", str(config)]):
        price = lines(reported(capsys, journal, *options))["deepgram/nova-3"]["price"]
        assert price["usd"] == pytest.approx(4.3)
        assert price["provenance"] == "as read on 2026-11-02 at a page (your list)"
    assert lines(reported(capsys, journal))["deepgram/nova-3"]["price"]["usd"] is None


@pytest.mark.parametrize(("ago", "hours"), [("7d", 168), ("24h", 24), ("0h", 0)])
def test_a_moment_may_be_said_by_how_long_ago_it_was(ago: str, hours: int) -> None:
    assert moment_of("--since", ago, NOON_NS) == NOON_NS - hours * 3600 * 10**9


def test_a_moment_is_utc_wherever_the_host_is(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with monkeypatch.context() as changed_zone:
            changed_zone.setenv("TZ", "Asia/Tokyo")
            time.tzset()
            assert moment_of("--since", "2026-11-02T12:00", 0) == NOON_NS
    finally:
        time.tzset()


def test_a_shipped_price_says_that_it_may_have_changed() -> None:
    entry = {"model": "a/b", "kind": "speech_to_text", "charging": "audio_time", "usd": 1}
    listed = prices_in(
        {"price": [{**entry, "date": date(2026, 11, 2), "source": "a page"}]}, shipped=True
    )
    tag = tag_of("a/b", listed)
    assert tag.shipped
    assert "shipped with speechbench, may have changed since" in tag.provenance


def test_open_weights_have_no_price_and_say_why() -> None:
    tag = tag_of("local/moonshine-tiny", price_lists(None))
    assert tag.usd is None
    assert "open weights, listed without a price" in tag.missing
    assert "shipped with speechbench" in tag.missing


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--definition", "nonsense"], "there is none of that name; allowed: method, "),
        (["--definition", "corrections"], "it is no duration; allowed: method, "),
        (["--profile", "v9"], "there is none of that name; allowed: AA-WER v2.2, "),
        (["--stand-in", "x=y"], "it must be PLACE=OWN, where PLACE is: AA-AgentTalk, "),
        (["--stand-in", "AA-AgentTalk="], "it must be PLACE=OWN"),
        (["--since", "yesterday"], "write a day or a moment such as 2026-11-02"),
        (["--since", "2026-11-03", "--until", "2026-11-03"], "it must be before --until"),
        (["--prices", "/no/such/list"], "cannot be read: No such file"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    options: list[str], said: str, tmp_path: Path, capsys: Output
) -> None:
    assert said in refused(capsys, str(tmp_path), *options)
