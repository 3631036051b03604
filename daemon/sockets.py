"""The socket that systemd opened for us, so that no request is refused while we are restarted.

Source: sd_listen_fds(3).
"""

import os
import socket
from collections.abc import Mapping

from daemon.errors import UserError

FIRST_FD = 3


def is_given(environment: Mapping[str, str]) -> bool:
    """Something was handed over to this very process."""
    for_us = environment.get("LISTEN_PID") == str(os.getpid())
    return for_us and environment.get("LISTEN_FDS", "0") != "0"


def given_socket(environment: Mapping[str, str]) -> int:
    """The number of the one socket that was handed over. Raises UserError where there is none."""
    if not is_given(environment):
        raise UserError(
            "--web.systemd-socket: systemd hands over no socket; start the .socket unit first "
            "(speechbench unit install writes it), or listen with --web.listen-address"
        )
    if environment["LISTEN_FDS"] != "1":
        raise UserError(
            f"--web.systemd-socket: systemd hands over {environment['LISTEN_FDS']} sockets; "
            "leave one ListenStream in the .socket unit"
        )
    try:
        with socket.socket(fileno=os.dup(FIRST_FD)) as given:
            listens = given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError:
        listens = 0
    if not listens:
        raise UserError("--web.systemd-socket: what systemd hands over is no listening socket")
    os.set_inheritable(FIRST_FD, False)
    return FIRST_FD
