"""Connecting that is slow, or never done: only a kernel can do that, so over the loopback."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio

from daemon.clock import HostClock
from daemon.fakes import FakeDeepgram, Faults, listening
from daemon.fakes.file import read_script

DOCS = Path(__file__).parents[3] / "docs"


async def knock(address: str) -> None:
    """Get in, and go."""
    parts = urlsplit(address)
    assert parts.hostname is not None
    assert parts.port is not None
    await trio.aclose_forcefully(await trio.open_tcp_stream(parts.hostname, parts.port))


def test_nobody_gets_into_a_black_hole() -> None:
    async def main() -> bool:
        async with listening(FakeDeepgram(faults=Faults(black_hole=True))) as address:
            with trio.move_on_after(1.2) as waited:  # so that it has knocked a second time
                await knock(address)
        return waited.cancelled_caught

    assert trio.run(main, clock=HostClock())


@pytest.mark.parametrize("connections", [1, 2])
def test_one_gets_in_each_time_the_door_opens(connections: int) -> None:
    slow_s = 0.6

    async def main() -> float:
        fake = FakeDeepgram(faults=Faults(tcp_s=slow_s))
        over = trio.Event()
        fake.tell = lambda *_: over.set()
        started_s = in_s = trio.current_time()
        async with listening(fake) as address:
            for _ in range(connections):
                await knock(address)
                in_s = trio.current_time()
                await over.wait()  # the visit is over, and the door is shut again
                over = trio.Event()
        assert len(fake.visits) == connections  # none of its own is taken for a visit
        return in_s - started_s

    assert trio.run(main, clock=HostClock()) >= connections * slow_s


def test_the_examples_ask_for_that() -> None:
    assert read_script(DOCS / "fakes" / "black-hole.toml").faults == Faults(black_hole=True)
    assert read_script(DOCS / "fakes" / "slow-tcp.toml").faults == Faults(tcp_s=1.0)
