"""Live audio handed to several streams: each its own time line, and nobody's faults but its own."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio
import trio.testing

from measure.events import DeviceSampled, Event, SpeechEnd, SpeechStart, Xrun
from measure.records import MS
from pacer.live import LiveFrame, LiveSource, LiveStream
from pacer.microphone import Block
from tests.pacer.paper_device import blocks_of

PCM = bytes(range(256)) * 250
"""Two seconds at 16 kHz."""
BLOCKS = list(blocks_of(PCM, 16_000))


def source(rate_hz: int = 16_000, hear: Callable[[bytes], None] = lambda pcm: None) -> LiveSource:
    made = LiveSource(rate_hz, lambda: 7, hear, device="mic")
    made.begin()
    return made


class Listener:
    """What one stream was given."""

    def __init__(self, stream: LiveStream, most: int = 1_000_000) -> None:
        self.stream = stream
        self.frames: list[LiveFrame] = []
        self.events: list[Event] = []
        self._most = most

    def step(self, frame: LiveFrame) -> bool:
        self.frames.append(frame)
        return len(self.frames) < self._most

    def told(self, event: Event) -> None:
        self.events.append(event)

    @property
    def pcm(self) -> bytes:
        return b"".join(one.frame.pcm for one in self.frames)

    def of(self, *kinds: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kinds)]


async def heard(made: LiveSource, blocks: list[Block], *listeners: Listener) -> None:
    """Every listener from the first block on, until the source ends."""
    async with trio.open_nursery() as nursery:
        for one in listeners:
            nursery.start_soon(one.stream.play, one.step, one.told)
        await trio.testing.wait_all_tasks_blocked()
        for block in blocks:
            made.take(block)
        made.end()


async def test_all_streams_are_given_the_same_and_the_ear_too() -> None:
    ear = bytearray()
    made = source(hear=ear.extend)
    one, two = Listener(made.join(16_000)), Listener(made.join(16_000))
    await heard(made, BLOCKS, one, two)
    assert one.pcm == two.pcm == bytes(ear) == b"".join(block.pcm for block in BLOCKS)
    assert [live.frame.audio_ms for live in one.frames] == [20.0 * n for n in range(1, 101)]
    assert [live.frame.index for live in one.frames] == list(range(100))


async def test_before_it_begins_nothing_is_anybodys() -> None:
    made = LiveSource(16_000, lambda: 7, lambda pcm: None, device="mic")
    one = Listener(made.join(16_000))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.stream.play, one.step, one.told)
        await trio.testing.wait_all_tasks_blocked()
        made.take(BLOCKS[0])
        made.begin()
        await trio.testing.wait_all_tasks_blocked()
        made.take(BLOCKS[1])
        made.end()
    assert one.pcm == BLOCKS[1].pcm
    assert one.stream.joined_ms == 0.0


async def test_who_joins_later_has_a_time_line_of_its_own_and_no_part_in_speech_before() -> None:
    made = source()
    late = Listener(made.join(16_000))
    for block in BLOCKS[:10]:
        made.take(block)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(late.stream.play, late.step, late.told)
        await trio.testing.wait_all_tasks_blocked()
        made.take(BLOCKS[10])
        made.tell_speech(SpeechStart(7, 190.0, 220.0))
        made.tell_speech(SpeechEnd(7, 195.0, 220.0))
        made.tell_speech(SpeechStart(7, 210.0, 220.0))
        made.tell_speech(SpeechEnd(7, 215.0, 220.0))
        made.end()
    assert late.stream.joined_ms == 200.0
    assert late.frames[0].frame.audio_ms == 20.0
    said = late.of(SpeechStart, SpeechEnd)
    assert said == [SpeechStart(7, 10.0, 20.0), SpeechEnd(7, 15.0, 20.0)]
    (sampled,) = late.of(DeviceSampled)
    assert isinstance(sampled, DeviceSampled)
    assert (sampled.audio_ms, sampled.heard_ms) == (0.0, 200.0)


async def test_a_stream_that_has_enough_is_given_no_more() -> None:
    made = source()
    one, two = Listener(made.join(16_000), most=3), Listener(made.join(16_000))
    await heard(made, BLOCKS[:10], one, two)
    assert (len(one.frames), len(two.frames)) == (3, 10)


async def test_what_goes_wrong_in_one_stream_is_raised_there_and_nowhere_else() -> None:
    made = source()
    good = Listener(made.join(16_000))
    raised: list[str] = []

    def fails(_: LiveFrame) -> bool:
        raise ValueError("mine")

    async def owner() -> None:
        try:
            await made.join(16_000).play(fails, lambda event: None)
        except ValueError as error:
            raised.append(str(error))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(owner)
        nursery.start_soon(good.stream.play, good.step, good.told)
        await trio.testing.wait_all_tasks_blocked()
        for block in BLOCKS[:5]:
            made.take(block)
        made.end()
    assert raised == ["mine"]
    assert len(good.frames) == 5


async def test_each_rate_has_its_own_share_of_the_audio() -> None:
    made = source()
    half, same = Listener(made.join(8_000)), Listener(made.join(16_000))
    await heard(made, BLOCKS, half, same)
    assert len(half.frames) == len(same.frames)
    assert {len(live.frame.pcm) for live in half.frames[1:]} == {320}
    lag_ms = same.stream.audio_ms - half.stream.audio_ms
    assert 0 < lag_ms < 5


async def test_a_second_of_blocks_is_followed_by_a_word_on_the_clock() -> None:
    made = source()
    one = Listener(made.join(16_000))
    await heard(made, BLOCKS, one)
    places = [event.audio_ms for event in one.events if isinstance(event, DeviceSampled)]
    assert places == [0.0, 1000.0, 2000.0]


@pytest.mark.parametrize(
    ("block", "what", "lost_ms"),
    [
        (replace(BLOCKS[5], overflow=True), "input_overflow", None),
        (replace(BLOCKS[5], underflow=True), "input_underflow", None),
        (BLOCKS[6], "input_lost", 20.0),
    ],
)
async def test_what_the_device_lost_is_told_to_every_stream_at_its_place(
    block: Block, what: str, lost_ms: float | None
) -> None:
    made = source()
    one, two = Listener(made.join(16_000)), Listener(made.join(16_000))
    await heard(made, [*BLOCKS[:5], block], one, two)
    for listener in (one, two):
        assert listener.of(Xrun) == [Xrun(7, what, 100.0, lost_ms)]


async def test_a_source_that_has_ended_before_one_plays_gives_it_nothing() -> None:
    made = source()
    made.end()
    one = Listener(made.join(16_000))
    await one.stream.play(one.step, one.told)
    made.take(BLOCKS[0])
    assert not one.frames
    assert not one.events


def test_a_perfect_device_gives_each_block_when_its_last_sample_is_due() -> None:
    assert [block.arrived_ns for block in BLOCKS[:3]] == [20 * MS, 40 * MS, 60 * MS]
    assert [block.start_sample for block in BLOCKS[:3]] == [0, 320, 640]
