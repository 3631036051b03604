"""A session whose process died is brought to an end that a replay of the journal agrees with."""

import pytest
import trio

from daemon.broken_off import SAID, broken_off
from daemon.commands.replay import COMPARED
from daemon.fakes import FakeDeepgram, Script
from daemon.session import measure_once
from daemon.session_records import finish_record
from measure.faults import FaultKind, Whose
from measure.records import Verdict
from measure.replay import measurement_of, sessions_of
from measure.wire import Record
from providers import CATALOG
from providers.codec import Options
from tests.daemon.bench import ListRecorder, bench_of, memory_dial, order_of


async def recorded(nursery: trio.Nursery) -> list[Record]:
    """A whole session, as the exporter gets it."""
    recorder = ListRecorder()
    fake = FakeDeepgram(Script.for_force("good day", end_ms=500, after_s=0.1))
    codec = CATALOG["deepgram/nova-3"].make(Options(url="ws://fake"))
    async with bench_of(memory_dial([fake], nursery), recorder) as bench:
        await measure_once(order_of(codec), bench)
    return recorder.records


def moment(record: Record) -> int:
    at_ns = record["t"]
    assert isinstance(at_ns, int)
    return at_ns


async def test_wherever_it_is_cut_the_end_is_what_a_replay_shows(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    whole = await recorded(nursery)
    latest_ns = max(map(moment, whole))
    verdicts = []
    for count in range(1, len(whole)):
        kept = whole[:count]
        end = broken_off(kept, latest_ns + 5_000_000)
        (session,) = sessions_of([*kept, *end])
        assert session.finished == end[-1]
        again = finish_record(measurement_of(session), 0)
        assert [again[name] for name in COMPARED] == [end[-1][name] for name in COMPARED]
        assert end[-1]["wall_ms"] == (latest_ns + 5_000_000 - moment(whole[0])) / 1e6
        verdicts.append(end[-1]["verdict"])
    assert verdicts[0] == Verdict.HARNESS_ERROR
    assert verdicts[-1] == Verdict.FORCED_FINAL  # only its own end was still to be recorded


async def test_it_is_this_host_s_fault(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    whole = await recorded(nursery)
    failed, last = broken_off(whole[:1], moment(whole[0]) + 1)
    fault = {"whose": Whose.HOST, "kind": FaultKind.HARNESS, "detail": SAID, "retry_after_s": None}
    assert failed["fault"] == last["fault"] == fault
    assert last["valid"] is False


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule"):
        broken_off([{"k": "session_started", "t": 1, "s": "s1"}], 2)
