"""A sound device on paper: each of its blocks comes when the test wants it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from measure.records import MS, SECOND
from pacer.microphone import Block

RATE_HZ = 16_000
START_NS = 7 * SECOND + 123_456_789
AGE_NS = 30 * MS
Taken = tuple[int, int, int | None]
"""What ``take`` is given."""


@dataclass(frozen=True)
class Device:
    """Blocks of 20 ms, each here as soon as it can be, unless the host stands still."""

    rate_hz: int = RATE_HZ
    size: int = 320
    ppm: float = 0.0
    lost: dict[int, int] = field(default_factory=dict)
    """Samples that are missing before a block, by its number."""
    waits: dict[int, int] = field(default_factory=dict)
    """Nanoseconds by which all comes later from a block on."""
    still: tuple[tuple[int, int], ...] = ()
    """From when to when the host does nothing, since it started."""
    ages: bool = True

    def blocks(self, seconds: float) -> Iterator[Taken]:
        """In these the newest sample is taken up ``AGE_NS`` before it can be had."""
        missing = wait_ns = arrived_ns = 0
        for number in range(int(seconds * self.rate_hz / self.size)):
            missing += self.lost.get(number, 0)
            wait_ns += self.waits.get(number, 0)
            samples = (number + 1) * self.size
            nominal_ns = (samples + missing) * SECOND // self.rate_hz
            had_ns = nominal_ns - round(nominal_ns * self.ppm / (1e6 + self.ppm))
            arrived_ns = max(arrived_ns, self._awake(had_ns + wait_ns))
            age_ns = AGE_NS + arrived_ns - had_ns if self.ages else None
            yield samples, START_NS + arrived_ns, age_ns

    def _awake(self, at_ns: int) -> int:
        for begin_ns, end_ns in self.still:
            if begin_ns <= at_ns < end_ns:
                return end_ns
        return at_ns


def blocks_of(pcm: bytes, rate_hz: int) -> Iterator[Block]:
    """A recording as a perfect device would give it: 20 ms at a time, each the moment it is due."""
    size = rate_hz // 50 * 2
    for start in range(0, len(pcm) - size + 1, size):
        end_ns = (start + size) // 2 * SECOND // rate_hz
        yield Block(start // 2, pcm[start : start + size], rate_hz, end_ns, 20 * MS)
