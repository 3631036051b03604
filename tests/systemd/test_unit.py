"""The units under a real systemd: what an operator does, and what goes wrong at night."""

import json
import re
import time

from tests.systemd.box import ROOT, Box
from tests.systemd.instances import (
    KEY,
    configured,
    drop_in,
    pids_below,
    started,
)

MOST_EXPOSED = 1.5


def test_the_units_have_no_mistakes_and_are_little_exposed(booted: Box) -> None:
    configured(booted, "looked-at", 9801)
    verified = booted.run("systemd-analyze", "verify", "speechbench@looked-at.service")
    assert verified.stderr == ""
    said = booted.says("systemd-analyze", "security", "--no-pager", "speechbench@looked-at")
    found = re.search(r"exposure level for \S+: ([0-9.]+)", said)
    assert found is not None
    assert float(found[1]) <= MOST_EXPOSED


def test_it_is_started_when_it_measures_and_its_pages_are_there(booted: Box) -> None:
    unit = started(booted, "first", 9802)
    assert booted.show(unit, "SubState") == "running"
    assert booted.show(unit, "StatusText") == "1 models, 6 clips"
    assert booted.fetched("http://127.0.0.1:9802/-/ready") == "yes\n"
    booted.until("a session ended", lambda: "session_finished" in booted.events(unit))
    finished = [one for one in booted.log(unit) if one["event"] == "session_finished"]
    assert all(one["verdict"] != "failed" for one in finished), finished
    assert "speechbench_sessions_total{" in booted.fetched("http://127.0.0.1:9802/metrics")
    assert booted.says("ls", "/var/lib/private/speechbench/first/journal") != ""
    booted.run("systemctl", "stop", unit)


def test_its_key_is_read_by_it_and_by_nobody_else_and_is_nowhere_to_be_seen(booted: Box) -> None:
    unit = started(booted, "keyed", 9803)
    where = f"/run/credentials/{unit}/keys_deepgram"
    assert booted.run("cat", where).stdout.strip() == KEY
    for identity in ("DynamicUser=yes", "User=nobody"):
        other = booted.run(
            *("systemd-run", "--quiet", "--wait", "--pipe", "-p", identity, "cat", where),
            check=False,
        )
        assert other.returncode != 0
        assert "Permission denied" in other.stderr
    booted.until("a session ended", lambda: "session_finished" in booted.events(unit))
    pid = booted.main_pid(unit)
    seen = [
        booted.says("journalctl", "--no-pager"),
        booted.fetched("http://127.0.0.1:9803/metrics"),
        booted.fetched("http://127.0.0.1:9803/config"),
        booted.fetched("http://127.0.0.1:9803/"),
        *(
            booted.says("cat", f"/proc/{one}/{file}")
            for one in (pid, *pids_below(booted, pid))
            for file in ("environ", "cmdline")
        ),
        booted.says("sh", "-c", "cat /var/lib/private/speechbench/keyed/journal/*"),
    ]
    assert [place for place, text in enumerate(seen) if KEY in text] == []
    booted.run("systemctl", "stop", unit)


def test_two_instances_run_beside_each_other_under_users_of_their_own(booted: Box) -> None:
    one, other = started(booted, "left", 9804), started(booted, "right", 9805)
    users = [
        booted.says("stat", "-c", "%u", f"/proc/{booted.main_pid(unit)}") for unit in (one, other)
    ]
    assert len(set(users)) == 2
    assert "0" not in users
    for port in (9804, 9805):
        assert booted.fetched(f"http://127.0.0.1:{port}/-/ready") == "yes\n"
    booted.run("systemctl", "stop", one, other)


