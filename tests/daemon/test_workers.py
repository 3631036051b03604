"""Several workers measure what one process measures, and none of them is lost without a word."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from daemon import cli
from daemon.clock import now_ns, wall_ns
from daemon.fakes import Faults
from daemon.gate import Gate
from daemon.link import Opener, TcpDialer
from daemon.order import Bench, Pair
from daemon.plan import new_id
from daemon.results import document_of
from daemon.rounds import Outcome, OwnRounds
from daemon.workers import Crew, crew, measuring, shortfall, worker_count
from measure.measurement import Measurement
from measure.records import OUR_FAULT, Verdict
from pacer.clock import PlainSleeper
from pacer.pace import Pacer
from tests.daemon.bench import QuietWatchman
from tests.daemon.several import (
    KEYS,
    PATIENCE_S,
    Scene,
    children_of,
    in_real_time,
    is_running,
    pid_of,
    scene,
    until,
)

SAME = (
    *("model", "corpus", "clip", "audio_ms", "flow", "verdict", "selection", "valid"),
    *("transcript", "first_partial", "reference", "errors", "first_partial_errors", "remarks"),
    *("fault", "partials", "finals", "signature"),
)
"""What does not depend on the moments at which things happened."""
SESSION = ("session_started", "session_finished")


def replayed(directory: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What ``speechbench replay`` makes of a journal that ``journal verify`` finds whole."""
    assert cli.main(["journal", "verify", str(directory)]) == 0
    capsys.readouterr()
    assert cli.main(["replay", "--json", str(directory)]) == 0
    measurements: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["measurements"]
    return measurements


def plain(measurements: list[Measurement]) -> list[dict[str, Any]]:
    document = document_of(measurements, journal="", complete=True, skipped=())
    return [{key: one[key] for key in SAME} for one in document["measurements"]]


def in_order(measurements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = sorted(measurements, key=lambda one: (one["model"], one["clip"]))
    return [{key: one[key] for key in SAME} for one in found]


def shown_of(pid: int, name: str) -> bytes:
    """What this host shows of a process to whoever looks."""
    return Path(f"/proc/{pid}/{name}").read_bytes()


async def measured_alone(here: Scene) -> Outcome:
    """The same plan, measured in this process."""
    pacer, outcome = Pacer(PlainSleeper(), now_ns), Outcome()
    opener = Opener(TcpDialer(now_ns, wall_ns), now_ns)
    bench = Bench(pacer, opener, here.exporting, QuietWatchman(), now_ns, wall_ns)
    gate = Gate(here.exporting.handoff, here.exporting.log)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pacer.run)
        await OwnRounds(here.plan, here.plan.targets, bench, gate).measure(new_id(), outcome)
        nursery.cancel_scope.cancel()
    return outcome


def several(here: Scene) -> Any:  # noqa: ANN401  a context manager of a crew of two
    return crew(here.plan, here.plan.targets, here.exporting, here.shares())


def test_two_workers_find_the_same_as_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found: dict[str, list[dict[str, Any]]] = {}

    async def alone() -> None:
        async with scene(tmp_path / "one", monkeypatch) as here:
            outcome = await measured_alone(here)
            found["one"] = plain(outcome.measured)

    async def together() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            outcome = Outcome()
            async with measuring(here.plan, here.plan.targets, here.exporting) as rounds:
                assert isinstance(rounds, Crew)
                await rounds.measure(new_id(), outcome)
            assert (outcome.lost, outcome.unmeasured, outcome.failures) == ([], 0, 0)
            found["two"] = plain(outcome.measured)
            here.exporting.stop()
            assert here.exporting.confirmed

    in_real_time(alone)
    in_real_time(together)
    assert [(one["model"], one["clip"]) for one in found["two"]] == [
        (model, clip) for model in ("deepgram/nova-3", "gladia/solaria-1") for clip in "ab"
    ]
    assert found["two"] == in_order(found["one"])
    assert [one["valid"] for one in found["two"]] == [True] * 4
    for folder in ("one", "two"):
        assert in_order(replayed(tmp_path / folder / "journal", capsys)) == found["two"]


