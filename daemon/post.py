"""The place of one worker: the process that fills it now, and its share of the round."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import trio

from daemon.clock import now_ns
from daemon.control import (
    Alive,
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
from daemon.vigil import LOOK_S, Vigil
from exporters.handoff import Losses
from exporters.process import child_environment
from measure.measurement import Measurement
from measure.records import SECOND

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
STEADY_S = 2 * LONGEST_PAUSE_S
"""A worker that worked for so long begins the count anew: beside that no pause is long."""
IN_VAIN = 3
"""So many workers in a row that begin nothing, and the rest of the run is given up."""
EXIT_S = 0.5
"""How long a worker that has said its last may take to be gone."""
PASSED_ON = ("SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF", "SPEECHBENCH_REVISION")
"""What a worker is given of the environment besides what the exporter process is given."""
_STATES = {
    "R": "running",
    "S": "asleep",
    "D": "waiting for a device",
    "T": "stopped",
    "t": "stopped by a debugger",
}
"""What a process does, by the letter that the kernel has for it."""


class Cause(StrEnum):
    """Why a worker needs another in its place."""

    DIED = "died"
    HUNG = "hung"
    LEFT = "left"
    """It has ended in order, because nobody took its records any more."""


def deaths_in_a_row(before: int, worked_s: float) -> int:
    """How many they are with this one, after so many; a worker that worked long begins anew."""
    return 1 if worked_s >= STEADY_S else before + 1


def pause_s(deaths: int) -> float:
    """How long to wait before the next start after so many deaths in a row."""
    return float(min(FIRST_PAUSE_S * 2 ** min(deaths - 1, 30), LONGEST_PAUSE_S))


class Stint:
    """One post's share of one run."""

    def __init__(
        self, work_id: str, run_id: str, pairs: list[Pair], *, at_its_moment: bool = False
    ) -> None:
        """``at_its_moment``: the next worker would begin it too late, so it is not left to it."""
        self.work_id = work_id
        self.run_id = run_id
        self.todo = pairs
        self.measured: list[tuple[Pair, Measurement]] = []
        self.lost: list[str] = []
        """Sessions in the middle of which a worker died."""
        self.over = trio.Event()
        self._at_its_moment = at_its_moment
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
        if not self.todo or self._at_its_moment or self._in_vain >= IN_VAIN:
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
        self._readied = trio.Event()
        """There is a worker that can be given work."""
        self._ready_ns: int | None = None
        self._vigil: Vigil
        self._hung: str | None = None
        """How the worker was found that was killed because it hung."""
        self._dismissed = False
        self._deaths = 0
        self._pause = trio.CancelScope()

    @property
    def pid(self) -> int | None:
        """Of the worker; None where there was none yet."""
        return None if self._process is None else self._process.pid

    @property
    def manned(self) -> bool:
        """There is a worker that can be given work."""
        return self._readied.is_set()

    async def hold(self) -> None:
        """Keep a worker here. What is cancelled around this goes on until ``dismiss``."""
        with trio.CancelScope(shield=True):
            while not self._dismissed:
                await self._fill()
                cause = self._cause()
                lost = self._count_losses()
                if not self._dismissed:
                    await self._mourn(cause, lost)
            self._recording.admit(self.name).close()  # whoever missed one here need not any more
            self.vacant.set()

    async def take_on(self, run_id: str, pairs: Sequence[Pair] | None = None) -> Stint:
        """Begin this post's share of a run: all its models with all clips, or these pairs of them.

        Their places are those in the plan of this post. Several may go on at the same time. Pairs
        that are named have their moment now: what of them the worker leaves undone is given up.
        """
        todo = pairs_of(self._plan, self._plan.targets) if pairs is None else list(pairs)
        stint = Stint(new_id(), run_id, todo, at_its_moment=pairs is not None)
        self._stints[stint.work_id] = stint
        await self._set_to_work(stint)
        return stint

    async def ready(self) -> None:
        """Wait until there is a worker that can be given work."""
        await self._readied.wait()

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
        self._vigil, self._hung = Vigil(now_ns()), None
        if self._dismissed:
            self._process.kill()
        control = Control(trio.SocketStream(trio.socket.from_stdlib_socket(ours)))
        self._control = control
        assignment = Assignment(self.name, self._plan, fds[1], replaced=self._recording.replaced)
        try:
            async with trio.open_nursery() as beside:
                beside.start_soon(self._watch, self._process)
                await control.send(assignment)
                while (message := await control.receive()) is not None:
                    await self._hear(message)
                beside.cancel_scope.cancel()
        finally:
            self._control = None
            await control.aclose()
            await _ended(self._process)

    async def _watch(self, process: trio.Process) -> None:
        """Kill the worker if it hangs; the end of its socket says the rest."""
        while not self._vigil.look(now_ns()):  # noqa: ASYNC110  it is time that makes it so
            await trio.sleep(LOOK_S)
        found = state_of(process.pid)
        self._hung = f"killed after {self._vigil.silent_s:.0f} s without a sign of life: {found}"
        process.kill()

    async def _hear(self, message: Message) -> None:
        match message:
            case Alive():
                self._vigil.heard()
            case Ready():
                self._vigil.heard()
                self._ready, self._ready_ns = True, now_ns()
                self._readied.set()
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
                stint.take(message.pair, message.measurement)
            case Done() if stint is not None:
                stint.over.set()
                del self._stints[stint.work_id]

    async def _set_to_work(self, stint: Stint) -> None:
        control = self._control
        if self._ready and control is not None and not stint.over.is_set():
            await control.send(Work(stint.work_id, stint.run_id, tuple(stint.todo)))

    def _cause(self) -> Cause:
        """Why the worker is no longer there; asked before its losses are counted."""
        if self._hung is not None:
            return Cause.HUNG
        assert self._process is not None
        return Cause.DIED if self._ready or self._process.returncode else Cause.LEFT

    def _count_losses(self) -> list[str]:
        """Count what has gone with a worker that said no farewell; gives the sessions."""
        if self._ready:
            self._recording.note_losses(Losses(crashed=1))
        farewell = self._dismissed and not self._ready
        self._ready = False
        if self._readied.is_set():  # else somebody waits for it
            self._readied = trio.Event()
        if farewell:
            return []
        lost = [session for stint in self._stints.values() for session in stint.break_off()]
        for stint in [stint for stint in self._stints.values() if stint.over.is_set()]:
            del self._stints[stint.work_id]
        return lost

    async def _mourn(self, cause: Cause, lost: list[str]) -> None:
        """The worker is gone. Say so, and wait a little before there is another."""
        assert self._process is not None
        self._deaths = deaths_in_a_row(self._deaths, self._worked_s())
        delay_s = pause_s(self._deaths)
        self._recording.put(
            {
                "k": "worker_restarts",
                "t": now_ns(),
                "worker": self.name,
                "cause": cause.value,
                "exit": self._hung or _end_of(self._process.returncode),
                "sessions_lost": lost,
                "in_s": delay_s,
            }
        )
        with trio.CancelScope() as self._pause:
            await trio.sleep(delay_s)

    def _worked_s(self) -> float:
        """For how long the worker could be given work."""
        ready_ns, self._ready_ns = self._ready_ns, None
        return 0.0 if ready_ns is None else (now_ns() - ready_ns) / SECOND


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


def state_of(pid: int) -> str:
    """What a process does, in the kernel's word, for people."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"
    return _STATES.get(state, f"state {state}")


def _end_of(code: int | None) -> str:
    """How a process ended, for people."""
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
