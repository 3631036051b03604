"""asyncio and websockets done well: each frame at an absolute due time."""

from benchmarks.clients.websockets_client import play, until
from benchmarks.playing import run_client

if __name__ == "__main__":
    run_client(lambda load, outcome: play(load, outcome, until))