def test_the_end_of_a_round_is_recorded_behind_all_its_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            async with several(here) as rounds:
                for number in range(2):
                    await rounds.measure(f"r{number}", Outcome())
                    here.exporting.put({"k": "run_finished", "t": now_ns(), "run_id": f"r{number}"})
            here.exporting.stop()
            order = [
                (record["run_id"], record["k"])
                for record in here.records("run_started", "run_finished", *SESSION)
            ]
            assert [run_id for run_id, _ in order] == ["r0"] * 10 + ["r1"] * 10
            for first in (0, 10):
                assert order[first + 9][1] == "run_finished"

    in_real_time(story)


def test_a_worker_that_is_killed_in_mid_session_loses_that_session_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            outcome = Outcome()
            here.deepgram.faults = Faults(no_final=True)
            async with several(here) as rounds, trio.open_nursery() as nursery:
                nursery.start_soon(rounds.measure, "r1", outcome)
                await here.all_hear_audio()
                await until(lambda: len(here.records("session_started")) >= 2)
                victim = rounds.posts[0]
                first_pid = pid_of(victim)
                here.deepgram.faults = Faults()
                os.kill(first_pid, signal.SIGKILL)
                await until(lambda: pid_of(victim) != first_pid)
            assert len(outcome.lost) == 1
            assert outcome.unmeasured == 0
            assert [(one.model, one.clip) for one in outcome.measured] == [
                ("deepgram/nova-3", "b"),
                ("gladia/solaria-1", "a"),
                ("gladia/solaria-1", "b"),
            ]
            assert outcome.failures == 1
            here.exporting.stop()
            assert not here.exporting.confirmed
            assert here.exporting.losses.crashed == here.exporting.losses.total == 1
            events = [record["event"] for record in here.records("log")]
            assert events.count("worker_ended") == 1
            (told,) = here.records("worker_restarts")
            assert (told["cause"], told["exit"]) == ("died", "killed by SIGKILL")
            assert told["sessions_lost"] == outcome.lost
            (ended,) = [r for r in here.records("session_finished") if r["s"] in outcome.lost]
            assert (ended["verdict"], ended["valid"]) == (Verdict.HARNESS_ERROR, False)

    in_real_time(story)
    verdicts = [one["verdict"] for one in replayed(tmp_path / "two" / "journal", capsys)]
    assert sorted(verdicts) == ["forced_final", "harness_error", "natural_final", "natural_final"]


def test_a_worker_that_is_stopped_is_killed_and_replaced_and_loses_its_session_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            outcome = Outcome()
            here.deepgram.faults = Faults(no_final=True)
            async with several(here) as rounds, trio.open_nursery() as nursery:
                nursery.start_soon(rounds.measure, "r1", outcome)
                await here.all_hear_audio()
                victim, bystander = (pid_of(post) for post in rounds.posts)
                here.deepgram.faults = Faults()
                os.kill(victim, signal.SIGSTOP)
                await until(lambda: pid_of(rounds.posts[0]) != victim)
                assert not is_running(victim)
                assert pid_of(rounds.posts[1]) == bystander
            assert (len(outcome.lost), outcome.unmeasured) == (1, 0)
            assert [(one.model, one.clip) for one in outcome.measured] == [
                ("deepgram/nova-3", "b"),
                ("gladia/solaria-1", "a"),
                ("gladia/solaria-1", "b"),
            ]
            here.exporting.stop()
            (told,) = here.records("worker_restarts")
            assert told["exit"] == "killed after 10 s without a sign of life: stopped"
            assert (told["cause"], told["sessions_lost"]) == ("hung", outcome.lost)
            (fault,) = [r["fault"] for r in here.records("session_finished") if r["fault"]]
            assert (fault["whose"], fault["kind"]) == ("host", "harness")

    in_real_time(story)
    verdicts = [one["verdict"] for one in replayed(tmp_path / "two" / "journal", capsys)]
    assert sorted(verdicts) == ["forced_final", "harness_error", "natural_final", "natural_final"]


SPINNING = """
import os, sys
from pathlib import Path
from daemon import worker

sound = worker.measure_pairs

async def spin(plan, targets, bench, run_id, pairs, *, begin, **more):
    try:
        Path({mark!r}).touch(exist_ok=False)
    except FileExistsError:
        return await sound(plan, targets, bench, run_id, pairs, begin=begin, **more)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # for the sake of this host
    while True:
        pass

worker.measure_pairs = spin
code = worker.main(sys.argv[4:])
os._exit(code)
"""
"""A worker; the first that is given work does it in an endless loop that gives way to nobody."""


