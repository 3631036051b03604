"""Connecting: one address, each part timed by itself, and errors as they come."""

import contextlib
import functools
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trustme

from daemon.clock import now_ns, wall_ns
from daemon.dial import Dialed, WebsocketUrl, connect, websocket_url
from daemon.lane import Lane
from daemon.lane_tls import TlsLane
from measure.records import SECOND


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


async def dial(host: str, port: int, context: ssl.SSLContext | None = None) -> Dialed:
    return await connect(host, port, ssl_context=context, now_ns=now_ns, wall_ns=wall_ns)


@asynccontextmanager
async def served(authority: trustme.CA | None = None) -> AsyncIterator[int]:
    """The port of a server that sends back what it gets, over TLS if there is an authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if authority is not None:
        authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)

    async def echo(stream: trio.SocketStream) -> None:
        secured = trio.SSLStream(stream, context, server_side=True)
        spoken: trio.abc.Stream = secured if authority is not None else stream
        with contextlib.suppress(trio.BrokenResourceError):
            async for piece in spoken:
                await spoken.send_all(piece)
        await trio.aclose_forcefully(spoken)

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(
            functools.partial(trio.serve_tcp, echo, 0, host="127.0.0.1")
        )
        yield listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_a_numeric_address_has_no_name_to_look_up() -> None:
    async with served() as port:
        before_ns = now_ns()
        dialed = await dial("127.0.0.1", port)
        took_ns = now_ns() - before_ns
        assert isinstance(dialed.lane, Lane)
        assert dialed.address == f"127.0.0.1:{port}"
        assert dialed.dns_ns is None
        assert dialed.tls_ns is None
        assert 0 < dialed.tcp_ns <= took_ns < 30 * SECOND
        dialed.lane.send_nowait(b"hello")
        assert await dialed.lane.receive_some() == b"hello"
        dialed.lane.close()


class Resolver(trio.abc.HostnameResolver):
    """Knows one name, with several addresses."""

    def __init__(self, *addresses: tuple[str, int]) -> None:
        self._addresses = addresses

    async def getaddrinfo(self, *args: object) -> Any:  # noqa: ANN401
        await trio.lowlevel.checkpoint()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", one) for one in self._addresses]

    async def getnameinfo(self, *args: object) -> tuple[str, str]:
        raise NotImplementedError


async def test_a_name_is_looked_up_and_each_part_is_timed_by_itself(
    authority: trustme.CA,
) -> None:
    async with served(authority) as port:
        trio.socket.set_custom_hostname_resolver(Resolver(("127.0.0.1", port), ("127.0.0.1", 1)))
        before_ns = now_ns()
        dialed = await dial("localhost", port, trusting(authority))
        took_ns = now_ns() - before_ns
        assert isinstance(dialed.lane, TlsLane)
        assert dialed.address == f"127.0.0.1:{port}"
        assert dialed.dns_ns is not None
        assert dialed.tls_ns is not None
        assert min(dialed.dns_ns, dialed.tcp_ns, dialed.tls_ns) > 0
        assert dialed.dns_ns + dialed.tcp_ns + dialed.tls_ns <= took_ns
        dialed.lane.send_nowait(b"hello")
        assert await dialed.lane.receive_some() == b"hello"
        dialed.lane.close()


async def test_only_the_first_address_is_tried() -> None:
    async with served() as port:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            trio.socket.set_custom_hostname_resolver(
                Resolver(taken.getsockname(), ("127.0.0.1", port))
            )
            with pytest.raises(ConnectionRefusedError):
                await dial("localhost", port)


async def test_a_name_that_does_not_exist_is_an_error_of_the_system() -> None:
    class Nobody(Resolver):
        async def getaddrinfo(self, *args: object) -> Any:  # noqa: ANN401
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    trio.socket.set_custom_hostname_resolver(Nobody())
    with pytest.raises(socket.gaierror):
        await dial("nowhere.test", 1)


async def test_nobody_listening_is_an_error_of_the_system() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionRefusedError):
            await dial("127.0.0.1", taken.getsockname()[1])


async def test_an_untrusted_certificate_is_an_error_of_tls(authority: trustme.CA) -> None:
    async with served(authority) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await dial("127.0.0.1", port, ssl.create_default_context())


async def test_a_certificate_for_an_address_is_checked_too(authority: trustme.CA) -> None:
    async with served(authority) as port:
        dialed = await dial("127.0.0.1", port, trusting(authority))
        dialed.lane.close()


async def test_a_handshake_that_never_ends_ends_with_the_callers_scope() -> None:
    """And the socket is closed: a leak would be a warning, which here is an error."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with trio.move_on_after(0.01) as scope:
            await dial("127.0.0.1", silent.getsockname()[1], ssl.create_default_context())
        assert scope.cancelled_caught


# Addresses


@pytest.mark.parametrize(
    ("url", "parts", "host_header"),
    [
        (
            "wss://api.test/v1/listen?model=a",
            (True, "api.test", 443, "/v1/listen?model=a"),
            "api.test",
        ),
        ("ws://127.0.0.1:8080", (False, "127.0.0.1", 8080, "/"), "127.0.0.1:8080"),
        ("ws://[::1]:80/x", (False, "::1", 80, "/x"), "[::1]"),
        ("wss://API.test:80?q=1#part", (True, "api.test", 80, "/?q=1"), "api.test:80"),
    ],
)
def test_an_address_has_these_parts(
    url: str, parts: tuple[bool, str, int, str], host_header: str
) -> None:
    assert websocket_url(url) == WebsocketUrl(*parts)
    assert websocket_url(url).host_header == host_header


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("https://api.test/?token=secret", "scheme is 'https', must be ws or wss"),
        ("wss:///?token=secret", "has no host"),
        ("wss://me:secret@api.test/", "names a user, must not"),
        ("wss://api.test/?token=secret key", "has characters that must be quoted"),
        ("wss://api.test/?token=secret\u00e9", "has characters that must be quoted"),
    ],
)
def test_a_wrong_address_is_told_without_what_may_be_secret(url: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as told:
        websocket_url(url)
    assert "secret" not in str(told.value)


def test_what_may_be_secret_is_not_shown() -> None:
    assert "secret" not in repr(websocket_url("wss://api.test/?token=secret"))
