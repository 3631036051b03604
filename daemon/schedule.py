"""What is measured when: moments as a pure function of the calendar, a seed and a name.

    every 900 s       |·x··|·x··|·x··|·x··    each job at a place of its own, always the same
    4 times a day     |··x·|x···|···x|·x··    each job at a random moment in each quarter of the day

Nothing is remembered: a restart, or another host with the same seed, finds the same moments. The
days are those of UTC, so a change to summer time moves nothing.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge

from measure.records import SECOND

DAY_NS = 86_400 * SECOND


@dataclass(frozen=True, slots=True)
class Job:
    """One model with one corpus, under one schedule."""

    schedule: str
    model: str
    corpus: str

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]

    def __str__(self) -> str:
        return f"{self.schedule}: {self.model} with {self.corpus}"


@dataclass(frozen=True, slots=True)
class Every:
    """Once in each interval, each job at a place of its own in it."""

    interval_ns: int

    def moment(self, seed: int, job: Job, slot: int) -> int:
        """In nanoseconds since 1970: the moment of the job in one interval, counted from then."""
        return slot * self.interval_ns + _place(seed, job, 0, self.interval_ns)

    def slot_at(self, wall_ns: int) -> int:
        """The interval in which that moment lies."""
        return wall_ns // self.interval_ns


@dataclass(frozen=True, slots=True)
class TimesADay:
    """So many times a day, at random moments: one in each of as many equal parts of the day."""

    times: int

    def moment(self, seed: int, job: Job, slot: int) -> int:
        """In nanoseconds since 1970: the random moment of the job in one part of a day."""
        start_ns, end_ns = self._start_ns(slot), self._start_ns(slot + 1)
        return start_ns + _place(seed, job, slot, end_ns - start_ns)

    def slot_at(self, wall_ns: int) -> int:
        """The part in which that moment lies, counted from 1970."""
        slot = wall_ns * self.times // DAY_NS
        return slot if self._start_ns(slot) <= wall_ns else slot - 1

    def _start_ns(self, slot: int) -> int:
        return -(-slot * DAY_NS // self.times)


Timing = Every | TimesADay


@dataclass(frozen=True, slots=True)
class Due:
    """A job and the moment at which it has to begin, in nanoseconds since 1970."""

    wall_ns: int
    job: Job


def moments(timing: Timing, seed: int, job: Job, after_ns: int) -> Iterator[int]:
    """All moments of ``job`` later than ``after_ns``, in order, without end."""
    slot = timing.slot_at(after_ns)
    while True:
        moment_ns = timing.moment(seed, job, slot)
        if moment_ns > after_ns:
            yield moment_ns
        slot += 1


def count_between(timing: Timing, seed: int, job: Job, after_ns: int, until_ns: int) -> int:
    """How many moments of ``job`` are later than ``after_ns`` and not later than ``until_ns``.

    There is one in each slot, so only those at both ends have to be looked at.
    """
    if until_ns <= after_ns:
        return 0
    first, last = timing.slot_at(after_ns), timing.slot_at(until_ns)
    begun_before = timing.moment(seed, job, first) <= after_ns
    begun_by_then = timing.moment(seed, job, last) <= until_ns
    return last + begun_by_then - first - begun_before


def agenda(jobs: Iterable[tuple[Timing, Job]], seed: int, after_ns: int) -> Iterator[Due]:
    """What is due after that moment, over all jobs, in order, without end unless there are none."""
    lines = (_line(timing, seed, job, after_ns) for timing, job in jobs)
    return (due for _, _, due in merge(*lines))


def _line(timing: Timing, seed: int, job: Job, after_ns: int) -> Iterator[tuple[int, str, Due]]:
    for moment_ns in moments(timing, seed, job, after_ns):
        yield moment_ns, str(job), Due(moment_ns, job)


def _place(seed: int, job: Job, slot: int, width_ns: int) -> int:
    """A place in a stretch of time that looks random, and is the same whenever it is asked for."""
    text = f"{seed}\0{job.schedule}\0{job.model}\0{job.corpus}\0{slot}"
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:16], "big") * width_ns >> 128
