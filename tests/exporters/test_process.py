"""The exporter process for real: started, killed, stopped, scraped, and always told apart."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import orjson
import pytest

from exporters.handoff import Losses
from exporters.process import Exporter, ExporterError, launch, start
from exporters.segment import read_journal
from exporters.settings import Settings, Stream, WebOptions
from tests.exporters.records import STREAM, finished, journalled, started

ROOT = Path(__file__).parents[2]
CANARY = "canary-1234567890"
PATIENCE_S = 60.0
"""For a busy machine; nothing waits for so long where all is well."""


class House:
    """A directory for the journal and the log, and the exporters that were started in it."""

    def __init__(self, directory: Path) -> None:
        self.journal = directory / "journal"
        self.log = directory / "log"
        self._started: list[Exporter] = []

    def launch(self, settings: Settings | None = None, **how: Any) -> Exporter:  # noqa: ANN401
        with self.log.open("ab") as log:
            exporter = launch(settings or self.settings(), stderr=log.fileno(), **how)
        self._started.append(exporter)
        return exporter

    def start(self, settings: Settings | None = None, **how: Any) -> Exporter:  # noqa: ANN401
        exporter = self.launch(settings, **how)
        exporter.wait_ready(PATIENCE_S)
        return exporter

    def settings(self, **changes: Any) -> Settings:  # noqa: ANN401
        return Settings(str(self.journal), streams=(Stream(**STREAM),), **changes)

    def lines(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.log.read_bytes().splitlines()]

    def clear(self) -> None:
        for exporter in self._started:
            if exporter.ended() is None:
                os.kill(exporter.pid, signal.SIGKILL)
            exporter.stop(PATIENCE_S)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.clear()


def note(i: int, size: int = 0) -> dict[str, Any]:
    return {"k": "note", "t": i, "i": i, "text": "x" * size}


def kill(exporter: Exporter) -> None:
    """As the kernel does it when memory is short; gone when this returns."""
    os.kill(exporter.pid, signal.SIGKILL)
    os.waitid(os.P_PID, exporter.pid, os.WEXITED | os.WNOWAIT)


def test_what_was_put_is_in_the_journal_the_metrics_and_the_log(house: House) -> None:
    exporter = house.launch(house.settings(listen=("127.0.0.1", 0)))
    exporter.handoff.put(started())  # also before it is ready
    ready = exporter.wait_ready(PATIENCE_S)
    exporter.handoff.put(finished())
    assert exporter.handoff.flush(PATIENCE_S)
    assert journalled(Path(ready.journal)) == [started(), finished()]
    with urllib.request.urlopen(f"http://{ready.address}/metrics", timeout=PATIENCE_S) as page:
        body = page.read().decode()
    labels = 'dataset="files",flow="forced",model="tiny",provider="local"'
    assert f"speechbench_sessions_total{{{labels}}} 1.0\n" in body
    assert "speechbench_journal_records_total 3.0\n" in body
    assert exporter.stop(PATIENCE_S)
    assert exporter.handoff.losses == Losses()
    assert journalled(house.journal) == [started(), finished()]
    assert [path.suffix for path in house.journal.iterdir()] == [".sbj"]
    events = [line["event"] for line in house.lines()]
    assert events == ["journal_opened", "metrics_listening", "session_finished"]


def test_a_web_configuration_with_a_mistake_is_logged_once_and_the_old_one_stays(
    house: House, tmp_path: Path
) -> None:
    path = tmp_path / "web.yml"
    path.write_text("basic_auth_users: {}\n")
    web = WebOptions(config_file=str(path))
    exporter = house.launch(house.settings(listen=("127.0.0.1", 0), web=web))
    ready = exporter.wait_ready(PATIENCE_S)
    path.write_text("basic_auth_users: [nobody at all]\n")
    for t in range(3):
        with pytest.raises(HTTPError, match="401"):
            urllib.request.urlopen(f"http://{ready.address}/", timeout=PATIENCE_S)
        exporter.handoff.put({"k": "heartbeat", "t": t})
    assert exporter.stop(PATIENCE_S)
    (refused,) = [one for one in house.lines() if one["event"] == "web_configuration_refused"]
    assert refused["level"] == "error"
    assert refused["error"].startswith(f"{path}: basic_auth_users must hold names")


def test_a_segment_says_which_host_boot_and_version_wrote_it(house: House) -> None:
    exporter = house.start(house.settings(version="9.9.9", config_sha256="c0ffee"))
    exporter.stop(PATIENCE_S)
    header = next(iter(read_journal(house.journal)))
    assert header["host"] == socket.gethostname()
    assert header["version"] == "9.9.9"
    assert header["config_sha256"] == "c0ffee"
    assert isinstance(header["boot_id"], str)
    assert isinstance(header["wall_ns"], int)


def test_killed_in_mid_write_it_loses_nothing_confirmed_and_the_next_one_mends_the_file(
    house: House,
) -> None:
    put = 0
    for confirmed_at_least in (1, 400, 3000):
        exporter = house.start()
        first = put
        for _ in range(confirmed_at_least):
            exporter.handoff.put(note(put, size=put % 300))
            put += 1
        assert exporter.handoff.flush(PATIENCE_S)
        for _ in range(2000):  # and while these are on their way
            exporter.handoff.put(note(put, size=put % 300))
            put += 1
        kill(exporter)
        exporter.handoff.put(note(-1))
        assert not exporter.handoff.alive
        kept = [
            record["i"]
            for record in journalled(house.journal, "note")
            if first <= record["i"] < put
        ]
        assert kept == list(range(first, first + len(kept)))
        assert len(kept) >= confirmed_at_least
        lost = put - first + 1 - len(kept)  # with the one after the end
        assert exporter.handoff.losses.total >= lost
    last = house.start()
    assert last.handoff.ready is not None
    assert last.handoff.ready.recovered == 1
    last.stop(PATIENCE_S)
    assert not list(house.journal.glob("*.open"))
    assert read_journal(house.journal).damaged == []


def test_a_torn_tail_is_cut_and_told_in_log_and_journal(house: House) -> None:
    exporter = house.start()
    for i in range(10):
        exporter.handoff.put(note(i, size=100))
    exporter.handoff.flush(PATIENCE_S)
    kill(exporter)
    (segment,) = house.journal.iterdir()
    os.truncate(segment, segment.stat().st_size - 5)  # as a lost page leaves it
    assert house.start().stop(PATIENCE_S)
    assert [record["i"] for record in journalled(house.journal, "note")] == list(range(9))
    (told,) = journalled(house.journal, "log")
    assert told["event"] == "journal_tail_truncated"
    assert told["fields"]["dropped_bytes"] > 100
    (line,) = [line for line in house.lines() if line["event"] == "journal_tail_truncated"]
    assert (line["level"], line["records"]) == ("warning", 10)  # the segment's own, and nine
    (torn,) = house.journal.glob("*.torn")
    assert torn.stat().st_size == line["dropped_bytes"]


def test_measuring_goes_on_without_an_exporter_and_the_loss_is_counted(house: House) -> None:
    exporter = house.start()
    kill(exporter)
    for i in range(1000):
        exporter.handoff.put(note(i))
    exporter.handoff.drain()
    assert not exporter.handoff.alive
    assert exporter.handoff.losses.dropped == 1000
    assert not exporter.stop(PATIENCE_S)
    assert exporter.ended() == -signal.SIGKILL


def test_a_stopped_exporter_holds_nobody_up_and_what_was_dropped_is_told_in_its_place(
    house: House,
) -> None:
    exporter = house.start(kernel_bytes=1 << 16, queue_bytes=1 << 16)
    os.kill(exporter.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, exporter.pid, os.WSTOPPED | os.WNOWAIT)
    put = 0
    while exporter.handoff.losses.dropped < 500:
        exporter.handoff.put(note(put, size=100))
        put += 1
    assert exporter.handoff.waiting > 0
    assert exporter.handoff.alive
    os.kill(exporter.pid, signal.SIGCONT)
    assert exporter.handoff.flush(PATIENCE_S) is False  # something was lost, and it says so
    exporter.handoff.put(note(put))
    exporter.stop(PATIENCE_S)
    records = journalled(house.journal, "note", "records_lost")
    assert [record["i"] for record in records if record["k"] == "note"] == [
        *range(put - 500),
        put,
    ]
    assert records[-2] == {"k": "records_lost", "t": put, "count": 500, "why": "handoff_full"}
    assert exporter.handoff.losses == Losses(dropped=500)
    assert [line["event"] for line in house.lines()][-1] == "records_dropped"


def test_it_ends_with_the_measuring_process_and_keeps_what_was_put(house: House) -> None:
    exporter = house.start()
    for i in range(2000):
        exporter.handoff.put(note(i))
    assert exporter.handoff.waiting == 0
    exporter.handoff.close()  # as the kernel does for a process that is killed
    os.waitid(os.P_PID, exporter.pid, os.WEXITED | os.WNOWAIT)
    assert exporter.ended() == 0
    assert [record["i"] for record in journalled(house.journal)] == list(range(2000))
    assert [path.suffix for path in house.journal.iterdir()] == [".sbj"]


def test_a_signal_meant_for_the_measuring_process_does_not_end_it(house: House) -> None:
    exporter = house.start()
    assert os.getsid(exporter.pid) == exporter.pid  # a terminal's Ctrl-C does not even reach it
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(exporter.pid, name)
    exporter.handoff.put(note(1))
    assert exporter.handoff.flush(PATIENCE_S)
    assert exporter.ended() is None
    assert exporter.stop(PATIENCE_S)


def test_it_is_given_no_key(house: House) -> None:
    environment = {**os.environ, "DEEPGRAM_API_KEY": CANARY, "SOME_TOKEN": CANARY}
    exporter = house.start(environment=environment)
    assert CANARY.encode() not in Path(f"/proc/{exporter.pid}/environ").read_bytes()


def test_no_key_that_slips_into_a_log_record_is_ever_written(house: House) -> None:
    exporter = house.start(house.settings(log_level="debug"))
    fields = {"headers": {"Authorization": f"Token {CANARY}"}, "detail": f"api_key={CANARY}"}
    exporter.handoff.put({"k": "log", "t": 1, "level": "info", "event": "asked", "fields": fields})
    exporter.handoff.put(started(url=f"wss://example.com/listen?token={CANARY}"))
    fault = {"whose": "provider", "kind": "auth", "detail": f"Bearer {CANARY} is not valid"}
    exporter.handoff.put(finished(verdict="provider_error", valid=False, fault=fault))
    exporter.stop(PATIENCE_S)
    assert CANARY not in house.log.read_text()
    assert "session_failed" in house.log.read_text()
    records = journalled(house.journal, "log", "session_started")
    assert len(records) == 2
    assert CANARY not in str(records)


def test_it_leaves_the_processor_to_the_measuring_process(house: House) -> None:
    exporter = house.start()
    assert os.sched_getscheduler(exporter.pid) == os.SCHED_OTHER
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, exporter.pid) == min(19, before + 5)


def test_it_holds_no_file_of_the_measuring_process(house: House, tmp_path: Path) -> None:
    with (tmp_path / "private").open("w") as private:
        exporter = house.start()
        held = [os.readlink(fd) for fd in Path(f"/proc/{exporter.pid}/fd").iterdir()]
        assert private.name not in held


def test_a_taken_port_is_one_line_that_says_which_and_what_to_change(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        exporter = house.launch(house.settings(listen=("127.0.0.1", port)))
        with pytest.raises(ExporterError) as error:
            exporter.wait_ready(PATIENCE_S)
    assert str(error.value) == (
        f"metrics: cannot listen on 127.0.0.1 port {port}: Address already in use; "
        "give another address or port (0: any that is free), or end what has it"
    )
    assert exporter.ended() == 1
    assert house.log.read_bytes() == b""


def test_a_directory_that_cannot_be_is_one_line_that_says_which(house: House) -> None:
    (house.journal.parent / "file").touch()
    exporter = house.launch(Settings(str(house.journal.parent / "file" / "journal")))
    with pytest.raises(ExporterError, match=r"cannot create the directory .*/file/journal"):
        exporter.wait_ready(PATIENCE_S)
    assert exporter.ended() == 1


def test_a_directory_that_cannot_be_written_in_is_one_line_that_says_which(house: House) -> None:
    exporter = house.launch(Settings("/proc/self"))
    with pytest.raises(ExporterError, match="journal: cannot write in /proc/self: "):
        exporter.wait_ready(PATIENCE_S)


def test_an_exporter_that_is_killed_at_its_start_is_said(house: House) -> None:
    exporter = house.launch()
    kill(exporter)
    with pytest.raises(ExporterError, match="ended at once, with exit code -9"):
        exporter.wait_ready(PATIENCE_S)


def test_an_exporter_that_does_not_get_ready_is_not_waited_for_for_ever(house: House) -> None:
    exporter = house.launch()
    os.kill(exporter.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, exporter.pid, os.WSTOPPED | os.WNOWAIT)
    ready = exporter.handoff.wait_ready(0.0)
    assert ready is None
    os.kill(exporter.pid, signal.SIGCONT)
    assert exporter.wait_ready(PATIENCE_S).recovered == 0


def test_two_exporters_in_one_directory_leave_each_other_s_segments_alone(house: House) -> None:
    one, two = house.start(), house.start()
    assert two.handoff.ready is not None
    assert two.handoff.ready.recovered == 0
    one.handoff.put(note(1))
    two.handoff.put(note(2))
    assert one.stop(PATIENCE_S)
    assert two.stop(PATIENCE_S)
    assert sorted(record["i"] for record in journalled(house.journal)) == [1, 2]


def test_start_waits_until_it_works(tmp_path: Path) -> None:
    exporter = start(Settings(str(tmp_path / "journal"), log_level="critical"), timeout_s=60)
    assert exporter.handoff.ready is not None
    assert exporter.stop(PATIENCE_S)
    assert exporter.ended() == 0


@pytest.mark.parametrize("arguments", [[], ["x"], ["3"], ["3", "x"], ["3", "4", "5"]])
def test_started_by_hand_it_says_that_it_is_not_meant_to_be(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "exporters", *arguments],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == b"exporters: this process is started by speechbench, not by hand\n"


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("exporters.process", ("structlog", "prometheus_client", "orjson", "trio", "numpy")),
        ("exporters.__main__", ("trio", "daemon", "providers", "scoring", "pacer", "numpy")),
    ],
)
def test_a_process_loads_only_what_it_needs(module: str, unwanted: tuple[str, ...]) -> None:
    script = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert not {name.split(".")[0] for name in done.stdout.split()} & set(unwanted)
