"""The faults that a script file can ask for, in virtual time; the older ones: test_faults.py."""

import json
from dataclasses import replace

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock
from trio_websocket import ConnectionClosed

from daemon.fakes import (
    FakeDeepgram,
    Faults,
    Flood,
    HangUp,
    Interjection,
    Line,
    Moment,
    Pieces,
    Script,
)
from tests.daemon.fakes.client import FRAME, deepgram, ended, said, text_of
from tests.daemon.fakes.test_script import answers, lines
from tests.daemon.fakes.test_server import HANDSHAKE

WORDS = "good day"
SCRIPT = Script.for_force(WORDS, end_ms=100, after_s=0.25)
FORCE = '{"type": "Finalize"}'
FINISH = '{"type": "CloseStream"}'


async def told(faults: Faults, script: Script = SCRIPT) -> list[tuple[float, str, bool]]:
    """When each transcript came, counted from the force; its words; whether it was final."""
    found = []
    async with deepgram(FakeDeepgram(script, faults)) as socket:
        for _ in range(10):
            await socket.send_message(FRAME)
        await socket.send_message(FORCE)
        forced_s = trio.current_time()
        with trio.move_on_after(5):
            while True:
                message = await said(socket)
                after_s = round(trio.current_time() - forced_s, 6)
                found.append((after_s, text_of(message), message["is_final"] is True))
    return found


async def test_every_transcript_is_late(autojump_clock: MockClock) -> None:
    found = await told(Faults(delay_s=0.5))
    assert found == [(0.5, "good", False), (0.5, WORDS, False), (0.75, WORDS, True)]


async def test_no_partial_comes(autojump_clock: MockClock) -> None:
    assert await told(Faults(no_partials=True)) == [(0.25, WORDS, True)]


async def test_a_final_overtakes_the_partial_before_it(autojump_clock: MockClock) -> None:
    found = await told(Faults(overtaking=True))
    assert found == [(0, "good", False), (0.25, WORDS, True), (0.25, WORDS, False)]


async def test_also_within_an_answer(autojump_clock: MockClock) -> None:
    answer = (Line("good", after_s=0.1), Line(WORDS, after_s=0.2, final=True))
    found = await told(Faults(overtaking=True), Script(answers=(answer,)))
    assert found == [(0.2, WORDS, True), (0.2, "good", False)]


@given(said=st.lists(lines, max_size=5), answer=answers)
def test_overtaking_changes_no_words_and_makes_only_partials_wait(
    said: list[Line], answer: tuple[Line, ...]
) -> None:
    script = Script(tuple(said), (answer, answer))
    bent = script.with_overtaking()
    answered = zip(script.answers, bent.answers, strict=True)
    for before, after in [(script.lines, bent.lines), *answered]:
        assert sorted(map(repr, before)) == sorted(repr(replace(one, waits=False)) for one in after)
        assert not any(one.final and one.waits for one in after)


async def test_a_flood_comes_at_its_rate_and_ends(autojump_clock: MockClock) -> None:
    flood = Flood(Moment.FORCE, after_s=0.1, text="more", per_s=20, for_s=0.5)
    found = await told(Faults(flood=flood), Script())
    assert [text for _, text, _ in found] == ["more"] * 10
    assert [after_s for after_s, _, _ in found] == pytest.approx([0.1 + n / 20 for n in range(10)])


@pytest.mark.parametrize("moment", [Moment.OPEN, Moment.AUDIO, Moment.FINAL])
async def test_a_flood_begins_at_its_moment(moment: Moment, autojump_clock: MockClock) -> None:
    audio_ms = 60.0 if moment is Moment.AUDIO else 0.0
    faults = Faults(flood=Flood(moment, audio_ms, text="more", per_s=100, for_s=0.03))
    texts = [text for _, text, _ in await told(faults)]
    assert texts.count("more") == 3
    last = len(texts) - 1 - texts[::-1].index(WORDS)
    assert (texts.index("more") > last) == (moment is Moment.FINAL)


async def test_too_little_audio_in_one_message_is_refused(autojump_clock: MockClock) -> None:
    async with deepgram(FakeDeepgram(SCRIPT, Faults(min_audio_ms=20))) as socket:
        await socket.send_message(FRAME)
        await socket.send_message(FRAME[:-2])
        _, code = await ended(socket)
    assert code == 1008


