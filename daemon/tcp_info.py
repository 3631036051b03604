"""What the kernel knows of a TCP connection: round trip, losses, and what has not left yet."""

import array
import fcntl
import socket
import struct
import sys
import termios
from dataclasses import dataclass

_TCP_INFO = 11
_UNACKED, _RTT, _RTTVAR, _RETRANSMITS, _NOT_SENT, _MIN_RTT = 24, 68, 72, 100, 144, 148
"""Offsets in struct tcp_info (include/uapi/linux/tcp.h), which only ever grows at its end."""
_NEEDED_BYTES = 152
_NO_SAMPLE_US = 0xFFFFFFFF
_SIOCOUTQNSD = 0x894B


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """One look at a connection. Round trips are the kernel's, to the other side's kernel."""

    rtt_ns: int
    """Smoothed over the last round trips."""
    rtt_variation_ns: int
    min_rtt_ns: int
    """The shortest of the last minutes."""
    retransmits: int
    """Segments sent again since the connection was made."""
    unacked_segments: int
    """On their way, not yet acknowledged."""
    unsent_bytes: int
    """Handed to the kernel, and not yet sent for the first time."""


def tcp_info(sock: socket.socket) -> TcpInfo | None:
    """What the kernel says; None where it does not tell, or has not seen a round trip yet."""
    if sys.platform != "linux":
        return None
    try:
        told = sock.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 256)
    except OSError:  # closed in the meantime, or no TCP
        return None
    if len(told) < _NEEDED_BYTES:
        return None

    def number(offset: int) -> int:
        return int(struct.unpack_from("=I", told, offset)[0])

    if not number(_RTT) or number(_MIN_RTT) == _NO_SAMPLE_US:
        return None
    return TcpInfo(
        rtt_ns=number(_RTT) * 1000,
        rtt_variation_ns=number(_RTTVAR) * 1000,
        min_rtt_ns=number(_MIN_RTT) * 1000,
        retransmits=number(_RETRANSMITS),
        unacked_segments=number(_UNACKED),
        unsent_bytes=number(_NOT_SENT),
    )


def unsent_bytes(sock: socket.socket) -> int:
    """What the kernel has taken and not sent; 0 where it does not tell.

    Bytes that are on their way do not count: with a long round trip there are always some.
    """
    return _queued_bytes(sock, _SIOCOUTQNSD)


def unacked_bytes(sock: socket.socket) -> int:
    """What the other side's kernel has not acknowledged, sent or not; 0 where it does not tell."""
    return _queued_bytes(sock, termios.TIOCOUTQ)


def _queued_bytes(sock: socket.socket, request: int) -> int:
    answer = array.array("i", [0])
    try:
        fcntl.ioctl(sock, request, answer)
    except (OSError, ValueError):  # ValueError: the socket is closed
        return 0
    return answer[0]
