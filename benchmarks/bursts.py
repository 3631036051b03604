"""What it costs to send one message: a few as fast as possible, timed by the processor's clock.

Between two bursts there is time for the receiver to take everything, so no client can merge
messages, and a full socket never gets into the figure.
"""

import time
from collections.abc import Awaitable, Callable

MESSAGES = 20
PAUSE_S = 0.003
WARM_UP = 10


async def processor_ns_per_message(
    send: Callable[[int], Awaitable[None]],
    pause: Callable[[float], Awaitable[object]],
    bursts: int,
) -> list[float]:
    """For each burst the processor time of this process for one message. ``send`` gets a count."""
    costs: list[float] = []
    count = 0
    for burst in range(WARM_UP + bursts):
        before_ns = time.process_time_ns()
        for _ in range(MESSAGES):
            await send(count)
            count += 1
        if burst >= WARM_UP:
            costs.append((time.process_time_ns() - before_ns) / MESSAGES)
        await pause(PAUSE_S)
    return costs