def test_only_the_measuring_thread_and_the_sentinel_are_real_time(booted: Box) -> None:
    unit = configured(booted, "timed", 9806, more="[[model]]\nname = 'local/moonshine-tiny'\n")
    if not _lifts_limits(booted):
        drop_in(booted, "timed", _LENT)
    booted.run("systemctl", "start", unit)
    booted.run("systemctl", "reload", unit)  # what reads the file is an ordinary process
    booted.until("it is taken", lambda: "configuration_taken" in booted.events(unit))
    pid = booted.main_pid(unit)
    threads = booted.says("ps", "-L", "-o", "cls=,lwp=,comm=", "-p", str(pid)).splitlines()
    real_time = [line.split()[1] for line in threads if line.split()[0] == "FF"]
    assert len(threads) > 1, "it has other threads, which read files"
    assert real_time == [str(pid)]
    assert len(pids_below(booted, pid)) >= 3
    for child in pids_below(booted, pid):
        command = booted.says("cat", f"/proc/{child}/cmdline")
        classes = set(booted.says("ps", "-L", "-o", "cls=", "-p", str(child)).split())
        assert classes == ({"FF"} if "sentinel_process" in command else {"TS"}), command
    prepared = next(one for one in booted.log(unit) if one["event"] == "host_prepared")
    assert prepared["real_time"]
    assert prepared["memory_locked"]
    status = booted.says("cat", f"/proc/{pid}/status")
    assert re.search(r"VmLck:\s+[1-9]", status), "its pages are locked, and nothing limits that"
    booted.until(
        "the built-in recogniser was measured in the sandbox",
        lambda: any(
            one["event"] == "session_finished" and one["model"].startswith("local/")
            for one in booted.log(unit)
        ),
    )
    assert "harness_failed" not in booted.events(unit)
    booted.run("systemctl", "stop", unit)


_LENT = """[Service]
PrivateUsers=no
CapabilityBoundingSet=CAP_SYS_NICE CAP_IPC_LOCK
AmbientCapabilities=CAP_SYS_NICE CAP_IPC_LOCK
"""
"""As good as LimitRTPRIO and LimitMEMLOCK: the program still has to ask for it itself."""


def _lifts_limits(box: Box) -> bool:
    """The container's systemd can give a unit the limits that it asks for.

    It takes CAP_SYS_RESOURCE outside of every container, which some machines give nobody.
    """
    asked = ("-p", "LimitRTPRIO=20", "-p", "LimitMEMLOCK=infinity")
    given = box.says(
        *("systemd-run", "--quiet", "--wait", "--pipe", *asked, "sh", "-c", "ulimit -r; ulimit -l")
    )
    return given.split() == ["20", "unlimited"]


def test_a_reload_takes_the_new_file_and_a_bad_one_changes_nothing(booted: Box) -> None:
    unit = started(booted, "changed", 9807)
    pid = booted.main_pid(unit)
    configured(booted, "changed", 9807, interval_s=5)
    booted.run("systemctl", "reload", unit)
    booted.until("it is taken", lambda: "configuration_taken" in booted.events(unit))
    assert "interval_s = 5" in booted.fetched("http://127.0.0.1:9807/config")
    configured(booted, "changed", 9807, more="nonsense = 1\n")
    booted.run("systemctl", "reload", unit)
    booted.until("it is refused", lambda: "configuration_refused" in booted.events(unit))
    (refused,) = [one for one in booted.log(unit) if one["event"] == "configuration_refused"]
    assert "nonsense: there is no such setting" in refused["error"]
    assert "interval_s = 5" in booted.fetched("http://127.0.0.1:9807/config")
    booted.until(
        "systemd is told",
        lambda: booted.show(unit, "StatusText") == "the newest configuration was not taken",
    )
    assert booted.show(unit, "ActiveState") == "active"
    assert booted.main_pid(unit) == pid
    booted.run("systemctl", "stop", unit)


def test_stopping_lets_the_session_that_goes_on_end_with_its_reading(booted: Box) -> None:
    unit = started(booted, "stopped", 9808, interval_s=2)
    booted.until("a run begins", lambda: "run_started" in booted.events(unit))
    time.sleep(1)  # somewhere in the session: any moment will do
    booted.run("systemctl", "stop", unit)
    events = booted.events(unit)
    assert booted.show(unit, "Result") == "success"
    assert events.count("run_started") == events.count("run_finished")
    finished = [one for one in booted.log(unit) if one["event"] == "session_finished"]
    assert finished
    assert {one["verdict"] for one in finished} & {"interrupted", "cancelled"} == set()
    assert "session_finished" in events[events.index("shutdown_started") :]


def test_a_configuration_with_a_mistake_is_tried_once_and_not_again(booted: Box) -> None:
    unit = configured(booted, "wrong", 9809, more="nonsense = 1\n")
    drop_in(booted, "wrong", "[Service]\nRestartSec=100ms\n")
    assert booted.run("systemctl", "start", unit, check=False).returncode != 0
    time.sleep(2)  # twenty restarts would have been made
    assert booted.show(unit, "ExecMainStatus") == "78"
    assert booted.show(unit, "NRestarts") == "0"
    assert booted.show(unit, "ActiveState") == "failed"
    said = booted.says("journalctl", "-u", unit, "-o", "cat", "--no-pager")
    assert "nonsense: there is no such setting" in said
    assert "Traceback" not in said


