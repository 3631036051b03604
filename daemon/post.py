"""The place of one worker: the process that fills it now, and its share of the round."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

import trio

from daemon.control import (
    Assignment,
    Begun,
    Control,
    Done,
    Farewell,
    Measured,
    Message,
    Ready,
    Work,
)
from daemon.order import Pair
from daemon.plan import Plan, new_id
from daemon.rounds import pairs_of
from daemon.supervise import Recording
from exporters.handoff import Losses
from exporters.process import child_environment
from measure.measurement import Measurement

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
IN_VAIN = 3
"""So many workers in a row that begin nothing, and the rest of the run is given up."""
EXIT_S = 0.5
"""How long a worker that has said its last may take to be gone."""
PASSED_ON = ("SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF", "SPEECHBENCH_REVISION")
"""What a worker is given of the environment besides what the exporter process is given."""


def pause_s(deaths: int) -> float:
    """How long to wait before the next start after so many deaths in a row."""
    return float(min(FIRST_PAUSE_S * 2 ** min(deaths - 1, 30), LONGEST_PAUSE_S))


class Stint:
    """One post's share of one run."""

    def __init__(self, work_id: str, run_id: str, pairs: list[Pair]) -> None:
        self.work_id = work_id
        self.run_id = run_id
        self.todo = pairs
        self.measured: list[tuple[Pair, Measurement]] = []
        self.lost: list[str] = []
        """Sessions in the middle of which a worker died."""
        self.over = trio.Event()
        self._begun: dict[Pair, str] = {}
        self._in_vain = 0

    @property
    def unmeasured(self) -> int:
        """Measurements that have not begun."""
        return len(self.todo)

    def begin(self, pair: Pair, session_id: str) -> None:
        """A measurement has begun; it will not be begun again."""
        self._in_vain = 0
        self.todo.remove(pair)
        self._begun[pair] = session_id

    def take(self, pair: Pair, measurement: Measurement) -> None:
        """A measurement is over; one session may have made several."""
        self._begun.pop(pair, None)
        self.measured.append((pair, measurement))

    def break_off(self) -> list[str]:
        """The worker has died; gives the sessions that were lost with it.

        What has not begun is left to the next worker. Where several in a row begin nothing at all,
        it is given up: the next run is another chance.
        """
        lost = sorted(self._begun.values())
        self._begun.clear()
        self._in_vain += 1
        self.lost += lost
        if not self.todo or self._in_vain >= IN_VAIN:
            self.over.set()
        return lost


class Post:
    """One worker after the other, until dismissed. ``hold`` is its one task."""

    def __init__(self, name: str, plan: Plan, recording: Recording) -> None:
        self.name = name
        self.vacant = trio.Event()
        """There is no worker, and there will be none any more."""
        self._plan = plan
        self._recording = recording
        self._stints: dict[str, Stint] = {}
        self._process: trio.Process | None = None
        self._control: Control | None = None
        self._ready = False
        self._dismissed = False
        self._deaths = 0
        self._pause = trio.CancelScope()

    @property
    def pid(self) -> int | None:
        """Of the worker; None where there was none yet."""
        return None if self._process is None else self._process.pid

    async def hold(self) -> None:
        """Keep a worker here. What is cancelled around this goes on until ``dismiss``."""
        with trio.CancelScope(shield=True):
            while not self._dismissed:
                await self._fill()
                lost = self._count_losses()
                if not self._dismissed:
                    await self._mourn(lost)
            self.vacant.set()

    async def take_on(self, run_id: str, pairs: Sequence[Pair] | None = None) -> Stint:
        """Begin this post's share of a run: all its models with all clips, or these pairs of them.

        Their places are those in the plan of this post. Several may go on at the same time.
        """
        todo = pairs_of(self._plan, self._plan.targets) if pairs is None else list(pairs)
        stint = Stint(new_id(), run_id, todo)
        self._stints[stint.work_id] = stint
        await self._set_to_work(stint)
        return stint

    async def dismiss(self) -> None:
        """Tell the worker to end; ``vacant`` says when it has."""
        self._dismissed = True
        self._pause.cancel()
        if self._control is not None and self._ready:
            await self._control.say_no_more()
        else:
            self.kill()  # it has nothing yet that could be lost

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()

    async def _fill(self) -> None:
        """One worker, from its start to its end."""
        ours, theirs = socket.socketpair()
        handoff = self._recording.admit(self.name)
        with theirs, handoff:
            fds = (theirs.fileno(), handoff.fileno())
            self._process = await _started(fds)
        if self._dismissed:
            self._process.kill()
        control = Control(trio.SocketStream(trio.socket.from_stdlib_socket(ours)))
        self._control = control
        try:
            await control.send(
                Assignment(self.name, self._plan, fds[1], replaced=self._recording.replaced)
            )
            while (message := await control.receive()) is not None:
                await self._hear(message)
        finally:
            self._control = None
            await control.aclose()
            await _ended(self._process)

    async def _hear(self, message: Message) -> None:
        match message:
            case Ready():
                self._ready = True
                for stint in list(self._stints.values()):
                    await self._set_to_work(stint)
            case Farewell():
                self._ready = False
                self._recording.note_losses(message.losses)
            case Begun() | Measured() | Done():
                self._hear_of_work(message)

    def _hear_of_work(self, message: Begun | Measured | Done) -> None:
        stint = self._stints.get(message.work_id)
        match message:
            case Begun() if stint is not None:
                stint.begin(message.pair, message.session_id)
            case Measured() if stint is not None:
                self._deaths = 0
                stint.take(message.pair, message.measurement)
            case Done() if stint is not None:
                stint.over.set()
                del self._stints[stint.work_id]

    async def _set_to_work(self, stint: Stint) -> None:
        control = self._control
        if self._ready and control is not None and not stint.over.is_set():
            await control.send(Work(stint.work_id, stint.run_id, tuple(stint.todo)))

    def _count_losses(self) -> list[str]:
        """Count what has gone with a worker that said no farewell; gives the sessions."""
        if self._ready:
            self._recording.note_losses(Losses(crashed=1))
        farewell = self._dismissed and not self._ready
        self._ready = False
        if farewell:
            return []
        lost = [session for stint in self._stints.values() for session in stint.break_off()]
        for stint in [stint for stint in self._stints.values() if stint.over.is_set()]:
            del self._stints[stint.work_id]
        return lost

    async def _mourn(self, lost: list[str]) -> None:
        """The worker has died. Say so, and wait a little before there is another."""
        assert self._process is not None
        self._deaths += 1
        delay_s = pause_s(self._deaths)
        self._recording.log(
            "error",
            "worker_restarts",
            worker=self.name,
            exit=_end_of(self._process.returncode),
            sessions_lost=lost,
            in_s=delay_s,
        )
        with trio.CancelScope() as self._pause:
            await trio.sleep(delay_s)


async def _started(fds: tuple[int, int]) -> trio.Process:
    return await trio.lowlevel.open_process(
        [sys.executable, "-P", "-m", "daemon.worker", str(fds[0])],
        pass_fds=fds,
        env=_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


async def _ended(process: trio.Process) -> None:
    with trio.move_on_after(EXIT_S):
        await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """No keys: they go another way."""
    also = {name: ours[name] for name in PASSED_ON if name in ours}
    return {**child_environment(ours), **also}


def _end_of(code: int | None) -> str:
    """How a process ended, for people."""
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