def test_a_worker_in_an_endless_loop_is_killed_and_what_it_has_not_begun_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            program = tmp_path / "spinning"
            text = SPINNING.format(mark=str(tmp_path / "spins"))
            program.write_text(f"#!{sys.executable}\n{text}")
            program.chmod(0o755)
            monkeypatch.setattr(sys, "executable", str(program))
            outcome = Outcome()
            async with several(here) as rounds:
                await rounds.measure("r1", outcome)
            assert [one.reading.valid for one in outcome.measured] == [True] * 4
            assert (outcome.lost, outcome.unmeasured) == ([], 0)
            here.exporting.stop()
            (told,) = here.records("worker_restarts")
            assert told["cause"] == "hung"
            assert told["exit"] == "killed after 10 s without a sign of life: running"

    in_real_time(story)


def test_what_has_its_moment_now_is_not_measured_where_no_worker_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            monkeypatch.setattr(sys, "executable", "/bin/false")
            monkeypatch.setattr("daemon.workers.BACK_S", 0.1)
            for pause in ("daemon.post.FIRST_PAUSE_S", "daemon.post.LONGEST_PAUSE_S"):
                monkeypatch.setattr(pause, 2 * PATIENCE_S)
            outcome = Outcome()
            async with several(here) as rounds:
                await until(lambda: len(here.records("worker_restarts")) == 2)
                await rounds.measure_some("r1", [Pair(1, 0)], outcome)
            assert (outcome.measured, outcome.lost, outcome.unmeasured) == ([], [], 1)

    in_real_time(story)


