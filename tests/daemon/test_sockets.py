"""The socket that the service manager hands over is taken, or it is said what is wrong."""

import os
import socket
import subprocess
import sys

import pytest

from daemon.errors import UserError
from daemon.sockets import given_socket, is_given

TAKES = """
import os, socket, sys
from daemon.errors import UserError
from daemon.sockets import given_socket
os.dup2(int(sys.argv[1]), 3)
try:
    fd = given_socket({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"})
except UserError as error:
    sys.exit(str(error))
print(os.get_inheritable(fd), socket.socket(fileno=fd).getsockname()[1])
"""


def taken(sock: socket.socket) -> "subprocess.CompletedProcess[str]":
    """A process of its own takes it, as its file 3."""
    return subprocess.run(
        [sys.executable, "-c", TAKES, str(sock.fileno())],
        pass_fds=[sock.fileno()],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_listening_socket_is_taken_and_not_passed_on_by_accident() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        done = taken(sock)
        assert done.stdout.split() == ["False", str(sock.getsockname()[1])]


def test_a_socket_that_does_not_listen_is_refused_in_a_line() -> None:
    with socket.socket() as sock:
        done = taken(sock)
    assert done.stderr.strip() == (
        "--web.systemd-socket: what systemd hands over is no listening socket"
    )


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"LISTEN_FDS": "1"},
        {"LISTEN_FDS": "1", "LISTEN_PID": "1"},
        {"LISTEN_FDS": "0", "LISTEN_PID": str(os.getpid())},
    ],
)
def test_nothing_is_taken_that_is_not_meant_for_this_process(environment: dict[str, str]) -> None:
    assert not is_given(environment)
    with pytest.raises(UserError, match="systemd hands over no socket; start the"):
        given_socket(environment)


def test_more_than_one_is_too_many() -> None:
    environment = {"LISTEN_FDS": "2", "LISTEN_PID": str(os.getpid())}
    assert is_given(environment)
    with pytest.raises(UserError, match="hands over 2 sockets; leave one ListenStream"):
        given_socket(environment)
