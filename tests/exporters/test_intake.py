"""The desk: each record goes to the journal, the metrics and the log, over a real socket."""

import select
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.handoff import Losses
from exporters.inbox import Inbox
from exporters.packets import Report, heard, said
from tests.exporters.desk import Desk
from tests.exporters.records import STREAM, finished, journalled, started

CANARY = "canary-1234567890"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    directory = tmp_path / "journal"
    directory.mkdir()
    desk = Desk(directory)
    yield desk
    desk.close()


def test_a_record_is_journalled_counted_and_told(desk: Desk) -> None:
    desk.handoff.put(started())
    desk.handoff.put(finished())
    lines = desk.serve()
    assert journalled(desk.directory) == [started(), finished()]
    assert desk.value("sessions_total", **STREAM) == 1
    assert [line["event"] for line in lines] == ["session_finished"]


def test_the_last_report_says_that_everything_is_durable(desk: Desk) -> None:
    for i in range(10):
        desk.handoff.put({"k": "note", "t": 1, "i": i})
    desk.serve()
    assert desk.handoff.goodbye(1.0)
    assert desk.handoff.report == Report(10, last=True)
    assert desk.handoff.losses == Losses()
    assert not list(desk.directory.glob("*.open"))


def test_a_large_record_is_put_together_again(desk: Desk) -> None:
    large = [
        {"k": "message_received", "t": i, "s": "s-1", "raw": b"x" * (100_000 + i)} for i in (1, 2)
    ]
    for record in (*large, finished()):
        desk.handoff.put(record)
    assert desk.handoff.waiting == 0
    desk.serve()
    assert journalled(desk.directory) == [*large, finished()]


def reports(desk: Desk) -> list[Report]:
    """Every report so far, oldest first."""
    found: list[Report] = []
    while True:
        try:
            word, what = heard(desk.sockets[0].recv(1000))
        except BlockingIOError:
            return found
        assert word == "report"
        found.append(Report(*what))


def test_what_is_written_is_reported_only_when_it_is_durable(desk: Desk) -> None:
    for i in range(300):  # more than are taken before the first look at the clock
        desk.handoff.put({"k": "note", "t": 1, "i": i})
    desk.serve()
    assert [report.received for report in reports(desk)] == [0, 300, 300]


def test_the_end_of_a_session_is_made_durable_at_once(desk: Desk) -> None:
    desk.handoff.put(finished())
    for i in range(300):
        desk.handoff.put({"k": "note", "t": 1, "i": i})
    desk.serve()
    assert [report.received for report in reports(desk)] == [1, 301, 301]


def test_it_ends_when_the_measuring_process_is_gone_and_keeps_what_came(desk: Desk) -> None:
    for i in range(100):
        desk.handoff.put({"k": "note", "t": 1, "i": i})
    assert desk.handoff.waiting == 0
    desk.sockets[1].send(said("report", 0, 0, False, False, 0))  # which nobody will read
    desk.handoff.close()
    desk.intake.run()
    assert [record["i"] for record in journalled(desk.directory)] == list(range(100))
    assert not list(desk.directory.glob("*.open"))


def test_the_journal_is_counted(desk: Desk) -> None:
    desk.handoff.put({"k": "note", "t": 1})
    desk.serve()
    assert desk.value("journal_records_total") == 2  # with the segment's own
    (segment,) = desk.directory.iterdir()
    assert desk.value("journal_bytes_total") == segment.stat().st_size


def test_secrets_in_log_records_reach_neither_line_nor_journal(desk: Desk) -> None:
    fields = {"api_key": CANARY, "url": f"wss://example.com/?token={CANARY}", "models": 3}
    desk.handoff.put({"k": "log", "t": 1, "level": "info", "event": "asked", "fields": fields})
    desk.handoff.put(started(url=f"wss://user:{CANARY}@example.com/?token={CANARY}"))
    lines = desk.serve()
    assert CANARY not in str(lines)
    assert CANARY not in str(journalled(desk.directory))
    asked, began = journalled(desk.directory)
    assert asked["fields"]["models"] == 3
    assert began == started(url="wss://[redacted]@example.com/?[redacted]")