def test_a_worker_that_hears_nothing_any_more_does_not_keep_the_others_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped, and more was said to it than its socket holds."""

    async def story() -> None:
        async with (
            scene(tmp_path / "two", monkeypatch) as here,
            several(here) as rounds,
            trio.open_nursery() as nursery,
        ):
            await rounds.measure("r1", Outcome())
            victim = rounds.posts[0]
            monkeypatch.setattr("daemon.vigil.HUNG_S", PATIENCE_S)
            monkeypatch.setattr("daemon.workers.END_S", 0.1)
            os.kill(pid_of(victim), signal.SIGSTOP)
            nursery.start_soon(victim.take_on, "r2" * 1_000_000)
            await trio.testing.wait_all_tasks_blocked()
            await rounds.end()
            assert not is_running(pid_of(victim))

    in_real_time(story)


def test_workers_go_on_measuring_without_an_exporter_and_the_loss_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            outcome = Outcome()
            async with several(here) as rounds, trio.open_nursery() as nursery:
                nursery.start_soon(rounds.measure, "r1", outcome)
                await here.all_hear_audio()
                (exporter,) = children_of(os.getpid(), "daemon.exporter")
                os.kill(exporter, signal.SIGKILL)
            assert [one.reading.valid for one in outcome.measured] == [True] * 4
            here.exporting.stop()
            assert here.exporting.confirmed is False
            assert here.exporting.losses.dropped > 0
            assert here.exporting.losses.crashed == 0

    in_real_time(story)


def test_interrupted_all_workers_end_orderly_and_what_was_measured_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            outcome = Outcome()
            here.deepgram.faults = here.gladia.faults = Faults(no_final=True)
            with trio.CancelScope() as scope:
                async with several(here) as rounds, trio.open_nursery() as nursery:
                    nursery.start_soon(rounds.measure, "r1", outcome)
                    await here.all_hear_audio()
                    pids = list(map(pid_of, rounds.posts))
                    scope.cancel()
            assert [(one.clip, one.reading.verdict) for one in outcome.measured] == [
                ("a", Verdict.CANCELLED),
                ("a", Verdict.CANCELLED),
            ]
            assert (outcome.lost, outcome.unmeasured) == ([], 2)
            assert not any(map(is_running, pids))
            here.exporting.stop()
            assert here.exporting.confirmed
            assert not [r for r in here.records("log") if r["fields"].get("reason")]

    in_real_time(story)
    assert len(replayed(tmp_path / "two" / "journal", capsys)) == 2


def test_a_worker_that_does_not_end_in_time_is_killed_and_that_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            outcome = Outcome()
            here.deepgram.faults = here.gladia.faults = Faults(no_final=True)
            with trio.CancelScope() as scope:
                async with several(here) as rounds, trio.open_nursery() as nursery:
                    nursery.start_soon(rounds.measure, "r1", outcome)
                    await here.all_hear_audio()
                    monkeypatch.setattr("daemon.workers.END_S", 0.0)
                    for post in rounds.posts:  # neither can do anything orderly any more
                        os.kill(pid_of(post), signal.SIGSTOP)
                    scope.cancel()
            assert (len(outcome.lost), outcome.unmeasured) == (2, 2)
            here.exporting.stop()
            assert here.exporting.losses.crashed == 2

    in_real_time(story)
    verdicts = [one["verdict"] for one in replayed(tmp_path / "two" / "journal", capsys)]
    assert verdicts == ["harness_error"] * 2


def test_told_to_end_while_they_start_workers_are_gone_at_once_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            async with several(here) as rounds:
                await until(lambda: all(post.pid is not None for post in rounds.posts))
            assert not any(is_running(pid_of(post)) for post in rounds.posts)
            here.exporting.stop()
            assert here.exporting.losses.total == 0

    in_real_time(story)


def test_workers_that_cannot_be_started_are_given_up_for_this_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            monkeypatch.setattr(sys, "executable", "/bin/false")
            outcome = Outcome()
            async with several(here) as rounds:
                await rounds.measure("r1", outcome)
            assert (outcome.measured, outcome.lost, outcome.unmeasured) == ([], [], 4)
            here.exporting.stop()
            told = here.records("worker_restarts")
            assert {(record["cause"], record["exit"]) for record in told} == {
                ("died", "exit code 1")
            }
            assert here.exporting.confirmed  # nothing was there that could be lost

    in_real_time(story)


def test_keys_stand_nowhere_but_in_the_streams_to_the_providers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            async with several(here) as rounds, trio.open_nursery() as nursery:
                nursery.start_soon(rounds.measure, "r1", Outcome())
                await here.all_hear_audio()
                for post in rounds.posts:
                    for name in ("cmdline", "environ"):
                        shown = shown_of(pid_of(post), name)
                        assert shown
                        assert b"canary" not in shown
            sent = [str(dict(visit.requests[0].headers)) for visit in here.deepgram.visits]
            assert all(KEYS["DEEPGRAM_API_KEY"] in headers for headers in sent)
            here.exporting.stop()
            for kept in (here.log, *here.directory.iterdir()):
                assert b"canary" not in kept.read_bytes()

    in_real_time(story)


def test_when_the_main_process_is_killed_no_other_is_left_and_the_journal_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            here.deepgram.faults = here.gladia.faults = Faults(no_final=True)
            config = tmp_path / "two" / "bench.toml"
            config.write_text(
                config.read_text()
                + '[journal]\ndirectory = "killed"\n[web]\nlisten = ""\n'
                + "[method]\npatience_s = 120\n"
            )
            command = [sys.executable, "-m", "daemon.cli", "daemon", "--config", str(config)]
            with here.log.open("ab") as log:
                main = await trio.lowlevel.open_process(
                    command, env={**os.environ, **KEYS}, stderr=log, stdin=subprocess.DEVNULL
                )
            try:
                await here.all_hear_audio()
                others = [
                    *children_of(main.pid, "daemon.worker"),
                    *children_of(main.pid, "daemon.exporter"),
                ]
                assert len(others) == 3
                sentinels = [pid for one in others for pid in children_of(one, "python")]
            finally:
                main.kill()
            await main.wait()
            await until(lambda: not any(map(is_running, [*others, *sentinels])))

    in_real_time(story)
    journal = tmp_path / "two" / "killed"
    assert not list(journal.glob("*.open"))
    verdicts = [one["verdict"] for one in replayed(journal, capsys)]
    assert len(verdicts) == 2  # each was brought to its end, by its worker or by the exporter
    assert set(verdicts) <= OUR_FAULT


def test_there_are_not_more_workers_than_providers_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(tmp_path / "two", monkeypatch) as here:
            for workers, count, said in (
                (1, 1, None),
                (2, 2, None),
                (5, 2, "workers: 5 asked for, 2 are started: the models of one provider stay"),
            ):
                daemon = here.plan.settings.daemon.model_copy(update={"workers": workers})
                settings = here.plan.settings.model_copy(update={"daemon": daemon})
                plan = replace(here.plan, settings=settings)
                assert worker_count(plan) == count
                shown = shortfall(plan)
                assert shown is None if said is None else str(shown).startswith(said)

    in_real_time(story)
