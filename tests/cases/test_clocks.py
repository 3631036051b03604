"""What the wall clock may do: A3."""

import time

import pytest
from trio.testing import MockClock

from daemon.clock import now_ns, wall_ns
from daemon.fakes import FakeDeepgram, Line, Script
from daemon.watchman import HostWatchman
from measure.events import ClockStepped
from measure.records import SECOND, Verdict
from tests.cases.sessions import Session, measured, near

ANSWER = Script(answers=((Line("good day", after_s=0.25, final=True),),))
ANCHOR_NS = 1_700_000_000 * SECOND


async def measured_with_a_step(
    step_ns: int, monkeypatch: pytest.MonkeyPatch, after_ns: int = SECOND // 2
) -> Session:
    """The host's wall clock is moved half a second after the session has begun."""
    started_ns = now_ns()

    def time_ns() -> int:
        stepped = now_ns() - started_ns >= after_ns
        return ANCHOR_NS + now_ns() + (step_ns if stepped else 0)

    monkeypatch.setattr(time, "time_ns", time_ns)
    monkeypatch.setattr(time, "time", lambda: time_ns() / 1e9)
    return await measured(FakeDeepgram(ANSWER), watchman=HostWatchman(now_ns, wall_ns))


@pytest.mark.parametrize("step_ns", [5 * SECOND, -5 * SECOND])
async def test_a3_a_step_of_the_wall_clock_changes_no_latency_and_is_told(
    step_ns: int, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    session = await measured_with_a_step(step_ns, monkeypatch)
    assert near(session.reading.time_to_final_ns, 250)
    assert session.reading.selection is Verdict.FORCED_FINAL
    assert session.reading.verdict is Verdict.CLOCK_STEP
    (step,) = session.all_of(ClockStepped)
    assert step.step_ns == step_ns


async def test_a3_without_a_step_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    session = await measured_with_a_step(0, monkeypatch)
    assert session.reading.verdict is Verdict.FORCED_FINAL
    assert session.all_of(ClockStepped) == []


async def test_a3_the_wall_clock_only_says_when_a_session_began(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    session = await measured_with_a_step(5 * SECOND, monkeypatch)
    moments = [record["t"] for record in session.recorder.records if "t" in record]
    assert all(isinstance(at_ns, int) and at_ns < ANCHOR_NS for at_ns in moments)
    names = {name for record in session.recorder.records for name in record if "wall_unix" in name}
    assert names == {"wall_unix_ns"}
