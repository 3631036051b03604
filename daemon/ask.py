"""The HTTP request that some providers want answered before the stream: one request, one answer.

It goes over a connection of its own, made as those of streams are: no proxy of the environment,
which would be what is measured, and no second attempt. A redirection is an answer like any other.

h11 is here anyway with the websocket. A whole HTTP client would cost each start a tenth of a
second, and each request some milliseconds in which no frame leaves.
"""

from dataclasses import replace
from typing import Protocol
from urllib.parse import urlsplit

import h11

from daemon.dial import WebsocketUrl, websocket_url
from daemon.mask import masked
from providers.codec import HttpRequest, HttpResponse

WEBSOCKET = {"http": "ws", "https": "wss"}
"""The scheme of a websocket on the same port."""
MAX_BODY_BYTES = 1 << 20
"""No session that is promised takes so much to describe."""
READ_BYTES = 1 << 16


class Stream(Protocol):
    """What a request needs of a connection."""

    async def send_all(self, data: bytes) -> None: ...
    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray: ...


class AnswerError(Exception):
    """What came back is no answer; says why."""


def http_url(url: str) -> WebsocketUrl:
    """The parts of ``url``. Raises ValueError, which never repeats a path or a query."""
    scheme = urlsplit(url).scheme
    if scheme not in WEBSOCKET:
        raise ValueError(f"address of a request: scheme is {scheme!r}, must be http or https")
    return websocket_url(WEBSOCKET[scheme] + url[len(scheme) :])


async def ask(stream: Stream, request: HttpRequest, host: str, resource: str) -> HttpResponse:
    """The answer to ``request``, the first and last on ``stream``.

    Raises AnswerError, ValueError for a request that cannot be sent, and trio's errors.
    """
    http = h11.Connection(h11.CLIENT)
    await stream.send_all(_written(http, request, host, resource))
    try:
        return await _answer(http, stream)
    except h11.RemoteProtocolError as error:
        raise AnswerError("what came back is not HTTP, or not all of it") from error


def without_key(answer: HttpResponse, key: str) -> HttpResponse:
    """A refusal without the key, should the provider repeat it; other answers as they are."""
    return answer if answer.status < 400 else replace(answer, body=masked(answer.body, key))


def _written(http: h11.Connection, request: HttpRequest, host: str, resource: str) -> bytes:
    headers = [
        ("Host", host),
        ("User-Agent", "speechbench"),
        ("Accept", "*/*"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
        ("Content-Length", str(len(request.body))),
        *request.headers.items(),
    ]
    try:
        head = http.send(h11.Request(method=request.method, target=resource, headers=headers))
        body = http.send(h11.Data(data=request.body))
        end = http.send(h11.EndOfMessage())
    except h11.LocalProtocolError:  # it may repeat a header, and with it the key
        raise ValueError("a header of the preparing request cannot be sent") from None
    return b"".join(part or b"" for part in (head, body, end))


async def _answer(http: h11.Connection, stream: Stream) -> HttpResponse:
    head: h11.Response | None = None
    body = bytearray()
    while True:
        match http.next_event():
            case h11.NEED_DATA:
                http.receive_data(bytes(await stream.receive_some(READ_BYTES)))
            case h11.Response() as head:
                pass
            case h11.Data() as piece:
                body += piece.data
                if len(body) > MAX_BODY_BYTES:
                    raise AnswerError(f"an answer of more than {MAX_BODY_BYTES >> 20} MiB")
            case h11.EndOfMessage():
                assert head is not None, "an answer has a beginning"
                return HttpResponse(head.status_code, _headers(head), bytes(body))


def _headers(head: h11.Response) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
