"""The whole self-test: starts what it needs, takes the course, and gives the result.

Everything it starts ends with it. All of it is over within ``MOST_S``; parts that there was no more
time for are missing from the result, and speak against the host.
"""

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Protocol

import trio

from daemon.clock import now_ns, wall_ns
from daemon.plan import new_id
from daemon.selftest.children import known_delay_server, scraper
from daemon.selftest.codec import MODEL
from daemon.selftest.course import PARTS, Course, Part, take_part
from daemon.selftest.figures import Level, Stalls, level_of, spread_of_stalls
from daemon.selftest.host import Conditions, Fingerprint
from daemon.selftest.result import ScrapeEffect, SelftestResult, result_of
from daemon.selftest.speech import speech_like
from daemon.sentinel import sentinel as host_sentinel
from daemon.supervise import bench, start_exporter
from exporters.settings import Settings as ExporterSettings
from exporters.settings import Stream
from measure.records import SECOND

MOST_S = 56.0
"""All of it, what is started and ended included, is done within a minute."""
SEED = 20
SERIES = 7
"""So many models make about 2,500 lines of metrics, as a busy daemon has."""
WARM_UP = Part(8, 1)
"""Not counted: the first sessions of a process load what later ones have."""


class Watch(Protocol):
    """A running sentinel."""

    def take(self) -> Stalls: ...


Sentinel = Callable[[], AbstractAsyncContextManager[Watch]]
Say = Callable[[str], None]


async def selftest(
    fingerprint: Fingerprint,
    conditions: Conditions,
    *,
    streams: int,
    say: Say,
    sentinel: Sentinel = host_sentinel,
    parts: Sequence[Part] = PARTS,
    warm_up: Part = WARM_UP,
    seed: int = SEED,
) -> SelftestResult:
    """Test this host; the verdict is for ``streams``. ``say`` gets a line as each part begins.

    Raises UserError where something cannot be started.
    """
    started_ns, started_wall_ns = now_ns(), wall_ns()
    say(f"selftest: starting what it needs and warming up, about {warm_up.seconds + 1:.0f} s")
    levels: list[Level] = []
    scraped: list[tuple[Level, list[bytes]]] = []
    with trio.move_on_after(MOST_S):
        async with _stage(sentinel, seed) as (course, watch, metrics):
            await take_part(course, warm_up)
            for number, part in enumerate(parts, start=1):
                say(_title(number, len(parts), part))
                watch.take()
                if part.scraped:
                    async with scraper(metrics) as times:
                        level = await _level(course, part, watch)
                    scraped.append((level, times))
                else:
                    levels.append(await _level(course, part, watch))
    return result_of(
        wall_unix_ns=started_wall_ns,
        duration_s=(now_ns() - started_ns) / SECOND,
        fingerprint=fingerprint,
        conditions=conditions,
        streams=streams,
        levels=levels,
        scrape=_scrape_effect(levels, scraped),
    )


async def _level(course: Course, part: Part, watch: Watch) -> Level:
    measurements, records = await take_part(course, part)
    return level_of(part.streams, measurements, records, spread_of_stalls(watch.take()))


@asynccontextmanager
async def _stage(sentinel: Sentinel, seed: int) -> AsyncIterator[tuple[Course, Watch, str]]:
    """Exporter, bench, server and sentinel; and where the metrics are."""
    clip = speech_like(seed)
    with tempfile.TemporaryDirectory(prefix="speechbench-selftest-") as directory:
        recording = start_exporter(_exporter_settings(directory))
        try:
            async with (
                known_delay_server() as address,
                sentinel() as watch,
                bench(recording) as ours,
            ):
                course = Course(ours, address, clip, seed, new_id(), new_id)
                yield course, watch, recording.ready.address or ""
        finally:
            recording.stop()


def _exporter_settings(directory: str) -> ExporterSettings:
    """As a daemon with many models would give them; what is measured here is thrown away."""
    others = (
        Stream(f"provider-{n}", f"provider-{n}/model", "corpus", "forced") for n in range(SERIES)
    )
    return ExporterSettings(
        journal_directory=directory,
        listen=("127.0.0.1", 0),
        log_level="error",
        version=version("speechbench"),
        streams=(Stream("selftest", MODEL, "selftest", "forced"), *others),
        schedules=("interval",),
    )


def _scrape_effect(
    levels: Sequence[Level], scraped: Sequence[tuple[Level, list[bytes]]]
) -> ScrapeEffect | None:
    for level, times in scraped:
        fetched = [line.split() for line in times]
        without = next((one for one in levels if one.streams == level.streams), None)
        if without is not None and fetched:
            return ScrapeEffect(
                streams=level.streams,
                scrapes=len(fetched),
                lines=max(int(lines) for _, lines in fetched),
                longest_ms=max(float(took_ms) for took_ms, _ in fetched),
                without_lateness=without.lateness,
                with_lateness=level.lateness,
                without_error=without.final_error,
                with_error=level.final_error,
            )
    return None


def _title(number: int, of: int, part: Part) -> str:
    streams = "1 stream" if part.streams == 1 else f"{part.streams} streams"
    meanwhile = ", metrics fetched each second" if part.scraped else ""
    return f"selftest {number}/{of}: {streams}{meanwhile}, about {part.seconds:.0f} s"
