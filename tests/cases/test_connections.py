"""How long it takes to get through, and what that may touch: A22, A26."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from daemon.budget import Allowance
from daemon.clock import HostClock, now_ns, wall_ns
from daemon.config import Settings
from daemon.dial import WebsocketUrl, connect
from daemon.dispatch import Assignment, Dispatcher, Duty, Outcome, State
from daemon.duties import limits_of
from daemon.fakes import FakeDeepgram, Faults, Line, Script, listening
from daemon.link import Dial, Opener, TcpDialer, Way
from daemon.order import Bench, Order
from daemon.plan import Target
from daemon.rounds import measure_round
from daemon.schedule import Due, Every, Job
from daemon.session import measure_once
from exporters.metric_table import METRICS
from exporters.prometheus import Metrics
from exporters.settings import Stream
from measure.events import Connected, ForceSent, FrameSent
from measure.faults import FaultKind, Whose
from measure.measurement import Measurement
from measure.records import MS, SECOND, Verdict
from pacer.clock import PlainSleeper
from pacer.pace import Pacer
from providers.codec import Options
from providers.deepgram import Deepgram
from tests.cases.sessions import measured, near, ordered
from tests.daemon.bench import ListRecorder, QuietWatchman, bench_of, memory_dial
from tests.daemon.bench import wall_ns as virtual_wall_ns
from tests.daemon.fakes.test_server import contexts
from tests.exporters.test_prometheus import value

ANSWER = Script(answers=((Line("good day", after_s=0.25, final=True),),))
PATIENT_NS = 60 * SECOND
"""Over real sockets a busy host is no fault here."""

# A22

CLIPS = 12
HEALTHY, BLACK_HOLE, ANOTHER = "deepgram/nova-3", "deepgram/nova-2", "deepgram/base"
START_LATE_NS = 50 * MS


@dataclass(frozen=True)
class Round:
    """Twelve clips for each target: what a plan is to a round, and nothing besides."""

    recordings: tuple[int, ...] = tuple(range(CLIPS))

    def order(self, target: Target, recording: int, run_id: str) -> Order:
        order = ordered(Deepgram(target.options), model=target.name)
        clip = replace(order.clip, name=f"clip {recording}")
        return replace(order, session_id=f"{target.name} {recording}", run_id=run_id, clip=clip)


def target_of(name: str, host: str) -> Target:
    return Target(name, Options(url=f"ws://{host}"), "key", Deepgram.facts.rule)


def dial_of(world: trio.Nursery) -> Dial:
    """Memory to the healthy one; from the black hole never an answer."""

    async def dial(url: WebsocketUrl) -> Way:
        if url.host == "hole":
            await trio.sleep_forever()
        return await memory_dial([FakeDeepgram(ANSWER)], world)(url)

    return dial


async def starts_ns(names: Iterable[str], parallel: int) -> tuple[list[int], ListRecorder]:
    """When the sessions of the healthy one began, counted from the start of the round."""
    targets = tuple(target_of(name, "well" if name == HEALTHY else "hole") for name in names)
    recorder = ListRecorder()
    async with trio.open_nursery() as world:
        async with bench_of(dial_of(world), recorder) as bench:
            began_ns = now_ns()
            await measure_round(
                Round(),  # type: ignore[arg-type]  # it has what a round asks for
                targets,
                bench,
                "r1",
                parallel=parallel,
                measured=lambda _: None,
            )
        world.cancel_scope.cancel()
    found = [
        record["t"] - began_ns
        for record in recorder.records
        if record["k"] == "session_started" and record["model"] == HEALTHY
        if isinstance(record["t"], int)
    ]
    return found, recorder


async def later_ns(names: Iterable[str], parallel: int) -> tuple[list[int], ListRecorder]:
    """How much later each session of the healthy one began beside the others than alone."""
    alone, _ = await starts_ns([HEALTHY], parallel)
    beside, recorder = await starts_ns(names, parallel)
    assert len(alone) == len(beside) == CLIPS
    return [after - before for before, after in zip(alone, beside, strict=True)], recorder


async def test_a22_a_black_hole_does_not_delay_a_healthy_target_beside_it(
    autojump_clock: MockClock,
) -> None:
    late_ns, recorder = await later_ns([BLACK_HOLE, HEALTHY], parallel=2)
    assert max(late_ns) < START_LATE_NS
    metrics = Metrics(
        [Stream("deepgram", name, "files", "forced") for name in (HEALTHY, BLACK_HOLE)]
    )
    for record in recorder.records:
        metrics.take(record)
    labels = {"provider": "deepgram", "dataset": "files", "flow": "forced"}
    success = partial(value, metrics, "last_success_timestamp_seconds", **labels)
    assert success(model=HEALTHY) > 0 == success(model=BLACK_HOLE)
    del labels["dataset"]
    failures = partial(value, metrics, "session_failures_total", **labels, reason="timeout")
    assert (failures(model=HEALTHY), failures(model=BLACK_HOLE)) == (0, CLIPS)


async def begun_beside_ns(names: Iterable[str]) -> dict[str, list[int]]:
    """When each run of a model began after its moment, dispatched as the daemon does by default."""
    late_ns: dict[str, list[int]] = {}
    async with trio.open_nursery() as world:
        async with bench_of(dial_of(world), ListRecorder()) as bench:

            async def run(due: Due) -> Outcome:
                late_ns.setdefault(due.job.model, []).append(virtual_wall_ns() - due.wall_ns)
                target = target_of(due.job.model, "well" if due.job.model == HEALTHY else "hole")
                await measure_round(
                    Round(),  # type: ignore[arg-type]  # it has what a round asks for
                    (target,),
                    bench,
                    "r1",
                    parallel=1,
                    measured=lambda _: None,
                )
                return Outcome(0.0)

            dispatcher = Dispatcher(duty_of(names, run), State())
            with trio.move_on_after(600):
                await dispatcher.work()
        world.cancel_scope.cancel()
    return late_ns


def duty_of(names: Iterable[str], run: Callable[[Due], Awaitable[Outcome]]) -> Duty:
    """Each of them every two minutes, with the limits that there are by default."""

    async def settled() -> None:
        await trio.lowlevel.checkpoint()

    return Duty(
        tuple(Assignment(Job("interval", name, "files"), Every(120 * SECOND)) for name in names),
        limits_of(Settings()),
        0,
        Allowance(),
        lambda _: Allowance(),
        run,
        lambda: False,
        lambda _: None,
        settled,
        now_ns,
        virtual_wall_ns,
    )


async def test_a22_nor_does_it_under_the_default_settings(autojump_clock: MockClock) -> None:
    """Each provider has one stream of ours at a time, so a dead one keeps only itself waiting."""
    late_ns = await begun_beside_ns(["gladia/solaria-1", HEALTHY, "soniox/stt-rt-v5"])
    assert len(late_ns[HEALTHY]) == 5
    assert max(late_ns[HEALTHY]) < START_LATE_NS
    assert len(late_ns["gladia/solaria-1"]) > 1


async def once(bench: Bench, name: str, url: str) -> Measurement:
    order = ordered(Deepgram(Options(url=url)), model=name)
    rule = replace(order.rule, late_budget_ns=PATIENT_NS, stall_budget_ns=PATIENT_NS)
    recorder = ListRecorder()
    own = replace(bench, recorder=recorder)
    connect_s = 60.0 if name == HEALTHY else 1.5
    measurement = await measure_once(replace(order, rule=rule, connect_s=connect_s), own)
    assert recorder.reading() == measurement.reading
    return measurement


def test_a22_a_port_that_swallows_every_packet_is_the_networks_fault_and_no_others() -> None:
    async def main() -> dict[str, Measurement]:
        pacer = Pacer(PlainSleeper(), now_ns)
        opener = Opener(TcpDialer(now_ns, wall_ns), now_ns)
        bench = Bench(pacer, opener, ListRecorder(), QuietWatchman(), now_ns, wall_ns)
        hole = listening(FakeDeepgram(ANSWER, Faults(black_hole=True)))
        found: dict[str, Measurement] = {}

        async def measure(name: str, url: str) -> None:
            found[name] = await once(bench, name, url)

        async with (
            hole as nowhere,
            listening(FakeDeepgram(ANSWER)) as well,
            trio.open_nursery() as background,
        ):
            background.start_soon(pacer.run)
            async with trio.open_nursery() as sessions:
                sessions.start_soon(measure, BLACK_HOLE, nowhere)
                sessions.start_soon(measure, HEALTHY, well)
            background.cancel_scope.cancel()
        return found

    found = trio.run(main, clock=HostClock())
    assert found[HEALTHY].reading.selection is Verdict.FORCED_FINAL
    assert found[BLACK_HOLE].reading.verdict is Verdict.NETWORK_ERROR
    fault = found[BLACK_HOLE].reading.fault
    assert fault is not None
    assert (fault.whose, fault.kind) == (Whose.NETWORK, FaultKind.TIMEOUT)


# A26

SLOW_S = 1.0


async def test_a26_a_slow_upgrade_is_connecting_and_in_no_latency(
    autojump_clock: MockClock,
) -> None:
    session = await measured(FakeDeepgram(ANSWER, Faults(handshake_s=SLOW_S)))
    (connected,) = session.all_of(Connected)
    assert near(connected.upgrade_ns, SLOW_S * 1000)
    assert near(session.reading.time_to_final_ns, 250)
    assert session.frames()[0].at_ns >= connected.at_ns
    connect_ns = session.finished["connect_ns"]
    assert isinstance(connect_ns, int)
    assert near(connect_ns, SLOW_S * 1000)


def test_a26_a_slow_tls_handshake_is_told_apart_and_in_no_latency() -> None:
    server, client = contexts()
    slow = Faults(tls_s=0.3, handshake_s=0.2)
    recorder = ListRecorder()

    async def dial(url: WebsocketUrl) -> Way:
        made = await connect(url.host, url.port, ssl_context=client, now_ns=now_ns, wall_ns=wall_ns)
        return Way(made.lane, made.address, made.dns_ns, made.tcp_ns, made.tls_ns)

    async def main() -> Measurement:
        pacer = Pacer(PlainSleeper(), now_ns)
        opener = Opener(dial, now_ns)
        bench = Bench(pacer, opener, recorder, QuietWatchman(), now_ns, wall_ns)
        fake = FakeDeepgram(ANSWER, slow)
        async with listening(fake, tls=server) as address, trio.open_nursery() as background:
            background.start_soon(pacer.run)
            order = ordered(Deepgram(Options(url=address)))
            rule = replace(order.rule, late_budget_ns=PATIENT_NS, stall_budget_ns=PATIENT_NS)
            measurement = await measure_once(replace(order, rule=rule), bench)
            background.cancel_scope.cancel()
        return measurement

    reading = trio.run(main, clock=HostClock()).reading
    events = recorder.events()
    (connected,) = [event for event in events if isinstance(event, Connected)]
    assert connected.tls_ns is not None
    assert connected.tls_ns >= 0.3 * SECOND
    assert connected.upgrade_ns >= 0.2 * SECOND
    first = next(event for event in events if isinstance(event, FrameSent))
    (force,) = [event for event in events if isinstance(event, ForceSent)]
    assert connected.at_ns <= first.at_ns <= force.at_ns
    assert reading.selection is Verdict.FORCED_FINAL
    assert reading.final is not None
    assert reading.time_to_final_ns == reading.final.at_ns - force.at_ns


async def test_a26_waiting_for_a_free_slot_is_in_no_latency(autojump_clock: MockClock) -> None:
    """One slot, two targets: the second one waits for the whole of the first."""
    recorder = ListRecorder()
    found: list[Measurement] = []
    names = [f"deepgram/{nth}" for nth in range(2)]
    async with trio.open_nursery() as world:
        async with bench_of(dial_of(world), recorder) as bench:
            await measure_round(
                Round(recordings=(0,)),  # type: ignore[arg-type]
                tuple(target_of(name, "well") for name in names),
                bench,
                "r1",
                parallel=1,
                measured=found.append,
            )
        world.cancel_scope.cancel()
    assert len(found) == 2
    assert all(near(one.reading.time_to_final_ns, 250) for one in found)
    assert found[0].wall_ns == pytest.approx(found[1].wall_ns, abs=25 * MS)


def test_a26_waiting_for_a_free_slot_has_a_metric_of_its_own() -> None:
    names = [metric.name for metric in METRICS if metric.kind == "histogram"]
    assert any("queue" in name or "wait" in name for name in names)
