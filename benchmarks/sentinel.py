"""A process that wakes a thousand times a second, to see when the host itself stands still.

``python -m benchmarks.sentinel CORE``: for each line on standard input it answers with how late
it woke since the line before, and ends with its input. It runs on the clients' core and before
them, so what makes it late makes them late too, and is no client's doing.
"""

import contextlib
import gc
import json
import select
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Self

from benchmarks.host import SENTINEL_PRIORITY, set_up
from benchmarks.spread import Spread, spread

STEP_NS = 1_000_000
STALL_NS = 2_000_000
RECOVERY = 10
"""A client that needs nine tenths of a core has caught up after so many times the stall."""
OFFSET_NS = 270_000
"""Off the moments at which frames are due, which lie on whole halves of a millisecond."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What the sentinel saw while something else was measured."""

    late: Spread
    stalls: list[tuple[int, int]] = field(default_factory=list)
    """From when until when the host stood still for longer than ``STALL_NS``."""

    def spoils(self, due_ns: int) -> bool:
        """A stall makes a frame late that was due then: in it, or while it is caught up with."""
        return any(start <= due_ns <= end + RECOVERY * (end - start) for start, end in self.stalls)


class Sentinel:
    """The process, as seen from the one that asks. Use it as a context."""

    def __init__(self, core: int) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.sentinel", str(core)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def take(self) -> Watch:
        """What it saw since this was asked last."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        seen = json.loads(self._child.stdout.readline())
        return Watch(Spread(**seen["late"]), [(start, end) for start, end in seen["stalls"]])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._child.communicate()


def main(core: int) -> None:
    """Watch, until standard input ends."""
    gc.disable()
    with contextlib.suppress(OSError):
        set_up(core, SENTINEL_PRIORITY)
    questions = select.poll()
    questions.register(sys.stdin, select.POLLIN)
    late_ns: list[int] = []
    stalls: list[tuple[int, int]] = []
    due_ns = _next_ns(time.monotonic_ns())
    while True:
        time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        now_ns = time.monotonic_ns()
        late_ns.append(now_ns - due_ns)
        if now_ns - due_ns > STALL_NS:
            stalls.append((due_ns, now_ns))
        due_ns = _next_ns(now_ns)
        if questions.poll(0):
            if not sys.stdin.readline():
                return
            seen = {"late": asdict(spread(late_ns)), "stalls": stalls}
            print(json.dumps(seen), flush=True)
            late_ns.clear()
            stalls.clear()
            due_ns = _next_ns(time.monotonic_ns())


def _next_ns(now_ns: int) -> int:
    return now_ns - (now_ns - OFFSET_NS) % STEP_NS + STEP_NS


if __name__ == "__main__":
    main(int(sys.argv[1]))
