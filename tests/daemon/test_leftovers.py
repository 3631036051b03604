"""What is over is gone at once: the collector may not come for hours, and knows no memory of C.

An SSL context or a clip counts for one object there, and holds half a megabyte and more.
"""

import gc
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
import trustme

from daemon.clock import HostClock, now_ns, wall_ns
from daemon.fakes import FakeDeepgram, FakeGladia, Script, listening
from daemon.fakes.server import Fake
from daemon.link import Opener, TcpDialer
from daemon.plan import Plan, configured_plan
from daemon.planner import planned_apart
from providers import CATALOG
from providers.codec import Options
from tests.daemon.bench import KEY
from tests.daemon.serving import KEYS
from tests.daemon.test_planner import asked, written

PATIENCE_S = 20.0
TIMES = 4
CLOCK = HostClock()
OURS = frozenset({"daemon", "h11", "httpcore", "httpx", "trio_websocket", "wsproto"})


@contextmanager
def uncollected() -> Iterator[None]:
    """The collector does not run."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def left_behind() -> list[object]:
    """What only the collector finds."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return gc.garbage[:]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def is_ours(one: object) -> bool:
    """It is of our side of a stream; the other side of these tests is a trio.SSLStream."""
    if isinstance(one, ssl.SSLObject):
        return not one.server_side
    return isinstance(one, ssl.SSLContext) or type(one).__module__.split(".")[0] in OURS


async def open_often(fake: Fake, model: str, tls: ssl.SSLContext | None) -> None:
    """Open a stream and close it again, some times."""
    opener = Opener(TcpDialer(now_ns, wall_ns), now_ns)
    async with listening(fake, tls=tls) as address:
        for _ in range(TIMES):
            codec = CATALOG[model].make(Options(url=address))
            async with opener(codec, KEY, PATIENCE_S):
                pass


@pytest.mark.parametrize(
    ("fake", "model", "secure"),
    [
        (FakeDeepgram(Script()), "deepgram/nova-3", False),
        (FakeDeepgram(Script()), "deepgram/nova-3", True),
        (FakeGladia(Script()), "gladia/solaria-1", False),
        (FakeGladia(Script()), "gladia/solaria-1", True),
    ],
    ids=["plain", "tls", "a request before it", "both over tls"],
)
def test_a_stream_that_was_closed_leaves_nothing_of_the_network(
    fake: Fake, model: str, secure: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context = trusted(monkeypatch, tmp_path) if secure else None
    with uncollected():
        trio.run(partial(open_often, fake, model, context), clock=CLOCK)
        assert [type(one).__name__ for one in left_behind() if is_ours(one)] == []


def trusted(monkeypatch: pytest.MonkeyPatch, folder: Path) -> ssl.SSLContext:
    """The context of a server that this process trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def test_the_orders_of_a_plan_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(tmp_path, monkeypatch)
    (target,), (recording,) = plan.targets, plan.recordings
    plan.order(target, recording, "r0")
    with uncollected():
        for nth in range(TIMES):
            plan.order(target, recording, f"r{nth}")
        assert left_behind() == []


async def test_a_plan_that_is_replaced_is_gone_with_its_clips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(tmp_path, monkeypatch)
    with uncollected():
        for _ in range(2):
            plan = await planned_apart(asked(tmp_path / "daemon.toml"))
        plans = [one for one in gc.get_objects() if isinstance(one, Plan)]
        assert plans == [plan]


def planned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    return configured_plan(written(folder), KEYS)
