"""Several processes hand records over to one desk: each has its own receipts, and none starves."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from exporters.door import Door, Entrance
from exporters.handoff import Handoff, Losses
from exporters.intake import ORPHANED_NS
from exporters.packets import Report
from exporters.process import launch
from exporters.settings import Settings
from measure.records import SECOND
from tests.exporters.desk import Desk
from tests.exporters.records import STREAM, finished, journalled, started

PATIENCE_S = 60.0


def concluded(records: Sequence[dict[str, Any]], now_ns: int) -> Sequence[dict[str, Any]]:
    """The end of a session, as whoever measures would make it."""
    session_id = records[0]["s"]
    notes = [record["i"] for record in records[1:]]
    last = finished(session_id, verdict="harness_error", valid=False, t=now_ns)
    return [{"k": "ended", "t": now_ns, "s": session_id, "notes": notes}, last]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    directory = tmp_path / "journal"
    directory.mkdir()
    desk = Desk(directory, concluded)
    yield desk
    desk.close()


def note(i: int, **more: object) -> dict[str, Any]:
    return {"k": "note", "t": i, "i": i, **more}


def beat(**more: object) -> dict[str, Any]:
    return {"k": "heartbeat", "t": 1, **more}


def passes(desk: Desk, count: int = 1) -> None:
    """What ``run`` does while nobody says goodbye, so many times."""
    for _ in range(count):
        desk.intake.take_what_came()


def test_records_of_all_are_kept_each_in_its_order(desk: Desk) -> None:
    one, two = desk.admit("1"), desk.admit("2")
    for i in range(100):
        for handoff in (desk.handoff, one, two):
            handoff.put(note(i, by=handoff.fileno()))
    desk.serve()
    for handoff in (desk.handoff, one, two):
        mine = [r["i"] for r in journalled(desk.directory) if r["by"] == handoff.fileno()]
        assert mine == list(range(100))


def test_each_is_told_of_its_own_records_alone(desk: Desk) -> None:
    one, two = desk.admit("1"), desk.admit("2")
    for handoff, count in ((desk.handoff, 3), (one, 5), (two, 7)):
        for i in range(count):
            handoff.put(note(i))
        handoff.say("sync")
    passes(desk)
    for handoff, count in ((desk.handoff, 3), (one, 5), (two, 7)):
        handoff.drain()
        assert handoff.report == Report(count)


def test_what_the_disk_refused_is_lost_to_the_one_whose_it_was(desk: Desk) -> None:
    one, two = desk.admit("1"), desk.admit("2")
    one.put(note(1))
    passes(desk)
    desk.journal.close()
    for child in desk.directory.iterdir():
        child.unlink()
    desk.directory.rmdir()
    for _ in range(4):
        two.put(note(2))
    passes(desk)
    for handoff, lost in ((desk.handoff, 0), (one, 0), (two, 4)):
        handoff.drain()
        assert handoff.losses == Losses(refused=lost)


def test_a_goodbye_is_answered_and_the_others_go_on(desk: Desk) -> None:
    one, two = desk.admit("1"), desk.admit("2")
    one.put(note(1))
    one.say("goodbye")
    passes(desk)
    one.drain()
    assert one.report == Report(1, last=True)
    two.put(note(2))
    passes(desk)
    assert [record["i"] for record in journalled(desk.directory)] == [1, 2]


def test_one_that_floods_leaves_room_for_the_others(desk: Desk) -> None:
    flood, quiet = desk.admit("1"), desk.admit("2")
    for i in range(600):
        flood.put(note(i, by="flood"))
    quiet.put(note(0, by="quiet"))
    passes(desk)
    order = [record["by"] for record in journalled(desk.directory)]
    assert "quiet" in order
    assert 0 < order.count("flood") < 600


def test_many_are_served_in_one_pass(desk: Desk) -> None:
    guests = [desk.admit(str(number)) for number in range(64)]
    for guest in guests:
        for i in range(20):
            guest.put(note(i))
    passes(desk)
    assert len(journalled(desk.directory)) == 64 * 16


def test_a_session_left_open_by_one_that_died_is_ended_counted_and_told(desk: Desk) -> None:
    one, two = desk.admit("1"), desk.admit("2")
    for handoff, name in ((one, "s-1"), (two, "s-2")):
        handoff.put(started(name))
        handoff.put(note(7, s=name))
    one.put(finished("s-0"))  # of a session that began before
    one.close()
    two.put(finished("s-2"))
    lines = desk.serve()
    kinds = [(r["k"], r.get("s")) for r in journalled(desk.directory) if r.get("s") == "s-1"]
    assert kinds == [(k, "s-1") for k in ("session_started", "note", "ended", "session_finished")]
    (ended,) = journalled(desk.directory, "ended")
    assert ended["notes"] == [7]
    (said,) = [line for line in lines if line["event"] == "worker_ended"]
    assert (said["level"], said["worker"], said["sessions_lost"]) == ("error", "1", ["s-1"])
    (kept,) = journalled(desk.directory, "log")
    assert kept["fields"]["sessions_lost"] == ["s-1"]
    labels = {key: STREAM[key] for key in ("provider", "model", "flow")}
    assert desk.value("session_failures_total", **labels, reason="harness_error") == 1
    assert desk.value("sessions_total", **STREAM) == 3


def test_what_a_provider_said_at_length_is_not_kept_in_memory(desk: Desk) -> None:
    one = desk.admit("1")
    one.put(started("s-1"))
    for i in range(20):
        one.put({"k": "message_received", "t": i, "s": "s-1", "i": i, "raw": b"x" * 10_000})
    passes(desk)
    (source,) = [source for source in desk.intake.sources if source.name == "1"]
    assert sum(map(len, source.open["s-1"])) < 5_000
    assert all(len(r["raw"]) == 10_000 for r in journalled(desk.directory, "message_received"))


def test_a_session_that_cannot_be_concluded_hurts_nobody_else(desk: Desk) -> None:
    one = desk.admit("1")
    one.put(started("s-1"))
    one.put({"k": "odd", "t": 1, "s": "s-1"})  # it has no number, which ``concluded`` needs
    one.close()
    desk.handoff.put(note(1))
    lines = desk.serve()
    assert [r["i"] for r in journalled(desk.directory, "note")] == [1]
    assert [line["event"] for line in lines if line["level"] == "error"] == [
        "worker_ended",
        "record_unusable",
    ]


def test_one_that_never_said_a_word_is_not_spoken_of(desk: Desk) -> None:
    desk.admit("1").close()
    assert desk.serve() == []
    assert journalled(desk.directory) == []


def test_it_is_well_only_while_all_give_signs_of_life(desk: Desk) -> None:
    one, two = desk.admit("1"), desk.admit("2")
    for handoff in (desk.handoff, one, two):
        assert not desk.health.ready
        handoff.put(beat())
        passes(desk)
    assert desk.health.ready
    desk.hand.turn(4)
    for handoff in (desk.handoff, one):
        handoff.put(beat())
    passes(desk)
    assert desk.health.unwell() is None
    desk.hand.turn(4)
    for handoff in (desk.handoff, one):
        handoff.put(beat())
    passes(desk)
    assert desk.health.unwell() == "the measuring process has been silent for 8 s"
    two.put(beat())
    passes(desk)
    assert desk.health.unwell() is None


def test_one_that_died_is_missed_until_another_has_its_place(desk: Desk) -> None:
    one, two = desk.admit("1"), desk.admit("2")
    for handoff in (desk.handoff, one, two):
        handoff.put(beat())
    passes(desk)
    two.close()
    passes(desk)
    assert not desk.health.ready
    desk.handoff.put(beat())
    passes(desk)
    assert desk.value("harness_healthy") == 0
    again = desk.admit("2")
    for handoff in (again, desk.handoff):
        handoff.put(beat())
    passes(desk)
    assert desk.health.ready
    assert desk.value("harness_healthy") == 1


def test_one_that_died_is_missed_no_more_once_its_place_is_given_up(desk: Desk) -> None:
    one, two = desk.admit("1"), desk.admit("2")
    for handoff in (desk.handoff, one, two):
        handoff.put(beat())
    passes(desk)
    two.close()
    passes(desk)
    assert not desk.health.ready
    desk.admit("2").close()  # as the main process does where nobody takes that place any more
    passes(desk, 2)
    desk.hand.turn(60)
    for handoff in (desk.handoff, one):
        handoff.put(beat())
    passes(desk)
    assert desk.health.ready
    assert desk.health.unwell() is None
    assert desk.value("harness_healthy") == 1


def test_one_that_is_silent_while_others_speak_is_not_well_until_it_speaks_again(
    desk: Desk,
) -> None:
    one, two = desk.admit("1"), desk.admit("2")
    for handoff in (desk.handoff, one, two):
        handoff.put(beat())
    passes(desk)
    seen = []
    for _ in range(6):
        desk.hand.turn(1)
        for handoff in (one, desk.handoff):
            handoff.put(beat())
        passes(desk)
        seen.append((desk.health.ready, desk.value("harness_healthy")))
    assert seen == [(True, 1)] * 5 + [(False, 0)]
    two.put(beat())
    passes(desk)
    assert (desk.health.ready, desk.value("harness_healthy")) == (True, 1)


def test_where_all_were_silent_at_once_none_of_them_hangs(desk: Desk) -> None:
    one = desk.admit("1")
    for _ in range(2):
        for handoff in (one, desk.handoff):
            handoff.put(beat())
        passes(desk)
        assert desk.health.ready
        assert desk.value("harness_healthy") == 1
        desk.hand.turn(60)  # the host stood still


def test_another_may_come_before_the_last_words_of_the_one_before_are_read(desk: Desk) -> None:
    first = desk.admit("1")
    first.put(started("s-1"))
    passes(desk)
    second = desk.admit("1")
    first.put(finished("s-1"))
    first.close()
    for handoff in (desk.handoff, second):
        handoff.put(beat())
    passes(desk, 2)
    assert [r["k"] for r in journalled(desk.directory) if r.get("s")] == [
        "session_started",
        "session_finished",
    ]
    assert desk.health.ready


def test_one_that_has_said_goodbye_is_not_missed(desk: Desk) -> None:
    one = desk.admit("1")
    for handoff in (desk.handoff, one):
        handoff.put(beat())
    one.say("goodbye")
    passes(desk)
    assert desk.health.ready
    desk.hand.turn(60)
    desk.handoff.put(beat())
    passes(desk)
    assert desk.health.unwell() is None


def test_what_waits_is_summed_over_all(desk: Desk) -> None:
    one = desk.admit("1")
    desk.handoff.put(beat(waiting=3))
    one.put(beat(waiting=4))
    passes(desk)
    assert desk.value("sink_queue_records") == 7
    assert [r["waiting"] for r in journalled(desk.directory)] == [3, 4]


def test_the_goodbye_of_the_main_one_takes_everything_that_has_come(desk: Desk) -> None:
    one = desk.admit("1")
    for i in range(2_000):
        one.put(note(i))
    arrived = 2_000 - one.waiting
    assert arrived > 500  # far more than one turn
    desk.serve()
    assert [r["i"] for r in journalled(desk.directory, "note")] == list(range(arrived))


def test_when_the_main_one_is_killed_the_others_are_heard_to_their_end(desk: Desk) -> None:
    one = desk.admit("1")
    one.put(started("s-1"))
    desk.handoff.close()
    passes(desk, 2)
    one.put(finished("s-1"))
    one.say("goodbye")
    desk.intake.run()
    assert [r["k"] for r in journalled(desk.directory)] == ["session_started", "session_finished"]
    assert not list(desk.directory.glob("*.open"))


def test_one_that_does_not_end_after_the_main_one_is_not_waited_for_for_ever(desk: Desk) -> None:
    one = desk.admit("1")
    one.put(started("s-1"))
    desk.handoff.close()
    passes(desk)
    assert not desk.intake.is_over()
    desk.hand.turn(ORPHANED_NS / SECOND)
    assert not desk.intake.is_over()
    desk.hand.turn(0.001)
    assert desk.intake.is_over()
    desk.intake.run()
    assert [r["k"] for r in journalled(desk.directory) if r.get("s")][-1] == "session_finished"


def test_a_closed_door_is_seen_once() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        door, entrance = Door(ours, 1 << 16), Entrance(theirs)
        guest = door.admit("1")
        door.close()
        ((name, sock),) = entrance.arrivals()
        assert (name, entrance.closed) == ("1", True)
        guest.close()
        sock.close()


def test_where_the_exporter_is_gone_a_newcomer_finds_that_out_and_goes_on(tmp_path: Path) -> None:
    exporter = launch(Settings(str(tmp_path / "journal")), stderr=subprocess.DEVNULL)
    exporter.wait_ready(PATIENCE_S)
    os.kill(exporter.pid, signal.SIGKILL)
    os.waitid(os.P_PID, exporter.pid, os.WEXITED | os.WNOWAIT)
    guest = Handoff(exporter.admit("1"))
    guest.put(note(1))
    guest.put(note(2))
    assert not guest.alive
    assert guest.losses == Losses(dropped=2)
    guest.close()
    exporter.stop(PATIENCE_S)


GUEST = """
import signal, socket, sys
from exporters.handoff import Handoff
handoff = Handoff(socket.socket(fileno=int(sys.argv[1])))
for i in range(50):
    handoff.put({"k": "note", "t": i, "i": i})
sys.exit(0 if handoff.goodbye(60) else 1)
"""


def test_a_real_process_hands_over_beside_the_main_one(tmp_path: Path) -> None:
    exporter = launch(Settings(str(tmp_path / "journal")), stderr=subprocess.DEVNULL)
    exporter.wait_ready(PATIENCE_S)
    with exporter.admit("1") as sock:
        done = subprocess.run(
            [sys.executable, "-c", GUEST, str(sock.fileno())],
            pass_fds=[sock.fileno()],
            cwd=Path(__file__).parents[2],
            check=False,
        )
    assert done.returncode == 0
    exporter.handoff.put(note(50))
    assert exporter.stop(PATIENCE_S)
    assert [r["i"] for r in journalled(tmp_path / "journal")] == list(range(51))
