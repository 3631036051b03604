"""``speechbench run``: measure now, watch it, and read a table.

``--json`` gives the same as one document on standard output, and nothing else there::

    {"schema": 1, "journal": …, "journal_complete": true, "skipped": […],
     "measurements": [{"clip", "turn", "model", "verdict", "valid", "time_to_final_ns" (signed),
                       "time_to_first_partial_ns", "transcript", "errors": {…}, …}],
     "summaries": [{"model", "answered", "failed", "voided", "time_to_final_ms": {"p50", …}, …}]}

Exit code: 0 if every measurement has a reading that counts, else 1; 2 or 78 if nothing could be
measured; 130 if it was interrupted (what was measured until then is shown and kept).
"""

import argparse
import json
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio
from rich.console import Console

from daemon.clock import HostClock, host_now_ns
from daemon.commands.choosing import chosen, model_arguments, output_arguments
from daemon.config import Settings, read_settings, settings_of
from daemon.errors import UserError
from daemon.exporter_settings import exporter_settings
from daemon.keys import Keys
from daemon.monitor import StreamMonitor, monitor_on
from daemon.plan import Plan, new_id, plan_of
from daemon.results import document_of, rows_of, summaries_of
from daemon.rounds import Outcome, OwnRounds, Rounds
from daemon.supervise import Recording, local_engines, start_exporter
from daemon.workers import measuring, shortfall
from exporters.segment import closed_name, read_journal
from exporters.table import print_run, table_console
from measure.measurement import Measurement
from measure.replay import measurements_of, sessions_of

