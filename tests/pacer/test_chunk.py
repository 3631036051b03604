"""Frames become the pieces that a provider wants, and nothing of them is lost or moved."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from measure.records import AudioClip, Frame
from pacer.chunk import Chunker
from pacer.frames import frames, silence

RATE_HZ = 16_000


def clip(milliseconds: int) -> AudioClip:
    samples = milliseconds * RATE_HZ // 1000
    pcm = b"".join(index.to_bytes(2, "little") for index in range(1, samples + 1))
    return AudioClip("clip", pcm, RATE_HZ, sha256="")


def chunks(chunker: Chunker, pieces: list[Frame]) -> list[Frame]:
    whole = [chunk for frame in pieces if (chunk := chunker.add(frame)) is not None]
    rest = chunker.flush()
    return whole if rest is None else [*whole, rest]


def test_twenty_milliseconds_pass_as_they_are() -> None:
    pieces = list(frames(clip(67)))
    assert chunks(Chunker(rate_hz=RATE_HZ, chunk_ms=20), pieces) == pieces


def test_the_short_last_frame_of_a_clip_does_not_wait_for_more() -> None:
    chunker = Chunker(rate_hz=RATE_HZ, chunk_ms=20)
    assert [chunker.add(frame) for frame in frames(clip(27))] == list(frames(clip(27)))


def test_a_chunk_leaves_when_its_last_frame_has_come() -> None:
    chunker = Chunker(rate_hz=RATE_HZ, chunk_ms=100)
    given_at = [chunker.add(frame) is not None for frame in frames(clip(200))]
    assert given_at == [False, False, False, False, True] * 2


def test_a_chunk_stands_where_its_last_frame_stands() -> None:
    (first, second) = chunks(Chunker(rate_hz=RATE_HZ, chunk_ms=60), list(frames(clip(100))))
    assert (first.audio_ms, second.audio_ms) == (60, 100)


def test_what_is_too_short_is_filled_up_with_silence_that_is_no_place_in_the_clip() -> None:
    chunker = Chunker(rate_hz=RATE_HZ, chunk_ms=100, min_chunk_ms=50)
    (frame,) = frames(clip(20))
    chunker.add(frame)
    chunk = chunker.flush()
    assert chunk is not None
    assert chunk.pcm == frame.pcm + bytes(30 * RATE_HZ // 1000 * 2)
    assert (chunk.audio_ms, chunk.filled_ms) == (20, 30)


def test_what_is_long_enough_is_filled_up_with_nothing() -> None:
    chunker = Chunker(rate_hz=RATE_HZ, chunk_ms=20, min_chunk_ms=20)
    assert [chunk.filled_ms for chunk in chunks(chunker, list(frames(clip(47))))] == [0, 0, 13]


def test_nothing_waits_behind_a_flush() -> None:
    assert Chunker(rate_hz=RATE_HZ, chunk_ms=100).flush() is None


def test_a_chunk_is_padding_only_if_all_of_it_is() -> None:
    spoken = list(frames(clip(20)))
    silent = list(islice(silence(spoken[-1], rate_hz=RATE_HZ), 3))
    mixed, padding = chunks(Chunker(rate_hz=RATE_HZ, chunk_ms=40), [*spoken, *silent])
    assert (mixed.padding, padding.padding) == (False, True)


@given(st.integers(1, 500), st.integers(1, 6))
def test_chunks_hold_the_clip_and_nothing_else(milliseconds: int, frames_each: int) -> None:
    whole = clip(milliseconds)
    chunker = Chunker(rate_hz=RATE_HZ, chunk_ms=20 * frames_each)
    assert b"".join(chunk.pcm for chunk in chunks(chunker, list(frames(whole)))) == whole.pcm


def test_a_chunk_is_never_longer_than_the_provider_allows() -> None:
    chunker = Chunker(rate_hz=16_000, chunk_ms=50, max_chunk_ms=50)
    assert chunker.add(Frame(0, b"\1" * 640, 20.0)) is None
    chunk = chunker.add(Frame(1, b"\1" * 640, 40.0))  # a third one would make it 60 ms
    assert chunk is not None
    assert len(chunk.pcm) == 1280
