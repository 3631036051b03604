"""What the figures of a self-test mean: fit, usable or unfit, for each number of streams. Pure.

Thresholds are of the harness alone. The tail is the p99. Where the host itself stands still, what
the sentinel saw of that is taken off before a host is called fit, but never more than to the limit
of what is usable: a number is no better for knowing why it is bad.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from daemon.selftest.figures import ENOUGH_FOR_P99, Level
from measure.records import MS

FIT_P50_NS = MS // 5
"""A fifth of a millisecond: nothing beside the tens that good providers differ by."""
FEW_STREAMS = 8
FIT_TAIL_FEW_NS = MS
"""Up to ``FEW_STREAMS``: what is published to the millisecond must be right to it."""
FIT_TAIL_MANY_NS = 2 * MS
"""With more streams one processor serves many at once."""
FIT_LATENESS_NS = 2 * MS
"""A tenth of a frame: pacing that a provider cannot tell from a microphone's."""
USABLE_TAIL_NS = 5 * MS
"""Small beside the differences between most providers; what other open harnesses add at best."""
STALL_NS = MS
"""A sentinel whose p99 is later than this has seen the host stand still; below, it just woke."""
USABLE_INVALID_SHARE = 0.05
"""More sessions thrown away than this, and those that are left are no fair sample."""


class Fitness(StrEnum):
    """What a host may be used for."""

    FIT = "fit"
    """Differences of a millisecond mean something."""
    USABLE = "usable"
    """Differences of ten milliseconds mean something."""
    UNFIT = "unfit"
    """Its numbers are not to be published."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of one number of streams; the reasons say what is missing to the next better word."""

    streams: int
    fitness: Fitness
    reasons: tuple[str, ...] = ()


def judgements_of(levels: Sequence[Level]) -> tuple[Judgement, ...]:
    """Of each level with enough sessions for a p99; the others are only shown.

    With few sessions one standstill of the host would speak for all.
    """
    return tuple(judged(level) for level in levels if _enough(level))


def judged(level: Level) -> Judgement:
    """What one level's figures mean."""
    unusable = _unusable(level)
    if unusable:
        return Judgement(level.streams, Fitness.UNFIT, tuple(unusable))
    short = _not_fit(level)
    fitness = Fitness.USABLE if short else Fitness.FIT
    return Judgement(level.streams, fitness, tuple(short))


def up_to(judgements: Sequence[Judgement], at_least: Fitness) -> int:
    """The most streams for which this and every smaller level is at least so good; 0: none."""
    good = (Fitness.FIT,) if at_least is Fitness.FIT else (Fitness.FIT, Fitness.USABLE)
    most = 0
    for one in sorted(judgements, key=lambda judgement: judgement.streams):
        if one.fitness not in good:
            break
        most = one.streams
    return most


def level_for(levels: Sequence[Level], streams: int) -> Level | None:
    """The level that speaks for so many streams: the smallest that has as many, or more.

    None where there is none so large with enough sessions.
    """
    able = [level for level in levels if level.streams >= streams and _enough(level)]
    return min(able, key=lambda level: level.streams, default=None)


def overall(levels: Sequence[Level], streams: int) -> Judgement:
    """What a host is for so many streams: as bad as the worst of the levels up to there."""
    level = level_for(levels, streams)
    if level is None:
        said = f"it was not tested with {streams} streams at the same time"
        return Judgement(streams, Fitness.UNFIT, (said,))
    judgements = [one for one in judgements_of(levels) if one.streams <= level.streams]
    order = list(Fitness)
    worst = max(judgements, key=lambda one: order.index(one.fitness))
    reasons = [
        f"with {one.streams} at once: {reason}"
        for one in judgements
        if one.fitness is worst.fitness
        for reason in one.reasons
    ]
    return Judgement(streams, worst.fitness, tuple(reasons))


def _enough(level: Level) -> bool:
    return level.sessions >= ENOUGH_FOR_P99


def _unusable(level: Level) -> list[str]:
    size = level.final_error.size
    if size.n == 0:
        return ["no session had a reading to compare with the truth"]
    reasons = []
    if size.tail_ns is not None and size.tail_ns > USABLE_TAIL_NS:
        reasons.append(_over("error of time to final, p99", size.tail_ns, USABLE_TAIL_NS))
    lost = level.invalid_count + level.untold
    if lost > USABLE_INVALID_SHARE * level.sessions:
        reasons.append(f"{lost} of {level.sessions} sessions gave nothing that counts")
    return reasons


def _not_fit(level: Level) -> list[str]:
    size, reasons = level.final_error.size, []
    if size.p50_ns is not None and size.p50_ns > FIT_P50_NS:
        reasons.append(_over("error of time to final, p50", size.p50_ns, FIT_P50_NS))
    few = level.streams <= FEW_STREAMS
    limit_ns = FIT_TAIL_FEW_NS if few else FIT_TAIL_MANY_NS
    excess_ns = excess_ns_of(level)
    if excess_ns is not None and excess_ns > limit_ns:
        reasons.append(_over("error of time to final, p99", excess_ns, limit_ns))
    late_ns = level.lateness.p99_ns
    if late_ns is not None and late_ns > FIT_LATENESS_NS:
        reasons.append(_over("lateness of frames, p99", late_ns, FIT_LATENESS_NS))
    if level.invalid_count:
        verdicts = ", ".join(sorted(level.invalid))
        reasons.append(f"{level.invalid_count} of {level.sessions} sessions invalid: {verdicts}")
    return reasons


def excess_ns_of(level: Level) -> int | None:
    """The p99 of the error, less the host's own standstills where it had any."""
    tail_ns, stall_ns = level.final_error.size.tail_ns, level.sentinel.p99_ns
    if tail_ns is None or stall_ns is None or stall_ns <= STALL_NS:
        return tail_ns
    return max(0, tail_ns - stall_ns)


def _over(what: str, value_ns: int, limit_ns: int) -> str:
    return f"{what} is {value_ns / MS:.2f} ms, more than {limit_ns / MS:g} ms"
