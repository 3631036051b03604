"""One HTTP request before the stream: what is sent, and what counts as an answer."""

import pytest
import trio
import trio.testing

from daemon.ask import MAX_BODY_BYTES, AnswerError, ask, http_url, without_key
from providers.codec import HttpRequest, HttpResponse

KEY = "canary-5e8f01c2d7"
REQUEST = HttpRequest("POST", "https://api.test/v2/live", {"X-Key": "k"}, b'{"a": 1}')
SENT = (
    b"POST /v2/live?a=b HTTP/1.1\r\nHost: api.test\r\nUser-Agent: speechbench\r\nAccept: */*\r\n"
    b"Accept-Encoding: identity\r\nConnection: close\r\nContent-Length: 8\r\nX-Key: k\r\n\r\n"
    b'{"a": 1}'
)


def asked(
    *pieces: bytes, request: HttpRequest = REQUEST, hang_up: bool = True
) -> tuple[HttpResponse, bytes]:
    """The answer that a server gives in these pieces, and what it was sent."""

    async def main() -> tuple[HttpResponse, bytes]:
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery:

            async def serve() -> None:
                for piece in pieces:
                    await theirs.send_all(piece)
                    await trio.testing.wait_all_tasks_blocked()
                if hang_up:
                    await theirs.send_eof()

            nursery.start_soon(serve)
            answer = await ask(ours, request, "api.test", "/v2/live?a=b")
            return answer, bytes(await theirs.receive_some())

    return trio.run(main)


def test_the_request_goes_out_whole_and_asks_for_a_plain_answer_and_an_end() -> None:
    answer, sent = asked(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", hang_up=False)
    assert sent == SENT
    assert answer == HttpResponse(201, {"content-length": "2"}, b"{}")


@pytest.mark.parametrize(
    "pieces",
    [
        (b"HTTP/1.1 200 OK\r\nContent-", b"Length: 4\r\n\r\nab", b"cd"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
            b"2\r\ncd\r\n0\r\n\r\n",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nab", b"cd"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"),
    ],
    ids=["in pieces", "chunked", "until the end", "told to go on"],
)
def test_an_answer_is_read_whole_however_it_comes(pieces: tuple[bytes, ...]) -> None:
    answer, _ = asked(*pieces)
    assert (answer.status, answer.body) == (200, b"abcd")


@pytest.mark.parametrize("status", [302, 401, 500])
def test_whatever_the_status_it_is_the_answer(status: int) -> None:
    answer, _ = asked(b"HTTP/1.1 %d No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n" % status)
    assert (answer.status, answer.headers["retry-after"]) == (status, "7")


@pytest.mark.parametrize(
    "pieces",
    [(), (b"220 mail\r\n\r\n",), (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",)],
    ids=["nothing", "no HTTP", "too short"],
)
def test_what_is_no_whole_answer_is_told_in_one_line(pieces: tuple[bytes, ...]) -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(AnswerError, match="not HTTP, or not all of it")):
        asked(*pieces)


def test_an_answer_without_end_is_not_kept() -> None:
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    answer, _ = asked(head + bytes(MAX_BODY_BYTES))
    assert len(answer.body) == MAX_BODY_BYTES
    with pytest.RaisesGroup(pytest.RaisesExc(AnswerError, match="more than 1 MiB")):
        asked(head + bytes(MAX_BODY_BYTES + 1))


def test_a_request_that_cannot_be_sent_is_refused_without_repeating_what_is_in_it() -> None:
    request = HttpRequest("POST", "https://api.test/", {"X-Key": "se\ncret"})
    with pytest.RaisesGroup(pytest.RaisesExc(ValueError, match="header .* cannot be sent")) as told:
        asked(request=request)
    (error,) = told.value.exceptions
    assert "cret" not in str(error)
    assert error.__cause__ is None


def test_a_refusal_loses_the_key_and_another_answer_stays_as_it_is() -> None:
    said = f"the key {KEY} is wrong".encode()
    assert KEY.encode() not in without_key(HttpResponse(400, {}, said), KEY).body
    assert without_key(HttpResponse(399, {}, said), KEY).body == said


@pytest.mark.parametrize(
    ("url", "tls", "header", "resource"),
    [
        ("http://a.test", False, "a.test", "/"),
        ("https://a.test:8443/x?y=z", True, "a.test:8443", "/x?y=z"),
        ("http://[::1]:80/x", False, "[::1]", "/x"),
    ],
)
def test_an_address_has_its_parts(url: str, tls: bool, header: str, resource: str) -> None:
    found = http_url(url)
    assert (found.tls, found.host_header, found.resource) == (tls, header, resource)


@pytest.mark.parametrize(
    "url", ["ws://a.test/", "ftp://a.test/", "a.test", "http://", "http://u@a"]
)
def test_an_address_of_something_else_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        http_url(url)
