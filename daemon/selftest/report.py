"""A self-test's result, as people read it. Pure; lines of text."""

from collections.abc import Callable, Iterator

from daemon.selftest.figures import ErrorSpread, Level, Spread
from daemon.selftest.result import SelftestResult
from daemon.selftest.verdict import STALL_NS, Fitness, excess_ns_of
from measure.records import MS

WHAT = (
    "error = what we measured minus what was true; p50, p99 and max are of its size; bias, the "
    "middle one, and worst are signed.\n"
    "True is the server's own moment before it sends, minus the kernel's moment at which the force "
    "reached it; the way over\n"
    "loopback, some 10 us each way, is inside the error. Fewer than 100 have no p99."
)
HEADINGS = ("streams", "n", "p50 ms", "p99 ms", "max ms")
SIGNED = ("bias ms", "worst ms")


def lines_of(result: SelftestResult) -> Iterator[str]:
    """The whole report."""
    yield from _head(result)
    yield ""
    yield from _errors("error of time to final", result, lambda one: one.final_error)
    yield from _errors("error of time to first partial", result, lambda one: one.partial_error)
    yield from _spreads("lateness of frames", result, lambda one: one.lateness)
    yield from _spreads("delay of the force", result, lambda one: one.force_delay)
    yield from _spreads("receive gap (kernel's stamp to ours)", result, lambda one: one.receive_gap)
    yield from _excess(result)
    yield from _spreads("sentinel (the host's own standstills)", result, lambda one: one.sentinel)
    yield from _sessions(result)
    yield from _scrape(result)
    yield ""
    yield WHAT
    yield ""
    yield from verdict_lines(result)


def verdict_lines(result: SelftestResult) -> Iterator[str]:
    """The verdict, its reasons, and what to change."""
    streams = "1 stream" if result.streams == 1 else f"{result.streams} streams"
    yield f"Verdict for {streams}: {result.verdict.value}"
    yield f"  {_reach(result)}"
    shown = result.reasons
    if result.verdict is not Fitness.UNFIT:
        shown = tuple(
            f"with {one.streams} at once: {reason}"
            for one in result.judgements
            for reason in one.reasons
        )
    yield from (f"  - {reason}" for reason in shown)
    if result.advice:
        yield "  What would help on this host:"
        yield from (f"  - {one}" for one in result.advice)


def _errors(
    title: str, result: SelftestResult, of: Callable[[Level], ErrorSpread]
) -> Iterator[str]:
    yield title
    yield _row((*HEADINGS, *SIGNED))
    for level in result.levels:
        error = of(level)
        signed = _ms(error.bias_ns, signed=True), _ms(error.worst_ns, signed=True)
        yield _row((str(level.streams), *_cells(error.size), *signed))
    yield ""


def _spreads(title: str, result: SelftestResult, of: Callable[[Level], Spread]) -> Iterator[str]:
    yield title
    yield _row(HEADINGS)
    for level in result.levels:
        yield _row((str(level.streams), *_cells(of(level))))
    yield ""


def _excess(result: SelftestResult) -> Iterator[str]:
    """Where the host stood still: what is left of the error's p99 without that."""
    stalled = [level for level in result.levels if (level.sentinel.p99_ns or 0) > STALL_NS]
    for level in stalled:
        yield (
            f"  {level.streams} at once: the host stood still for {_ms(level.sentinel.p99_ns)} ms "
            f"(p99); excess of the error's p99 over that: {_ms(excess_ns_of(level))} ms"
        )
    if stalled:
        yield ""


def _head(result: SelftestResult) -> Iterator[str]:
    host = result.fingerprint
    yield f"{host.host}: {host.cpu}, {host.cores} cores, {host.kernel}"
    yield (
        f"speechbench {host.speechbench}, Python {host.python}, scheduling {host.scheduling}, "
        f"stamps by the {host.stamps}, took {result.duration_s:.0f} s"
    )


def _sessions(result: SelftestResult) -> Iterator[str]:
    for level in result.levels:
        invalid = ", ".join(f"{count} {name}" for name, count in sorted(level.invalid.items()))
        rate = level.rate_error_ppm
        yield (
            f"{level.streams:>7} at once: {level.sessions} sessions, "
            f"invalid {invalid or 'none'}, truth unknown {level.untold}, "
            f"rate {'unknown' if rate is None else f'{rate:+.0f} ppm off real time'}, "
            f"messages without a kernel's stamp {level.user_stamped}"
        )


def _scrape(result: SelftestResult) -> Iterator[str]:
    scrape = result.scrape
    if scrape is None:
        yield "scrape: not tested"
        return
    yield (
        f"metrics fetched each second ({scrape.scrapes} times, {scrape.lines} lines, "
        f"longest {scrape.longest_ms:.0f} ms), {scrape.streams} streams:"
    )
    for name, with_it, without in (
        ("lateness of frames", scrape.with_lateness, scrape.without_lateness),
        ("error of time to final", scrape.with_error.size, scrape.without_error.size),
    ):
        yield (
            f"  {name}: p50 {_ms(with_it.p50_ns)} ms, p99 {_ms(with_it.p99_ns)} ms with, "
            f"{_ms(without.p50_ns)} ms, {_ms(without.p99_ns)} ms without "
            f"(n {with_it.n}, {without.n})"
        )


def _reach(result: SelftestResult) -> str:
    if result.fit_up_to:
        said = f"fit up to {result.fit_up_to} streams"
    else:
        said = "not fit with any number of streams"
    if result.usable_up_to > result.fit_up_to:
        said += f", usable up to {result.usable_up_to}"
    return said


def _cells(spread: Spread) -> tuple[str, ...]:
    return str(spread.n), _ms(spread.p50_ns), _ms(spread.p99_ns), _ms(spread.max_ns)


def _row(cells: tuple[str, ...]) -> str:
    return "  " + "".join(f"{cell:>10}" for cell in cells).rstrip()


def _ms(value_ns: int | None, *, signed: bool = False) -> str:
    if value_ns is None:
        return "-"
    return f"{value_ns / MS:+.3f}" if signed else f"{value_ns / MS:.3f}"
