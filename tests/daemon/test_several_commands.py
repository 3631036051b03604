"""``run`` and ``daemon`` with several workers, as a user starts and stops them."""

import json
import os
import signal
import subprocess
import sys
import wave
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
from pacer.builtin import builtin_clips
from tests.daemon.serving import Serving, serving
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

RATE_HZ = 16_000


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


def test_the_daemon_replaces_a_worker_that_hangs_and_ends_and_reloads_beside_another(
    tmp_path: Path,
) -> None:
    """Three times one is stopped: beside one that measures, before a reload, before the end."""

    async def stop_one(here: Serving) -> int:
        assert here.process is not None
        (victim, *_) = sorted(children_of(here.process.pid, "daemon.worker"))
        os.kill(victim, signal.SIGSTOP)
        return victim

    async def story() -> None:
        async with serving(tmp_path) as here:
            here.configure(here.both, "interval_s = 1\nworkers = 2\njobs = 2")
            await here.start()
            for name in ("deepgram/nova-3", "gladia/solaria-1"):
                await here.tells("session_finished", model=name)
            victim = await stop_one(here)
            told = await here.tells("worker_restarts", cause="hung")
            assert not is_running(victim)
            assert told["exit"] == "killed after 10 s without a sign of life: stopped"
            for name in ("deepgram/nova-3", "gladia/solaria-1"):
                count = len(here.told("session_finished", model=name))
                await here.tells("session_finished", count + 2, model=name)
            assert (await here.ask("/-/ready")).status_code == 200
            assert 'speechbench_worker_restarts_total{cause="hung"} 1.0' in await here.metrics()

            await stop_one(here)
            here.configure(here.both, "interval_s = 1\nworkers = 2\njobs = 3")
            assert (await here.ask("/-/reload", "POST")).status_code == 200
            await here.tells("worker_ended", 2)
            with trio.fail_after(PATIENCE_S):  # those of the plan before are missed no more
                while (await here.ask("/-/ready")).status_code != 200:  # noqa: ASYNC110
                    await trio.sleep(0.2)

            await stop_one(here)
            here.signal(signal.SIGTERM)
            assert await here.ended() == UNRECORDED
            started, ended = ("session_started", "session_finished")
            names = [{record["s"] for record in here.records(kind)} for kind in (started, ended)]
            assert names[0] == names[1]

    in_real_time(story)


def test_a_run_by_hand_goes_on_past_a_worker_that_hangs_and_names_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            clip = builtin_clips(RATE_HZ)[0]
            with wave.open(str(tmp_path / "words.wav"), "wb") as file:
                file.setparams((1, 2, RATE_HZ, 0, "NONE", ""))
                file.writeframes(clip.pcm)
            words = ("run", str(tmp_path / "words.wav"), "--json")
            async with started(here, *words, out=out) as process:
                await here.all_hear_audio()
                victim = children_of(process.pid, "daemon.worker")[0]
                os.kill(victim, signal.SIGSTOP)
                await ended(process)
            assert process.returncode == 1
            assert b"Traceback" not in here.log.read_bytes()
            assert not is_running(victim)

    in_real_time(story)
    document: dict[str, Any] = json.loads(out.read_bytes())
    verdicts = [one["verdict"] for one in document["measurements"]]
    assert (len(verdicts), verdicts.count("harness_error")) == (2, 1)


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
