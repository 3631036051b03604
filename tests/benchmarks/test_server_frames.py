"""The receiver finds every mark, however the stream is cut, as our own encoder makes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.mark import FRAME_BYTES, Mark, binary_message, json_message
from benchmarks.server_frames import FrameReader, answer, text_frame
from daemon.websocket_frames import MessageEnds, encode_frame

NUMBERS = st.integers(0, 2**32 - 1)
MARKS = st.builds(Mark, NUMBERS, NUMBERS, st.integers(0, 2**63 - 1))


def frame_of(mark: Mark, *, text: bool, mask: bytes) -> bytes:
    message = (
        json_message(mark.stream, mark.index, mark.due_ns).encode()
        if text
        else binary_message(mark.stream, mark.index, mark.due_ns)
    )
    return encode_frame(message, text=text, mask=mask)


@given(
    st.lists(st.tuples(MARKS, st.booleans(), st.binary(min_size=4, max_size=4)), max_size=4),
    st.lists(st.integers(1, 900), max_size=12),
)
def test_every_mark_comes_out_however_the_stream_is_cut(
    frames: list[tuple[Mark, bool, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(frame_of(mark, text=text, mask=mask) for mark, text, mask in frames)
    reader = FrameReader()
    found: list[Mark] = []
    at = 0
    for size in [*cuts, len(stream)]:
        found += reader.feed(stream[at : at + size])
        at += size
    assert found == [mark for mark, _, _ in frames]


def test_a_frame_holds_20_ms_of_audio() -> None:
    assert len(binary_message(1, 2, 3)) == FRAME_BYTES == 640


def test_a_ping_has_no_mark_and_a_close_is_noticed() -> None:
    reader = FrameReader()
    assert reader.feed(b"\x89\x80abcd") == []
    assert not reader.closing
    assert reader.feed(b"\x88\x82abcd\x00\x00") == []
    assert reader.closing


def test_a_client_that_does_not_mask_is_refused() -> None:
    with pytest.raises(ValueError, match="mask"):
        FrameReader().feed(b"\x82\x04abcd")


def test_a_message_of_others_is_refused() -> None:
    strange = encode_frame(b'{"type":"keep-alive","more":"and more"}', text=True, mask=b"abcd")
    with pytest.raises(ValueError, match="none of ours"):
        FrameReader().feed(strange)


def test_the_answer_is_that_of_the_standard() -> None:
    said = answer(b"GET / HTTP/1.1\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n" in said


def test_a_request_without_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="key"):
        answer(b"GET / HTTP/1.1\r\n")


@pytest.mark.parametrize("size", [0, 125, 126, 65_535])
def test_a_message_of_the_receiver_is_one_whole_frame(size: int) -> None:
    assert MessageEnds().feed(text_frame(bytes(size))) == 1
