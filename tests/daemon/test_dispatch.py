"""Months of schedules in virtual time: what began, what was missed and why, what it cost."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import pytest
import trio
import trio.testing

from daemon.admission import Limits
from daemon.budget import Allowance
from daemon.dispatch import Assignment, Dispatcher, Duty, Outcome, State
from daemon.schedule import DAY_NS, Due, Every, Job, TimesADay, Timing
from measure.faults import Fault, FaultKind, Whose
from measure.records import SECOND
from measure.wire import Record

START_NS = 1_796_083_200 * SECOND
"""A midnight."""
HOUR_S = 3600.0


def now_ns() -> int:
    return round(trio.current_time() * 1e9)


@dataclass
class World:
    """One host with its providers; every run takes ``takes_s`` and costs ``costs_usd``."""

    takes_s: float = 60.0
    costs_usd: float = 0.0
    outcome: Callable[[Job], Outcome] | None = None
    full: bool = False
    began: list[tuple[int, Job]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    open_at: Counter[str] = field(default_factory=Counter)
    most_at_once: Counter[str] = field(default_factory=Counter)
    state: State = field(default_factory=State)
    set_by_ns: int = 0
    unmanned: set[str] = field(default_factory=set)
    """Models whose worker is gone."""

    def wall_ns(self) -> int:
        return START_NS + self.set_by_ns + now_ns()

    async def run(self, due: Due) -> Outcome:
        job = due.job
        self.began.append((self.wall_ns(), job))
        self.open_at[job.provider] += 1
        self.most_at_once[job.provider] = max(
            self.open_at[job.provider], self.most_at_once[job.provider]
        )
        await trio.sleep(self.takes_s)
        self.open_at[job.provider] -= 1
        return self.outcome(job) if self.outcome else Outcome(self.costs_usd, answered=True)

    async def kept(self) -> None:
        await trio.lowlevel.checkpoint()

    def dispatcher(
        self,
        timings: Mapping[str, Timing],
        limits: Limits | None = None,
        *,
        overall: Allowance | None = None,
    ) -> Dispatcher:
        duty = Duty(
            tuple(
                Assignment(Job("daily", model, "calls"), timing, self.costs_usd)
                for model, timing in timings.items()
            ),
            limits or Limits(jobs=10),
            7,
            overall or Allowance(),
            lambda provider: Allowance(),
            self.run,
            lambda: self.full,
            self.records.append,
            self.kept,
            now_ns,
            self.wall_ns,
            worker_gone=lambda model: model in self.unmanned,
        )
        return Dispatcher(duty, self.state)

    @property
    def missed(self) -> Counter[str]:
        counted: Counter[str] = Counter()
        for record in self.records:
            if record["k"] == "job_missed":
                counted[str(record["why"])] += int(str(record["count"]))
        return counted


async def for_days(days: float, work: Callable[[], Awaitable[None]]) -> None:
    with trio.move_on_after(days * 24 * HOUR_S):
        await work()


async def test_three_months_of_four_a_day_miss_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World()
    models = {f"provider-{number}/model": TimesADay(4) for number in range(5)}
    await for_days(91, world.dispatcher(models).work)
    days = Counter((at_ns // DAY_NS, job) for at_ns, job in world.began)
    assert set(days.values()) == {4}
    assert len(world.began) == 91 * 4 * 5
    assert not world.missed


async def test_models_of_one_provider_never_overlaps_and_accounts_for_each_moment(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World(takes_s=100)
    models: dict[str, Timing] = {f"deepgram/{n}": Every(900 * SECOND) for n in range(6)}
    await for_days(10, world.dispatcher(models).work)
    assert world.most_at_once == {"deepgram": 1}
    assert len(world.began) + world.missed.total() == 10 * 96 * 6
    assert set(world.missed) <= {"provider_busy"}
    assert world.began


async def test_what_begins_late_is_not_shifted(autojump_clock: trio.testing.MockClock) -> None:
    """Every start is within the time that is allowed, or it is none."""
    world = World(takes_s=700)
    models: dict[str, Timing] = {"a/1": Every(900 * SECOND), "b/1": Every(900 * SECOND)}
    limits = Limits(jobs=1, start_within_ns=30 * SECOND)
    await for_days(7, world.dispatcher(models, limits).work)
    first = {job: at_ns for at_ns, job in reversed(world.began)}
    offsets = {
        job: {(at_ns - first[job]) % (900 * SECOND) for at_ns, job_ in world.began if job_ == job}
        for job in first
    }
    for places in offsets.values():
        late = {min(place, 900 * SECOND - place) for place in places}
        assert max(late) <= 30 * SECOND
    assert world.missed.keys() == {"too_many"}


async def test_a_job_longer_than_its_interval_is_missed_not_doubled(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World(takes_s=1000)
    await for_days(1, world.dispatcher({"a/1": Every(900 * SECOND)}).work)
    assert world.most_at_once == {"a": 1}
    assert world.missed == {"still_running": 48}


async def test_a_provider_that_refuses_is_asked_less_and_less_often(
    autojump_clock: trio.testing.MockClock,
) -> None:
    fault = Fault(Whose.PROVIDER, FaultKind.QUOTA)
    world = World(outcome=lambda job: Outcome(0.0, [fault, fault]))
    await for_days(30, world.dispatcher({"a/1": Every(600 * SECOND)}, Limits(jobs=9)).work)
    assert 30 < len(world.began) < 50  # 8 doublings in the first day and a half, then one a day
    assert world.missed.keys() == {"provider_paused"}


async def test_a_provider_that_answers_again_is_measured_as_before(
    autojump_clock: trio.testing.MockClock,
) -> None:
    fault = Fault(Whose.PROVIDER, FaultKind.AUTH)
    bad = [True]
    world = World(
        outcome=lambda job: Outcome(0.0, [fault]) if bad[0] else Outcome(0.0, answered=True)
    )
    dispatcher = world.dispatcher({"a/1": Every(600 * SECOND)})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(dispatcher.work)
        await trio.sleep(12 * HOUR_S)
        bad[0] = False
        await trio.sleep(24 * HOUR_S)
        before = len(world.began)
        await trio.sleep(24 * HOUR_S)
        assert len(world.began) - before == 144
        dispatcher.retire()


async def test_a_budget_stops_the_day_and_the_next_day_goes_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World(costs_usd=0.30)
    dispatcher = world.dispatcher(
        {"a/1": Every(900 * SECOND)}, overall=Allowance(day_usd=3.0, month_usd=9.0)
    )
    await for_days(5, dispatcher.work)
    days = Counter(at_ns // DAY_NS for at_ns, _ in world.began)
    assert set(days.values()) <= {10}
    assert world.state.ledger.spent_usd(None, "month", START_NS) <= 9.0
    (detail, *_) = [record["detail"] for record in world.records if record["k"] == "job_missed"]
    assert "all providers" in str(detail)
    assert set(world.missed) == {"over_budget"}


async def test_money_that_a_run_did_not_need_is_there_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World(costs_usd=2.0, outcome=lambda job: Outcome(0.5, answered=True))
    dispatcher = world.dispatcher({"a/1": TimesADay(24)}, overall=Allowance(day_usd=3.0))
    await for_days(1, dispatcher.work)
    assert world.state.ledger.spent_usd(None, "day", START_NS) == 1.5
    assert len(world.began) == 3


@pytest.mark.parametrize("known_usd", [0.0, 1.2])
async def test_what_a_lost_session_has_cost_is_taken_for_all_that_was_set_aside(
    known_usd: float, autojump_clock: trio.testing.MockClock
) -> None:
    world = World(costs_usd=1.0, outcome=lambda job: Outcome(known_usd, whole=False))
    dispatcher = world.dispatcher({"a/1": TimesADay(1)}, overall=Allowance(day_usd=3.0))
    await for_days(1, dispatcher.work)
    spent_usd = world.state.ledger.spent_usd(None, "day", START_NS)
    assert spent_usd == max(1.0, known_usd)


async def test_runs_side_by_side_cannot_overrun_a_budget_together(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World(takes_s=800, costs_usd=1.0)
    models: dict[str, Timing] = {f"p{n}/m": Every(900 * SECOND) for n in range(9)}
    dispatcher = world.dispatcher(models, Limits(jobs=9), overall=Allowance(day_usd=4.0))
    await for_days(0.5, dispatcher.work)
    assert len(world.began) == 4


async def test_nothing_begins_while_the_journal_is_full(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World(full=True)
    dispatcher = world.dispatcher({"a/1": Every(600 * SECOND)})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(dispatcher.work)
        await trio.sleep(12 * HOUR_S)
        assert (len(world.began), world.missed) == (0, {"journal_full": 72})
        world.full = False
        await trio.sleep(1 * HOUR_S)
        assert len(world.began) == 6
        dispatcher.retire()


async def test_what_nobody_is_there_to_measure_is_missed_and_the_others_begin(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World(unmanned={"a/1"})
    dispatcher = world.dispatcher({name: Every(600 * SECOND) for name in ("a/1", "b/1")})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(dispatcher.work)
        await trio.sleep(12 * HOUR_S)
        assert {job.model for _, job in world.began} == {"b/1"}
        assert world.missed == {"worker_gone": 72}
        world.unmanned.clear()
        await trio.sleep(1 * HOUR_S)
        assert Counter(job.model for _, job in world.began) == {"a/1": 6, "b/1": 78}
        dispatcher.retire()


async def test_a_retired_dispatcher_lets_its_runs_end_and_begins_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World(takes_s=500)
    old = world.dispatcher({"a/1": Every(600 * SECOND)})
    new = world.dispatcher({"b/1": Every(600 * SECOND)})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(old.work)
        while not world.began:  # noqa: ASYNC110
            await trio.sleep(1)
        old.retire()
        nursery.start_soon(new.work)
        await trio.sleep(2 * HOUR_S)
        new.retire()
    by_model = Counter(job.model for _, job in world.began)
    assert by_model["a/1"] == 1
    assert by_model["b/1"] == 12
    assert len(world.state.running) == 0


async def test_what_was_missed_while_this_program_was_away_is_counted(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World()
    dispatcher = world.dispatcher({"a/1": TimesADay(4), "b/1": Every(3600 * SECOND)})
    assert dispatcher.count_missed(START_NS - 2 * DAY_NS) == 2 * 4 + 2 * 24
    assert world.missed == {"not_running": 56}


async def test_a_host_that_slept_misses_what_was_due_and_goes_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World()
    dispatcher = world.dispatcher({"a/1": Every(600 * SECOND)})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(dispatcher.work)
        await trio.sleep(HOUR_S)
        world.set_by_ns = 10 * 3600 * SECOND  # the wall clock went on, ours did not
        await trio.sleep(HOUR_S)
        dispatcher.retire()
    assert 55 <= world.missed["not_running"] <= 60
    assert len(world.began) in (11, 12, 13)


async def test_each_moment_ends_in_exactly_one_way_whatever_happens(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Ten random days: starts and misses together are the moments of the schedules."""
    dice = random.Random(4)
    kinds = [FaultKind.AUTH, FaultKind.SERVER, FaultKind.RATE]

    def outcome(job: Job) -> Outcome:
        if dice.random() < 0.5:
            return Outcome(0.01, answered=True)
        return Outcome(0.01, [Fault(Whose.PROVIDER, dice.choice(kinds))])

    world = World(takes_s=300, costs_usd=0.01, outcome=outcome)
    models: dict[str, Timing] = {f"p{n % 3}/{n}": Every(1200 * SECOND) for n in range(7)}
    dispatcher = world.dispatcher(models, Limits(jobs=2), overall=Allowance(day_usd=1.0))
    await for_days(10, dispatcher.work)
    waiting_or_running = 3
    expected = 10 * 72 * 7
    assert expected - waiting_or_running <= len(world.began) + world.missed.total() <= expected
    assert max(world.most_at_once.values()) == 1
