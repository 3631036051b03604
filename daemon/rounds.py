"""One round: every model hears every clip once.

A model hears its clips one after another, so that never two of our streams share a provider. As
many models as allowed are measured at the same time.
"""

from collections.abc import Callable

import trio

from daemon.order import Bench
from daemon.plan import Plan, Target
from daemon.session import measure_once
from measure.measurement import Measurement


async def measure_round(
    plan: Plan,
    targets: tuple[Target, ...],
    bench: Bench,
    run_id: str,
    *,
    parallel: int,
    measured: Callable[[Measurement], None],
) -> None:
    """Measure every target with every clip of ``plan``; ``measured`` gets each as it is made.

    When this is cancelled, what was measured until then has been given to ``measured``, those that
    were interrupted included.
    """
    limit = trio.CapacityLimiter(parallel)

    async def measure_target(target: Target) -> None:
        async with limit:
            for recording in plan.recordings:
                order = plan.order(target, recording, run_id)
                await measure_once(order, bench, measured)

    started = bench.now_ns()
    clips = len(plan.recordings)
    bench.recorder.put(
        {
            "k": "run_started",
            "t": started,
            "run_id": run_id,
            "models": [target.name for target in targets],
            "clips": clips,
            "wall_unix_ns": bench.wall_ns(),
        }
    )
    async with trio.open_nursery() as nursery:
        for target in targets:
            nursery.start_soon(measure_target, target)
