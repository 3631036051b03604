"""``run`` and ``daemon`` with several workers, as a user starts and stops them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from daemon import cli
from daemon.commands.daemon import UNRECORDED
from daemon.fakes import Faults
from measure.records import OUR_FAULT
from tests.daemon.several import (
    KEYS,
    PATIENCE_S,
    Scene,
    children_of,
    in_real_time,
    is_running,
    scene,
    until,
)


def command(here: Scene, *words: str) -> list[str]:
    """The program with the two fakes, one clip that is built in, and a journal of its own."""
    config = here.directory.parent / "bench.toml"
    text = config.read_text().replace("[daemon]", '[web]\nlisten = ""\n[daemon]')
    config.write_text(
        text + '[journal]\ndirectory = "own"\n[log]\nformat = "json"\n[method]\npatience_s = 120\n'
    )
    return [sys.executable, "-m", "daemon.cli", *words, "--config", str(config)]


async def ended(process: trio.Process) -> None:
    with trio.fail_after(PATIENCE_S):
        await process.wait()


@asynccontextmanager
async def started(here: Scene, *words: str, out: Path) -> AsyncIterator[trio.Process]:
    """The program, which does not outlive the test."""
    with out.open("wb") as stdout, here.log.open("ab") as log:
        process = await trio.lowlevel.open_process(
            command(here, *words),
            env={**os.environ, **KEYS},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=log,
            start_new_session=True,  # a Ctrl-C of its terminal is for this group alone
        )
    try:
        yield process
    finally:
        process.kill()


def test_ctrl_c_ends_a_run_with_what_was_measured_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    left: list[int] = []

    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            here.deepgram.faults = here.gladia.faults = Faults(no_final=True)
            async with started(here, "run", "--json", out=out) as process:
                await here.all_hear_audio()
                left.extend(children_of(process.pid, "daemon."))
                os.killpg(process.pid, signal.SIGINT)
                await ended(process)
            assert process.returncode == 130
            assert b"Traceback" not in here.log.read_bytes()
            assert b"canary" not in here.log.read_bytes()
            await until(lambda: not any(map(is_running, left)))

    in_real_time(story)
    assert len(left) == 3
    document: dict[str, Any] = json.loads(out.read_bytes())
    assert {one["model"] for one in document["measurements"]} == {
        "deepgram/nova-3",
        "gladia/solaria-1",
    }
    assert {one["verdict"] for one in document["measurements"]} <= OUR_FAULT
    journal = tmp_path / "two" / "own"
    assert cli.main(["replay", "--json", str(journal)]) == 0
    again = json.loads(capsys.readouterr().out)["measurements"]
    assert {one["session_id"] for one in again} == {
        one["session_id"] for one in document["measurements"]
    }


def test_a_supervisor_that_signals_every_process_gets_the_same_orderly_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            here.deepgram.faults = here.gladia.faults = Faults(no_final=True)
            async with started(here, "daemon", out=tmp_path / "out") as process:
                await here.all_hear_audio()
                for _ in range(2):  # the first lets the sessions end, the second breaks them off
                    for pid in (*children_of(process.pid, "daemon."), process.pid):
                        os.kill(pid, signal.SIGTERM)
                    await trio.sleep(0.5)
                await ended(process)
            assert process.returncode in (0, UNRECORDED)  # a busy host may be slower than our end
            lines = [json.loads(line) for line in here.log.read_bytes().splitlines() if line]
            ours = [line["event"] for line in lines]
            assert "shutdown_started" in ours
            assert ours.count("session_finished") == 2
            assert "worker_restarts" not in ours

    in_real_time(story)


def test_more_workers_than_allowed_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "--workers", "65", "--journal", str(tmp_path)]) == 78
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("speechbench: command line: daemon.workers: ")
    assert "64" in line
    assert "(it is 65)" in line


def test_no_workers_are_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended_with:
        cli.main(["run", "--workers", "0"])
    assert ended_with.value.code == 2
    assert "--workers: it must be a whole number from 1" in capsys.readouterr().err
