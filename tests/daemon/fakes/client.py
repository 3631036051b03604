"""A plain client for the fakes: over memory in virtual time, or over the loopback."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import h11
import trio
import trio.testing
from trio_websocket import ConnectionClosed, ConnectionRejected, WebSocketConnection
from trio_websocket import wrap_client_stream as wrapped

from daemon.fakes import Fake
from providers.codec import HttpResponse

TRANSCRIPTS = Path(__file__).parents[2] / "providers" / "transcripts"

DEEPGRAM_TARGET = (
    "/v1/listen?model=nova-3&encoding=linear16&sample_rate=16000&channels=1"
    "&interim_results=true&endpointing=false"
)
DEEPGRAM_KEY = {"Authorization": "Token k"}
GLADIA_KEY = {"X-Gladia-Key": "k"}
GLADIA_SETTINGS = {
    "encoding": "wav/pcm",
    "bit_depth": 16,
    "sample_rate": 16_000,
    "channels": 1,
    "model": "solaria-1",
    "messages_config": {"receive_partial_transcripts": True, "receive_final_transcripts": True},
}
FRAME = bytes(640)
"""20 ms."""

Said = dict[str, object]


@asynccontextmanager
async def websocket(
    stream: trio.abc.Stream,
    target: str,
    headers: dict[str, str] | None = None,
    subprotocols: Iterable[str] | None = None,
) -> AsyncIterator[WebSocketConnection]:
    """An open websocket on ``stream``, which is closed at the end: the library would leave it."""
    lines = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    async with trio.open_nursery() as nursery:
        try:
            yield await wrapped(
                nursery,
                stream,  # type: ignore[arg-type]  # any stream will do
                "fake.test",
                target,
                subprotocols=subprotocols,
                extra_headers=lines,
                message_queue_size=1024,
                max_message_size=4 * 1024 * 1024,
            )
        finally:
            await trio.aclose_forcefully(stream)


@asynccontextmanager
async def served(
    fake: Fake, target: str, headers: dict[str, str] | None = None
) -> AsyncIterator[WebSocketConnection]:
    """A websocket to ``fake`` through memory; it ends only when the fake has ended as well."""
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, theirs)
        async with websocket(ours, target, headers) as socket:
            yield socket


def deepgram(fake: Fake) -> AbstractAsyncContextManager[WebSocketConnection]:
    """A stream to a fake Deepgram as our codec would open it."""
    return served(fake, DEEPGRAM_TARGET, DEEPGRAM_KEY)


async def gladia_target(fake: Fake, **settings: object) -> str:
    """Where a new session of a fake Gladia is."""
    body = json.dumps({**GLADIA_SETTINGS, **settings}).encode()
    response = await requested(fake, "POST", "/v2/live", GLADIA_KEY, body)
    assert response.status == 201, response.body
    return path_and_query(json.loads(response.body)["url"])


@asynccontextmanager
async def gladia(fake: Fake, **settings: object) -> AsyncIterator[WebSocketConnection]:
    """A stream to a fake Gladia, its greeting taken."""
    async with served(fake, await gladia_target(fake, **settings)) as socket:
        assert (await said(socket))["type"] == "start_session"
        yield socket


async def rejected(
    fake: Fake, target: str, headers: dict[str, str] | None = None
) -> ConnectionRejected:
    """How ``fake`` refuses the websocket."""
    refusals: list[ConnectionRejected] = []

    def is_refusal(error: BaseException) -> bool:
        if isinstance(error, ConnectionRejected):
            refusals.append(error)
            return True
        return False

    try:
        async with served(fake, target, headers):
            raise AssertionError("the websocket was opened")
    except BaseExceptionGroup as group:
        rest = group.split(is_refusal)[1]
        if rest is not None:
            raise rest from None
    return refusals[0]


async def requested(
    fake: Fake, method: str, target: str, headers: dict[str, str], body: bytes
) -> HttpResponse:
    """The answer to one request through memory."""
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, theirs)
        response = await exchanged(ours, method, target, headers, body)
        await ours.aclose()
    return response


async def exchanged(
    stream: trio.abc.Stream, method: str, target: str, headers: dict[str, str], body: bytes
) -> HttpResponse:
    """The answer to one request on ``stream``."""
    lines = {"Host": "fake.test:80", "Content-Length": str(len(body)), **headers}
    client = h11.Connection(h11.CLIENT)
    for event in (
        h11.Request(method=method, target=target, headers=list(lines.items())),
        h11.Data(data=body),
        h11.EndOfMessage(),
    ):
        await stream.send_all(client.send(event) or b"")
    status, answer = 0, b""
    came: dict[str, str] = {}
    while not isinstance(reply := client.next_event(), h11.EndOfMessage):
        match reply:
            case h11.Response():
                status = reply.status_code
                came = {name.decode(): value.decode() for name, value in reply.headers}
            case h11.Data():
                answer += reply.data
            case h11.NEED_DATA:
                client.receive_data(bytes(await stream.receive_some()))
            case _:
                raise AssertionError("the connection ended before the answer")
    return HttpResponse(status, came, answer)


async def said(socket: WebSocketConnection) -> Said:
    """The next message."""
    message: Said = json.loads(await socket.get_message())
    return message


async def ended(socket: WebSocketConnection) -> tuple[list[str | bytes], int | None]:
    """Every further message, and the code of the Close; 1006 where there was none."""
    messages: list[str | bytes] = []
    while True:
        try:
            messages.append(await socket.get_message())
        except ConnectionClosed as closed:
            return messages, closed.reason.code if closed.reason else None


def path_and_query(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def text_of(message: Said | str | bytes) -> str:
    """The words of a transcript of either provider."""
    match json.loads(message) if isinstance(message, str | bytes) else message:
        case {"channel": {"alternatives": [{"transcript": str(text)}]}}:
            return text
        case {"data": {"utterance": {"text": str(text)}}}:
            return text
    raise AssertionError(f"no transcript: {message!r}")


def published(name: str) -> list[Said]:
    """What the provider says in a published transcript."""
    rows = map(json.loads, (TRANSCRIPTS / f"{name}.jsonl").read_text().splitlines())
    return [row["they"] for row in rows if isinstance(row.get("they"), dict)]


def shape(value: object) -> object:
    """A JSON value without what it says: the names in it and the sorts of values."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if type(value) in (int, float) else type(value).__name__
