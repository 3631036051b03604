"""The clock of a sound device, seen from this host's: when its samples were taken up, and come.

A device counts samples by a clock of its own. Its blocks come in steps of its buffer, never too
early and often late: the line that the earliest of them draw is when audio can be had at best.

    came - samples/rate    ·   ·      ·  ·    ·         lost samples lift the line for good
                          ·_·____·_·___·___·__·_  line  its slope is the drift
                                                        what comes behind it is late
                          ______________________  taken up, by the device's own word

What is learned from blocks is learned a second at a time: a second is over once it was watched for
so long, and a host that stood still watched nothing. Until then a loss shows as late blocks.
"""

import math
from bisect import insort
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from measure.records import MS, SECOND

LINE_S = 5
"""For how long a second counts for the line: at 200 ppm it is off by 1.2 ms after that."""
LOST_NS = 10 * MS
"""Where a whole second lies so much above the line, samples are missing before it."""
STANDSTILL_NS = 500 * MS
"""What passes between two blocks beyond this was watched by nobody. A device that was asked for
large buffers is silent for almost so long."""
DRIFT_FROM_S = 10
STEP_US = 1_000
"""A step of the line that is no drift."""
_DRIFT_OVER_S = 600


@dataclass(frozen=True, slots=True)
class Arrival:
    """What is known of one block when it comes."""

    due_ns: int
    """When its last sample could be had at best; never after it came."""
    captured_ns: int | None
    """When the device took up its last sample; None where it does not say."""
    lost_ns: int = 0
    """So much audio is missing within the two seconds before it, by the count of samples."""


@dataclass(frozen=True, slots=True)
class Drift:
    """By how many millionths the device gives more samples than it says, with 95 % certainty."""

    ppm: float
    error_ppm: float
    over_s: int


@dataclass(slots=True)
class _Second:
    """The blocks of one second so far; all less the nominal time of their last sample."""

    seen_ns: int
    """When the newest came."""
    came_ns: int
    """The earliest."""
    at_ns: int
    """When the earliest came."""
    watched_ns: int = 0
    taken_up_ns: list[int] = field(default_factory=list)
    """In order of size."""


@dataclass(frozen=True, slots=True)
class _Over:
    """What is kept of a second."""

    came_ns: int
    at_ns: int
    taken_up_ns: int | None
    """The middle of what the device says: its word jitters by its buffer."""
    first_taken_up_ns: int | None
    """The lowest that it says, but for a few wild ones: from before a gap, as ``came_ns`` is."""


class DeviceClock:
    """Follows one device through its blocks."""

    def __init__(self, rate_hz: int) -> None:
        """``rate_hz``: how many samples a second the device says that it gives."""
        self._rate_hz = rate_hz
        self._now: _Second | None = None
        self._past: deque[_Over] = deque(maxlen=LINE_S)
        self._past_came_ns: int | None = None
        """The line that they draw."""
        self._past_taken_up_ns: int | None = None
        self._drawn: deque[tuple[int, int]] = deque(maxlen=_DRIFT_OVER_S)
        """The earliest of each second that is over, since the line was lifted: when it came, and
        that less its nominal time. Of this the drift is read."""
        self._drift: Drift | None = None
        self._drift_is_old = False

    def take(self, samples: int, arrived_ns: int, age_ns: int | None) -> Arrival:
        """The next block. ``samples`` have come with it and before; its last is ``age_ns`` old."""
        nominal_ns = samples * SECOND // self._rate_hz
        came_ns = arrived_ns - nominal_ns
        lost_ns = 0
        now = self._now
        if now is not None:
            now.watched_ns += min(arrived_ns - now.seen_ns, STANDSTILL_NS)
            now.seen_ns = arrived_ns
            if now.watched_ns >= SECOND:
                lost_ns = self._learn(_over(now))
                now = None
        if now is None:
            now = self._now = _Second(arrived_ns, came_ns, arrived_ns)
        if came_ns < now.came_ns:
            now.came_ns, now.at_ns = came_ns, arrived_ns
        if age_ns is not None:
            insort(now.taken_up_ns, came_ns - age_ns)
        line_ns = self._line(now)
        taken_up_ns = self._taken_up(now, line_ns)
        captured_ns = None if taken_up_ns is None else nominal_ns + taken_up_ns
        return Arrival(nominal_ns + line_ns, captured_ns, lost_ns)

    @property
    def delay_ns(self) -> int | None:
        """From a sample's being taken up to its being here at best; None where nobody says."""
        if self._now is None:
            return None
        line_ns = self._line(self._now)
        taken_up_ns = self._taken_up(self._now, line_ns)
        return None if taken_up_ns is None else line_ns - taken_up_ns

    def drift(self) -> Drift | None:
        """How its clock goes against this host's; None before ten seconds without a loss."""
        if self._drift_is_old:  # not in take(): audio waits there
            self._drift, self._drift_is_old = _drift(self._drawn), False
        return self._drift

    def _line(self, now: _Second) -> int:
        past_ns = self._past_came_ns
        return now.came_ns if past_ns is None else min(past_ns, now.came_ns)

    def _taken_up(self, now: _Second, line_ns: int) -> int | None:
        """By the seconds that are over; nothing is here before it was taken up."""
        taken_up_ns = self._past_taken_up_ns
        if taken_up_ns is None:
            taken_up_ns = _middle(now.taken_up_ns)
        return None if taken_up_ns is None else min(taken_up_ns, line_ns)

    def _learn(self, over: _Over) -> int:
        """From a second that is over; how much audio was lost in it or just before."""
        lost_ns = 0
        if self._past_came_ns is not None:
            later_ns = over.came_ns - self._past_came_ns
            if abs(later_ns) > LOST_NS:  # another line from now on, for whatever reason
                lost_ns = self._missing(over, later_ns)
                self._past.clear()
                self._drawn.clear()
        self._past.append(over)
        self._drawn.append((over.at_ns, over.came_ns))
        self._past_came_ns = min(one.came_ns for one in self._past)
        self._past_taken_up_ns = _middle(sorted(_said(one.taken_up_ns for one in self._past)))
        self._drift_is_old = True
        return lost_ns

    def _missing(self, over: _Over, later_ns: int) -> int:
        """What comes later was either taken up later, behind a gap, or only had to wait longer."""
        before_ns = _middle(sorted(_said(one.first_taken_up_ns for one in self._past)))
        after_ns = over.first_taken_up_ns
        if before_ns is not None and after_ns is not None:
            waits_longer_ns = later_ns - (after_ns - before_ns)
            if waits_longer_ns > LOST_NS:
                later_ns -= waits_longer_ns
        return later_ns if later_ns > LOST_NS else 0


