"""The measuring side: it gives records away, never waits, and loses nothing silently."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from exporters.handoff import Handoff, Losses
from exporters.inbox import Inbox
from exporters.packets import PACKET_BYTES, Ready, Report, in_words, said
from exporters.packing import MAX_RECORD_BYTES, unpack

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
    with ours, theirs:
        yield ours, theirs


def note(i: int, size: int = 0) -> dict[str, Any]:
    return {"k": "note", "t": i, "i": i, "text": "x" * size}


def read(inbox: Inbox) -> list[dict[str, Any]]:
    return [unpack(it) for it in inbox.take(100_000) if isinstance(it, bytes)]


def words(inbox: Inbox) -> list[str]:
    return [it for it in inbox.take(100_000) if isinstance(it, str)]


def fill(handoff: Handoff, *, until_dropped: int = 1) -> int:
    """Put notes until so many are lost; gives how many were put."""
    count = 0
    while handoff.losses.dropped < until_dropped:
        handoff.put(note(count, size=1000))
        count += 1
    return count


def test_records_arrive_as_they_were_put_and_in_order(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    records = [note(i) for i in range(20)]
    for record in records:
        handoff.put(record)
    assert read(inbox) == records
    assert handoff.losses == Losses()


def test_a_record_larger_than_a_packet_arrives_whole_and_in_its_place(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    records = [note(0), note(1, size=3 * PACKET_BYTES), note(2)]
    for record in records:
        handoff.put(record)
    arrived = read(inbox)
    while handoff.waiting:
        handoff.drain()
        arrived += read(inbox)
    assert arrived == records


def test_a_record_of_the_largest_size_arrives_through_a_small_buffer(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    record = {"k": "message_received", "t": 1, "raw": b"x" * (MAX_RECORD_BYTES - 100)}
    handoff.put(record)
    assert handoff.waiting == 1
    arrived: list[dict[str, Any]] = []
    while not arrived:
        handoff.drain()
        arrived = read(inbox)
    assert arrived == [record]
    assert handoff.waiting == 0


def test_a_record_beyond_the_largest_size_is_lost_and_that_is_told(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    handoff.put({"k": "message_received", "t": 1, "raw": b"x" * MAX_RECORD_BYTES})
    handoff.put(note(2))
    told = {"k": "records_lost", "t": 2, "count": 1, "why": "too_large"}
    assert read(inbox) == [told, note(2)]
    assert handoff.losses == Losses(dropped=1)


def test_what_the_kernel_does_not_take_waits_and_keeps_its_order(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    count = 0
    while handoff.waiting < 300:
        handoff.put(note(count, size=500))
        count += 1
    arrived: list[dict[str, Any]] = []
    while handoff.waiting:
        arrived += read(inbox)
        handoff.drain()
    arrived += read(inbox)
    assert [record["i"] for record in arrived] == list(range(count))
    assert handoff.losses == Losses()


def test_one_call_sends_on_only_so_many(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    while handoff.waiting < 100:
        handoff.put(note(0, size=500))
    read(inbox)
    handoff.drain(at_most=10)
    assert handoff.waiting == 90


def test_a_record_does_not_overtake_those_that_wait(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    count = 0
    while handoff.waiting < 100:
        handoff.put(note(count, size=500))
        count += 1
    arrived = read(inbox)
    handoff.put(note(count))  # there is room again, and more waits than one call sends on
    assert handoff.waiting > 0
    handoff.drain()
    arrived += read(inbox)
    assert [record["i"] for record in arrived] == list(range(count + 1))


def test_when_the_queue_is_full_records_are_lost_and_the_loss_is_told_in_its_place(
    pair: Pair,
) -> None:
    handoff, inbox = Handoff(pair[0], queue_bytes=100_000), Inbox(pair[1])
    count = fill(handoff, until_dropped=25)
    arrived: list[dict[str, Any]] = []
    while handoff.waiting:
        arrived += read(inbox)
        handoff.drain()
    handoff.put(note(count))
    arrived += read(inbox)
    assert [record["k"] for record in arrived[-3:]] == ["note", "records_lost", "note"]
    assert arrived[-2]["count"] == 25
    assert arrived[-2]["why"] == "handoff_full"
    notes = [record["i"] for record in arrived if record["k"] == "note"]
    assert notes == [*range(count - 25), count]
    assert handoff.losses == Losses(dropped=25)


def test_the_queue_holds_what_it_may_and_one_record_more(pair: Pair) -> None:
    handoff = Handoff(pair[0], queue_bytes=100_000)
    fill(handoff)
    assert 80 <= handoff.waiting <= 100  # of a little over 1000 bytes each


def test_a_loss_that_nothing_followed_is_told_at_goodbye(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    handoff.put({"k": "message_received", "t": 1, "raw": b"x" * MAX_RECORD_BYTES})
    inbox.say(in_words("report", Report(1, last=True)))
    assert not handoff.goodbye(1.0)
    (told,) = read(inbox)
    assert (told["k"], told["count"]) == ("records_lost", 1)


def test_nothing_raises_when_the_exporter_is_gone_and_each_loss_is_counted(pair: Pair) -> None:
    handoff = Handoff(pair[0])
    for i in range(3):
        handoff.put(note(i))
    pair[1].close()
    for i in range(5):
        handoff.put(note(i))
    handoff.drain()
    assert not handoff.alive
    assert handoff.losses == Losses(dropped=5, unconfirmed=3)
    assert not handoff.flush(1.0)
    assert not handoff.goodbye(1.0)


def test_what_waits_is_lost_with_the_exporter(pair: Pair) -> None:
    handoff = Handoff(pair[0])
    while handoff.waiting < 10:
        handoff.put(note(0, size=1000))
    pair[1].close()
    handoff.put(note(1))
    assert handoff.waiting == 0
    assert handoff.losses.dropped == 11


def test_an_exporter_that_left_records_unread_is_heard_before_it_is_given_up(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    for i in range(5):
        handoff.put(note(i))
    inbox.say(in_words("report", Report(2)))
    pair[1].close()
    handoff.drain()
    assert not handoff.alive
    assert handoff.losses == Losses(unconfirmed=3)


def test_the_last_words_of_an_exporter_that_is_gone_are_heard(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    for i in range(5):
        handoff.put(note(i))
    assert len(list(inbox.take(2))) == 2
    inbox.say(in_words("report", Report(2)))
    pair[1].close()  # with three records unread
    handoff.put(note(5))
    assert handoff.report == Report(2)
    assert handoff.losses == Losses(dropped=1, unconfirmed=3)


def test_a_flush_is_over_when_the_exporter_says_that_all_is_durable(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    handoff.put(note(0))
    inbox.say(in_words("report", Report(0)))
    assert not handoff.flush(0.0)
    inbox.say(in_words("report", Report(1)))
    assert handoff.flush(1.0)
    assert words(inbox) == ["sync"]
    assert handoff.flush(0.0)  # nothing new: nothing to ask
    assert words(inbox) == []


@pytest.mark.parametrize("report", [Report(1, full=True), Report(1, lost=1)])
def test_a_flush_has_failed_where_the_disk_refused(pair: Pair, report: Report) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    handoff.put(note(0))
    inbox.say(in_words("report", report))
    assert not handoff.flush(1.0)


def test_a_goodbye_is_confirmed_by_the_last_report(pair: Pair) -> None:
    handoff, inbox = Handoff(pair[0]), Inbox(pair[1])
    handoff.put(note(0))
    inbox.say(in_words("report", Report(1)))
    inbox.say(in_words("report", Report(1, last=True)))
    assert handoff.goodbye(1.0)
    assert words(inbox) == ["goodbye"]
    pair[1].close()
    handoff.drain()
    assert handoff.losses == Losses()


def test_a_wait_ends_in_time_where_nobody_answers(pair: Pair) -> None:
    moments = iter(range(0, 10**12, 3 * 10**9 - 1))  # each look at the clock is much later
    handoff = Handoff(pair[0], now_ns=lambda: next(moments))
    handoff.put(note(0))
    pair[1].send(in_words("report", Report(0)))
    assert not handoff.flush(3.0)
    assert handoff.alive


def test_readiness_is_heard_with_the_place_of_the_journal_and_the_address(pair: Pair) -> None:
    handoff, ready = Handoff(pair[0]), Ready("/j/1.sbj.open", "127.0.0.1:9464", 2)
    pair[1].send(in_words("ready", ready))
    assert handoff.wait_ready(1.0) == ready


def test_a_failed_start_is_heard_with_its_reason(pair: Pair) -> None:
    handoff = Handoff(pair[0])
    pair[1].send(said("failed", "journal: no"))
    assert handoff.wait_ready(1.0) is None
    assert handoff.failure == "journal: no"


@pytest.mark.parametrize("packet", [said("boo"), said("report", "x"), b"\xc1", b"\x91\x01"])
def test_whoever_speaks_another_language_is_no_exporter(pair: Pair, packet: bytes) -> None:
    handoff = Handoff(pair[0])
    pair[1].send(packet)
    handoff.drain()
    assert not handoff.alive
    assert handoff.failure is not None


def test_our_own_mistake_is_not_a_loss_but_an_error(pair: Pair) -> None:
    handoff = Handoff(pair[0])
    with pytest.raises(ValueError, match="record of kind 'note'"):
        handoff.put({"k": "note", "what": object()})
    assert handoff.losses == Losses()


def test_losses_are_said_in_one_line() -> None:
    losses = Losses(1, 2, 3)
    assert losses.total == 6
    assert str(losses) == "1 records not handed over, 2 not confirmed, 3 refused by the disk"
