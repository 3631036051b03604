"""``speechbench rescore`` on journals of real sessions, which virtual time makes exact."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import trio.testing

from daemon.cli import main
from daemon.fakes import Faults
from daemon.rescoring import Rescoring, told_under
from exporters.segment import read_journal
from measure.definitions import DEFINITIONS, METHOD, Measured
from measure.measurement import Measurement
from measure.records import MS, Verdict
from measure.replay import reading_of, recorded_of
from measure.wire import Record
from providers.codec import Options
from providers.deepgram import Deepgram
from tests.daemon.bench import order_of
from tests.daemon.rescore_journals import FINAL_MS, forced, journalled, measured, natural
from tests.daemon.rescore_speed import journal_of
from tests.daemon.test_session import FAULTS
from tests.measure.stories import MARKED, ZERO, forced_final, recorded
from tests.measure.stories import forced as forced_story

SPLIT = Faults(split_final=2)
"""The second piece of the final comes 50 ms after the first."""
STRAY_MS = 0.001
Output = pytest.CaptureFixture[str]


async def several(stall_after_s: float | None = None) -> tuple[list[Measurement], list[Record]]:
    """Answered, split, unanswered and natural sessions, in this order."""
    pairs = [forced(), forced(SPLIT), forced(Faults(no_final=True)), natural()]
    return await measured(pairs, stall_after_s=stall_after_s)


def rescored(
    output: Output, directory: Path, *options: str, code: int = 0
) -> dict[str, dict[str, Any]]:
    """What ``--json`` says, by model and definition."""
    assert main(["rescore", str(directory), "--json", *options]) == code
    document = json.loads(output.readouterr().out)
    return {model["model"]: model for model in document["models"]}


def definitions(*names: str) -> list[str]:
    return [word for name in names for word in ("--definition", name)]


def refused(output: Output, *arguments: str) -> str:
    """The one line that a mistake gives."""
    assert main(["rescore", *arguments]) == 2
    said = output.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    return line


async def test_each_definition_has_its_own_value(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await measured([forced(SPLIT)])
    journalled(tmp_path, records)
    figures = rescored(capsys, tmp_path, *definitions(*DEFINITIONS))["deepgram/nova-3"]["figures"]
    expected = {
        "method": FINAL_MS,
        "last_final": FINAL_MS + 50,
        "confirmed": FINAL_MS + 50,
        "speech_end": FINAL_MS + 120,
        "speech_end_last": FINAL_MS + 170,
        "first_text": 100.0,
        "audio_start": 180.0,
        "corrections": 1,
    }
    found = {name: figures[name]["p50"] for name in expected}
    assert found == pytest.approx(expected, abs=STRAY_MS)
    assert figures["first_partial"]["p50"] is None  # it only repeats what was known at zero
    assert figures["words"]["valid"] == 1


async def test_whatever_happened_the_method_rescored_is_the_live_reading(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    pairs = [forced(faults) for faults, *_ in FAULTS.values()]
    pairs += [forced(), forced(SPLIT), natural()]
    silent = order_of(Deepgram(Options()), speech=None)
    live, records = await measured([*pairs, (forced()[0], silent)])
    journalled(tmp_path, records)
    sessions = {one.session_id: one for one in recorded_of(read_journal(tmp_path))}
    assert len(live) == len(sessions) == len(pairs) + 1
    for measurement in live:
        (turn,) = told_under(sessions[measurement.session_id], {})
        assert turn.reading == measurement.reading
        value = DEFINITIONS[METHOD].of(turn)
        assert isinstance(value, Measured) == measurement.reading.valid
        if isinstance(value, Measured):
            assert value.value == measurement.reading.time_to_final_ns
    assert {one.reading.verdict for one in live} > {Verdict.NO_FINAL, Verdict.VAD_NEVER}


async def test_the_table_has_the_definitions_side_by_side(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await several()
    journalled(tmp_path, records)
    assert main(["rescore", str(tmp_path), *definitions("method", "speech_end")]) == 0
    out = capsys.readouterr().out
    p50 = [line.split("│")[2:5] for line in out.splitlines() if " p50 " in line]
    assert [[cell.strip() for cell in cells] for cells in p50] == [
        ["p50", "250.0", "370.0"],
        ["p50", "~200.0", "~320.0"],
    ]
    assert "deepgram/nova-3, method: no value for 1 no_final" in out


async def test_without_a_definition_it_is_the_method(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await several()
    journalled(tmp_path, records)
    model = rescored(capsys, tmp_path)["deepgram/nova-3"]
    assert list(model["figures"]) == ["method"]
    assert (model["measurements"], model["figures"]["method"]["valid"]) == (3, 2)


async def test_a_live_journal_is_rescored_up_to_its_last_record(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await measured([forced(), forced()])
    journal = journalled(tmp_path, records[:-1], close=False)
    assert journal.path is not None
    assert journal.path.suffix == ".open"
    models = rescored(capsys, journal.path, code=1)
    assert models["deepgram/nova-3"]["measurements"] == 2


async def test_a_session_whose_end_is_missing_is_told_of(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await measured([forced()])
    journalled(tmp_path, records[:-1])
    assert main(["rescore", str(tmp_path)]) == 1
    assert "session s0: its end was not recorded" in capsys.readouterr().err


async def test_a_reading_that_is_not_the_recorded_one_is_told_of(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await measured([forced()])
    journalled(tmp_path, [*records[:-1], {**records[-1], "time_to_final_ns": 7}])
    assert main(["rescore", str(tmp_path)]) == 1
    assert "time_to_final_ns was 7, rescored it is 25000" in capsys.readouterr().err


async def test_what_is_damaged_is_told_of_and_the_rest_is_rescored(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await measured([forced(), forced()])
    first = next(n for n, record in enumerate(records) if record["k"] == "speech_end")
    records[first] = {**records[first], "audio_ms": "x"}
    journalled(tmp_path, records)
    models = rescored_with_complaint(capsys, tmp_path, "session s0: speech_end: audio_ms")
    assert models["deepgram/nova-3"]["measurements"] == 1


async def test_a_journal_that_is_cut_off_is_told_of(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await measured([forced(), forced()])
    journalled(tmp_path, records)
    models = rescored_with_complaint(capsys, tmp_path, str(cut_off(tmp_path)))
    assert models["deepgram/nova-3"]["measurements"] == 2


def cut_off(directory: Path) -> Path:
    """The only segment, without its last bytes."""
    (path,) = directory.glob("*.sbj")
    path.write_bytes(path.read_bytes()[:-7])
    return path


def rescored_with_complaint(output: Output, directory: Path, said: str) -> dict[str, Any]:
    assert main(["rescore", str(directory), "--json"]) == 1
    captured = output.readouterr()
    assert said in captured.err
    return {model["model"]: model for model in json.loads(captured.out)["models"]}


async def test_what_was_our_own_fault_has_no_value(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await measured([forced(), forced()], stall_after_s=0.7)
    journalled(tmp_path, records)
    figures = rescored(capsys, tmp_path, *definitions(*DEFINITIONS))["deepgram/nova-3"]["figures"]
    assert {one["missing"]["harness_stalled"] for one in figures.values()} == {1}
    assert set(figures) == set(DEFINITIONS)


async def test_csv_has_a_row_for_each_model_and_definition(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await several()
    journalled(tmp_path, records)
    assert main(["rescore", str(tmp_path), "--csv", *definitions("method", "words")]) == 0
    rows = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    assert [(row["model"], row["definition"], row["valid"]) for row in rows] == [
        ("deepgram/nova-3", "method", "2"),
        ("deepgram/nova-3", "words", "2"),
        ("gladia/solaria-1", "method", "1"),
        ("gladia/solaria-1", "words", "0"),
    ]
    assert "gives no word times" in rows[3]["missing"]


async def test_what_was_made_differently_can_be_kept_apart(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    fake, order = forced()
    _, records = await measured([forced(), (fake, replace(order, signature="another"))])
    journalled(tmp_path, records)
    assert main(["rescore", str(tmp_path), "--json", "--by-signature"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert [model["signatures"] for model in models] == [["speechbench test"], ["another"]]
    assert len(rescored(capsys, tmp_path)) == 1


async def test_a_rule_is_changed_where_that_is_exact(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await measured([forced(), forced(SPLIT)])
    journalled(tmp_path, records)
    options = ["--rule", "echo_counts=true", *definitions("first_partial")]
    figures = rescored(capsys, tmp_path, *options)["deepgram/nova-3"]["figures"]
    assert figures["first_partial"]["p50"] == pytest.approx(100, abs=STRAY_MS)
    strict = rescored(capsys, tmp_path, "--rule", "patience_s=0.5", "--rule", "settle_s=0")
    assert strict["deepgram/nova-3"]["figures"]["method"]["valid"] == 2


@pytest.mark.parametrize(
    ("setting", "session", "said"),
    [
        ("force_at=speech_end", "s1", "the force was sent at the decision"),
        ("patience_s=20", "s1", "it was not listened for as long as that"),
        ("settle_s=3", "s0", "it was not listened for as long as that"),
    ],
)
async def test_a_rule_without_an_exact_answer_is_refused_in_one_line(
    setting: str,
    session: str,
    said: str,
    autojump_clock: trio.testing.MockClock,
    tmp_path: Path,
    capsys: Output,
) -> None:
    _, records = await measured([forced(), forced(Faults(no_final=True))])
    journalled(tmp_path, records)
    line = refused(capsys, str(tmp_path), "--rule", setting)
    assert "no exact answer for" in line
    assert said in line
    assert said in refused(capsys, str(tmp_path), "--rule", setting, "--explain", session)


async def test_one_session_is_drawn(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await several()
    journalled(tmp_path, records)
    options = ["--explain", "s1", *definitions("method", "speech_end")]
    assert main(["rescore", str(tmp_path), *options]) == 0
    out = capsys.readouterr().out
    for said in ("session s1", "force sent", "partial", "final, forced", "370.000 ms", "verdict:"):
        assert said in out


async def test_one_session_is_drawn_as_a_picture(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await several()
    journalled(tmp_path, records)
    picture = tmp_path / "s1.svg"
    assert main(["rescore", str(tmp_path), "--explain", "s1", "--svg", str(picture)]) == 0
    assert capsys.readouterr().out == ""
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


async def test_the_beginning_of_a_sessions_name_is_enough(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, capsys: Output
) -> None:
    _, records = await measured([forced(), natural()])
    journalled(tmp_path, renamed(records, s0="3f2a", s1="3f77"))
    assert main(["rescore", str(tmp_path), "--explain", "3f7"]) == 0
    assert "gladia" in capsys.readouterr().out
    assert "2 sessions begin like this" in refused(capsys, str(tmp_path), "--explain", "3f")
    assert "there is no such session" in refused(capsys, str(tmp_path), "--explain", "x")
    assert "turns 1 to 1" in refused(capsys, str(tmp_path), "--explain", "3f2a", "--turn", "2")


def renamed(records: Sequence[Record], **names: str) -> list[Record]:
    return [{**record, "s": names[str(record["s"])]} for record in records]


def test_the_definitions_are_listed_with_a_sentence_each(capsys: Output) -> None:
    assert main(["rescore", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(DEFINITIONS)
    assert all(len(line.split()) > 5 for line in lines)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--definition", "best"],
            "best: there is none of that name; allowed: method",
        ),
        (["--svg", "x.svg"], "--svg: it goes with --explain SESSION"),
        (["--explain", "s1", "--json"], "--explain: it draws"),
        (["--rule", "luck=1"], "--rule luck=1: it must be NAME=VALUE, where NAME is: force_at"),
        (["--rule", "grace_s"], "--rule grace_s: it must be NAME=VALUE"),
        (["--rule", "grace_s=long"], "--rule grace_s=long: "),
        (["--rule", "grace_s=-1"], "greater than or equal to 0.1"),
        (["--rule", "force_at=never"], "'decision' or 'speech_end'"),
        (["nowhere"], "nowhere: there is no such file or folder"),
    ],
)
def test_a_mistake_is_told_in_one_line(arguments: list[str], said: str, capsys: Output) -> None:
    assert said in refused(capsys, *arguments)


def test_a_journal_without_a_measurement_says_so(tmp_path: Path, capsys: Output) -> None:
    journalled(tmp_path, [{"k": "log", "t": 1}])
    assert "there is no measurement" in refused(capsys, str(tmp_path))


def test_a_picture_that_cannot_be_written_is_told_of(tmp_path: Path, capsys: Output) -> None:
    journal_of(tmp_path, 1)
    picture = str(tmp_path / "no" / "x.svg")
    line = refused(capsys, str(tmp_path), "--explain", "s", "--svg", picture)
    assert "cannot be written: No such file" in line


def test_what_was_final_before_zero_is_published_as_zero_and_counted_apart() -> None:
    rescoring = Rescoring([METHOD, "last_final"], {})
    early, exact = forced_final(ZERO - 40 * MS, "good"), forced_final(ZERO, "good")
    for said in (early, exact, early):
        story = [*forced_story(said), forced_final(ZERO + 20 * MS, "")]
        session = recorded(MARKED, story)
        session.started.update(model="a/b", signature="s")
        rescoring.add(session)
    (model,) = rescoring.figures()
    method = model.figures[METHOD]
    assert (method.valid, method.p50, method.mean) == (3, 0.0, 0.0)
    assert method.early == 2


def test_many_realistic_sessions_are_read_as_the_slow_way_reads_them(tmp_path: Path) -> None:
    journal_of(tmp_path, 60)
    rescoring = Rescoring([METHOD], {})
    for session in recorded_of(read_journal(tmp_path)):
        (turn,) = rescoring.add(session)
        assert turn.reading == reading_of(session.session)
        assert turn.reading.verdict is Verdict.FORCED_FINAL
    assert rescoring.sessions == 60
