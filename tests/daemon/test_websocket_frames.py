"""Frames: ours must be read by any server, and theirs must be followed however they are cut."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, Event, Message, Ping, TextMessage

from daemon.websocket_frames import MessageEnds, encode_frame
from tests.daemon.lane_peer import whole_messages

TIPPING_POINTS = [0, 1, 2, 3, 4, 5, 124, 125, 126, 127, 65534, 65535, 65536, 65537]
MASKS = st.binary(min_size=4, max_size=4)


def read_by_a_server(frame: bytes) -> list[Event]:
    server = Connection(ConnectionType.SERVER)
    server.receive_data(frame)
    return list(server.events())


@pytest.mark.parametrize("size", TIPPING_POINTS)
def test_a_binary_frame_of_any_size_class_is_one_whole_message(size: int) -> None:
    payload = random.Random(size).randbytes(size)
    frame = encode_frame(payload, text=False, mask=b"\x01\x80\xfe\x7f")
    assert read_by_a_server(frame) == [BytesMessage(data=payload)]


@given(payload=st.binary(max_size=3000), mask=MASKS)
def test_any_payload_under_any_mask_comes_out_as_it_went_in(payload: bytes, mask: bytes) -> None:
    frame = encode_frame(payload, text=False, mask=mask)
    assert read_by_a_server(frame) == [BytesMessage(data=payload)]


@given(said=st.text(max_size=500), mask=MASKS)
def test_text_comes_out_as_text(said: str, mask: bytes) -> None:
    assert read_by_a_server(encode_frame(said.encode(), text=True, mask=mask)) == [
        TextMessage(data=said)
    ]


def test_the_mask_is_used_byte_by_byte_in_turn() -> None:
    frame = encode_frame(bytes(5), text=False, mask=b"abcd")
    assert frame == b"\x82\x85abcd" + b"abcda"


def test_a_mask_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="mask: 8 bytes, must be 4"):
        encode_frame(b"audio", text=False, mask=bytes(8))


Said = tuple[str, int, bool]
"""Kind, size, and whether a message ends with it."""
PARTS = st.lists(
    st.tuples(
        st.sampled_from(["message", "ping"]),
        st.sampled_from([0, 1, 125, 126, 300, 65535, 65536]) | st.integers(0, 1000),
        st.booleans(),
    ),
    max_size=8,
)


def as_sent(said: list[Said]) -> bytes:
    """What a server sends: messages in fragments, with pings anywhere between."""
    server = Connection(ConnectionType.SERVER)
    sent = b""
    for kind, size, last in said:
        if kind == "ping":
            sent += server.send(Ping(payload=bytes(size % 126)))
        else:
            sent += server.send(BytesMessage(data=bytes(size), message_finished=last))
    return sent


@given(said=PARTS, seed=st.integers(0, 1 << 30), mean=st.sampled_from([1, 2, 3, 50, 5000]))
@example(said=[("message", 0, True), ("message", 0, True)], seed=0, mean=1)
def test_ends_of_messages_are_found_in_the_piece_that_holds_their_last_byte(
    said: list[Said], seed: int, mean: int
) -> None:
    """The oracle is wsproto, fed the same pieces."""
    sent = as_sent(said)
    rng, at = random.Random(seed), 0
    ends, client = MessageEnds(), Connection(ConnectionType.CLIENT)
    while at < len(sent):
        piece = sent[at : at + rng.randint(1, 2 * max(mean, len(sent) // 2000))]
        at += len(piece)
        client.receive_data(piece)
        ended = sum(isinstance(e, Message) and e.message_finished for e in client.events())
        assert ends.feed(piece) == ended


def test_a_masked_frame_is_followed_as_well() -> None:
    ends = MessageEnds()
    frame = encode_frame(bytes(300), text=False, mask=b"abcd")
    assert [ends.feed(frame[:-1]), ends.feed(frame[-1:]), ends.feed(frame * 2)] == [0, 1, 2]


def test_the_oracle_puts_parts_together() -> None:
    parts = [TextMessage(data="a", message_finished=False), Ping(), TextMessage(data="b")]
    assert whole_messages(parts) == ["ab"]
