"""Each fault does what it says, with every fake, in virtual time."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest
import trio
import trio.testing
from trio.testing import MockClock
from trio_websocket import WebSocketConnection

from daemon.fakes import (
    BINARY,
    EMPTY,
    GARBAGE,
    HUGE,
    Fake,
    FakeDeepgram,
    FakeGladia,
    Faults,
    HangUp,
    Interjection,
    Line,
    Moment,
    Refusal,
    Script,
)
from tests.daemon.fakes.client import (
    DEEPGRAM_KEY,
    DEEPGRAM_TARGET,
    FRAME,
    GLADIA_KEY,
    GLADIA_SETTINGS,
    deepgram,
    ended,
    gladia,
    gladia_target,
    rejected,
    requested,
    said,
    served,
    text_of,
    websocket,
)

WORDS = "good day"


@dataclass(frozen=True)
class Side:
    """One fake, and how a client brings it to its final and to its end."""

    make: Callable[[Faults], Fake]
    stream: Callable[[Fake], AbstractAsyncContextManager[WebSocketConnection]]
    finish: str
    force: str | None = None

    async def to_the_final(self, socket: WebSocketConnection) -> None:
        """200 ms of audio, and the force where there is one."""
        for _ in range(10):
            await socket.send_message(FRAME)
        if self.force is not None:
            await socket.send_message(self.force)


SIDES = {
    "deepgram": Side(
        lambda faults: FakeDeepgram(Script.for_force(WORDS, end_ms=100, after_s=0.25), faults),
        deepgram,
        '{"type": "CloseStream"}',
        '{"type": "Finalize"}',
    ),
    "gladia": Side(
        lambda faults: FakeGladia(Script.for_pause(WORDS, end_ms=100, pause_ms=100), faults),
        gladia,
        '{"type": "stop_recording"}',
    ),
}


@pytest.fixture(params=SIDES)
def side(request: pytest.FixtureRequest) -> Side:
    return SIDES[request.param]


def finals(messages: list[str | bytes]) -> list[str]:
    """The words of each final, in order."""
    told = [json.loads(message) for message in messages]
    return [
        text_of(message)
        for message in told
        if message.get("is_final") or message.get("data", {}).get("is_final")
    ]


async def all_of(side: Side, faults: Faults) -> tuple[list[str | bytes], int | None]:
    """Everything that is said, partials left out, and the code of the Close."""
    async with side.stream(side.make(faults)) as socket:
        await side.to_the_final(socket)
        await trio.sleep(5)
        await socket.send_message(side.finish)
        messages, code = await ended(socket)
    return messages, code


async def test_without_faults_there_is_one_final_and_an_ordinary_end(
    autojump_clock: MockClock, side: Side
) -> None:
    messages, code = await all_of(side, Faults())
    assert [text for text in finals(messages) if text] == [WORDS]
    assert code == 1000


# Before the stream


@pytest.mark.parametrize(("status", "retry_after_s"), [(401, None), (429, 30), (500, None)])
async def test_a_stream_is_refused(status: int, retry_after_s: int | None) -> None:
    fake = FakeDeepgram(faults=Faults(refusal=Refusal(status, retry_after_s)))
    refusal = await rejected(fake, DEEPGRAM_TARGET, DEEPGRAM_KEY)
    headers = dict(refusal.headers or ())
    assert refusal.status_code == status
    assert headers.get(b"retry-after") == (b"30" if retry_after_s else None)


@pytest.mark.parametrize(("status", "retry_after_s"), [(401, None), (429, 30), (500, None)])
async def test_a_request_before_the_stream_is_refused(
    status: int, retry_after_s: int | None
) -> None:
    fake = FakeGladia(faults=Faults(refusal=Refusal(status, retry_after_s)))
    body = json.dumps(GLADIA_SETTINGS).encode()
    response = await requested(fake, "POST", "/v2/live", GLADIA_KEY, body)
    assert response.status == status
    assert response.headers.get("retry-after") == ("30" if retry_after_s else None)


async def test_only_the_websocket_is_refused_where_that_is_the_fault() -> None:
    fake = FakeGladia(faults=Faults(refusal=Refusal(503, upgrade=True)))
    assert (await rejected(fake, await gladia_target(fake))).status_code == 503


async def test_a_slow_handshake_takes_its_time(autojump_clock: MockClock, side: Side) -> None:
    started_s = trio.current_time()
    async with side.stream(side.make(Faults(handshake_s=3.0))):
        assert trio.current_time() - started_s == pytest.approx(3.0)


async def test_a_slow_answer_to_the_request_is_no_slow_handshake(
    autojump_clock: MockClock,
) -> None:
    fake = FakeGladia(faults=Faults(prepare_s=3.0))
    started_s = trio.current_time()
    target = await gladia_target(fake)
    assert trio.current_time() - started_s == pytest.approx(3.0)
    async with served(fake, target):
        assert trio.current_time() - started_s == pytest.approx(3.0)


@pytest.mark.parametrize("reset", [False, True])
async def test_it_hangs_up_before_a_word_was_said(reset: bool) -> None:
    fake = FakeDeepgram(faults=Faults(hang_up=HangUp(Moment.CONNECTED, reset=reset)))
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, theirs)
        assert await ours.receive_some() == b""
        await ours.aclose()
    assert [one.kind for one in fake.visits[0].heard] == ["end"]


async def test_it_answers_a_handshake_with_what_is_no_http() -> None:
    nonsense = Interjection(b"\0nonsense\r\n\r\n", Moment.CONNECTED, times=2)
    fake = FakeDeepgram(faults=Faults(interjections=(nonsense,)))
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, theirs)
        assert await ours.receive_some() == b"\0nonsense\r\n\r\n" * 2
        await ours.aclose()


# Hanging up in the stream

ENDS: list[tuple[dict[str, int | bool], int]] = [
    ({"code": 1011}, 1011),
    ({}, 1006),
    ({"reset": True}, 1006),
]


def hang_up(moment: Moment, how: dict[str, int | bool], **where: float) -> Faults:
    return Faults(hang_up=HangUp(moment, **where, **how))  # type: ignore[arg-type]


@pytest.mark.parametrize(("how", "code"), ENDS)
async def test_it_hangs_up_as_soon_as_the_stream_is_open(
    autojump_clock: MockClock, side: Side, how: dict[str, int | bool], code: int
) -> None:
    fake = side.make(hang_up(Moment.OPEN, how))
    stream = served(fake, await gladia_target(fake)) if isinstance(fake, FakeGladia) else None
    async with stream or side.stream(fake) as socket:
        opened_s = trio.current_time()
        assert await ended(socket) == ([], code)
        assert trio.current_time() == opened_s


@pytest.mark.parametrize(("how", "code"), ENDS)
async def test_it_hangs_up_in_mid_clip(
    autojump_clock: MockClock, side: Side, how: dict[str, int | bool], code: int
) -> None:
    fake = side.make(hang_up(Moment.AUDIO, how, audio_ms=60))
    async with side.stream(fake) as socket, trio.open_nursery() as nursery:
        nursery.start_soon(speak_until_closed, socket)
        messages, came = await ended(socket)
        nursery.cancel_scope.cancel()
    assert came == code
    assert [text_of(message) for message in messages] == ["good"]
    assert len(fake.visits[-1].audio) == 3 * len(FRAME)


async def speak_until_closed(socket: WebSocketConnection) -> None:
    while not socket.closed:
        await socket.send_message(FRAME)
        await trio.sleep(0.02)


@pytest.mark.parametrize(("how", "code"), ENDS)
async def test_it_hangs_up_right_after_the_force(
    autojump_clock: MockClock, how: dict[str, int | bool], code: int
) -> None:
    side = SIDES["deepgram"]
    async with side.stream(side.make(hang_up(Moment.FORCE, how))) as socket:
        await side.to_the_final(socket)
        messages, came = await ended(socket)
    assert came == code
    assert finals(messages) == []


@pytest.mark.parametrize(("how", "code"), ENDS)
async def test_it_hangs_up_with_the_final(
    autojump_clock: MockClock, side: Side, how: dict[str, int | bool], code: int
) -> None:
    async with side.stream(side.make(hang_up(Moment.FINAL, how))) as socket:
        await side.to_the_final(socket)
        messages, came = await ended(socket)
    assert came == code
    assert finals(messages) == [WORDS]


@pytest.mark.parametrize(("how", "code"), ENDS)
async def test_it_hangs_up_when_it_is_told_to_finish(
    autojump_clock: MockClock, side: Side, how: dict[str, int | bool], code: int
) -> None:
    async with side.stream(side.make(hang_up(Moment.FINISH, how))) as socket:
        await socket.send_message(side.finish)
        assert await ended(socket) == ([], code)


async def test_it_hangs_up_some_time_after_its_moment(
    autojump_clock: MockClock, side: Side
) -> None:
    async with side.stream(side.make(hang_up(Moment.FINAL, {"code": 1001}, after_s=2.0))) as socket:
        await side.to_the_final(socket)
        await said(socket)
        await said(socket)
        assert finals([await socket.get_message()]) == [WORDS]
        final_s = trio.current_time()
        assert await ended(socket) == ([], 1001)
        assert trio.current_time() - final_s == pytest.approx(2.0)


async def test_the_close_leaves_in_the_same_bytes_as_the_final(
    autojump_clock: MockClock,
) -> None:
    faults = hang_up(Moment.FINAL, {"code": 1000})
    fake = FakeDeepgram(Script(answers=((Line(WORDS, final=True),),)), faults)
    ours, theirs = trio.testing.memory_stream_pair()
    pieces: list[bytes] = []

    class Counting(trio.abc.SendStream):
        async def send_all(self, data: bytes | bytearray | memoryview) -> None:
            pieces.append(bytes(data))
            await theirs.send_all(data)

        async def wait_send_all_might_not_block(self) -> None:
            await theirs.wait_send_all_might_not_block()

        async def aclose(self) -> None:
            await theirs.send_stream.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.converse, trio.StapledStream(Counting(), theirs.receive_stream))
        async with websocket(ours, DEEPGRAM_TARGET, DEEPGRAM_KEY) as socket:
            await socket.send_message('{"type": "Finalize"}')
            messages, code = await ended(socket)
    assert (finals(messages), code) == ([WORDS], 1000)
    handshake, final = pieces
    assert handshake.startswith(b"HTTP/1.1 101")
    assert final.endswith(b"\x88\x02\x03\xe8")  # the frame of a Close, 1000


# Messages out of turn


@pytest.mark.parametrize("message", [GARBAGE, EMPTY, HUGE, BINARY])
@pytest.mark.parametrize("moment", [Moment.AUDIO, Moment.FINAL, Moment.FINISH])
async def test_it_says_something_out_of_turn_and_goes_on(
    autojump_clock: MockClock, side: Side, moment: Moment, message: str | bytes
) -> None:
    one = Interjection(message, moment, audio_ms=40)
    messages, code = await all_of(side, Faults(interjections=(one,)))
    assert messages.count(message) == 1
    messages.remove(message)
    assert WORDS in finals(messages)
    assert code == 1000


async def test_it_interrupts_right_after_the_force(autojump_clock: MockClock) -> None:
    one = Interjection(GARBAGE, Moment.FORCE, times=3)
    messages, _ = await all_of(SIDES["deepgram"], Faults(interjections=(one,)))
    assert messages.count(GARBAGE) == 3
    assert messages.index(GARBAGE) < next(
        index for index, message in enumerate(messages) if b'from_finalize": true' in raw(message)
    )


async def test_a_moment_comes_once(autojump_clock: MockClock) -> None:
    fake = FakeDeepgram(faults=Faults(interjections=(Interjection(GARBAGE, Moment.FORCE),)))
    async with deepgram(fake) as socket:
        for order in ("Finalize", "Finalize", "CloseStream"):
            await socket.send_message(json.dumps({"type": order}))
        messages, _ = await ended(socket)
    assert messages.count(GARBAGE) == 1


def raw(message: str | bytes) -> bytes:
    return message.encode() if isinstance(message, str) else message


async def test_huge_is_more_than_two_mib_of_a_message_in_order() -> None:
    assert len(HUGE) > 2 * 1024 * 1024
    assert json.loads(HUGE)["type"] == "Huge"


async def test_it_breaks_the_rules_of_websockets_themselves(
    autojump_clock: MockClock, side: Side
) -> None:
    one = Interjection(b"\xff\xff\xff\xff", Moment.OPEN, after_s=1.0, raw=True)
    async with side.stream(side.make(Faults(interjections=(one,)))) as socket:
        assert await ended(socket) == ([], 1002)


# Silence


async def test_it_stops_reading_and_goes_on_speaking(autojump_clock: MockClock, side: Side) -> None:
    fake = side.make(Faults(stops_reading_ms=60))
    async with side.stream(fake) as socket:
        await side.to_the_final(socket)
        assert text_of(await said(socket)) == "good"
        await socket.send_message(side.finish)
        assert await ended(socket) == ([], 1006)
    assert len(fake.visits[-1].audio) == 3 * len(FRAME)


async def test_its_final_never_comes(autojump_clock: MockClock, side: Side) -> None:
    async with side.stream(side.make(Faults(no_final=True))) as socket:
        await side.to_the_final(socket)
        assert [text_of(await said(socket)) for _ in range(2)] == ["good", WORDS]
        with trio.move_on_after(9) as patience:
            await socket.get_message()
    assert patience.cancelled_caught


async def test_it_does_not_finish_but_answers_a_close(
    autojump_clock: MockClock, side: Side
) -> None:
    async with side.stream(side.make(Faults(finish_unanswered=True))) as socket:
        await socket.send_message(side.finish)
        with trio.move_on_after(5) as patience:
            await socket.get_message()
        assert patience.cancelled_caught
        closing_s = trio.current_time()
        await socket.aclose()
        assert trio.current_time() == closing_s


async def test_it_never_says_close_and_keeps_the_connection(
    autojump_clock: MockClock, side: Side
) -> None:
    fake = side.make(Faults(close_unanswered=True))
    async with side.stream(fake) as socket:
        await socket.send_message(side.finish)
        last = await last_words(socket)
        assert last in ("Metadata", "end_session")
        with trio.move_on_after(30) as patience:
            await socket.aclose()
    assert patience.cancelled_caught
    assert [one.kind for one in fake.visits[-1].heard[-2:]] == ["close", "end"]
    assert not any(one.kind == "close" for one in fake.visits[-1].said)


async def last_words(socket: WebSocketConnection) -> object:
    last = None
    with trio.move_on_after(1):
        while True:
            last = (await said(socket))["type"]
    return last


# The final


async def test_a_final_is_late(autojump_clock: MockClock, side: Side) -> None:
    on_time = await finals_in_time(side, Faults())
    late = await finals_in_time(side, Faults(final_delay_s=2.0))
    assert late == [(at_s + 2.0, text) for at_s, text in on_time]


async def test_a_final_comes_twice_at_once(autojump_clock: MockClock, side: Side) -> None:
    ((first_s, first), (second_s, second)) = await finals_in_time(
        side, Faults(duplicate_final=True)
    )
    assert (first, second) == (WORDS, WORDS)
    assert first_s == second_s


async def test_a_final_comes_in_pieces(autojump_clock: MockClock, side: Side) -> None:
    ((first_s, first), (second_s, second)) = await finals_in_time(
        side, Faults(split_final=2, split_gap_s=0.5)
    )
    assert (first, second) == ("good", "day")
    assert second_s - first_s == pytest.approx(0.5)


async def test_where_there_is_a_force_natural_finals_are_not_bent(
    autojump_clock: MockClock,
) -> None:
    script = Script((Line("good", final=True),), ((Line("day", final=True),),))
    async with deepgram(FakeDeepgram(script, Faults(no_final=True))) as socket:
        await socket.send_message('{"type": "Finalize"}')
        await socket.send_message('{"type": "CloseStream"}')
        messages, _ = await ended(socket)
    assert finals(messages[:-1]) == ["good"]


async def test_an_empty_final_acknowledges_the_force_and_the_text_comes_later(
    autojump_clock: MockClock,
) -> None:
    came = await marks_in_time(Faults(ack_s=0.02))
    assert came == [
        (0.02, "", True),
        (0.25, WORDS, False),
    ]


async def test_the_answer_is_not_marked(autojump_clock: MockClock) -> None:
    assert await marks_in_time(Faults(unmarked=True)) == [(0.25, WORDS, False)]


async def test_a_final_comes_without_a_force(autojump_clock: MockClock) -> None:
    lines = (Line("good", 20, final=True), Line("day", 20, 0.5, final=True, marked=True))
    async with deepgram(FakeDeepgram(Script(lines))) as socket:
        await socket.send_message(FRAME)
        told = [await said(socket) for _ in range(2)]
    assert [(text_of(one), one["from_finalize"]) for one in told] == [
        ("good", False),
        ("day", True),
    ]


def rounded(since_s: float) -> float:
    return round(trio.current_time() - since_s, 6)


async def finals_in_time(side: Side, faults: Faults) -> list[tuple[float, str]]:
    """Each final, and how long after the force, or the last audio, it came."""
    came: list[tuple[float, str]] = []
    async with side.stream(side.make(faults)) as socket:
        await side.to_the_final(socket)
        started_s = trio.current_time()
        with trio.move_on_after(5):
            while True:
                message = await socket.get_message()
                came += [(rounded(started_s), text) for text in finals([message])]
    return came


async def marks_in_time(faults: Faults) -> list[tuple[float, str, object]]:
    """Each final of a fake Deepgram, when it came after the force, and whether it was marked."""
    side = SIDES["deepgram"]
    came: list[tuple[float, str, object]] = []
    async with side.stream(side.make(faults)) as socket:
        await side.to_the_final(socket)
        started_s = trio.current_time()
        with trio.move_on_after(5):
            while True:
                one = await said(socket)
                if one["is_final"]:
                    after_s = rounded(started_s)
                    came.append((after_s, text_of(one), one["from_finalize"]))
    return came