def test_a_process_that_stands_still_is_ended_by_the_watchdog_and_started_again(
    booted: Box,
) -> None:
    unit = configured(booted, "stuck", 9810)
    drop_in(booted, "stuck", "[Service]\nWatchdogSec=3\nRestartSec=100ms\n")
    booted.run("systemctl", "start", unit)
    pid = booted.main_pid(unit)
    time.sleep(7)  # more than two periods: it lives as long as it moves
    assert booted.main_pid(unit) == pid
    booted.run("kill", "-STOP", str(pid))
    booted.until("another one runs", lambda: booted.main_pid(unit) not in (0, pid))
    booted.until("it is ready", lambda: booted.show(unit, "SubState") == "running")
    assert "Watchdog timeout" in booted.says("journalctl", "-u", unit, "--no-pager")
    assert booted.fetched("http://127.0.0.1:9810/-/healthy") == "yes\n"
    booted.run("systemctl", "stop", unit)


def test_an_exporter_process_that_stands_still_is_found_out_by_the_watchdog(booted: Box) -> None:
    unit = configured(booted, "mute", 9811)
    drop_in(booted, "mute", "[Service]\nWatchdogSec=3\nRestartSec=100ms\n")
    booted.run("systemctl", "start", unit)
    pid = booted.main_pid(unit)
    (exporter,) = [
        child
        for child in pids_below(booted, pid)
        if "daemon.exporter" in booted.says("cat", f"/proc/{child}/cmdline")
    ]
    booted.run("kill", "-STOP", str(exporter))
    booted.until("another one runs", lambda: booted.main_pid(unit) not in (0, pid))
    booted.run("systemctl", "stop", unit)


def test_no_request_is_refused_while_the_service_is_restarted(booted: Box) -> None:
    unit = configured(booted, "kept", 9812)
    name = unit.removesuffix(".service")
    booted.write(
        f"/etc/systemd/system/{name}.socket.d/port.conf",
        "[Socket]\nListenStream=\nListenStream=127.0.0.1:9812\n",
    )
    booted.run("systemctl", "daemon-reload")
    booted.run("systemctl", "start", f"{name}.socket", unit)
    booted.write("/root/ask.sh", _ASK, "755")
    booted.run("systemd-run", "--quiet", "--unit=asking", "/root/ask.sh", "9812")
    booted.run("systemctl", "restart", unit)
    booted.until("it is over", lambda: booted.says("cat", "/root/asked").endswith("end"))
    *answers, _ = booted.says("cat", "/root/asked").split()
    assert len(answers) == 40
    assert set(answers) <= {"200", "503"}, answers
    assert answers[-1] == "200"
    booted.run("systemctl", "stop", f"{name}.socket", unit)


_ASK = """#!/bin/sh
for n in $(seq 40); do
  curl -s -o /dev/null --max-time 20 -w '%{http_code}\\n' "http://127.0.0.1:$1/-/healthy"
  sleep 0.1
done > /root/asked
echo end >> /root/asked
"""


def test_the_guide_for_installing_is_true(booted: Box) -> None:
    """Each command of the page that can be tried without a network is what was tried here."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    for line in (
        "speechbench unit install",
        "systemctl daemon-reload",
        "systemctl enable --now speechbench@main.socket speechbench@main.service",
    ):
        assert line in page
    example = (ROOT / "docs" / "speechbench.example.toml").read_text(encoding="utf-8")
    booted.write("/etc/speechbench/main.toml", example)
    looked = booted.run("speechbench", "check", "/etc/speechbench/main.toml", check=False)
    assert looked.returncode in (0, 1), looked.stderr
    configured(booted, "main", 9810)
    booted.run(
        *("systemctl", "enable", "--now", "speechbench@main.socket", "speechbench@main.service")
    )
    assert booted.fetched("http://127.0.0.1:9810/-/ready") == "yes\n"
    json.loads(booted.says("journalctl", "-u", "speechbench@main", "-o", "json", "-n", "1"))
    booted.run("systemctl", "disable", "--now", "speechbench@main.socket", "speechbench@main")
