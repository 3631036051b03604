"""Fakes on the real loopback, and whatever any client may do to one."""

import json
import ssl
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio
import trio.testing
import trustme
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from daemon.fakes import (
    FAKES,
    Fake,
    FakeDeepgram,
    FakeGladia,
    Faults,
    HangUp,
    Moment,
    Script,
    listening,
    serve,
)
from tests.daemon.fakes.client import (
    DEEPGRAM_KEY,
    DEEPGRAM_TARGET,
    FRAME,
    GLADIA_KEY,
    GLADIA_SETTINGS,
    deepgram,
    ended,
    exchanged,
    path_and_query,
    said,
    text_of,
    websocket,
)

ROOT = Path(__file__).parents[3]
SCRIPT = Script.for_force("good day", end_ms=40, after_s=0.0)
BODY = json.dumps(GLADIA_SETTINGS).encode()
HANDSHAKE = (
    f"GET {DEEPGRAM_TARGET} HTTP/1.1\r\nHost: fake.test\r\nAuthorization: Token k\r\n"
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
).encode()


async def connected(address: str) -> trio.SocketStream:
    parts = urlsplit(address)
    assert parts.hostname is not None
    assert parts.port is not None
    return await trio.open_tcp_stream(parts.hostname, parts.port)


async def test_a_whole_stream_goes_over_the_loopback() -> None:
    fake = FakeDeepgram(SCRIPT)
    async with listening(fake) as address:
        assert address.startswith("ws://127.0.0.1:")
        stream = await connected(address)
        async with websocket(stream, DEEPGRAM_TARGET, DEEPGRAM_KEY) as socket:
            for _ in range(2):
                await socket.send_message(FRAME)
            await socket.send_message('{"type": "Finalize"}')
            assert [text_of(await said(socket)) for _ in range(3)] == ["good", *["good day"] * 2]
            await socket.send_message('{"type": "CloseStream"}')
            assert (await ended(socket))[1] == 1000


async def test_the_request_and_the_stream_share_one_port() -> None:
    fake = FakeGladia(Script.for_pause("good day", end_ms=20, pause_ms=20))
    async with listening(fake) as address:
        assert address.startswith("http://127.0.0.1:")
        stream = await connected(address)
        headers = {**GLADIA_KEY, "Host": urlsplit(address).netloc}
        response = await exchanged(stream, "POST", "/v2/live", headers, BODY)
        await stream.aclose()
        url = json.loads(response.body)["url"]
        assert url.startswith(address.replace("http", "ws"))
        async with websocket(await connected(url), path_and_query(url)) as socket:
            await socket.send_message(FRAME * 2)
            assert (await said(socket))["type"] == "start_session"
            assert text_of(await said(socket)) == "good"


async def test_several_requests_may_come_on_one_connection() -> None:
    ours, theirs = trio.testing.memory_stream_pair()
    fake = FakeGladia()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, theirs)
        for headers, status in (({}, 401), (GLADIA_KEY, 201), (GLADIA_KEY, 201)):
            response = await exchanged(ours, "POST", "/v2/live", headers, BODY)
            assert response.status == status
        target = path_and_query(json.loads(response.body)["url"])
        async with websocket(ours, target) as socket:
            assert (await said(socket))["type"] == "start_session"
    assert [one.kind for one in fake.visits[0].heard] == ["POST", "POST", "POST", "GET", "end"]


async def test_nobody_listens_where_connections_are_to_be_refused() -> None:
    async with listening(FakeDeepgram(faults=Faults(listening=False))) as address:
        with pytest.raises(OSError, match="connect"):
            await connected(address)


async def is_broken_off(stream: trio.abc.Stream, message: bytes) -> bool:
    """Whether the connection breaks before it ends, once ``message`` has been sent."""
    try:
        await stream.send_all(message)
        while await stream.receive_some():
            pass
    except trio.BrokenResourceError:
        return True
    return False


AT_ONCE = [Moment.CONNECTED, Moment.OPEN, Moment.AUDIO]


