"""A long recording cut into parts at speech boundaries, never inside a word that can be spared.

    speech   ···█████··███████████·····████████··██████···
    parts    |---------------------|---------------------|
                                   ^ the middle of a pause

Where speech goes on for longer than a part may last, the cut falls where it is quietest, and the
part says so. Parts lie end to end: together they are the recording, sample for sample.

Where speech is comes in as a value.

Method: METHOD.md section 6.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from measure.records import AudioClip

GOOD_PAUSE_MS = 500
"""A pause of this length is as good as any longer one."""
SHORT_PAUSE_COST = 0.1
"""How much worse no pause is than a good one: as much as a part that is 32 % too long."""
STEP_MS = 1_000
"""How far apart the places are that are thought of where there is no pause, or one long one."""
QUIET_MS = 20
"""How long it must be quiet for a cut inside speech."""

Span = tuple[int, int]
"""A stretch of samples: the first that belongs, and the first that no longer does."""
Quiet = tuple[int, float]
"""A place within speech, and how loud it is there: 0 silent, 1 as loud as the voice gets."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a part should be, and how long it may be at most."""

    aim_s: float
    most_s: float

    def __post_init__(self) -> None:
        if not 1 <= self.aim_s <= self.most_s:
            raise ValueError(
                f"parts of about {self.aim_s:g} s, at most {self.most_s:g} s: "
                "it must be at least 1 s, and about no more than at most"
            )


STREAMING = Limits(aim_s=30, most_s=40)
"""About 30 s: how long recordings are streamed, where they are not streamed whole."""
BATCH = Limits(aim_s=540, most_s=600)
"""About 9 minutes: where a whole recording is too long for a batch service."""
SMALLEST_S = 30.0
"""A batch service must take at least this much."""
SLACK = 0.9
"""How much of the allowed length is aimed at, so that a pause can be waited for."""


def batch_limits(audio_s: float, most_s: float | None) -> Limits | None:
    """How to cut for a batch service that takes up to ``most_s``; None: send the whole.

    About 9 minutes, less only as far as the service makes it necessary. Raises ValueError where
    it takes less than the smallest parts.
    """
    if most_s is None or audio_s <= most_s:
        return None
    if most_s < SMALLEST_S:
        raise ValueError(f"parts of at most {most_s:g} s: it must be at least {SMALLEST_S:g} s")
    return Limits(min(BATCH.aim_s, SLACK * most_s), min(BATCH.most_s, most_s))


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a recording, and its place in it."""

    index: int
    start_sample: int
    end_sample: int
    begins_in_speech: bool = False
    """The cut before it went through speech, because there was no pause near enough."""

    @property
    def samples(self) -> int:
        return self.end_sample - self.start_sample

    def at_rate(self, from_hz: int, to_hz: int) -> "Part":
        """The same part of the same recording at another rate; neighbours still meet."""
        start, end = (
            -(-place * to_hz // from_hz) for place in (self.start_sample, self.end_sample)
        )
        return Part(self.index, start, end, self.begins_in_speech)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cut could fall, and what it would cost."""

    sample: int
    in_speech: bool
    cost: float


def parts_of(clip: AudioClip, speech: Iterable[Span], limits: Limits) -> tuple[Part, ...]:
    """The parts of ``clip``, in order; one where it is short enough.

    ``speech`` is where the detector heard it, in samples of ``clip``.
    """
    return parts(
        clip.samples,
        speech,
        rate_hz=clip.rate_hz,
        limits=limits,
        quiet=lambda span: quiet_places(clip, span),
    )


def parts(
    samples: int,
    speech: Iterable[Span],
    *,
    rate_hz: int,
    limits: Limits,
    quiet: Callable[[Span], Iterable[Quiet]] = lambda span: (),
) -> tuple[Part, ...]:
    """The same, of a recording of which only the length and the speech are known.

    As few cuts as possible go through speech; of those ways to cut, the one is taken whose parts
    are nearest to the aim and whose pauses are long. ``quiet`` names good places within a stretch
    of speech.
    """
    most, aim = int(limits.most_s * rate_hz), limits.aim_s * rate_hz
    if samples <= most:
        return (Part(0, 0, samples),)
    pauses = pauses_between(speech, samples)
    places = sorted(
        {place.sample: place for place in _places(pauses, most, rate_hz, quiet)}.values(),
        key=lambda place: place.sample,
    )
    chosen = _cheapest(places, samples, most, aim)
    ends = [*(place.sample for place in chosen), samples]
    starts = [Place(0, in_speech=False, cost=0.0), *chosen]
    return tuple(
        Part(index, start.sample, end, start.in_speech)
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
    )