def test_a_record_that_is_not_what_its_kind_says_is_journalled_and_said_once(desk: Desk) -> None:
    odd = {"k": "session_finished", "t": 1, "s": "s-1"}
    for _ in range(3):
        desk.handoff.put(odd)
    desk.handoff.put(finished())
    lines = desk.serve()
    assert journalled(desk.directory) == [odd, odd, odd, finished()]
    assert [line["event"] for line in lines] == ["record_unusable", "session_finished"]
    assert (lines[0]["level"], lines[0]["kind"]) == ("error", "session_finished")
    assert desk.value("sessions_total", **STREAM) == 1


def test_a_packet_that_is_no_record_is_said(desk: Desk) -> None:
    desk.sockets[0].send(b"\x81\x01\x02")
    desk.handoff.put(finished())
    lines = desk.serve()
    assert [line["event"] for line in lines] == ["record_unusable", "session_finished"]
    assert lines[0]["kind"] == "unreadable"


def test_a_heartbeat_is_a_sign_of_life(desk: Desk) -> None:
    desk.hand.turn(100)
    desk.handoff.put({"k": "heartbeat", "t": 1})
    desk.serve()
    assert desk.health.unwell() is None
    assert desk.health.ready


def test_what_happens_in_this_process_is_told_and_counted(desk: Desk) -> None:
    desk.intake.say("warning", "something_odd", count=3)
    desk.intake.note("warning", "something_kept", count=4)
    (line,) = desk.serve()
    assert (line["event"], line["count"]) == ("something_odd", 3)
    assert desk.value("log_messages_total", level="warning") == 1
    assert [record["event"] for record in journalled(desk.directory)] == ["something_kept"]


def test_records_that_the_disk_refuses_are_reported(desk: Desk) -> None:
    desk.journal.close()
    shutil.rmtree(desk.directory)  # nothing can be begun there again
    for _ in range(3):
        desk.handoff.put({"k": "note", "t": 1})
    desk.serve()
    desk.handoff.drain()
    assert (desk.handoff.report.lost, desk.handoff.report.untold) == (3, 3)
    assert not desk.handoff.goodbye(1.0)


def test_a_session_whose_end_the_disk_refuses_is_told_with_that_word(desk: Desk) -> None:
    desk.handoff.put(finished())
    desk.intake.take_what_came()
    desk.journal.close()
    shutil.rmtree(desk.directory)
    desk.handoff.put(finished())
    told = [line for line in desk.serve() if line["event"] == "session_finished"]
    assert [line.get("journalled") for line in told] == [None, False]


def test_what_the_disk_refused_is_untold_until_the_journal_tells_it(desk: Desk) -> None:
    desk.journal.close()
    shutil.rmtree(desk.directory)
    desk.handoff.put({"k": "note", "t": 1})
    counted = []
    for _ in range(2):
        desk.intake.take_what_came()
        desk.hand.turn(3600)
        desk.intake.take_what_came()
        desk.handoff.drain()
        counted.append((desk.handoff.report.lost, desk.handoff.report.untold))
        desk.directory.mkdir(exist_ok=True)
    assert counted == [(1, 1), (1, 0)]
    (told,) = [one for one in journalled(desk.directory) if one["k"] == "records_lost"]
    assert (told["count"], told["why"]) == (1, "journal_full")


def test_the_last_word_waits_for_room(desk: Desk) -> None:
    ours, theirs = desk.sockets[:2]
    inbox = Inbox(theirs)
    while inbox.say(said("report", 0, 0, False, False, 0)):
        pass
    last = threading.Thread(target=inbox.say_last, args=[said("report", 5, 0, False, True, 0)])
    last.start()
    while not desk.handoff.report.last:
        select.select([ours], [], [], 10)
        desk.handoff.drain()
    last.join()