@pytest.mark.parametrize("moment", AT_ONCE)
async def test_a_reset_breaks_the_connection_off(moment: Moment) -> None:
    fake = FakeDeepgram(faults=Faults(hang_up=HangUp(moment, reset=True)))
    async with listening(fake) as address, await connected(address) as stream:
        assert await is_broken_off(stream, HANDSHAKE)


@pytest.mark.parametrize("moment", AT_ONCE)
async def test_a_shut_connection_just_ends_whatever_lies_unread_in_it(moment: Moment) -> None:
    fake = FakeDeepgram(faults=Faults(hang_up=HangUp(moment)))
    async with listening(fake) as address, await connected(address) as stream:
        assert not await is_broken_off(stream, HANDSHAKE + bytes(100_000))


async def test_the_answer_to_nonsense_arrives_whatever_lies_unread_behind_it() -> None:
    async with listening(FakeDeepgram()) as address, await connected(address) as stream:
        assert not await is_broken_off(stream, b"nonsense\r\n\r\n" + bytes(200_000))


def frame(opcode: int, payload: bytes, *, last: bool = True) -> bytes:
    """A client's websocket frame; its mask is zero."""
    return bytes([opcode | (0x80 if last else 0), 0x80 | len(payload), 0, 0, 0, 0]) + payload


async def heard(fake: Fake, message: bytes) -> list[tuple[str, bytes]]:
    """What a fake has heard of ``message``, in one piece, until it ended the connection."""
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, theirs)
        await ours.send_all(message)
        await ours.send_eof()
        while await ours.receive_some():
            pass
        await ours.aclose()
    return [(one.kind, one.payload) for one in fake.visits[0].heard]


async def test_a_message_may_come_in_pieces_and_with_the_handshake(
    autojump_clock: MockClock,
) -> None:
    pieces = frame(1, b'{"type": ', last=False) + frame(9, b"ping") + frame(0, b'"KeepAlive"}')
    assert await heard(FakeDeepgram(), HANDSHAKE + pieces) == [
        ("GET", b""),
        ("ping", b"ping"),
        ("text", b'{"type": "KeepAlive"}'),
        ("end", b""),
    ]


async def test_a_ping_after_its_own_close_is_not_answered(autojump_clock: MockClock) -> None:
    fake = FakeDeepgram()
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, theirs)
        await ours.send_all(HANDSHAKE + frame(1, b"nonsense"))
        came = b""
        while not came.endswith(b"DATA-0000"):
            came += await ours.receive_some()
        await ours.send_all(frame(9, b"ping") + frame(8, b"\x03\xe8"))
        assert await ours.receive_some() == b""
        await ours.aclose()
    assert [one.kind for one in fake.visits[0].heard] == ["GET", "text", "ping", "close", "end"]


