"""The socket that systemd opened for us, so that no request is refused while we are restarted.

Source: sd_listen_fds(3).
"""

import os
import socket
from collections.abc import Mapping

from daemon.errors import UserError

FIRST_FD = 3


def given_socket(environment: Mapping[str, str]) -> int:
    """The number of the one socket that was handed over. Raises UserError where there is none."""
    for_us = environment.get("LISTEN_PID") == str(os.getpid())
    count = environment.get("LISTEN_FDS", "0") if for_us else "0"
    if count != "1":
        raise UserError(
            "--web.systemd-socket: systemd hands over no socket; start the .socket unit first "
            "(speechbench unit install writes it), or listen with --web.listen-address"
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
