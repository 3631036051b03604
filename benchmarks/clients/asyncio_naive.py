"""asyncio and websockets as one writes it first: send, sleep 20 ms, send."""

import asyncio

from benchmarks.clients.websockets_client import play
from benchmarks.playing import run_client


async def _a_while(due_ns: int) -> None:
    await asyncio.sleep(0.02)


if __name__ == "__main__":
    run_client(lambda load, outcome: play(load, outcome, _a_while))