async def test_a_host_that_is_no_name_is_refused(autojump_clock: MockClock) -> None:
    fake = FakeDeepgram()
    await heard(fake, HANDSHAKE.replace(b"fake.test", b"xn--\xff"))
    assert fake.visits[0].said[-1].payload != b"101"


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server for 127.0.0.1 and its clients need."""
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(client)
    return server, client


async def connected_over_tls(
    address: str, client: ssl.SSLContext
) -> trio.SSLStream[trio.SocketStream]:
    return trio.SSLStream(await connected(address), client, server_hostname="127.0.0.1")


async def test_over_tls_both_addresses_say_so() -> None:
    server, client = contexts()
    async with listening(FakeGladia(), tls=server) as address:
        assert address.startswith("https://127.0.0.1:")
        stream = await connected_over_tls(address, client)
        headers = {**GLADIA_KEY, "Host": urlsplit(address).netloc}
        response = await exchanged(stream, "POST", "/v2/live", headers, BODY)
        await trio.aclose_forcefully(stream)
        url = json.loads(response.body)["url"]
        assert url.startswith(address.replace("https", "wss"))
        stream = await connected_over_tls(url, client)
        async with websocket(stream, path_and_query(url)) as socket:
            assert (await said(socket))["type"] == "start_session"


@pytest.mark.parametrize("reset", [False, True])
async def test_over_tls_it_hangs_up_as_well(reset: bool) -> None:
    server, client = contexts()
    fake = FakeDeepgram(faults=Faults(hang_up=HangUp(Moment.OPEN, reset=reset)))
    async with listening(fake, tls=server) as address:
        assert address.startswith("wss://")
        stream = await connected_over_tls(address, client)
        assert await is_broken_off(stream, HANDSHAKE) == reset
        await trio.aclose_forcefully(stream)


async def test_a_client_that_is_no_tls_client_harms_nobody() -> None:
    server, client = contexts()
    async with listening(FakeDeepgram(), tls=server) as address:
        async with await connected(address) as stream:
            await is_broken_off(stream, HANDSHAKE)
        second = await connected_over_tls(address, client)
        async with websocket(second, DEEPGRAM_TARGET, DEEPGRAM_KEY):
            pass


async def test_each_connection_is_kept_with_its_moments(autojump_clock: MockClock) -> None:
    fake = FakeDeepgram(SCRIPT)
    for sent in (1, 2):
        async with deepgram(fake) as socket:
            opened_ns = round(trio.current_time() * 1e9)
            for _ in range(sent):
                await trio.sleep(0.02)
                await socket.send_message(FRAME)
            await socket.ping(b"p")
            await socket.send_message('{"type": "CloseStream"}')
            await ended(socket)
    assert len(fake.visits) == 2
    visit = fake.visits[1]
    assert [one.kind for one in visit.heard] == [
        "GET",
        "binary",
        "binary",
        "ping",
        "text",
        "close",
        "end",
    ]
    assert [one.at_ns - opened_ns for one in visit.heard[1:3]] == pytest.approx(
        [20_000_000, 40_000_000], abs=1
    )
    assert visit.heard[1].payload == FRAME
    assert visit.heard[4].text == '{"type": "CloseStream"}'
    assert visit.heard[5].text == "1000"
    assert [one.kind for one in visit.said] == ["http", *["text"] * 4, "close"]
    assert visit.requests[0].headers["authorization"] == "Token k"
    assert "Token" not in repr(visit.requests)
    assert bytes(visit.audio) == FRAME * 2


async def test_a_fake_forgets_its_oldest_visits() -> None:
    fake = FakeDeepgram()
    for _ in range(70):
        ours, theirs = trio.testing.memory_stream_pair()
        await ours.aclose()
        await fake.converse(theirs)
    assert len(fake.visits) == 64


async def converses(fake: Fake, noise: list[bytes]) -> None:
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, theirs)
        for piece in noise:
            try:
                await ours.send_all(piece)
            except trio.BrokenResourceError:
                break
        await ours.aclose()


frames = st.tuples(
    st.sampled_from([b"\x81", b"\x82", b"\x88", b"\x89"]), st.binary(max_size=100)
).map(lambda frame: frame[0] + bytes([0x80 | len(frame[1])]) + bytes(4) + frame[1])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    name=st.sampled_from(sorted(FAKES)),
    opened=st.booleans(),
    noise=st.lists(st.binary(max_size=200) | frames, max_size=5),
)
def test_no_client_can_bring_it_down_and_it_always_ends(
    name: str, opened: bool, noise: list[bytes]
) -> None:
    fake = FAKES[name](SCRIPT)
    head = [HANDSHAKE] if opened else []
    clock = MockClock(autojump_threshold=0)
    trio.run(converses, fake, [*head, *noise], clock=clock)
    assert fake.visits[0].heard[-1].kind == "end"


async def test_it_is_started_in_a_nursery_and_stops_with_it() -> None:
    async with trio.open_nursery() as nursery:
        address: str = await nursery.start(serve, FakeDeepgram())
        named: str = await nursery.start(partial(serve, FakeGladia(), port=0))
        for one in (address, named):
            await (await connected(one)).aclose()
        nursery.cancel_scope.cancel()
