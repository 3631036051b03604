"""What all Python clients share: their command line, and how a process gets ready to pace."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from benchmarks.hearing import Hearing
from benchmarks.host import CLIENT_PRIORITY, allow_many_sockets, quiet_interpreter, set_up
from benchmarks.load import STEP_NS, Load, Outcome

LEAD_NS = 200_000_000
"""From ready to the first frame."""


class Stamped:
    """Notes when the client says that each message came."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def note(self, message: str | bytes, stamp_ns: int, user_ns: int | None = None) -> None:
        """``stamp_ns`` is the client's best; ``user_ns`` is by the program alone."""
        self._outcome.heard_numbers.append(json.loads(message)["number"])
        self._outcome.heard_ns.append(stamp_ns)
        if user_ns is not None:
            self._outcome.user_heard_ns.append(user_ns)


def run_client(play: Callable[[Load, Outcome], None]) -> None:
    """Do what the command line asks for, and print the outcome."""
    load, outcome = Load.from_json(sys.argv[1]), Outcome()
    allow_many_sockets()
    play(load, outcome)
    print(outcome.to_json(), flush=True)


def get_ready(load: Load) -> None:
    """Everything is connected: take the core, and keep the collector away from what is there."""
    set_up(load.core, CLIENT_PRIORITY)
    quiet_interpreter()


def first_due_ns(load: Load) -> list[int]:
    """When the first frame of each stream is due: spread evenly over the 20 ms, off any grid."""
    start_ns = time.monotonic_ns() + LEAD_NS
    return [start_ns + stream * STEP_NS // load.streams for stream in range(load.streams)]


@contextmanager
def processor_time(outcome: Outcome) -> Iterator[None]:
    """Note what this process used meanwhile."""
    before_ns = time.process_time_ns()
    yield
    outcome.cpu_ns = time.process_time_ns() - before_ns


def hearing_of(load: Load, outcome: Outcome) -> AbstractContextManager[Hearing | None]:
    """A live detector for all streams, where the load asks for one."""
    return _reporting(load, outcome) if load.hear else nullcontext()


@contextmanager
def _reporting(load: Load, outcome: Outcome) -> Iterator[Hearing | None]:
    hearing = Hearing(load.streams)
    with hearing:
        yield hearing
    outcome.decision_delays_ns = hearing.delays_ns
