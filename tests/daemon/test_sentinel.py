"""The sentinel notes how late it wakes, and tells at once when that was long."""

import os
import signal
import socket
import struct
import subprocess
import sys
from array import array
from collections.abc import Callable

import pytest
import trio

import daemon.sentinel_process as program
from daemon.clock import HostClock
from daemon.sentinel import Sentinel, SentinelReport, sentinel
from daemon.sentinel_process import TOLD_ABOVE_NS, WAKES_IN_ONE_PACKET


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110  another process is waited for
        await trio.sleep(0.01)


def wakes(*late_ns: int) -> bytes:
    return b"L" + array("Q", late_ns).tobytes()


def test_what_it_told_is_summed_up_once() -> None:
    watch = Sentinel()
    watch.hear(wakes(30, 10))
    watch.hear(wakes(20))
    assert watch.take() == SentinelReport(20, 30, 30, 3)
    assert watch.take() == SentinelReport(None, None, None, 0)


def test_a_stall_is_passed_on_at_once() -> None:
    watch, told = Sentinel(), []
    watch.told = lambda ended_ns, stalled_ns: told.append((ended_ns, stalled_ns))
    watch.hear(b"S" + struct.pack("=QQ", 900, 30))
    assert told == [(900, 30)]


@pytest.mark.parametrize("packet", [b"", b"L1234", b"S12", b"?"])
def test_what_is_no_packet_is_refused(packet: bytes) -> None:
    with pytest.raises(ValueError, match="unknown"):
        Sentinel().hear(packet)


def test_nobody_asking_for_an_hour_fills_no_memory() -> None:
    watch = Sentinel()
    for _ in range(620):
        watch.hear(wakes(*range(1000)))
    assert watch.take().n == 600_000


async def _first_report() -> SentinelReport:
    async with sentinel() as watch:
        reports: list[SentinelReport] = []

        def heard() -> int:
            reports.append(watch.take())
            return reports[-1].n

        await until(heard)
        return reports[-1]


def test_a_real_one_wakes_a_thousand_times_a_second_and_never_early() -> None:
    report = trio.run(_first_report, clock=HostClock())
    assert report.n % WAKES_IN_ONE_PACKET == 0
    assert report.late_p50_ns is not None
    assert report.late_p50_ns >= 0


async def _ended_from_outside() -> bool:
    async with sentinel() as watch:
        assert watch.pid is not None
        os.kill(watch.pid, signal.SIGKILL)
        await until(lambda: not watch.alive)
        return True


def test_its_end_is_noticed_and_hurts_nobody() -> None:
    assert trio.run(_ended_from_outside, clock=HostClock())


def test_it_ends_by_itself_when_nobody_listens_any_more() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(program.__file__), str(theirs.fileno()), "11"],
            pass_fds=(theirs.fileno(),),
        )
    ours.close()
    assert process.wait(timeout=60) == 0


def test_a_stopped_sentinel_tells_of_its_stall_when_it_goes_on() -> None:
    """As where the host stands still: to it, both are the same."""

    async def main() -> int:
        async with sentinel() as watch:
            stalls: list[int] = []
            watch.told = lambda _, stalled_ns: stalls.append(stalled_ns)
            await until(lambda: watch.take().n)
            assert watch.pid is not None
            os.kill(watch.pid, signal.SIGSTOP)
            await trio.sleep(0.05)
            os.kill(watch.pid, signal.SIGCONT)
            await until(lambda: max(stalls, default=0) > 40_000_000)
            return max(stalls)

    assert trio.run(main, clock=HostClock()) > TOLD_ABOVE_NS


async def _environment_of_it() -> bytes:
    async with sentinel() as watch:
        return await trio.Path(f"/proc/{watch.pid}/environ").read_bytes()


def test_it_is_given_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPGRAM_API_KEY", "canary-6f1d2c")
    assert b"canary" not in trio.run(_environment_of_it, clock=HostClock())
