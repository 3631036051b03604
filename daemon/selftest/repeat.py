"""Keeps a daemon's self-test fresh: once a day, and when the host has changed.

The test runs in a process of its own, as a person would run it, and only while nothing is being
measured: it needs the host for itself, and a measurement does too.
"""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import trio

from daemon.errors import UserError
from daemon.selftest.known import KnownError
from daemon.selftest.result import SelftestResult, record_of, result_in, stale, summary_line
from exporters.process import child_environment
from measure.records import SECOND
from measure.wire import Record

DAILY_NS = 24 * 3600 * SECOND
LOOK_S = 60.0
"""How often it is asked whether a test is due."""
RETRY_S = 3600.0
"""After a test that did not come about."""
MOST_S = 90.0
"""A test that takes longer is ended."""
END_S = 1.0
"""How long it may take to end when it is told to."""


class Records(Protocol):
    """Where records and lines of the log go."""

    def put(self, record: Record) -> None: ...
    def log(self, level: str, event: str, **fields: object) -> None: ...


Test = Callable[[], Awaitable[SelftestResult]]
"""Tests this host and stores the result. Raises UserError."""


def due(known: KnownError, wall_ns: int) -> str | None:
    """Why the host has to be tested now; None where it has not."""
    stored = known.stored()
    if stored.trouble is not None:
        return stored.trouble
    if stored.result is None:
        return "it was never tested"
    why = stale(stored.result, known.fingerprint, wall_ns)
    if why is None and wall_ns - stored.result.wall_unix_ns >= DAILY_NS:
        return "a day has passed"
    return why


async def keep_tested(
    known: KnownError,
    quiet: AbstractAsyncContextManager[object],
    records: Records,
    now_ns: Callable[[], int],
    test: Test | None = None,
) -> None:
    """Test whenever it is due, for ever; whoever measures holds ``quiet`` meanwhile.

    The result that there is goes to ``records`` at once, so that metrics show it from the start.
    The first round of a daemon is not kept waiting for a test; a later one may be, for a minute,
    where rounds follow one another without a pause.
    """
    run = test or (lambda: tested_apart(known))
    current = known.current()
    if current is not None:
        records.put(record_of(current, now_ns()))
    pause_s = LOOK_S
    while True:
        await trio.sleep(pause_s)
        pause_s = LOOK_S
        if due(known, known.wall_ns()) is not None:
            async with quiet:
                why = due(known, known.wall_ns())  # another process may have seen to it meanwhile
                if why is not None and not await _test(run, why, records, now_ns):
                    pause_s = RETRY_S


async def _test(run: Test, why: str, records: Records, now_ns: Callable[[], int]) -> bool:
    """One test with what is said of it; False where none came about."""
    records.log("info", "selftest_started", reason=why)
    try:
        result = await run()
    except UserError as error:
        records.log("warning", "selftest_failed", reason=str(error))
        return False
    records.put(record_of(result, now_ns()))
    level = "info" if result.verdict.value != "unfit" else "warning"
    records.log(
        level,
        "selftest_finished",
        verdict=result.verdict.value,
        summary=summary_line(result),
        reasons=list(result.reasons),
        advice=list(result.advice),
    )
    return True


async def tested_apart(known: KnownError) -> SelftestResult:
    """Run the test in a process of its own, which stores its result. Raises UserError."""
    command = [sys.executable, "-P", "-m", "daemon.cli", "selftest", "--json", "--no-record"]
    command += ["--streams", str(known.streams), "--journal", str(known.directory)]
    with trio.move_on_after(MOST_S):
        try:
            ended = await trio.run_process(
                command,
                stdin=subprocess.DEVNULL,
                capture_stdout=True,
                capture_stderr=True,
                check=False,
                env=child_environment(os.environ),
                cwd=Path("/"),
                start_new_session=True,  # a Ctrl-C in the terminal is for us; we end it
                deliver_cancel=_end,
            )
        except OSError as error:
            raise UserError(f"the self-test cannot be started: {error}") from error
        try:
            return result_in(ended.stdout)
        except ValueError as error:
            lines = ended.stderr.decode("utf-8", "replace").split("\n")
            spoken = [line.strip() for line in lines if line.strip()]
            last = spoken[-1].removeprefix("speechbench: ") if spoken else str(error)
            raise UserError(f"the self-test gave no result: {last}") from error
    raise UserError(f"the self-test was not over within {MOST_S:g} s")


async def _end(process: trio.Process) -> None:
    process.terminate()
    with trio.move_on_after(END_S):
        await process.wait()
        return
    process.kill()
