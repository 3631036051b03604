"""What the kernel tells of connections, and what is made of it when it tells nothing.

The figures themselves are checked through a lane, in test_lane.py.
"""

import socket

from daemon.tcp_info import tcp_info, unacked_bytes, unsent_bytes


def test_a_socket_that_is_not_connected_has_no_round_trip() -> None:
    with socket.socket() as sock:
        assert tcp_info(sock) is None


def test_a_socket_that_is_not_tcp_has_nothing_to_tell() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert tcp_info(ours) is None
        assert unsent_bytes(ours) == 0


def test_a_closed_socket_has_nothing_to_tell() -> None:
    sock = socket.socket()
    sock.close()
    assert (tcp_info(sock), unsent_bytes(sock), unacked_bytes(sock)) == (None, 0, 0)
