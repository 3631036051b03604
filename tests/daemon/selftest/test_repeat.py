"""The daemon's own self-tests: once a day, on a changed host, never beside a measurement."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import trio
import trio.testing

from daemon.clock import HostClock, now_ns
from daemon.errors import UserError
from daemon.selftest import repeat
from daemon.selftest.known import KnownError
from daemon.selftest.repeat import DAILY_NS, LOOK_S, RETRY_S, due, keep_tested
from daemon.selftest.result import SelftestResult
from daemon.selftest.state import NAME, save
from measure.records import SECOND
from measure.wire import Record
from tests.daemon.selftest.levels import HOST, WALL_NS, result

DAY_S = DAILY_NS / SECOND


def wall_ns() -> int:
    return WALL_NS + now_ns()


@dataclass
class Records:
    put_there: list[Record] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)

    def put(self, record: Record) -> None:
        self.put_there.append(record)

    def log(self, level: str, event: str, **fields: object) -> None:
        self.logged.append(event)


@dataclass
class Trial:
    """Takes 50 s, as a test does, and stores its result."""

    directory: Path
    begun_s: list[float] = field(default_factory=list)
    fails: int = 0
    while_measuring: Callable[[], bool] = lambda: False

    async def __call__(self) -> SelftestResult:
        self.begun_s.append(trio.current_time())
        assert not self.while_measuring()
        await trio.sleep(50)
        if self.fails:
            self.fails -= 1
            raise UserError("it cannot be started")
        one = result(wall_unix_ns=wall_ns())
        save(one, self.directory)
        return one


def known_in(directory: Path) -> KnownError:
    return KnownError(directory, 1, HOST, wall_ns)


@pytest.mark.parametrize(
    ("age_ns", "why"), [(DAILY_NS - 1, None), (DAILY_NS, "a day has passed"), (-1, None)]
)
def test_a_test_is_due_after_a_day(tmp_path: Path, age_ns: int, why: str | None) -> None:
    save(result(), tmp_path)
    assert due(known_in(tmp_path), WALL_NS + age_ns) == why


def test_a_test_is_due_where_there_is_none_or_a_damaged_one(tmp_path: Path) -> None:
    assert due(known_in(tmp_path), WALL_NS) == "it was never tested"
    (tmp_path / NAME).write_bytes(b"?")
    assert "no self-test's result" in str(due(known_in(tmp_path), WALL_NS))


def test_a_test_is_due_when_the_host_has_changed(tmp_path: Path) -> None:
    save(result(), tmp_path)
    changed = KnownError(tmp_path, 1, replace(HOST, kernel="Linux 7"), wall_ns)
    assert "kernel" in str(due(changed, WALL_NS))


async def kept(
    directory: Path, trial: Trial, records: Records, quiet: trio.Lock, seconds: float
) -> None:
    with trio.move_on_after(seconds):
        await keep_tested(known_in(directory), quiet, records, now_ns, trial)


async def test_it_tests_once_the_first_round_has_begun_and_then_daily(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    trial, records = Trial(tmp_path), Records()
    await kept(tmp_path, trial, records, trio.Lock(), 2.5 * DAY_S)
    first, second, third = trial.begun_s
    assert LOOK_S <= first < 2 * LOOK_S
    assert DAY_S <= second - first <= DAY_S + 120
    assert DAY_S <= third - second <= DAY_S + 120
    assert [record["k"] for record in records.put_there] == ["selftest"] * 3
    assert records.logged == ["selftest_started", "selftest_finished"] * 3


async def test_a_result_that_counts_is_told_at_once_and_not_repeated(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    save(result(wall_unix_ns=wall_ns()), tmp_path)
    trial, records = Trial(tmp_path), Records()
    await kept(tmp_path, trial, records, trio.Lock(), 0.9 * DAY_S)
    assert trial.begun_s == []
    assert [record["k"] for record in records.put_there] == ["selftest"]


async def test_it_waits_until_nothing_is_measured(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    quiet = trio.Lock()
    measuring = False
    trial = Trial(tmp_path, while_measuring=lambda: measuring)

    async def measure() -> None:
        nonlocal measuring
        async with quiet:
            measuring = True
            await trio.sleep(500)
            measuring = False

    async with trio.open_nursery() as nursery:
        nursery.start_soon(measure)
        await trio.testing.wait_all_tasks_blocked()
        await kept(tmp_path, trial, Records(), quiet, 1000)
        nursery.cancel_scope.cancel()
    assert len(trial.begun_s) == 1
    assert trial.begun_s[0] >= 500


async def test_a_test_that_fails_is_said_and_tried_again_after_a_while(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    trial, records = Trial(tmp_path, fails=1), Records()
    await kept(tmp_path, trial, records, trio.Lock(), 2 * RETRY_S)
    first, second = trial.begun_s
    assert second - first >= RETRY_S
    assert "selftest_failed" in records.logged


def test_a_test_in_a_process_of_its_own_is_ended_when_it_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeat, "MOST_S", 0.5)  # it takes most of a minute
    with pytest.raises(UserError, match=r"not over within 0\.5 s"):
        trio.run(repeat.tested_apart, known_in(tmp_path), clock=HostClock())
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_gives_no_result_is_quoted(tmp_path: Path) -> None:
    known = KnownError(tmp_path, 0, HOST, wall_ns)  # no number of streams that can be
    with pytest.raises(UserError, match="whole number from 1 to 10000"):
        trio.run(repeat.tested_apart, known, clock=HostClock())
