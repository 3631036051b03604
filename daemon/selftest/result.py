"""The outcome of one self-test: plain, frozen, and the same after it has been to the disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from daemon.selftest.advice import advice
from daemon.selftest.figures import ErrorSpread, Level, Spread
from daemon.selftest.host import Conditions, Fingerprint
from daemon.selftest.verdict import Fitness, Judgement, judgements_of, level_for, overall, up_to
from measure.records import MS, SECOND
from measure.wire import Record
from scoring.signature import UNKNOWN_ERROR, error_part

SCHEMA = 1
"""Of what is stored; it rises when a field changes its meaning or goes away."""
STALE_NS = 7 * 24 * 3600 * SECOND
"""After a week nobody knows what else has come onto the host."""
AHEAD_NS = 3600 * SECOND
"""A result so far in the future was made under another clock."""
RECORD = "selftest"
"""Its kind as a record of the journal."""


@dataclass(frozen=True, slots=True)
class ScrapeEffect:
    """What it does to us when somebody fetches the metrics each second; see ``Level``."""

    streams: int
    scrapes: int
    lines: int
    longest_ms: float
    without_lateness: Spread
    with_lateness: Spread
    without_error: ErrorSpread
    with_error: ErrorSpread


@dataclass(frozen=True, slots=True)
class SelftestResult:
    """What this harness adds to a number on this host, and what that means."""

    schema: int
    wall_unix_ns: int
    duration_s: float
    fingerprint: Fingerprint
    conditions: Conditions
    streams: int
    """How many streams at the same time the verdict is for."""
    verdict: Fitness
    reasons: tuple[str, ...]
    """What is missing to a better verdict."""
    advice: tuple[str, ...]
    """What to change on this host."""
    fit_up_to: int
    """Streams; 0 where it is not fit at all."""
    usable_up_to: int
    judgements: tuple[Judgement, ...]
    """Of each level with enough sessions for one."""
    levels: tuple[Level, ...]
    scrape: ScrapeEffect | None
    """None where no scrape was possible in the time there was."""

    def shown_level(self, streams: int | None = None) -> Level | None:
        """The level that speaks for so many streams; by default, for those of the verdict."""
        return level_for(self.levels, self.streams if streams is None else streams)


def result_of(
    *,
    wall_unix_ns: int,
    duration_s: float,
    fingerprint: Fingerprint,
    conditions: Conditions,
    streams: int,
    levels: Sequence[Level],
    scrape: ScrapeEffect | None,
) -> SelftestResult:
    """The figures with what they mean."""
    judgements = judgements_of(levels)
    whole = overall(levels, streams)
    return SelftestResult(
        schema=SCHEMA,
        wall_unix_ns=wall_unix_ns,
        duration_s=duration_s,
        fingerprint=fingerprint,
        conditions=conditions,
        streams=streams,
        verdict=whole.fitness,
        reasons=whole.reasons,
        advice=advice(fingerprint, conditions, levels),
        fit_up_to=up_to(judgements, Fitness.FIT),
        usable_up_to=up_to(judgements, Fitness.USABLE),
        judgements=judgements,
        levels=tuple(levels),
        scrape=scrape,
    )


def stale(result: SelftestResult, now: Fingerprint, wall_ns: int) -> str | None:
    """Why a result says nothing about this host as it is now; None where it does."""
    changed = result.fingerprint.differences(now)
    if changed:
        return f"it was made on another host, or this one changed: {', '.join(changed)}"
    age_ns = wall_ns - result.wall_unix_ns
    if age_ns > STALE_NS:
        return f"it is {age_ns / STALE_NS * 7:.0f} days old, more than 7"
    if age_ns < -AHEAD_NS:
        return "it is dated in the future"
    return None


def signature_part(result: SelftestResult | None, streams: int) -> str:
    """What stands in signatures; ``result`` is one that is not stale, or None."""
    level = result.shown_level(streams) if result is not None else None
    if result is None or level is None or level.final_error.size.p50_ns is None:
        return UNKNOWN_ERROR
    size = level.final_error.size
    return error_part(
        p50_ms=_ms(size.p50_ns),
        tail_ms=_ms(size.tail_ns),
        is_p99=size.p99_ns is not None,
        streams=level.streams,
        verdict=overall(result.levels, streams).fitness.value,
    )


def record_of(result: SelftestResult, now_ns: int) -> Record:
    """As it lies in the journal and reaches the metrics."""
    return {"k": RECORD, "t": now_ns, "summary": summary_line(result), **plain(result)}


def summary_line(result: SelftestResult) -> str:
    """One line for people: the verdict and the error it is about."""
    level = result.shown_level()
    if level is None or level.final_error.size.p50_ns is None:
        return f"{result.verdict.value}: no error was measured"
    size = level.final_error.size
    tail = "p99" if size.p99_ns is not None else "max"
    return (
        f"{result.verdict.value}: error of time to final p50 {_ms(size.p50_ns):.3f} ms, "
        f"{tail} {_ms(size.tail_ns):.3f} ms with {level.streams} streams (n {size.n})"
    )


def plain(result: SelftestResult) -> dict[str, Any]:
    """As JSON has it."""
    values: dict[str, Any] = _ADAPTER.dump_python(result, mode="json")
    return values


def text_of(result: SelftestResult) -> bytes:
    """As it lies on the disk."""
    return _ADAPTER.dump_json(result, indent=1) + b"\n"


def result_in(text: bytes) -> SelftestResult:
    """The result in a text. Raises ValueError, in one line, where it is none, or a newer one."""
    try:
        result = _ADAPTER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise ValueError(f"{place or 'the whole'}: {first['msg'].lower()}") from None
    if result.schema != SCHEMA:
        raise ValueError(f"schema: it is {result.schema}, this version reads {SCHEMA}")
    return result


def _ms(value_ns: int | None) -> float:
    return 0.0 if value_ns is None else value_ns / MS


_ADAPTER = TypeAdapter(SelftestResult)
