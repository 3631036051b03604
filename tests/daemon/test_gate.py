"""No measurement begins while the journal has no room for it."""

from dataclasses import dataclass, field

import pytest
import trio
import trio.testing

from daemon.gate import Gate, hindrance
from exporters.packets import Report
from tests.exporters.records import Said

ROOM, FULL = Report(received=3), Report(received=3, lost=2, full=True)


@dataclass
class Reports:
    alive: bool = True
    report: Report = ROOM
    said: Said = field(default_factory=Said)

    def gate(self) -> Gate:
        return Gate(self, self.said)


@pytest.fixture
def clock() -> trio.testing.MockClock:
    return trio.testing.MockClock(autojump_threshold=0)


@pytest.mark.parametrize(
    ("report", "alive", "why"),
    [
        (ROOM, True, None),
        (Report(received=3, lost=2), True, None),
        (FULL, True, "journal_full"),
        (FULL, False, None),
        (Report(received=3, full=True, last=True), True, None),
    ],
)
def test_only_a_full_journal_hinders(report: Report, alive: bool, why: str | None) -> None:
    assert hindrance(report, alive=alive) == why


async def test_with_room_nobody_waits_and_nothing_is_said(clock: trio.testing.MockClock) -> None:
    reports = Reports()
    gate = reports.gate()
    await gate.passed()
    assert trio.current_time() == 0
    assert (gate.closed, reports.said.events) == (None, [])


async def test_all_wait_while_it_is_full_and_go_on_when_there_is_room(
    clock: trio.testing.MockClock,
) -> None:
    reports = Reports(report=FULL)
    gate = reports.gate()
    began_s = []

    async def measure() -> None:
        await gate.passed()
        began_s.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(measure)
        nursery.start_soon(measure)
        await trio.sleep(60)
        assert (began_s, gate.closed) == ([], "journal_full")
        reports.report = ROOM
    assert len(began_s) == 2
    assert all(60 <= at_s <= 60.3 for at_s in began_s)


async def test_a_stop_is_said_once_and_so_is_its_end(clock: trio.testing.MockClock) -> None:
    reports = Reports(report=FULL)
    gate = reports.gate()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(gate.passed)
        await trio.sleep(10)
        reports.report = ROOM
    await gate.passed()
    assert reports.said.events == ["measuring_paused", "measuring_resumed"]
    assert reports.said.fields("measuring_paused") == {"reason": "journal_full"}
    assert 10 <= reports.said.fields("measuring_resumed")["paused_s"] <= 10.3


async def test_each_stop_is_said(clock: trio.testing.MockClock) -> None:
    reports = Reports()
    gate = reports.gate()
    for _ in range(2):
        reports.report = FULL
        async with trio.open_nursery() as nursery:
            nursery.start_soon(gate.passed)
            await trio.sleep(1)
            reports.report = ROOM
    assert reports.said.events == ["measuring_paused", "measuring_resumed"] * 2


async def test_an_exporter_that_dies_while_full_lets_measuring_go_on(
    clock: trio.testing.MockClock,
) -> None:
    reports = Reports(report=FULL)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reports.gate().passed)
        await trio.sleep(1)
        reports.alive = False
    assert trio.current_time() < 1.3


async def test_who_waits_can_be_told_to_end(clock: trio.testing.MockClock) -> None:
    with trio.move_on_after(5) as scope:
        await Reports(report=FULL).gate().passed()
    assert scope.cancelled_caught
