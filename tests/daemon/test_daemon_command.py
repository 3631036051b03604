"""The daemon command as a whole: schedule, reload, signals, budgets, restarts, keys."""

import json
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from daemon.treasury import NAME as SPENDING
from tests.daemon.serving import KEYS, Serving, model, serving
from tests.daemon.several import children_of, in_real_time, is_running, until

Story = Callable[[Serving], Awaitable[None]]
GONE_WITHIN_S = 2.0


def tell(folder: Path, story: Story, *, hanging: bool = False) -> None:
    """Run a story with a folder and two providers of its own."""

    async def whole() -> None:
        async with serving(folder, hanging=hanging) as here:
            await story(here)

    in_real_time(whole)


# Reload


def test_a_sighup_takes_the_new_file_and_both_models_change_places(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await here.tells("session_finished", model="deepgram/nova-3")
        assert "gladia" not in await here.metrics()
        here.configure(model("gladia/solaria-1", here.urls[1]))
        here.signal(signal.SIGHUP)
        await here.tells("configuration_taken")
        metrics = await here.metrics()
        assert "deepgram" not in metrics
        assert 'model="gladia/solaria-1"' in metrics
        await here.tells("session_finished", model="gladia/solaria-1")
        assert 'name = "gladia/solaria-1"' in (await here.ask("/config")).text
        assert "speechbench_model_info{" in await here.metrics()

    tell(tmp_path, story)


def test_a_reload_over_http_answers_when_it_is_done(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await here.tells("process_ready")
        here.configure(here.both)
        answer = await here.ask("/-/reload", "POST")
        assert (answer.status_code, answer.text) == (200, "the new configuration is taken\n")
        assert 'model="gladia/solaria-1"' in await here.metrics()
        assert "speechbench_config_last_reload_successful 1.0" in await here.metrics()

    tell(tmp_path, story)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("nonsense = 1\n", "nonsense: there is no such setting"),
        ("[[[\n", "is not TOML"),
        ('[[clip]]\npath = "nowhere.wav"\n', "nowhere.wav"),
        ('[[schedule]]\nname = "x"\nevery_s = 5\nmodels = ["who/ever"]\n', "who/ever"),
    ],
)
def test_a_file_with_a_mistake_changes_nothing_and_says_why(
    tmp_path: Path, bad: str, why: str
) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await here.tells("process_ready")
        before = (await here.ask("/config")).text
        here.configure(here.both, more=bad)
        answer = await here.ask("/-/reload", "POST")
        assert answer.status_code == 500
        assert why in answer.text
        assert why in (await here.tells("configuration_refused"))["error"]
        assert (await here.ask("/config")).text == before
        metrics = await here.metrics()
        assert "speechbench_config_last_reload_successful 0.0" in metrics
        assert "gladia" not in metrics
        count = len(here.told("session_finished"))
        await here.tells("session_finished", count + 1)

    tell(tmp_path, story)


