"""How a stream ends, and that it does: A6, A25."""

import pytest
from trio.testing import MockClock

from daemon.fakes import FakeDeepgram, Faults, Flood, HangUp, Line, Moment, Script
from exporters.prometheus import Metrics
from exporters.settings import Stream
from measure.events import StreamClosed
from measure.faults import FaultKind, Whose
from measure.records import SECOND, Verdict
from tests.cases.sessions import (
    Session,
    all_measured,
    deepgram_as,
    measured,
    near,
    ordered,
)
from tests.daemon.bench import ZERO_MS
from tests.exporters.test_prometheus import series, value

ANSWER = Script(answers=((Line("good day", after_s=0.25, final=True),),))
SETTLED_S = ZERO_MS / 1000 + 0.25 + 0.5
"""When the answer is complete and further finals have been listened for."""
EXIT_S = 1.5

# A6: a provider that hangs up where neither audio nor a sign of life comes

IDLE = Faults(no_final=True, idle_s=3.0)


async def paused(*, keepalive_s: float | None) -> Session:
    """No audio goes out after the force, and no answer comes."""
    codec = deepgram_as(silence_after_force=False, keepalive_s=keepalive_s)
    return await measured(FakeDeepgram(ANSWER, IDLE), ordered(codec))


async def test_a6_signs_of_life_keep_a_paused_stream_open(autojump_clock: MockClock) -> None:
    session = await paused(keepalive_s=1.0)
    assert session.reading.verdict is Verdict.NO_FINAL
    alive = [one for one in session.visit.heard if b"KeepAlive" in one.payload]
    assert len(alive) >= 8
    assert [event.code for event in session.all_of(StreamClosed)] != [1011]


async def test_a6_without_them_its_1011_ends_the_sample_as_its_own_error(
    autojump_clock: MockClock,
) -> None:
    session = await paused(keepalive_s=None)
    fault = session.reading.fault
    assert session.reading.verdict is Verdict.PROVIDER_ERROR
    assert fault is not None
    assert (fault.whose, fault.kind) == (Whose.PROVIDER, FaultKind.TIMEOUT)
    assert "1011" in fault.detail
    assert "NET-0001" in fault.detail
    assert session.took_s < ZERO_MS / 1000 + 3.0 + EXIT_S


async def test_a6_the_next_sample_is_not_affected(autojump_clock: MockClock) -> None:
    codec = deepgram_as(silence_after_force=False, keepalive_s=None)
    broken, whole = await all_measured(
        [(FakeDeepgram(ANSWER, IDLE), ordered(codec)), (FakeDeepgram(ANSWER), ordered())]
    )
    assert broken.reading.verdict is Verdict.PROVIDER_ERROR
    assert whole.reading.verdict is Verdict.FORCED_FINAL
    assert near(whole.reading.time_to_final_ns, 250)


async def counted(session: Session) -> Metrics:
    metrics = Metrics([Stream("deepgram", "deepgram/nova-3", "files", "forced")])
    for record in session.recorder.records:
        metrics.take(record)
    return metrics


async def test_a6_it_is_counted_with_its_reason(autojump_clock: MockClock) -> None:
    metrics = await counted(await paused(keepalive_s=None))
    labels = {"provider": "deepgram", "model": "deepgram/nova-3", "flow": "forced"}
    assert value(metrics, "session_failures_total", **labels, reason="timeout") == 1


async def test_a6_it_is_counted_by_the_code_of_its_close(autojump_clock: MockClock) -> None:
    metrics = await counted(await paused(keepalive_s=None))
    assert any(dict(labels).get("code") == "1011" for _, labels in series(metrics))


# A25: a provider that does not part

STUBBORN = {
    "never answers Close": Faults(close_unanswered=True),
    "never answers farewell or Close": Faults(finish_unanswered=True, close_unanswered=True),
    "floods, then is silent": Faults(
        flood=Flood(Moment.FINAL, per_s=2000, for_s=0.4),
        finish_unanswered=True,
        close_unanswered=True,
    ),
    "floods without end": Faults(
        flood=Flood(Moment.FINAL, per_s=500, for_s=60), close_unanswered=True
    ),
    "floods after the farewell": Faults(
        flood=Flood(Moment.FINISH, per_s=500, for_s=60),
        finish_unanswered=True,
        close_unanswered=True,
    ),
}


@pytest.mark.parametrize("how", STUBBORN)
async def test_a25_however_it_does_not_part_the_result_is_kept_and_the_exit_is_quick(
    how: str, autojump_clock: MockClock
) -> None:
    session = await measured(FakeDeepgram(ANSWER, STUBBORN[how]))
    assert session.reading.verdict is Verdict.FORCED_FINAL
    assert near(session.reading.time_to_final_ns, 250)
    assert session.took_s <= SETTLED_S + EXIT_S
    assert session.finished["k"] == "session_finished"


@pytest.mark.parametrize("code", [1000, 1011])
async def test_a25_a_close_in_the_same_bytes_as_the_final_does_not_take_it_away(
    code: int, autojump_clock: MockClock
) -> None:
    faults = Faults(hang_up=HangUp(Moment.FINAL, code=code))
    session = await measured(FakeDeepgram(ANSWER, faults))
    assert session.reading.time_to_final_ns is not None
    assert near(session.reading.time_to_final_ns, 250)
    assert session.reading.transcript == "good day"
    assert session.took_s * SECOND < 3 * SECOND
