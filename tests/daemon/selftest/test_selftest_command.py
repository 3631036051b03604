"""The self-test as a user runs it: real processes, tiny parts; nothing about how fast they are."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon import cli
from daemon.commands import selftest as command
from daemon.selftest.host import fingerprint
from daemon.selftest.report import lines_of
from daemon.selftest.result import SelftestResult, result_in, summary_line
from daemon.selftest.state import load
from daemon.selftest.verdict import Fitness
from exporters.segment import read_journal
from tests.daemon.selftest.levels import error, late, level, result

ROOT = Path(__file__).parents[3]


PROGRAM = """
import os, sys, trio
from pathlib import Path
from daemon.clock import HostClock
from daemon.selftest.course import Part
from daemon.selftest.host import conditions, fingerprint
from daemon.selftest.result import text_of
from daemon.selftest.whole import selftest

async def main():
    return await selftest(
        fingerprint(), conditions(), streams=1, say=lambda line: print(line, file=sys.stderr),
        parts=(Part(1, 1), Part(1, 1, scraped=True)), warm_up=Part(1, 1),
    )

sys.stdout.buffer.write(text_of(trio.run(main, clock=HostClock())))
children = Path(f"/proc/self/task/{os.getpid()}/children")
sys.stderr.write(children.read_text() if children.exists() else "")
"""
"""In a process of its own: it takes precedence over others, and locks its memory."""


def test_a_test_starts_all_it_needs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        check=True,
        timeout=120,
    )
    one = result_in(ended.stdout)
    (alone,) = one.levels
    assert (alone.streams, alone.sessions) == (1, 1)
    assert alone.final_error.size.n + alone.invalid_count + alone.untold == 1
    assert alone.lateness.n > 40
    assert one.fingerprint == fingerprint()
    assert one.verdict is Fitness.UNFIT  # one session is no test
    said = ended.stderr.decode().split("\n")
    assert [line.startswith("selftest") for line in said] == [True, True, True, False]
    assert said[-1].split() == []  # no child is left
    assert list(tmp_path.iterdir()) == []


@contextmanager
def one_result(monkeypatch: pytest.MonkeyPatch, one: SelftestResult | None) -> Iterator[None]:
    async def tested(streams: int) -> SelftestResult | None:
        return one

    monkeypatch.setattr(command, "_tested", tested)
    yield


def test_the_result_is_kept_recorded_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with one_result(monkeypatch, result()):
        assert cli.main(["selftest", "--journal", str(tmp_path)]) == 0
    assert load(tmp_path).result == result()
    records = [record for record in read_journal(tmp_path) if record.get("k") == "selftest"]
    assert [record["verdict"] for record in records] == ["fit"]
    shown = capsys.readouterr().out
    assert "Verdict for 1 stream: fit" in shown
    assert "fit up to 100 streams" in shown


def test_json_is_the_stored_document_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with one_result(monkeypatch, result()):
        cli.main(["selftest", "--json", "--no-record", "--journal", str(tmp_path)])
    assert json.loads(capsys.readouterr().out) == json.loads(
        (tmp_path / "selftest.json").read_text(encoding="utf-8")
    )
    assert [found.name for found in tmp_path.iterdir()] == ["selftest.json"]


def test_an_unfit_host_is_an_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with one_result(monkeypatch, result(level(8, final_error=error(1.0, 50.0)))):
        assert cli.main(["selftest", "--no-record", "--journal", str(tmp_path)]) == 1


def test_a_test_that_was_ended_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with one_result(monkeypatch, None):
        assert cli.main(["selftest", "--journal", str(tmp_path)]) == 130
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == "speechbench: interrupted\n"


@pytest.mark.parametrize("streams", ["0", "-1", "many", "10001"])
def test_a_number_of_streams_that_cannot_be_is_refused(
    streams: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["selftest", "--streams", streams])
    assert "whole number from 1 to 10000" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "daemon.cli", "selftest", "--journal", str(tmp_path / "j")],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    process.stderr.readline()  # it has begun
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.decode().splitlines()[-1] == "speechbench: interrupted"
    assert b"Traceback" not in errors
    assert not list(tmp_path.glob("speechbench-selftest-*"))
    assert not (tmp_path / "j").exists()


def test_a_child_that_hears_nothing_more_ends(tmp_path: Path) -> None:
    for module in ("daemon.selftest.server", "daemon.selftest.scraper"):
        process = subprocess.Popen(
            [sys.executable, "-m", module, "127.0.0.1:1"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline()
        process.stdin.close()
        assert process.wait(timeout=60) == 0
        process.stdout.close()


def test_the_report_says_n_beside_each_figure_and_no_p99_of_few() -> None:
    one = result(level(1, sessions=5, final_error=error(0.1, None, n=5)), level(8))
    lines = list(lines_of(one))
    at = lines.index("error of time to final")
    assert lines[at + 1].split()[:4] == ["streams", "n", "p50", "ms"]
    assert lines[at + 2].split()[:4] == ["1", "5", "0.100", "-"]
    assert lines[at + 3].split()[:4] == ["8", "120", "0.080", "0.410"]


def test_the_report_gives_reasons_and_the_excess_where_the_host_stands_still() -> None:
    one = result(level(8, final_error=error(0.3, 4.0), sentinel=late(3.5)))
    text = "\n".join(lines_of(one))
    assert "excess of the error's p99 over that: 0.500 ms" in text
    assert "p50 is 0.30 ms, more than 0.2 ms" in text
    assert "stands still" in text


def test_one_line_sums_it_up() -> None:
    assert summary_line(result()) == (
        "fit: error of time to final p50 0.080 ms, p99 0.410 ms with 8 streams (n 120)"
    )
    assert summary_line(result(streams=500)).startswith("unfit: no error was measured")