def _over(second: _Second) -> _Over:
    said_ns = second.taken_up_ns
    first_ns = said_ns[len(said_ns) // 20] if said_ns else None
    return _Over(second.came_ns, second.at_ns, _middle(said_ns), first_ns)


def _said(moments_ns: Iterable[int | None]) -> list[int]:
    return [moment_ns for moment_ns in moments_ns if moment_ns is not None]


def _middle(in_order: list[int]) -> int | None:
    return in_order[(len(in_order) - 1) // 2] if in_order else None


def _drift(earliest: Sequence[tuple[int, int]]) -> Drift | None:
    """The straight line through the earliest block of each second, by least squares.

    A second's earliest block is late by a little, always to one side; that lifts the line and does
    not turn it. Seconds that are alike (the host is busy for a while) say less than their number,
    so the interval is the wider the more each is like the one before. On generated devices (jitter
    exponential of 0.2 to 5 ms, 15 to 300 s, 4000 in all) it held the truth in 95 to 98 of 100; with
    seconds like the one before by 0.6, in 82 (10 s) to 95 (300 s). Where the line makes a step (a
    sound server takes larger buffers), only what comes behind it counts.
    """
    if len(earliest) < DRIFT_FROM_S:
        return None
    earliest_ns = np.array(earliest)
    at_s, late_us = (earliest_ns - earliest_ns[0]).T / ((SECOND,), (1000,))
    begins = _behind_the_last_step(late_us)
    count = len(earliest) - begins
    if count < DRIFT_FROM_S:
        return None
    at_s, late_us = at_s[begins:] - at_s[begins], late_us[begins:]
    over_s = round(at_s[-1]) + 1
    at_s, late_us = at_s - at_s.mean(), late_us - late_us.mean()
    spread = float(at_s @ at_s)
    slope = float(at_s @ late_us) / spread
    missed = late_us - slope * at_s
    square = float(missed @ missed)
    alike = _alike(float(missed[1:] @ missed[:-1]) / square if square else 0.0, count)
    free = max(2.0, count * (1 - alike) / (1 + alike) - 2)
    error = math.sqrt((1 + alike) / (1 - alike) * square / (count - 2) / spread)
    return Drift(-slope, _two_sided(free) * error, over_s)


def _behind_the_last_step(late_us: NDArray[np.float64]) -> int:
    """The first second from which on the line is straight; 0 where all of it is.

    At a step the three seconds behind it lie apart from the three before by far more than seconds
    do otherwise, and by more than a millisecond, which no drift does in that time. One odd second
    is none.
    """
    steps_us = np.diff(late_us)
    usual_us = float(np.median(steps_us))
    scatter_us = float(np.median(np.abs(steps_us - usual_us)))
    least_us = max(STEP_US, 12 * scatter_us)
    begins = 0
    for place in range(1, len(late_us)):
        before, behind = late_us[max(0, place - 3) : place], late_us[place : place + 3]
        gap = (len(before) + len(behind)) / 2
        apart_us = float(np.median(behind) - np.median(before)) - usual_us * gap
        if abs(apart_us) > least_us:
            begins = place + 1
    return begins


def _alike(measured: float, count: int) -> float:
    """How much a second is like the one before, 0 to 0.99; few seconds show less of it than is."""
    return min(max(0.0, measured + (1 + 3 * max(0.0, measured)) / count), 0.99)


def _two_sided(free: float) -> float:
    """Student's t for 95 %, within 2 % from 8 degrees of freedom on."""
    return 1.96 + 2.5 / free
