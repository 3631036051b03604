"""What a fake writes down: a line for each connection, a log of messages, and never a key."""

import io
import json
from typing import TextIO

import pytest
import trio
from trio.testing import MockClock

from daemon.fakes import Fake, FakeDeepgram, FakeGladia, Script
from daemon.fakes.diary import Diary
from tests.daemon.fakes.client import (
    DEEPGRAM_TARGET,
    FRAME,
    GLADIA_SETTINGS,
    ended,
    path_and_query,
    requested,
    served,
    websocket,
)

KEY = "canary-6f1d2c-of-thirty-characters"
SCRIPT = Script.for_force("good day", end_ms=20, after_s=0.25)


class Full(io.StringIO):
    """A disk that has become full."""

    def write(self, text: str, /) -> int:
        raise OSError(28, "No space left on device")


def diary_of(fake: Fake, log: TextIO, connections: int | None = None) -> tuple[Diary, io.StringIO]:
    lines = io.StringIO()
    diary = Diary(lines, log, connections)
    fake.tell = diary
    fake.keeps = False
    return diary, lines


async def one_stream(fake: Fake) -> None:
    """200 ms of audio, a force, the key repeated, the end."""
    headers = {"Authorization": f"Token {KEY}"}
    async with served(fake, DEEPGRAM_TARGET, headers) as socket:
        for _ in range(10):
            await socket.send_message(FRAME)
        await socket.send_message('{"type": "Finalize"}')
        await trio.sleep(1)
        await socket.send_message(json.dumps({"type": "CloseStream", "key": KEY}))
        await ended(socket)


async def test_each_message_is_a_line_with_its_moment(autojump_clock: MockClock) -> None:
    fake, log = FakeDeepgram(SCRIPT), io.StringIO()
    diary_of(fake, log)
    await one_stream(fake)
    entries = [json.loads(line) for line in log.getvalue().splitlines()]
    assert entries[0]["kind"] == "GET"
    assert entries[0]["path"] == "/v1/listen"
    assert entries[0]["settings"]["encoding"] == "linear16"
    assert "authorization" in entries[0]["headers"]
    audio = [entry for entry in entries if entry["kind"] == "binary"]
    assert [entry["bytes"] for entry in audio] == [640] * 10
    assert {(entry["connection"], entry["side"]) for entry in audio} == {(1, "heard")}
    force = next(entry for entry in entries if "Finalize" in entry.get("text", ""))
    final = next(entry for entry in entries if '"is_final": true' in entry.get("text", ""))
    assert (final["at_ns"] - force["at_ns"]) == pytest.approx(0.25e9, abs=1000)
    assert [entry["close"] for entry in entries if entry["kind"] == "close"] == ["1000", "1000"]
    assert entries[-1]["kind"] == "end"
    moments = [entry["at_ns"] for entry in entries]
    assert moments == sorted(moments)


async def test_a_connection_is_a_line_when_it_is_over(autojump_clock: MockClock) -> None:
    fake = FakeDeepgram(SCRIPT)
    _, lines = diary_of(fake, io.StringIO())
    await one_stream(fake)
    assert lines.getvalue() == (
        "connection 1: GET /v1/listen, 1.05 s, heard 12 messages, said 4, "
        "said Close 1000, heard Close 1000\n"
    )


async def test_a_connection_on_which_nothing_was_asked_says_so() -> None:
    fake = FakeDeepgram(SCRIPT)
    _, lines = diary_of(fake, io.StringIO())
    ours, theirs = trio.testing.memory_stream_pair()
    await ours.aclose()
    await fake.converse(theirs)
    assert lines.getvalue() == "connection 1: nothing asked, 0.00 s, heard 0 messages, said 0\n"


async def test_no_key_is_written_down(autojump_clock: MockClock) -> None:
    fake, log = FakeDeepgram(SCRIPT), io.StringIO()
    _, lines = diary_of(fake, log)
    await one_stream(fake)
    for target, headers in (
        (f"{DEEPGRAM_TARGET}&token={KEY}", {"Authorization": f"Token {KEY}"}),
        (DEEPGRAM_TARGET, {"Sec-WebSocket-Protocol": f"token, {KEY}"}),
    ):
        await requested(fake, "GET", target, headers, b"")
    assert log.getvalue().count('"GET"') == 3
    assert KEY[:12] not in log.getvalue() + lines.getvalue()


async def test_nor_is_a_key_that_came_as_a_subprotocol_and_is_repeated(
    autojump_clock: MockClock,
) -> None:
    fake, log = FakeDeepgram(SCRIPT), io.StringIO()
    diary_of(fake, log)
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, theirs)
        async with websocket(ours, DEEPGRAM_TARGET, subprotocols=("token", KEY)) as socket:
            await socket.send_message(json.dumps({"type": "CloseStream", "key": KEY}))
            await ended(socket)
    assert '"CloseStream' in log.getvalue().replace("\\", "")
    assert KEY not in log.getvalue()


async def test_nor_is_the_token_of_a_session(autojump_clock: MockClock) -> None:
    fake, log = FakeGladia(SCRIPT), io.StringIO()
    _, lines = diary_of(fake, log)
    body = json.dumps(GLADIA_SETTINGS).encode()
    response = await requested(fake, "POST", "/v2/live", {"X-Gladia-Key": KEY}, body)
    url = json.loads(response.body)["url"]
    async with served(fake, path_and_query(url)):
        pass
    assert '"token": "***"' in log.getvalue()
    assert "token-1" not in log.getvalue() + lines.getvalue()
    assert KEY not in log.getvalue()


async def test_it_is_over_after_so_many_connections(autojump_clock: MockClock) -> None:
    fake = FakeDeepgram(SCRIPT)
    diary, _ = diary_of(fake, io.StringIO(), connections=2)
    await one_stream(fake)
    assert not diary.over.is_set()
    await one_stream(fake)
    assert diary.over.is_set()


async def test_a_log_that_cannot_be_written_ends_it_with_the_reason(
    autojump_clock: MockClock,
) -> None:
    fake = FakeDeepgram(SCRIPT)
    diary, _ = diary_of(fake, Full())
    await one_stream(fake)
    assert diary.over.is_set()
    assert diary.failure is not None
    assert diary.failure.strerror == "No space left on device"
