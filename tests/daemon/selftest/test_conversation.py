"""The known-delay server's side of one stream: what it hears, and what it says when."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.selftest.codec import FORCE, SENT_AFTER_NS, Delays, Said, delays_of, said_in
from daemon.selftest.conversation import Conversation, Due
from daemon.websocket_frames import encode_frame
from measure.records import MS

REQUEST = (
    b"GET /?partial_us=20000&final_us=50000 HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
AUDIO = encode_frame(bytes(640), text=False, mask=b"abcd")
FORCE_FRAME = encode_frame(FORCE.encode(), text=True, mask=b"efgh")


def opened() -> Conversation:
    conversation = Conversation()
    answer = conversation.feed(REQUEST, None, 0)
    assert answer.startswith(b"HTTP/1.1 101 ")
    return conversation


def said(due: Due, sent_ns: int = 7) -> Said:
    frame = due.frame(sent_ns)
    head = 4 if frame[1] == 126 else 2
    assert len(frame) - head == (int.from_bytes(frame[2:4], "big") if head == 4 else frame[1])
    return said_in(frame[head:])


def test_the_upgrade_is_answered_as_the_standard_says() -> None:
    answer = Conversation().feed(REQUEST, None, 0)
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in answer


@pytest.mark.parametrize("request_line", [b"GET / HTTP/1.1", b"GET /?final_us=x HTTP/1.1", b""])
def test_who_does_not_say_the_delays_is_sent_away(request_line: bytes) -> None:
    conversation = Conversation()
    answer = conversation.feed(request_line + b"\r\nHost: a\r\n\r\n", None, 0)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert conversation.over


def test_audio_is_answered_by_two_partials_that_know_of_no_force() -> None:
    conversation = opened()
    conversation.feed(AUDIO, None, 0)
    conversation.feed(AUDIO, None, 20 * MS)
    assert [due.at_ns for due in conversation.due] == [250 * MS, 500 * MS]
    assert [said(due) for due in conversation.due] == [
        Said("partial", "one", None, 7),
        Said("partial", "one two", None, 7),
    ]


def test_the_force_is_answered_after_the_delays_from_the_kernels_stamp_on() -> None:
    conversation = opened()
    conversation.feed(FORCE_FRAME, 1000 * MS, 1001 * MS)
    partial, final = conversation.due
    assert (partial.at_ns, final.at_ns) == (1020 * MS, 1050 * MS)
    assert said(partial) == Said("partial", "one two three", 1000 * MS, 7)
    assert said(final) == Said("final", "one two three four", 1000 * MS, 7)


def test_a_force_that_was_read_with_more_behind_it_came_at_an_unknown_moment() -> None:
    conversation = opened()
    conversation.feed(FORCE_FRAME + AUDIO[:3], 1000 * MS, 1001 * MS)
    answers = [said(due) for due in conversation.due]
    assert [one.heard_ns for one in answers] == [None, None]


def test_a_force_behind_audio_has_the_stamp_of_what_was_read() -> None:
    conversation = opened()
    conversation.feed(AUDIO + FORCE_FRAME, 1000 * MS, 1001 * MS)
    assert said(conversation.due[-1]).heard_ns == 1000 * MS


def test_after_the_final_it_is_told_when_both_left() -> None:
    conversation = opened()
    conversation.feed(FORCE_FRAME, 1000 * MS, 1001 * MS)
    partial, final = conversation.due
    conversation.due.clear()
    conversation.was_sent(partial, 1020 * MS + 5)
    conversation.was_sent(final, None)
    (last,) = conversation.due
    assert last.at_ns == 1050 * MS + SENT_AFTER_NS
    assert said(last).left_ns == {"partial": 1020 * MS + 5}


def test_a_goodbye_is_answered_with_its_own_code() -> None:
    conversation = opened()
    close = bytearray(encode_frame(b"\x03\xe8", text=False, mask=b"abcd"))
    close[0] = 0x88
    assert conversation.feed(bytes(close), None, 0) == b"\x88\x02\x03\xe8"
    assert conversation.over


@given(st.lists(st.integers(1, 900), max_size=8))
def test_how_the_bytes_are_cut_changes_nothing_but_the_moment(cuts: list[int]) -> None:
    stream = AUDIO * 3 + FORCE_FRAME
    places = sorted({cut * len(stream) // 900 for cut in cuts} | {0, len(stream)})
    conversation = opened()
    for start, end in pairwise(places):
        assert conversation.feed(stream[start:end], 5, 5) == b""
    texts = [said(due).text for due in conversation.due]
    assert texts == ["one", "one two", "one two three", "one two three four"]


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_delays_are_read_back_from_an_address(partial_us: int, final_us: int) -> None:
    delays = Delays(partial_us, final_us)
    assert delays_of(delays.query()) == delays


def test_a_request_in_pieces_is_answered_once_it_is_whole() -> None:
    conversation = Conversation()
    answers = [conversation.feed(REQUEST[at : at + 1], None, 0) for at in range(len(REQUEST))]
    assert not any(answers[:-1])
    assert answers[-1].startswith(b"HTTP/1.1 101 ")
