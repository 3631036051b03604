"""Journals of real sessions in virtual time, for the tests of ``speechbench rescore``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import trio
import trio.testing

from daemon.clock import now_ns
from daemon.fakes import FakeDeepgram, FakeGladia, Faults, Line, Script
from daemon.fakes.server import Fake
from daemon.order import Order
from daemon.session import measure_once
from exporters.journal import Journal
from exporters.packing import pack
from measure.events import LoopStalled
from measure.measurement import Measurement
from measure.wire import Record
from providers.codec import Options
from providers.deepgram import Deepgram
from tests.daemon.bench import (
    ListRecorder,
    QuietWatchman,
    bench_of,
    memory_dial,
    order_of,
)
from tests.daemon.test_session import NATURAL, PreparedGladia
from tests.exporters.records import Hand, journal_in

FINAL_MS = 250.0
SCRIPT = Script(
    lines=(Line("could", 200), Line("good", 300), Line("good day", 480)),
    answers=(
        (Line("good day", after_s=0.1), Line("good day", after_s=FINAL_MS / 1000, final=True)),
    ),
)
"""A partial is taken back once, then the words come as they stay."""


def forced(faults: Faults | None = None) -> tuple[Fake, Order]:
    return FakeDeepgram(SCRIPT, faults), order_of(Deepgram(Options()))


def natural() -> tuple[Fake, Order]:
    fake = FakeGladia(NATURAL)
    return fake, order_of(PreparedGladia(fake), "gladia/solaria-1")


async def measured(
    pairs: Sequence[tuple[Fake, Order]], *, stall_after_s: float | None = None
) -> tuple[list[Measurement], list[Record]]:
    """Each order against its fake, one after the other; the sessions are s0, s1 and so on."""
    recorder, measurements = ListRecorder(), []
    watchman = QuietWatchman()
    async with trio.open_nursery() as world:

        async def stall(after_s: float) -> None:
            await trio.sleep(after_s)
            watchman.tell(LoopStalled(now_ns(), 60_000_000))

        dial = memory_dial([fake for fake, order in pairs if order.speech is not None], world)
        async with bench_of(dial, recorder, watchman) as bench:
            for number, (_, order) in enumerate(pairs):
                if stall_after_s is not None and number == 0:
                    world.start_soon(stall, stall_after_s)
                named = replace(order, session_id=f"s{number}")
                measurements.append(await measure_once(named, bench))
        world.cancel_scope.cancel()
    return measurements, recorder.records


def journalled(directory: Path, records: Sequence[Record], *, close: bool = True) -> Journal:
    """A journal that holds them; closed, or still being written."""
    journal = journal_in(directory, Hand())
    for record in records:
        assert journal.append(pack(record))
    if close:
        journal.close()
    return journal
