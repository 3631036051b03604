"""Figures for tests to change one thing in."""

from typing import Any

from daemon.selftest.figures import ErrorSpread, Level, Spread
from daemon.selftest.host import Conditions, Fingerprint
from daemon.selftest.result import SelftestResult, result_of
from measure.records import MS, SECOND

WALL_NS = 1_800_000_000 * SECOND
HOST = Fingerprint("a", "Linux 6.1", "a processor", 4, "3.11.7", "0.1.0", "fifo", "kernel")
CALM = Conditions(exact_timer=True, governor=None, load_per_core=0.1)


def error(p50_ms: float, p99_ms: float | None, n: int = 120) -> ErrorSpread:
    p99_ns = None if p99_ms is None else round(p99_ms * MS)
    return ErrorSpread(0, 0, Spread(n, round(p50_ms * MS), p99_ns, round(9 * MS)))


def late(p99_ms: float) -> Spread:
    return Spread(5000, 0, round(p99_ms * MS), round(p99_ms * MS))


def level(streams: int = 8, **changes: Any) -> Level:  # noqa: ANN401
    """Nothing is wrong with it."""
    fields: dict[str, Any] = {
        "streams": streams,
        "sessions": 120,
        "final_error": error(0.08, 0.41),
        "partial_error": error(0.07, 0.40),
        "lateness": late(0.3),
        "rate_error_ppm": -3.0,
        "force_delay": late(0.1),
        "receive_gap": late(0.2),
        "sentinel": late(0.1),
    }
    return Level(**{**fields, **changes})


def result(*levels: Level, streams: int = 1, wall_unix_ns: int = WALL_NS) -> SelftestResult:
    return result_of(
        wall_unix_ns=wall_unix_ns,
        duration_s=48.0,
        fingerprint=HOST,
        conditions=CALM,
        streams=streams,
        levels=levels or (level(8), level(32), level(100)),
        scrape=None,
    )
