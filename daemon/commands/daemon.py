"""``speechbench daemon``: measures the configured models again and again, for months.

A round begins every ``daemon.interval_s`` seconds, counted from the first one. A round that is not
over when the next is due is not cut short and not hurried: the one that it covers is left out, and
the log says so. Ends orderly on SIGTERM and SIGINT, within two seconds.
"""

import argparse
import os
import signal
import sys
from importlib.metadata import version
from pathlib import Path

import trio

from daemon.clock import HostClock, now_ns, wall_ns
from daemon.errors import UserError
from daemon.plan import Plan, configured_plan, new_id
from daemon.rounds import Outcome, Rounds
from daemon.supervise import Recording, exporter_settings, local_engines, start_exporter
from daemon.workers import measuring, shortfall, worker_count
from measure.records import SECOND

HELP = "measure on and on, for Prometheus, logs and journal"
SCHEDULE = "interval"
UNRECORDED = 3


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "--config.file",
        "--config",
        dest="config",
        type=Path,
        metavar="FILE",
        help="settings in TOML; without it: the built-in ones",
    )


def run(args: argparse.Namespace) -> int:
    """Measure until told to stop. Raises UserError."""
    plan = configured_plan(args.config, os.environ)
    if not plan.targets:
        raise UserError("\n".join([*plan.skipped, "there is no model left to measure"]))
    recording = start_exporter(exporter_settings(plan, plan.settings.web.listen))
    try:
        trio.run(_measure, plan, recording, clock=HostClock())
    finally:
        recording.stop()
    if not recording.confirmed:
        sys.stderr.write(f"speechbench: not all is in the journal: {recording.losses}\n")
        return UNRECORDED
    return 0


async def _measure(plan: Plan, recording: Recording) -> None:
    _say_what_is_left_out(plan, recording)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_stop_when_told, nursery.cancel_scope, recording)
        async with (
            local_engines(plan.targets) as targets,
            measuring(plan, targets, recording) as rounds,
        ):
            recording.log(
                "info",
                "process_ready",
                version=version("speechbench"),
                models=[target.name for target in targets],
                clips=len(plan.recordings),
                workers=worker_count(plan),
                interval_s=plan.settings.daemon.interval_s,
                listen=recording.ready.address,
                journal=recording.ready.journal,
            )
            await measure_on_schedule(plan.settings.daemon.interval_s, rounds, recording)


def _say_what_is_left_out(plan: Plan, recording: Recording) -> None:
    for line in plan.skipped:
        recording.log("warning", "model_skipped", reason=line)
    if (fewer := shortfall(plan)) is not None:
        recording.log("warning", "workers_reduced", reason=fewer)


async def measure_on_schedule(interval_s: float, rounds: Rounds, recording: Recording) -> None:
    """One round at each multiple of the interval, for ever."""
    interval_ns = round(interval_s * SECOND)
    first_ns = now_ns()
    number = 0
    while True:
        await trio.sleep_until((first_ns + number * interval_ns) / SECOND)
        await _round(rounds, recording)
        next_number = next_round(first_ns, interval_ns, now_ns())
        if next_number > number + 1:
            recording.log(
                "warning",
                "run_skipped",
                schedule=SCHEDULE,
                reason="overlap",
                rounds=next_number - number - 1,
            )
        number = next_number


def next_round(first_ns: int, interval_ns: int, now_ns: int) -> int:
    """The number of the first round that is not yet due; the first of all is number 0."""
    return max(1, -(-(now_ns - first_ns) // interval_ns))


async def _round(rounds: Rounds, recording: Recording) -> None:
    run_id, started_ns = new_id(), now_ns()
    outcome = Outcome()
    await rounds.measure(run_id, outcome)
    recording.put(
        {
            "k": "run_finished",
            "t": now_ns(),
            "run_id": run_id,
            "schedule": SCHEDULE,
            "sessions": outcome.sessions,
            "failures": outcome.failures,
            "complete": not outcome.unmeasured,
            "duration_s": (now_ns() - started_ns) / SECOND,
            "wall_unix_ns": wall_ns(),
        }
    )


async def _stop_when_told(everything: trio.CancelScope, recording: Recording) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            recording.log("info", "shutdown_started", signal=signal.Signals(number).name)
            everything.cancel()
            return