async def test_it_hangs_up_sooner_than_its_provider_would(autojump_clock: MockClock) -> None:
    started_s = trio.current_time()
    async with deepgram(FakeDeepgram(SCRIPT, Faults(idle_s=3))) as socket:
        _, code = await ended(socket)
    assert code == 1011
    assert trio.current_time() - started_s == pytest.approx(3)


# In pieces


@given(st.binary(max_size=50), st.integers(1, 60))
def test_pieces_are_all_of_it_in_order_and_none_is_empty(wire: bytes, segments: int) -> None:
    cut = Pieces(segments=segments).cut(wire)
    assert b"".join(cut) == wire
    assert len(cut) == max(1, min(segments, len(wire)))
    assert all(cut) or not wire


@pytest.mark.parametrize("pieces", [Pieces(frames=3), Pieces(segments=5), Pieces(4, 3)])
async def test_a_message_in_pieces_is_the_same_message(
    pieces: Pieces, autojump_clock: MockClock
) -> None:
    whole = [text for _, text, _ in await told(Faults())]
    assert [text for _, text, _ in await told(Faults(pieces=pieces))] == whole


async def test_a_message_is_there_with_its_last_segment(autojump_clock: MockClock) -> None:
    found = await told(Faults(no_partials=True, pieces=Pieces(segments=4, gap_s=0.1)))
    assert found == [(0.55, WORDS, True)]


def frames_of(wire: bytes) -> list[tuple[int, bool, int]]:
    """Opcode, whether it is the last, and the size of each frame."""
    found = []
    while wire:
        size, head = wire[1], 2
        if size == 126:
            size, head = int.from_bytes(wire[2:4], "big"), 4
        found.append((wire[0] & 15, bool(wire[0] & 128), size))
        wire = wire[head + size :]
    return found


async def test_frames_are_continued_as_the_websocket_wants_it(autojump_clock: MockClock) -> None:
    faults = Faults(
        interjections=(Interjection("x" * 9, Moment.OPEN),), pieces=Pieces(frames=3, segments=2)
    )
    ours, theirs = trio.testing.memory_stream_pair()
    came = b""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(FakeDeepgram(faults=faults).converse, theirs)
        await ours.send_all(HANDSHAKE)
        with trio.move_on_after(1):
            while True:
                came += bytes(await ours.receive_some())
        await ours.aclose()
    wire = came.partition(b"\r\n\r\n")[2]
    assert frames_of(wire) == [(1, False, 3), (0, False, 3), (0, True, 3)]


# Only some connections


async def test_only_the_connections_that_are_named_go_wrong(autojump_clock: MockClock) -> None:
    hang_up = HangUp(Moment.OPEN, code=1011)
    fake = FakeDeepgram(SCRIPT, Faults(connections=(1, 3), hang_up=hang_up))
    codes = []
    for _ in range(4):
        async with deepgram(fake) as socket:
            try:
                await socket.send_message(FINISH)
                codes.append((await ended(socket))[1])
            except ConnectionClosed as closed:
                codes.append(closed.reason.code if closed.reason else None)
    assert codes == [1011, 1000, 1011, 1000]
    assert [visit.number for visit in fake.visits] == [1, 2, 3, 4]


async def test_a_fake_that_runs_for_long_keeps_only_counts(autojump_clock: MockClock) -> None:
    fake = FakeDeepgram(SCRIPT)
    fake.keeps = False
    async with deepgram(fake) as socket:
        for _ in range(10):
            await socket.send_message(FRAME)
        await socket.send_message(FORCE)
        await trio.sleep(1)
        await socket.send_message(FINISH)
        messages, _ = await ended(socket)
    (visit,) = fake.visits
    assert len(visit.heard) == len(visit.said) == 1
    assert len(visit.audio) == 0
    assert visit.audio_bytes == 10 * len(FRAME)
    assert visit.messages_heard == 12
    assert visit.messages_said == len(messages)
    assert [side for side, _ in visit.closes] == ["said", "heard"]
    assert json.loads(messages[-1])["type"] == "Metadata"
