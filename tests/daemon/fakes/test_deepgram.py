"""The fake Deepgram: what it demands, what it says."""

import hashlib
import json

import pytest
import trio
from trio.testing import MockClock

from daemon.fakes import FakeDeepgram, Line, Script, spoken
from measure.events import Event, StreamDone, Transcript
from measure.records import Frame
from providers.codec import ForceContext, Options
from providers.deepgram import Deepgram
from tests.daemon.fakes.client import (
    DEEPGRAM_KEY,
    DEEPGRAM_TARGET,
    FRAME,
    deepgram,
    ended,
    path_and_query,
    published,
    rejected,
    requested,
    said,
    served,
    shape,
    text_of,
)

SCRIPT = Script.for_force("good day", end_ms=100, after_s=0.25)


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        (DEEPGRAM_TARGET, {}, 401),
        (DEEPGRAM_TARGET, {"Authorization": "Token"}, 401),
        (DEEPGRAM_TARGET, {"Authorization": "Basic k"}, 401),
        ("/v1/elsewhere", DEEPGRAM_KEY, 404),
        ("/v1/listen?encoding=linear16&sample_rate=16000", DEEPGRAM_KEY, 400),
        ("/v1/listen?model=nova-3", DEEPGRAM_KEY, 400),
        ("/v1/listen?model=nova-3&encoding=linear16&sample_rate=fast", DEEPGRAM_KEY, 400),
        (f"{DEEPGRAM_TARGET}&channels=2", DEEPGRAM_KEY, 400),
    ],
)
async def test_who_asks_wrongly_is_refused(
    target: str, headers: dict[str, str], status: int
) -> None:
    refusal = await rejected(FakeDeepgram(), target, headers)
    assert refusal.status_code == status
    assert json.loads(refusal.body or b"")["err_msg"]


@pytest.mark.parametrize("header", ["Token right", "Bearer right"])
async def test_only_its_own_key_is_good_where_it_has_one(header: str) -> None:
    fake = FakeDeepgram(key="right")
    async with served(fake, DEEPGRAM_TARGET, {"Authorization": header}):
        pass
    refusal = await rejected(fake, DEEPGRAM_TARGET, {"Authorization": f"{header}less"})
    assert refusal.status_code == 401
    assert "right" not in repr(fake)


async def test_a_plain_request_is_refused_and_the_connection_goes_on() -> None:
    response = await requested(FakeDeepgram(), "POST", DEEPGRAM_TARGET, DEEPGRAM_KEY, b"audio")
    assert response.status == 400


async def test_partials_come_with_the_audio_and_the_final_with_the_force(
    autojump_clock: MockClock,
) -> None:
    fake = FakeDeepgram(SCRIPT)
    async with deepgram(fake) as socket:
        for _ in range(5):
            await socket.send_message(FRAME)
            await trio.sleep(0.02)
        await socket.send_message('{"type": "Finalize"}')
        forced_s = trio.current_time()
        messages = [await said(socket) for _ in range(3)]
        assert trio.current_time() - forced_s == pytest.approx(0.25)
    assert [text_of(message) for message in messages] == ["good", "good day", "good day"]
    assert [message["is_final"] for message in messages] == [False, False, True]
    assert [message["from_finalize"] for message in messages] == [False, False, True]
    assert messages[-1]["start"] == 0
    assert messages[-1]["duration"] == 0.1


async def test_each_force_has_its_own_answer_and_one_too_many_has_none(
    autojump_clock: MockClock,
) -> None:
    answers = tuple((Line(text, final=True),) for text in ("one", "two"))
    async with deepgram(FakeDeepgram(Script(answers=answers))) as socket:
        for _ in range(3):
            await socket.send_message('{"type": "Finalize"}')
        await socket.send_message('{"type": "CloseStream"}')
        messages, code = await ended(socket)
    assert [text_of(message) for message in messages[:-1]] == ["one", "two"]
    assert code == 1000


async def test_finishing_says_what_is_left_then_the_metadata_then_close(
    autojump_clock: MockClock,
) -> None:
    async with deepgram(FakeDeepgram(Script(spoken("good day", 0, 40)))) as socket:
        for pcm in (b"\1\2" * 320, b"\3\4" * 320):
            await socket.send_message(pcm)
        await socket.send_message('{"type": "CloseStream"}')
        messages, code = await ended(socket)
    *_, last, metadata = [json.loads(message) for message in messages]
    assert (text_of(last), last["is_final"], last["from_finalize"]) == ("good day", True, False)
    assert metadata["type"] == "Metadata"
    assert metadata["duration"] == 0.04
    assert metadata["sha256"] == hashlib.sha256(b"\1\2" * 320 + b"\3\4" * 320).hexdigest()
    assert code == 1000


async def test_a_pending_answer_is_given_before_the_stream_is_finished(
    autojump_clock: MockClock,
) -> None:
    async with deepgram(FakeDeepgram(SCRIPT)) as socket:
        await socket.send_message('{"type": "Finalize"}')
        await socket.send_message('{"type": "CloseStream"}')
        messages, _ = await ended(socket)
    assert [json.loads(message)["type"] for message in messages] == ["Results", "Metadata"]


async def test_audio_without_words_ends_in_an_empty_final(autojump_clock: MockClock) -> None:
    async with deepgram(FakeDeepgram()) as socket:
        await socket.send_message(FRAME)
        await socket.send_message('{"type": "CloseStream"}')
        messages, _ = await ended(socket)
    assert [json.loads(message)["type"] for message in messages] == ["Results", "Metadata"]
    assert text_of(messages[0]) == ""