def pauses_between(speech: Iterable[Span], samples: int) -> list[Span]:
    """Every silence of a recording, its beginning and its end included, even if they are empty."""
    pauses: list[Span] = []
    silent_from = 0
    for start, end in sorted(speech):
        if start > silent_from or not pauses:
            pauses.append((silent_from, min(max(start, silent_from), samples)))
        silent_from = max(silent_from, min(end, samples))
    return [*pauses, (silent_from, samples)]


def quiet_places(clip: AudioClip, span: Span) -> Iterator[Quiet]:
    """The middle of the quietest 20 ms in each second of ``span``."""
    frame, step = clip.rate_hz * QUIET_MS // 1000, clip.rate_hz * STEP_MS // 1000
    pcm = np.frombuffer(clip.pcm[2 * span[0] : 2 * span[1]], dtype="<i2").astype(np.float32)
    frames = pcm[: len(pcm) // frame * frame].reshape(-1, frame)
    loud = np.sqrt((frames**2).mean(axis=1))
    loudest = max(1.0, float(loud.max(initial=0.0)))
    for first in range(0, len(loud), step // frame):
        quietest = first + int(loud[first : first + step // frame].argmin())
        yield span[0] + quietest * frame + frame // 2, float(loud[quietest]) / loudest


def _places(
    pauses: Sequence[Span], most: int, rate_hz: int, quiet: Callable[[Span], Iterable[Quiet]]
) -> Iterator[Place]:
    """Wherever a cut may fall. Cut at all of them, the parts would keep the limit."""
    good, step = rate_hz * GOOD_PAUSE_MS // 1000, rate_hz * STEP_MS // 1000
    far = _far_apart(pauses, most)
    for index, (start, end) in enumerate(pauses):
        if start == end:
            continue
        cost = SHORT_PAUSE_COST * max(0.0, 1 - (end - start) / good)
        for sample in ((start + end) // 2, *range(start + step, end, step)):
            yield Place(sample, in_speech=False, cost=cost)
        for sample in (start, end) if index in far else ():
            yield Place(sample, in_speech=False, cost=SHORT_PAUSE_COST)
    for (_, start), (end, _) in pairwise(pauses):
        if end - start > most:
            yield from _within_speech((start, end), most, quiet)


def _far_apart(pauses: Sequence[Span], most: int) -> set[int]:
    """The pauses whose very edges are needed, because their middles are too far apart."""
    middles = [(start + end) // 2 for start, end in pauses]
    far = {index for index, (one, next_) in enumerate(pairwise(middles)) if next_ - one > most}
    return far | {index + 1 for index in far}


def _within_speech(
    span: Span, most: int, quiet: Callable[[Span], Iterable[Quiet]]
) -> Iterator[Place]:
    start, end = span
    pieces = -(-(end - start) // most)
    even = (start + nth * (end - start) // pieces for nth in range(1, pieces))
    for sample in even:
        yield Place(sample, in_speech=True, cost=2 * SHORT_PAUSE_COST)
    for sample, loud in quiet(span):
        if start < sample < end:
            yield Place(sample, in_speech=True, cost=SHORT_PAUSE_COST * (1 + loud))


def _cheapest(places: Sequence[Place], samples: int, most: int, aim: float) -> list[Place]:
    """The cuts, in order: fewest through speech, then cheapest in sum."""
    start, end = Place(0, in_speech=False, cost=0.0), Place(samples, in_speech=False, cost=0.0)
    stops = [start, *(place for place in places if 0 < place.sample < samples), end]
    at = [stop.sample for stop in stops]
    best: list[tuple[int, float]] = [(0, 0.0)]
    came_from = [0]
    for index in range(1, len(stops)):
        found: tuple[int, float] | None = None
        whence = index - 1
        for before in range(bisect_left(at, at[index] - most), index):
            through, cost = best[before]
            cost += ((at[index] - at[before]) / aim - 1) ** 2
            if found is None or (through, cost) < found:
                found, whence = (through, cost), before
        through, cost = found if found is not None else best[whence]
        best.append((through + stops[index].in_speech, cost + stops[index].cost))
        came_from.append(whence)
    return _way_back(stops, came_from)


def _way_back(stops: Sequence[Place], came_from: Sequence[int]) -> list[Place]:
    way, index = [], came_from[-1]
    while index:
        way.append(stops[index])
        index = came_from[index]
    return way[::-1]
