"""A second host: the real metrics and endpoint, fed with records that take hours to come by.

``python -m tests.ops.second_host`` says where it listens, and goes on until it is ended.
"""

import random
import sys
import time
from collections.abc import Iterator
from typing import Any

from prometheus_client import make_wsgi_app

from exporters.prometheus import Metrics
from exporters.settings import Stream
from exporters.web import Web
from measure.records import MS, SECOND

SCHEDULE = "four-times-a-day"
STREAMS = [
    Stream(provider, f"{provider}/m", "calls", "forced") for provider in ("deepgram", "gladia")
]
LEVELS = ((1, 90), (8, 140), (32, 310), (100, 900))
"""Streams at once, and the error of their finals at p50 in microseconds."""


def selftest(wall_ns: int) -> dict[str, Any]:
    """What a self-test says of a host that is fit."""

    def error(p50_us: int) -> dict[str, Any]:
        p50_ns = p50_us * 1000
        return {"size": {"p50_ns": p50_ns, "p99_ns": 4 * p50_ns, "max_ns": 9 * p50_ns}}

    levels = [
        {"streams": streams, "final_error": error(us), "partial_error": error(us + 20)}
        for streams, us in LEVELS
    ]
    return {"k": "selftest", "t": 0, "verdict": "fit", "levels": levels, "wall_unix_ns": wall_ns}


def records(second: int, wall_ns: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """What happens in one second."""
    yield {
        "k": "heartbeat",
        "t": 0,
        "loop_lag_ns": [int(chance.expovariate(4) * MS) for _ in range(10)],
        "host_late_max_ns": int(chance.expovariate(1) * MS),
    }
    due_s = wall_ns / SECOND + 3600 - second % 3600
    yield {"k": "agenda", "t": 0, "next_run_unix_s": {SCHEDULE: due_s}}
    job = {"t": 0, "schedule": SCHEDULE, "model": "m", "dataset": "calls"}
    if second % 10 == 0:
        waited_ns = int(chance.expovariate(0.5) * SECOND)
        yield {"k": "job_begun", **job, "provider": "deepgram", "waited_ns": waited_ns}
    if second % 40 == 0:
        why = chance.choice(["provider_busy", "provider_paused"])
        yield {"k": "job_missed", **job, "provider": "gladia", "why": why}
    budgets = [
        ("deepgram", "day", 1.10 + second / 2000, 2.0),
        ("gladia", "day", 0.75 + second / 4000, 2.0),
        ("all providers", "month", 21.4 + second / 1500, 60.0),
    ]
    yield {
        "k": "spending",
        "t": 0,
        "budgets": [
            {"who": who, "period": period, "spent_usd": spent, "limit_usd": limit}
            for who, period, spent, limit in budgets
        ],
    }


def main() -> None:
    """Serve, and feed it."""
    metrics = Metrics(STREAMS, [SCHEDULE], {"version": "0.1.0", "python": "3.11"})
    web = Web(("127.0.0.1", 0), make_wsgi_app(metrics.registry))
    sys.stdout.write(f"listening on {web.address}\n")
    sys.stdout.flush()
    metrics.take(selftest(time.time_ns()))
    chance = random.Random(1)
    second = 0
    while True:
        for record in records(second, time.time_ns(), chance):
            metrics.take(record)
        second += 1
        time.sleep(1)


if __name__ == "__main__":
    main()
