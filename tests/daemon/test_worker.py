"""A worker by itself: what it says to the main process, and when."""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from daemon.clock import now_ns
from daemon.control import Alive, Done, Ready, Work
from daemon.supervise import Records
from daemon.worker import Hand, Outbox, give_signs, until_durable
from exporters.handoff import Handoff
from exporters.inbox import Inbox
from exporters.packets import Report, in_words
from pacer.clock import PlainSleeper
from pacer.pace import Pacer
from tests.daemon.several import in_real_time
from tests.daemon.test_control import pair_of_controls

FOR_NOTHING: Any = cast("Any", None)
"""A round without measurements needs no bench."""


class Exporting:
    """A hand-off, and the exporter's end of it, which says what a test makes it say."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.handoff = Handoff(ours)
        self._theirs = theirs
        self._inbox = Inbox(theirs)

    def report(self, received: int) -> None:
        assert self._inbox.say(in_words("report", Report(received)))

    def words(self) -> list[str]:
        return [said for said in self._inbox.take(1000) if isinstance(said, str)]

    def close(self) -> None:
        self.handoff.close()
        self._theirs.close()


def test_what_was_put_is_waited_for_until_it_is_durable() -> None:
    async def story() -> None:
        exporting = Exporting()
        for i in range(3):
            exporting.handoff.put({"k": "note", "t": i})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(until_durable, exporting.handoff, 60.0)
            await wait_all_tasks_blocked()
            assert exporting.words() == ["sync"]
            exporting.report(2)
            await wait_all_tasks_blocked(0.01)
            assert len(nursery.child_tasks) == 1
            exporting.report(3)
        exporting.close()

    in_real_time(story)


def test_what_is_put_meanwhile_is_not_waited_for() -> None:
    async def story() -> None:
        exporting = Exporting()
        exporting.handoff.put({"k": "note", "t": 1})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(until_durable, exporting.handoff, 60.0)
            await wait_all_tasks_blocked()
            exporting.handoff.put({"k": "note", "t": 2})
            exporting.report(1)
        exporting.close()

    in_real_time(story)


def test_an_exporter_that_is_gone_is_not_waited_for() -> None:
    async def story() -> None:
        exporting = Exporting()
        exporting.handoff.put({"k": "note", "t": 1})
        exporting._theirs.close()
        await until_durable(exporting.handoff, 60.0)
        exporting.close()

    in_real_time(story)


def test_a_round_is_done_when_all_of_it_is_on_the_disk() -> None:
    async def story() -> None:
        exporting = Exporting()
        ours, theirs = pair_of_controls()
        outbox = Outbox(ours)
        plan: Any = type("Plan", (), {"targets": (), "settings": Settings})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outbox.run)
            records = Records(exporting.handoff, "1")
            hand = Hand(ours, plan, FOR_NOTHING, records, outbox)
            records.put({"k": "note", "t": 1})
            nursery.start_soon(hand.measure, Work("w1", "r1", ()))
            await wait_all_tasks_blocked()
            outbox.put(Ready())
            assert await theirs.receive() == Ready()  # and not that it is done
            exporting.report(1)
            assert await theirs.receive() == Done("w1")
            nursery.cancel_scope.cancel()
        for control in (ours, theirs):
            await control.aclose()
        exporting.close()

    in_real_time(story)


class Settings:
    class daemon:  # noqa: N801  as it is read
        parallel = 1


async def test_things_are_told_in_the_order_in_which_they_were_put() -> None:
    ours, theirs = pair_of_controls()
    outbox = Outbox(ours)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        for number in range(50):
            outbox.put(Done(str(number)))
            if number % 7 == 0:
                await trio.lowlevel.checkpoint()
        told = [await theirs.receive() for _ in range(50)]
        nursery.cancel_scope.cancel()
    assert told == [Done(str(number)) for number in range(50)]
    for control in (ours, theirs):
        await control.aclose()


async def test_what_was_put_after_the_last_task_has_gone_is_told_by_a_flush() -> None:
    ours, theirs = pair_of_controls()
    outbox = Outbox(ours)
    outbox.put(Done("r1"))
    with trio.CancelScope() as scope:
        scope.cancel()
        await outbox.run()
    outbox.put(Done("r2"))
    await outbox.flush()
    told = [await theirs.receive() for _ in range(2)]
    assert told == [Done("r1"), Done("r2")]
    for control in (ours, theirs):
        await control.aclose()


async def signs_in_a_minute(*, pacing: bool) -> int:
    """How many signs of life a worker gives."""
    ours, theirs = pair_of_controls()
    pacer, signs = Pacer(PlainSleeper(), now_ns), 0
    async with trio.open_nursery() as nursery:
        if pacing:
            nursery.start_soon(pacer.run)
        with trio.move_on_after(60.5):
            await give_signs(ours, pacer)
        nursery.cancel_scope.cancel()
    await ours.aclose()
    while (message := await theirs.receive()) is not None:
        assert message == Alive()
        signs += 1
    await theirs.aclose()
    return signs


async def test_what_moves_gives_a_sign_about_once_a_second(autojump_clock: MockClock) -> None:
    assert 55 <= await signs_in_a_minute(pacing=True) <= 60


async def test_a_worker_whose_pacer_stands_still_gives_none(autojump_clock: MockClock) -> None:
    assert await signs_in_a_minute(pacing=False) == 0


@pytest.mark.parametrize("arguments", [[], ["x"], ["3", "4"]])
def test_started_by_hand_it_says_that_it_is_not_meant_to_be(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "daemon.worker", *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == b"worker: this process is started by speechbench, not by hand\n"


def test_a_main_process_that_is_gone_before_it_said_anything_is_no_trouble() -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        done = subprocess.run(
            [sys.executable, "-m", "daemon.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")
