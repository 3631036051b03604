"""Runs one fake until interrupted: ``python -m daemon.fakes deepgram --port 9000``."""

import argparse
import signal
import sys
from functools import partial

import trio

from daemon.clock import HostClock
from daemon.fakes import FAKES, Fake, Script, serve

WORDS = "the blue kettle is on the second shelf near the kitchen window"


def main() -> None:
    """Say the address and serve."""
    parser = argparse.ArgumentParser(prog="python -m daemon.fakes", description=__doc__)
    parser.add_argument("provider", choices=FAKES)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    chosen = parser.parse_args()
    kind = FAKES[chosen.provider]
    script = Script.for_pause if chosen.provider == "gladia" else Script.for_force
    fake = kind(script(WORDS, start_ms=300, end_ms=2400))
    failure = trio.run(_serve, fake, chosen.host, chosen.port, clock=HostClock())
    if failure is not None:
        sys.exit(f"cannot listen on {chosen.host} port {chosen.port}: {failure.strerror}")


async def _serve(fake: Fake, host: str, port: int) -> OSError | None:
    """Serve until a signal comes; the reason where that is not possible at all."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            try:
                address = await nursery.start(partial(serve, fake, host=host, port=port))
            except OSError as error:
                return error
            sys.stdout.write(f"{address}\n")
            sys.stdout.flush()
            await anext(signals)
            nursery.cancel_scope.cancel()
    return None


if __name__ == "__main__":
    main()
