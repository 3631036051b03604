"""Killed at any moment and started again: nothing confirmed is lost, the rest is counted."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exporters.process import Exporter, launch
from exporters.recovery import recover_all
from exporters.segment import read_journal
from exporters.settings import Settings
from tests.exporters.crash_points import LEFT_OVER
from tests.exporters.killed_writer import SAID
from tests.exporters.records import Said, journalled

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
"""For a busy machine; nothing waits for so long where all is well."""
KILLS = 15
EXPORTER_KILLS = 5


def written_until_killed(directory: Path, run: int, heard_bytes: int) -> tuple[int, int]:
    """What the writer had said, when it had said so much at least, of written and durable."""
    command = [sys.executable, "-m", "tests.exporters.killed_writer", str(directory)]
    with subprocess.Popen(
        [*command, str(run), str(run)], cwd=ROOT, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        said = writer.stdout.read(heard_bytes)
        writer.kill()
        said += writer.stdout.read()
    whole = len(said) // SAID.size * SAID.size
    written, durable = SAID.unpack(said[whole - SAID.size : whole])
    return written, durable


def test_a_writer_that_is_killed_again_and_again_loses_nothing_it_had_written(
    tmp_path: Path,
) -> None:
    chance = random.Random(4)
    acknowledged = [
        written_until_killed(tmp_path, run, SAID.size * chance.randrange(1, 60))
        for run in range(KILLS)
    ]
    said = Said()
    recover_all(tmp_path, said)
    notes = journalled(tmp_path, "note")
    for run, (written, durable) in enumerate(acknowledged):
        kept = [record["i"] for record in notes if record["run"] == run]
        assert kept == list(range(len(kept)))
        assert len(kept) >= written >= durable
        assert len(kept) <= written + 1  # the one that it could not say any more
    assert [record["run"] for record in notes] == sorted(record["run"] for record in notes)
    assert read_journal(tmp_path).damaged == []
    assert not list(tmp_path.glob("*.open"))


def test_wherever_a_writer_dies_nothing_it_had_written_is_lost(tmp_path: Path) -> None:
    """At every single call to the system, in the middle of every write, while mending too."""
    command = [sys.executable, "-m", "tests.exporters.crash_points", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    deaths = json.loads(done.stdout)
    assert [death["killed"] for death in deaths] == [True] * (len(deaths) - 1) + [False]
    assert len(deaths) > 80
    for death in deaths:
        assert death["old"] == list(range(LEFT_OVER))
        assert death["new"] == list(range(len(death["new"])))
        assert len(death["new"]) >= death["written"] >= death["durable"]
        assert (death["damaged"], death["open"]) == (0, 0)
    assert sum(death["torn"] for death in deaths) > 20  # many of them in the middle of a write
    assert deaths[-1]["new"] == list(range(20))


@contextmanager
def exporting(directory: Path) -> Iterator[Exporter]:
    """An exporter process that is killed at the end."""
    exporter = launch(Settings(str(directory)), stderr=subprocess.DEVNULL)
    try:
        exporter.wait_ready(PATIENCE_S)
        yield exporter
    finally:
        os.kill(exporter.pid, signal.SIGKILL)
        os.waitid(os.P_PID, exporter.pid, os.WEXITED | os.WNOWAIT)
        exporter.handoff.put({"k": "after the end"})
        exporter.stop(PATIENCE_S)


def test_an_exporter_that_is_killed_keeps_what_it_confirmed_and_the_rest_is_counted(
    tmp_path: Path,
) -> None:
    chance = random.Random(6)
    for run in range(EXPORTER_KILLS):
        with exporting(tmp_path) as exporter:
            confirmed, most = 0, chance.randrange(1, 4000)
            for i in range(most):
                exporter.handoff.put(
                    {"k": "note", "t": i, "run": run, "i": i, "x": "x" * (i % 300)}
                )
                if chance.random() < 0.002:
                    assert exporter.handoff.flush(PATIENCE_S)
                    confirmed = i + 1
        kept = [record["i"] for record in journalled(tmp_path, "note") if record["run"] == run]
        assert kept == list(range(len(kept)))
        assert len(kept) >= confirmed
        assert exporter.handoff.losses.total >= most + 1 - len(kept)
    recover_all(tmp_path, Said())
    assert read_journal(tmp_path).damaged == []
