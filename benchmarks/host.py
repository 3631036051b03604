"""The machine a benchmark runs on: where each process runs, with which right of way, what it is."""

import gc
import os
import platform
import resource
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CLIENT_PRIORITY = 40
STATION_PRIORITY = 45
"""Above the client: what is judged there must not depend on what else that core does."""
WORKER_PRIORITY = 35
"""Below the client: a thread beside it that must not hold it up."""
SENTINEL_PRIORITY = 49
SWITCH_INTERVAL_S = 0.0002
LIBRARIES = ("trio", "trio-websocket", "wsproto", "websockets", "onnxruntime", "numpy")


@dataclass(frozen=True, slots=True)
class Cores:
    """Which core is whose; the same one where there is only one."""

    client: int
    station: int


def cores() -> Cores:
    """The last core for clients, the one before for the receiver: interrupts like the first."""
    allowed = sorted(os.sched_getaffinity(0))
    return Cores(allowed[-1], allowed[-2] if len(allowed) > 1 else allowed[-1])


def set_up(core: int | None, priority: int) -> bool:
    """Put this thread on its core, before everything ordinary; False where that is forbidden.

    Children and threads that come later start as ordinary ones.
    """
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except OSError:
        return False
    return True


def quiet_interpreter() -> None:
    """What our own program does at its start, granted to every Python client alike."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()


def allow_many_sockets() -> int:
    """Raise the limit of open files as far as it goes, and give it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def may_take_precedence() -> bool:
    """SCHED_FIFO is allowed here. Tried in a child: this process stays ordinary."""
    child = os.fork()
    if child == 0:
        os._exit(0 if set_up(None, CLIENT_PRIORITY) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def facts() -> dict[str, str]:
    """What a reader has to know of this machine to judge the figures."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "libraries": ", ".join(f"{name} {_version(name)}" for name in LIBRARIES),
        "scheduling": _scheduling(),
        "C compiler": "yes" if shutil.which("cc") else "none",
    }


def _scheduling() -> str:
    if may_take_precedence():
        return "SCHED_FIFO for every client, the receiver and the sentinel; each on its core"
    return "ordinary for all (SCHED_FIFO is not allowed here); each on its core"


def _processor() -> str:
    return _named_value(Path("/proc/cpuinfo"), "model name") or platform.machine()


def _named_value(path: Path, wanted: str) -> str | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in pairs if name.strip() == wanted), None)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def busy_share(before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """How busy all cores were between two looks, from 0 to 1."""
    total = after["total"] - before["total"]
    return (total - (after["idle"] - before["idle"])) / total if total else 0.0


def processor_times() -> dict[str, int]:
    """What the kernel has counted since its start, in ticks; zeros where it does not say."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0]
    except OSError:
        return {"total": 0, "idle": 0}
    ticks = [int(field) for field in first.split()[1:9]]
    return {"total": sum(ticks), "idle": ticks[3] + ticks[4]}