def test_what_the_exporter_process_was_started_with_is_not_reloaded(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await here.tells("process_ready")
        here.configure(here.one, more='[journal]\ndirectory = "elsewhere"\n')
        answer = await here.ask("/-/reload", "POST")
        assert answer.status_code == 500
        assert "[journal] cannot be changed by a reload: restart the program" in answer.text

    tell(tmp_path, story)


def test_a_session_that_runs_at_a_reload_ends_under_its_own_plan(tmp_path: Path) -> None:
    """Its model is gone from the file; it is measured to its end, and then no more."""

    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await until(lambda: any(visit.audio_bytes for visit in here.deepgram.visits))
        here.configure(model("gladia/solaria-1", here.urls[1]))
        assert (await here.ask("/-/reload", "POST")).status_code == 200
        await here.tells("session_finished", model="gladia/solaria-1")
        begun = len(here.deepgram.visits)
        finished = here.told("session_finished", model="deepgram/nova-3")
        assert len(finished) == begun
        assert all(line["verdict"] == "forced_final" for line in finished)
        runs = len(here.told("run_started", models=["deepgram/nova-3"]))
        await here.tells("session_finished", 3, model="gladia/solaria-1")
        assert len(here.deepgram.visits) == begun
        assert len(here.told("run_started", models=["deepgram/nova-3"])) == runs

    tell(tmp_path, story)


def test_a_run_that_the_new_plan_no_longer_has_ends_after_its_session(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        clips = "".join(f'[[clip]]\npath = "words.wav"\nname = "{nth}"\n' for nth in range(29))
        here.configure(here.one, more=clips)
        await here.start()
        await until(lambda: any(visit.audio_bytes for visit in here.deepgram.visits))
        here.configure(model("gladia/solaria-1", here.urls[1]), more=clips)
        assert (await here.ask("/-/reload", "POST")).status_code == 200
        ended = await here.tells("run_finished")
        assert ended["models"] == ["deepgram/nova-3"]
        assert not ended["complete"]
        assert ended["sessions"] < 30
        assert ended["failures"] == 0

    tell(tmp_path, story)


def test_many_reloads_at_once_are_taken_one_after_the_other_and_the_last_file_counts(
    tmp_path: Path,
) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await here.tells("process_ready")
        async with trio.open_nursery() as nursery:
            for nth in range(4):
                here.configure(here.one, f"interval_s = {nth + 2}")
                here.signal(signal.SIGHUP)
                nursery.start_soon(here.ask, "/-/reload", "POST")
        here.configure(here.both, "interval_s = 77")
        here.signal(signal.SIGHUP)
        answer = await here.ask("/-/reload", "POST")
        assert answer.status_code == 200
        assert "interval_s = 77" in (await here.ask("/config")).text
        assert not here.told("configuration_refused")

    tell(tmp_path, story)


def test_workers_change_with_the_plan(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.both, "interval_s = 1\nworkers = 2")
        await here.start()
        for name in ("deepgram/nova-3", "gladia/solaria-1"):
            await here.tells("session_finished", model=name)
        here.configure(here.one, "interval_s = 1\nworkers = 2")
        assert (await here.ask("/-/reload", "POST")).status_code == 200
        count = len(here.told("session_finished", model="deepgram/nova-3"))
        await here.tells("session_finished", count + 2, model="deepgram/nova-3")
        here.configure(here.both, "interval_s = 1\nworkers = 2")
        assert (await here.ask("/-/reload", "POST")).status_code == 200
        count = len(here.told("session_finished", model="gladia/solaria-1"))
        await here.tells("session_finished", count + 1, model="gladia/solaria-1")
        assert not here.told("worker_restarts")
        here.signal(signal.SIGTERM)
        assert await here.ended() == 0

    tell(tmp_path, story)


# Signals


def test_sigterm_begins_nothing_more_and_what_runs_ends_with_its_reading(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.both)
        await here.start()
        await until(lambda: any(visit.audio_bytes for visit in here.deepgram.visits))
        here.signal(signal.SIGTERM)
        assert await here.ended() == 0
        events = [line["event"] for line in here.lines]
        assert events.count("run_started") == events.count("run_finished") > 0
        assert "run_started" not in events[events.index("shutdown_started") :]
        started = {record["s"] for record in here.records("session_started")}
        finished = {one["s"]: one["verdict"] for one in here.records("session_finished")}
        assert finished.keys() == started
        assert "interrupted" not in finished.values()
        assert not list(here.journal.glob("*.open"))
        assert "Traceback" not in here.said

    tell(tmp_path, story)


@pytest.mark.parametrize("signals", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM)])
def test_sigint_or_a_second_sigterm_breaks_off_what_runs(
    tmp_path: Path, signals: tuple[signal.Signals, ...]
) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one, more="[method]\npatience_s = 120\n")
        await here.start()
        await until(lambda: any(visit.audio_bytes for visit in here.deepgram.visits))
        for nth, number in enumerate(signals, start=1):
            here.signal(number)
            await here.tells("shutdown_started", nth)
        told_s = trio.current_time()
        await here.ended()
        took_s = trio.current_time() - told_s
        (finished,) = here.records("session_finished")
        assert not finished["valid"]
        assert took_s < GONE_WITHIN_S * patience()
        assert "Traceback" not in here.said

    tell(tmp_path, story, hanging=True)


def patience() -> float:
    """How much slower than by itself this host may be: its load for each processor."""
    return max(1.0, 2 * os.getloadavg()[0] / (os.cpu_count() or 1))


