"""Makes a connection to a host, and says how long each part of that took.

One name, one address, one attempt: the resolver's first address is taken, and no second one is
raced against it, so that the durations mean what they say. How long any of it may take is the
caller's cancel scope.
"""

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import trio

from daemon.lane import Lane
from daemon.lane_tls import TlsLane

_DEFAULT_PORTS = {"ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True)
class WebsocketUrl:
    """The parts of a websocket's address."""

    tls: bool
    host: str
    port: int
    resource: str = field(repr=False)
    """Path and query; may carry a token, so it is left out of repr."""

    @property
    def host_header(self) -> str:
        """The host as HTTP wants it said: with the port where that is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = _DEFAULT_PORTS["wss" if self.tls else "ws"]
        return host if self.port == usual else f"{host}:{self.port}"


def websocket_url(url: str) -> WebsocketUrl:
    """The parts of ``url``. Raises ValueError, which never repeats a path or a query."""
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS:
        raise ValueError(f"websocket address: scheme is {parts.scheme!r}, must be ws or wss")
    if not parts.hostname:
        raise ValueError("websocket address: has no host")
    if parts.username is not None:
        raise ValueError("websocket address: names a user, must not")
    resource = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not resource.isascii() or not resource.isprintable() or " " in resource:
        raise ValueError("websocket address: path or query has characters that must be quoted")
    port = parts.port if parts.port is not None else _DEFAULT_PORTS[parts.scheme]
    return WebsocketUrl(parts.scheme == "wss", parts.hostname, port, resource)


@dataclass(frozen=True, slots=True)
class Dialed:
    """A connection that was made, to where, and how long each part took.

    Whoever has it must close the lane, or hand it on to ``open_wire``.
    """

    lane: Lane | TlsLane
    address: str
    """The one that was used, with its port."""
    dns_ns: int | None
    """None where there was no name to look up."""
    tcp_ns: int
    tls_ns: int | None
    """None where there is no TLS."""


async def connect(
    host: str,
    port: int,
    *,
    ssl_context: ssl.SSLContext | None,
    now_ns: Callable[[], int],
    wall_ns: Callable[[], int],
) -> Dialed:
    """Look up ``host``, connect, and shake hands if there is an ``ssl_context``.

    Raises OSError, ssl.SSLError and trio's errors as they come; nothing is left open then.
    """
    started_ns = now_ns()
    family, address = await _resolved(host, port)
    resolved_ns = now_ns()
    sock = await _connected(family, address)
    connected_ns = now_ns()
    plain = Lane(sock, now_ns=now_ns, wall_ns=wall_ns)
    lane = plain if ssl_context is None else await _secured(plain, ssl_context, host)
    return Dialed(
        lane=lane,
        address=_text(address),
        dns_ns=None if _is_numeric(host) else resolved_ns - started_ns,
        tcp_ns=connected_ns - resolved_ns,
        tls_ns=None if ssl_context is None else now_ns() - connected_ns,
    )


async def _resolved(host: str, port: int) -> tuple[int, Any]:
    """Family and address of the first answer; a numeric host is only put into form."""
    answers = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, _, _, _, address = answers[0]
    return family, address


def _is_numeric(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def _connected(family: int, address: Any) -> socket.socket:  # noqa: ANN401
    sock = trio.socket.socket(family, socket.SOCK_STREAM)
    try:
        await sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return socket.socket(fileno=sock.detach())


async def _secured(plain: Lane, context: ssl.SSLContext, host: str) -> TlsLane:
    lane = TlsLane(plain, context, host)
    try:
        await lane.handshake()
    except BaseException:
        lane.close()
        raise
    return lane


def _text(address: Any) -> str:  # noqa: ANN401
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
