"""What the service manager hears, and that it never holds anything up."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.notify import Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[tuple[socket.socket, Notifier]]:
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(path))
        sock.setblocking(False)
        yield sock, Notifier({"NOTIFY_SOCKET": str(path)})


def test_each_state_is_told_in_systemd_s_words(manager: tuple[socket.socket, Notifier]) -> None:
    sock, notifier = manager
    notifier.ready("3 models\nof 2 providers")
    notifier.reloading(5_000_001_000)
    notifier.status("next run in 4 min")
    notifier.alive()
    notifier.stopping("2 sessions are being ended")
    assert [sock.recv(500).decode() for _ in range(5)] == [
        "READY=1\nSTATUS=3 models of 2 providers",
        "RELOADING=1\nMONOTONIC_USEC=5000001",
        "STATUS=next run in 4 min",
        "WATCHDOG=1",
        "STOPPING=1\nSTATUS=2 sessions are being ended",
    ]


def test_a_name_in_the_abstract_space_is_reached() -> None:
    name = f"speechbench-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0{name}")
        sock.setblocking(False)
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).alive()
        assert sock.recv(100) == b"WATCHDOG=1"


@pytest.mark.parametrize("named", ["", "/nowhere/at/all", "vsock:2:1", "@nobody-is-here"])
def test_where_nobody_listens_nothing_happens(named: str) -> None:
    Notifier({"NOTIFY_SOCKET": named}).ready("well")


def test_a_manager_that_does_not_read_holds_nobody_up(
    manager: tuple[socket.socket, Notifier],
) -> None:
    for _ in range(10_000):  # far more than its socket holds
        manager[1].alive()


@pytest.mark.parametrize(
    ("environment", "watchdog_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
    ],
)
def test_the_watchdog_is_fed_only_where_it_is_meant_for_us(
    environment: dict[str, str], watchdog_s: float | None
) -> None:
    assert Notifier(environment).watchdog_s == watchdog_s