def test_a_signal_during_a_reload_is_heeded_at_once(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await here.tells("process_ready")
        here.configure(here.both, more='[[clip]]\npath = "pipe.wav"\n')
        os.mkfifo(here.folder / "pipe.wav")  # who opens it to read waits for a writer
        here.signal(signal.SIGHUP)
        await trio.sleep(0.5)
        here.signal(signal.SIGINT)
        await here.ended()
        assert here.told("shutdown_started", signal="SIGINT")

    tell(tmp_path, story)


def test_a_mistake_at_the_start_ends_it_with_the_code_that_a_supervisor_heeds(
    tmp_path: Path,
) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one, more="nonsense = 1\n")
        await here.start()
        assert await here.ended() == 78
        (line,) = here.said.splitlines()
        assert line.startswith("speechbench: ")
        assert "nonsense: there is no such setting" in line

    tell(tmp_path, story)


def test_a_plan_in_which_nothing_is_ever_due_is_a_mistake(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        unkeyed = model("soniox/stt-rt-v5", "ws://127.0.0.1:1", 'key_variable = "NOBODY_HAS_IT"')
        schedule = '[[schedule]]\nname = "own"\nevery_s = 5\nmodels = ["soniox/stt-rt-v5"]\n'
        here.configure(here.one + unkeyed, more=schedule)
        await here.start()
        assert await here.ended() == 78
        assert "NOBODY_HAS_IT" in here.said
        assert "schedule: none of them has a model" in here.said

    tell(tmp_path, story)


# Money, and what a restart knows


def test_money_that_was_set_aside_survives_a_kill(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        priced = model("deepgram/nova-3", here.urls[0], "price_usd_per_1000_min = 60000")
        here.configure(priced, more="[spending]\nday_usd = 1000\n")
        await here.start()
        await until(lambda: any(visit.audio_bytes for visit in here.deepgram.visits))
        here.signal(signal.SIGKILL)
        await here.ended()
        before = json.loads((here.journal / SPENDING).read_text())
        await here.start()
        await here.tells("process_ready", 2)
        await until(lambda: len(here.records("spending")) > 1)
        budget = here.records("spending")[-1]["budgets"][0]
        assert json.dumps(before).count("deepgram") >= 1
        assert budget["spent_usd"] > 0
        metrics = await here.metrics()
        spent = 'speechbench_budget_spent_dollars{period="day",who="all providers"}'
        assert spent in metrics
        assert f"{spent} 0.0" not in metrics

    tell(tmp_path, story, hanging=True)


def test_runs_end_where_the_budget_does_and_each_session_says_what_it_cost(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        priced = model("deepgram/nova-3", here.urls[0], "price_usd_per_1000_min = 60000")
        # A dollar a second: two sessions of some two seconds fit beside what is set aside.
        here.configure(
            priced, "interval_s = 1\nstart_within_s = 1", more="[spending]\nday_usd = 12\n"
        )
        await here.start()
        missed = await here.tells("run_missed", why="over_budget")
        assert "12" in missed["detail"]
        await until(lambda: not _runs(here))
        costs = [record["cost_usd"] for record in here.records("session_finished")]
        sent_ms = [record["sent_ms"] for record in here.records("session_finished")]
        assert costs == pytest.approx([one / 1000 for one in sent_ms])
        assert 0 < sum(costs) <= 12
        metrics = await here.metrics()
        (billed,) = [
            line.split()[-1]
            for line in metrics.splitlines()
            if line.startswith("speechbench_billed_cost_dollars_total{")
        ]
        assert float(billed) == pytest.approx(sum(costs))
        assert 'why="over_budget"' in metrics

    tell(tmp_path, story)


def _runs(here: Serving) -> bool:
    return len(here.told("run_started")) > len(here.told("run_finished"))


def test_what_was_missed_while_it_did_not_run_is_counted_after_a_restart(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await here.tells("session_finished")
        here.signal(signal.SIGTERM)
        assert await here.ended() == 0
        alive = here.journal / "alive"
        alive.write_text(str(int(alive.read_text()) - 10_000_000_000))
        await here.start()
        missed = await here.tells("run_missed", why="not_running")
        assert missed["count"] >= 10

    tell(tmp_path, story)


# The exporter process


def test_an_exporter_process_that_was_killed_is_started_again_and_the_loss_is_told(
    tmp_path: Path,
) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await here.tells("session_finished")
        os.kill(here.child("daemon.exporter"), signal.SIGKILL)
        restarted = await here.tells("exporter_restarted")
        assert restarted["records_lost"] >= 0
        count = len(here.told("session_finished"))
        await here.tells("session_finished", count + 2)
        (lost,) = here.records("records_lost")
        assert lost["why"] == "exporter_gone"
        assert lost["count"] == restarted["records_lost"]
        metrics = await here.metrics()  # at the same address as before
        assert 'model="deepgram/nova-3"' in metrics
        assert "speechbench_host_setup{" in metrics or "real_time" in metrics
        assert (await here.ask("/-/ready")).status_code == 200
        assert "interval_s = 1" in (await here.ask("/config")).text
        assert (await here.ask("/-/reload", "POST")).status_code == 200
        here.signal(signal.SIGTERM)
        assert await here.ended() == 0
        assert "speechbench: " not in here.said

    tell(tmp_path, story)


def test_an_exporter_process_that_cannot_start_is_tried_until_it_can(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.one)
        await here.start()
        await here.tells("session_finished")
        aside = here.folder / "aside"
        here.journal.rename(aside)
        here.journal.write_text("in the way")
        os.kill(here.child("daemon.exporter"), signal.SIGKILL)
        await until(lambda: "does not start again: journal: cannot create" in here.said)
        await until(lambda: not here.told("exporter_restarted"))
        here.journal.unlink()
        aside.rename(here.journal)
        await here.tells("exporter_restarted")
        count = len(here.told("session_finished"))
        await here.tells("session_finished", count + 1)
        (lost,) = here.records("records_lost")
        assert lost["count"] == here.told("exporter_restarted")[0]["records_lost"]

    tell(tmp_path, story)


def test_without_room_for_its_records_nothing_is_measured_and_that_is_said(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(
            here.one,
            "interval_s = 1\nstart_within_s = 1",
            more=f"[journal]\nreserve_bytes = {2**50}\n",
        )
        await here.start()
        await here.tells("run_missed", 2, why="journal_full")
        assert not here.deepgram.visits
        ready = await here.ask("/-/ready")
        assert (ready.status_code, ready.text) == (503, "the journal is full\n")
        assert "speechbench_harness_healthy 0.0" in await here.metrics()

    tell(tmp_path, story)


def test_workers_get_the_next_exporter_process_as_well(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.both, "interval_s = 1\nworkers = 2")
        await here.start()
        for name in ("deepgram/nova-3", "gladia/solaria-1"):
            await here.tells("session_finished", model=name)
        os.kill(here.child("daemon.exporter"), signal.SIGKILL)
        await here.tells("exporter_restarted")
        for name in ("deepgram/nova-3", "gladia/solaria-1"):
            count = len(here.told("session_finished", model=name))
            await here.tells("session_finished", count + 2, model=name)
        here.signal(signal.SIGTERM)
        await here.ended()
        assert "Traceback" not in here.said

    tell(tmp_path, story)


def test_nothing_of_it_outlives_it(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        here.configure(here.both, "interval_s = 1\nworkers = 2")
        await here.start()
        await here.tells("session_finished")
        assert here.process is not None
        children = children_of(here.process.pid, "")
        assert len(children) >= 3
        here.signal(signal.SIGKILL)
        await here.ended()
        await until(lambda: not any(map(is_running, children)))

    tell(tmp_path, story)


# Keys


def test_no_key_is_ever_in_anything_that_it_writes_or_answers(tmp_path: Path) -> None:
    async def story(here: Serving) -> None:
        deepgram = here.urls[0] + "?token=canary-in-an-address"
        here.configure(model("deepgram/nova-3", deepgram), "interval_s = 1")
        here.words = ["--log.level", "debug"]
        await here.start()
        await here.tells("session_finished")
        here.configure(model("deepgram/nova-3", "canary-in-an-address"))
        pages = [(await here.ask("/-/reload", "POST")).text]
        here.configure(model("deepgram/nova-3", deepgram, 'key = "canary-in-a-file"'))
        pages.append((await here.ask("/-/reload", "POST")).text)
        assert "there is no such setting" in pages[-1]
        for path in ("/", "/metrics", "/config", "/api/v1/sessions"):
            pages += [(await here.ask(path)).text]
        here.signal(signal.SIGTERM)
        await here.ended()
        kept = [path.read_bytes().decode("latin-1") for path in here.journal.iterdir()]
        for text in (*pages, *kept, here.said):
            for secret in (*KEYS.values(), "canary"):
                assert secret not in text

    tell(tmp_path, story)