HELP = "measure clips now, and show a table"
INTERRUPTED = 130


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="recordings to stream; without any: the built-in ones",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings in TOML; see docs/speechbench.example.toml",
    )
    model_arguments(parser)
    parser.add_argument(
        "--reference",
        action="append",
        metavar="TEXT",
        help="what is said in the file; once for each file, in their order",
    )
    parser.add_argument(
        "--channels", choices=("mix", "left", "right"), help="of a file with several; default: mix"
    )
    parser.add_argument(
        "--raw",
        metavar="ENCODING:RATE:CHANNELS",
        help="for files without a header, such as s16le:16000:1",
    )
    parser.add_argument(
        "--rounds",
        type=_positive,
        default=1,
        metavar="N",
        help="how often every clip is heard; default: 1",
    )
    parser.add_argument(
        "--parallel",
        type=_positive,
        metavar="N",
        help="models measured at the same time in each process; default: 1",
    )
    parser.add_argument(
        "--workers",
        type=_positive,
        metavar="N",
        help="measuring processes, among which the models are shared out; default: 1",
    )
    parser.add_argument(
        "--monitor",
        nargs="?",
        const="",
        metavar="DEVICE",
        help="let what is streamed be heard, on the default output or on this one, by its number "
        "or a part of its name; see: speechbench devices --outputs",
    )
    output_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and show. Raises UserError."""
    console = Console(stderr=True)
    settings = _settings(args)
    _refuse_to_let_hear(args.monitor, settings)
    with console.status("reading clips and looking for speech in them"):
        plan = plan_of(settings, os.environ)
    fewer = shortfall(plan) if plan.targets else None
    trouble = plan.known_error.trouble()
    notes = [line for line in (fewer, trouble) if line is not None]
    warnings = Keys({}, settings.keys.directory).warnings()
    for line in (*warnings, *plan.skipped, *_remarks(plan), *notes):
        sys.stderr.write(f"speechbench: {line}\n")
    if not plan.targets:
        raise UserError("there is no model left to measure")
    result = _Result()
    live = "rounds" if console.is_terminal else "off"
    recording = trio.run(_record, args, plan, live, result, clock=HostClock())
    measured = [*result.outcome.measured, *_recovered(recording, result.outcome.lost)]
    _show(args, plan, recording, measured, interrupted=result.interrupted)
    if result.interrupted:
        return INTERRUPTED
    if result.outcome.unmeasured:
        sys.stderr.write(
            f"speechbench: {result.outcome.unmeasured} measurements were not made: their worker "
            "ended again and again; the log above says how\n"
        )
        return 1
    complete = len({one.session_id for one in measured}) == result.outcome.sessions
    return 0 if complete and all(one.reading.valid for one in measured) else 1


@dataclass(slots=True)
class _Result:
    outcome: Outcome = field(default_factory=Outcome)
    interrupted: bool = False


async def _record(args: argparse.Namespace, plan: Plan, live: str, result: _Result) -> Recording:
    """Measure, with an exporter process beside; nothing is written before a monitor is open."""
    async with _monitor(args.monitor, plan) as monitor:
        recording = start_exporter(exporter_settings(plan, args.listen or "", live=live))
        try:
            await _measure(plan, recording, result, args.rounds, monitor)
        finally:
            recording.stop()
    return recording


async def _measure(
    plan: Plan,
    recording: Recording,
    result: _Result,
    rounds: int,
    monitor: StreamMonitor | None,
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_stop_when_told, nursery.cancel_scope, result)
        async with (
            local_engines(plan.targets) as targets,
            measuring(plan, targets, recording) as ours,
        ):
            if monitor is not None:
                ours = _heard(ours, monitor)
                nursery.start_soon(monitor.say_if_gone, _say)
            for _ in range(rounds):
                await ours.measure(new_id(), result.outcome)
        nursery.cancel_scope.cancel()


def _refuse_to_let_hear(device: str | None, settings: Settings) -> None:
    """Raises UserError where --monitor is asked for and cannot be had."""
    workers = settings.daemon.workers
    if device is not None and workers > 1:
        raise UserError(f"--monitor: one process lets it be heard, and workers is {workers}: use 1")
    if device and Path(device).is_file():
        raise UserError(f"--monitor {device}: that is a file; put files first, --monitor last")


def _monitor(device: str | None, plan: Plan) -> AbstractAsyncContextManager[StreamMonitor | None]:
    """At the best rate of all that is streamed, so that nothing is lost. An empty name: default."""
    if device is None:
        return nullcontext()
    rate_hz = max(target.codec().facts.audio.rate_hz for target in plan.targets)
    return monitor_on(device or None, rate_hz, host_now_ns)


def _heard(rounds: Rounds, monitor: StreamMonitor) -> Rounds:
    """The same, with what they stream to be heard."""
    assert isinstance(rounds, OwnRounds), "with workers it was refused"
    return replace(rounds, bench=replace(rounds.bench, monitor=monitor))


def _recovered(recording: Recording, lost: list[str]) -> list[Measurement]:
    """What the journal has of sessions whose process died; the exporter has ended each as failed.

    A line for each of which nothing was recorded.
    """
    if not lost:
        return []
    first = Path(recording.ready.journal)
    segments = [path for path in read_journal(first.parent).paths if _began(path) >= _began(first)]
    sessions = {str(one.started.get("s")): one for one in sessions_of(read_journal(segments))}
    for session_id in lost:
        if session_id not in sessions:
            sys.stderr.write(f"speechbench: nothing was recorded of session {session_id}\n")
    return [
        measurement
        for name in lost
        if name in sessions
        for measurement in measurements_of(sessions[name])
    ]


def _began(segment: Path) -> str:
    return segment.name.partition(".sbj")[0]


async def _stop_when_told(everything: trio.CancelScope, result: _Result) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            result.interrupted = True
            everything.cancel()
            return


def _say(line: str) -> None:
    sys.stderr.write(f"speechbench: {line}\n")
    sys.stderr.flush()


def _show(
    args: argparse.Namespace,
    plan: Plan,
    recording: Recording,
    measured: list[Measurement],
    *,
    interrupted: bool,
) -> None:
    journal = closed_name(recording.ready.journal)
    complete = bool(recording.confirmed)
    if args.json:
        document = document_of(measured, journal=journal, complete=complete, skipped=plan.skipped)
        print(json.dumps(document, ensure_ascii=False, indent=1))  # noqa: T201
        return
    console = table_console()
    rows = rows_of(measured)
    print_run(console, rows, summaries_of(measured))
    console.print()
    if interrupted:
        console.print("Interrupted: this is what was measured until then.", style="yellow")
    if not complete:
        console.print(f"Not all of it is in the journal: {recording.losses}", style="red")
    console.print(f"Journal: {journal}", soft_wrap=True, highlight=False)
    console.print(_next_steps(journal), soft_wrap=True, highlight=False)


def _next_steps(journal: str) -> str:
    return (
        "Next:    speechbench replay " + journal + "\n"
        "         speechbench run --model deepgram/nova-3 my.wav --reference 'what is said in it'"
    )


def _remarks(plan: Plan) -> list[str]:
    return [
        f"{recording.clip.name}: {remark}"
        for recording in plan.recordings
        for remark in recording.clip.remarks
    ]


def _settings(args: argparse.Namespace) -> Settings:
    """The file's settings, overruled by what stands on the command line."""
    settings = read_settings(args.config)
    changes = chosen(args, settings)
    if args.files:
        changes["clip"] = _clips(args)
        changes["corpus"] = []
    elif args.reference or args.raw or args.channels:
        raise UserError("--reference, --raw and --channels are about files: name one")
    given = {"parallel": args.parallel, "workers": args.workers}
    if named := {name: value for name, value in given.items() if value is not None}:
        changes["daemon"] = {**settings.daemon.model_dump(), **named}
    if not changes:
        return settings
    return settings_of({**settings.model_dump(), **changes}, Path("command line"))


def _clips(args: argparse.Namespace) -> list[dict[str, Any]]:
    references = args.reference or []
    if references and len(references) != len(args.files):
        raise UserError(
            f"--reference: {len(references)} given for {len(args.files)} files; "
            "give one for each file, in their order"
        )
    common: dict[str, Any] = {"raw": _raw(args.raw)} if args.raw else {}
    common |= {"channels": args.channels} if args.channels else {}
    return [
        {
            "path": path.expanduser().absolute(),
            "reference": references[index] if references else None,
            **common,
        }
        for index, path in enumerate(args.files)
    ]


def _raw(text: str) -> dict[str, Any]:
    encoding, *numbers = text.split(":")
    if len(numbers) > 2 or not all(number.isdigit() for number in numbers):
        raise UserError(f"--raw {text}: write ENCODING:RATE:CHANNELS, such as s16le:16000:1")
    names = ("rate_hz", "channels")
    return {"encoding": encoding, **dict(zip(names, map(int, numbers), strict=False))}


def _positive(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError("it must be a whole number from 1")
    return int(text)