async def test_what_comes_after_the_end_was_asked_for_is_ignored(
    autojump_clock: MockClock,
) -> None:
    fake = FakeDeepgram(Script(finish_s=30.0))
    async with deepgram(fake) as socket:
        await socket.send_message(FRAME)
        for message in ('{"type": "CloseStream"}', FRAME, '{"type": "CloseStream"}'):
            await socket.send_message(message)
        asked_s = trio.current_time()
        messages, code = await ended(socket)
        assert trio.current_time() - asked_s == pytest.approx(30)
    assert [json.loads(message)["type"] for message in messages] == ["Results", "Metadata"]
    assert code == 1000
    assert len(fake.visits[0].audio) == len(FRAME)


@pytest.mark.parametrize(
    "message", ["not JSON", "[]", '{"type": "Novelty"}', "[" * 10_000, b"\0\0\0"]
)
async def test_what_it_cannot_take_for_audio_or_an_order_ends_the_stream(
    autojump_clock: MockClock, message: str | bytes
) -> None:
    async with deepgram(FakeDeepgram()) as socket:
        await socket.send_message(message)
        assert await ended(socket) == ([], 1008)


async def test_an_order_in_a_binary_message_is_audio(autojump_clock: MockClock) -> None:
    fake, order = FakeDeepgram(SCRIPT), b'{"type": "Finalize"} '[:20]
    async with deepgram(fake) as socket:
        await socket.send_message(order)
        await socket.send_message('{"type": "CloseStream"}')
        messages, _ = await ended(socket)
    assert bytes(fake.visits[0].audio) == order
    assert not any(json.loads(message).get("from_finalize") for message in messages)


async def test_ten_silent_seconds_end_the_stream_unless_it_is_kept_alive(
    autojump_clock: MockClock,
) -> None:
    async with deepgram(FakeDeepgram()) as socket:
        await trio.sleep(9)
        await socket.send_message('{"type": "KeepAlive"}')
        kept_s = trio.current_time()
        assert await ended(socket) == ([], 1011)
        assert trio.current_time() - kept_s == pytest.approx(10)


@pytest.mark.parametrize(
    ("target", "finals_are_speech_final"),
    [(DEEPGRAM_TARGET, False), (DEEPGRAM_TARGET.replace("endpointing=false", "x=1"), True)],
)
async def test_a_natural_final_ends_speech_only_where_endpointing_is_on(
    autojump_clock: MockClock, target: str, finals_are_speech_final: bool
) -> None:
    fake = FakeDeepgram(Script((Line("good day", final=True),)))
    async with served(fake, target, DEEPGRAM_KEY) as socket:
        assert (await said(socket))["speech_final"] is finals_are_speech_final


async def test_there_are_no_partials_for_who_did_not_ask(autojump_clock: MockClock) -> None:
    target = DEEPGRAM_TARGET.replace("interim_results=true", "interim_results=false")
    fake = FakeDeepgram(Script((Line("good"), Line("good day", final=True))))
    async with served(fake, target, DEEPGRAM_KEY) as socket:
        assert text_of(await said(socket)) == "good day"


async def test_speech_is_told_to_who_asked(autojump_clock: MockClock) -> None:
    target = f"{DEEPGRAM_TARGET}&vad_events=true&utterance_end_ms=1000"
    fake = FakeDeepgram(Script(speech=((0, 20),)))
    async with served(fake, target, DEEPGRAM_KEY) as socket:
        await socket.send_message(FRAME)
        assert [(await said(socket))["type"] for _ in range(2)] == ["SpeechStarted", "UtteranceEnd"]


async def test_its_messages_have_the_shape_of_the_published_ones(
    autojump_clock: MockClock,
) -> None:
    theirs = published("deepgram_nova3")
    script = Script(spoken("the blue kettle", 0, 40), ((Line("the blue kettle", final=True),),))
    async with deepgram(FakeDeepgram(script)) as socket:
        await socket.send_message(FRAME * 2)
        await socket.send_message('{"type": "Finalize"}')
        await socket.send_message('{"type": "CloseStream"}')
        messages = [json.loads(message) for message in (await ended(socket))[0]]
    for message in messages:
        if message["type"] == "Results":  # a word's punctuation depends on what was asked for
            for word in message["channel"]["alternatives"][0]["words"]:
                del word["punctuated_word"]
    assert shape(messages[0]) == shape(theirs[0])
    assert shape(messages[-2]) == shape(theirs[-3])
    assert shape(messages[-1]) == shape(theirs[-1])


async def test_our_codec_and_the_fake_understand_one_another(autojump_clock: MockClock) -> None:
    fake, codec = FakeDeepgram(SCRIPT), Deepgram(Options())
    request = codec.open("k")
    events: list[Event] = []
    async with served(fake, path_and_query(request.url), dict(request.headers)) as socket:
        for index in range(5):
            await socket.send_message(codec.audio(Frame(index, FRAME, 20.0 * (index + 1))))
        for order in (*codec.force(ForceContext(100)), *codec.keepalive(), *codec.finish()):
            await socket.send_message(order)
        for message in (await ended(socket))[0]:
            events += codec.decode(message, 7)
    assert events == [
        Transcript(7, "good", final=False),
        Transcript(7, "good day", final=False),
        Transcript(7, "good day", final=True, forced=True),
        StreamDone(7),
    ]
    assert bytes(fake.visits[0].audio) == FRAME * 5
