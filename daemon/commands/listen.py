"""``speechbench listen``: speak into a microphone, and see how long each model takes.

Every end of speech is an endpoint, and a turn with a reading of its own. ``--json`` gives the same
as one document on standard output when it ends, as ``speechbench run`` does.

Exit code: 0 if every turn has a reading that counts, else 1, also where the device has disappeared
(what was measured until then is shown and kept); 2 or 78 if nothing could be measured; 130 if the
last answers were not waited for.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import trio

from daemon.clock import HostClock, now_ns
from daemon.commands.choosing import chosen, model_arguments, output_arguments
from daemon.config import Settings, read_settings, settings_of
from daemon.errors import UserError
from daemon.exporter_settings import exporter_settings
from daemon.host_setup import REAL_TIME_PRIORITY, take_precedence
from daemon.keys import Keys
from daemon.listening import Ended, Listening, live_recording
from daemon.plan import Plan, Target, host_name, known_error, new_id, targets_of
from daemon.results import document_of, rows_of, summaries_of
from daemon.rounds import Outcome
from daemon.sound import Microphone, microphone
from daemon.supervise import Recording, bench, local_engines, start_exporter
from daemon.wav_file import WavFile
from daemon.workers import gate_of
from exporters.segment import closed_name
from exporters.table import print_run, table_console
from measure.records import MS
from pacer.live import HEARD_HZ
from vad.listening import Listener
from vad.silero import ModelError, StepModel

HELP = "measure what a microphone hears, turn by turn"
INTERRUPTED = 130


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="the input, by its number or a part of its name; see: speechbench devices",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings in TOML; endpoint is 'every' here, whatever it says",
    )
    model_arguments(parser)
    parser.add_argument(
        "--latency",
        type=_latency,
        default="low",
        metavar="SECONDS",
        help="how much the device may keep back; default: as little as it can",
    )
    parser.add_argument(
        "--silence",
        type=_milliseconds,
        metavar="MS",
        help="how long it must be silent before a turn has ended; default: 100, as configured",
    )
    parser.add_argument(
        "--seconds", type=_seconds, metavar="N", help="end after so long; default: with Ctrl-C"
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="keep what was heard as a WAV file, to be measured again with: speechbench run FILE",
    )
    output_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Listen, measure and show. Raises UserError."""
    plan = _plan(_settings(args))
    trouble = plan.known_error.trouble()
    warnings = Keys({}, plan.settings.keys.directory).warnings()
    for line in (*warnings, *plan.skipped, *([trouble] if trouble else [])):
        _say(line)
    if not plan.targets:
        raise UserError("there is no model left to measure")
    try:
        model = StepModel.load()
    except ModelError as error:
        raise UserError(str(error)) from error
    wav, result = WavFile(args.record), _Result()
    recording = trio.run(_listen, args, plan, model, wav, result, clock=HostClock())
    return _shown(args, plan, recording, result, wav)


@dataclass(slots=True)
class _Result:
    outcome: Outcome = field(default_factory=Outcome)
    ended: Ended = field(default_factory=Ended)
    interrupted: bool = False
    """Not even the last answers were waited for."""


async def _listen(
    args: argparse.Namespace, plan: Plan, model: StepModel, wav: WavFile, result: _Result
) -> Recording:
    """Nothing is written, and nobody is called, before the microphone is open."""
    async with microphone(args.device, args.latency) as heard:
        with wav:
            recording = start_exporter(exporter_settings(plan, args.listen or "", live="turns"))
            try:
                await _measure(args, plan, recording, heard, model, wav, result)
            finally:
                recording.stop()
    return recording


async def _measure(
    args: argparse.Namespace,
    plan: Plan,
    recording: Recording,
    heard: Microphone,
    model: StepModel,
    wav: WavFile,
    result: _Result,
) -> None:
    async with (
        local_engines(plan.targets) as targets,
        bench(recording) as ours,
        trio.open_nursery() as nursery,
    ):
        listening = Listening(
            plan,
            targets,
            ours,
            gate_of(recording),
            heard,
            Listener(model, HEARD_HZ, plan.settings.voice_settings, on_thread=_stay_behind),
            record=wav.write,
            say=lambda line: recording.put({"k": "said", "t": now_ns(), "text": line}),
        )
        nursery.start_soon(_stop_when_told, listening.stop, nursery.cancel_scope, result)
        if args.seconds is not None:
            nursery.start_soon(_stop_in_time, listening.stop, args.seconds)
        result.ended = await listening.run(new_id(), result.outcome)
        nursery.cancel_scope.cancel()


async def _stop_when_told(
    stop: Callable[[], None], everything: trio.CancelScope, result: _Result
) -> None:
    """The first time orderly, the second time at once."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        told = 0
        async for _ in signals:
            told += 1
            stop()
            if told > 1:
                result.interrupted = True
                everything.cancel()
                return


async def _stop_in_time(stop: Callable[[], None], seconds: float) -> None:
    await trio.sleep(seconds)
    stop()


def _stay_behind() -> None:
    """The detector comes before other programs, but never before what is paced."""
    take_precedence(REAL_TIME_PRIORITY - 1)


def _shown(
    args: argparse.Namespace, plan: Plan, recording: Recording, result: _Result, wav: WavFile
) -> int:
    measured = result.outcome.measured
    journal = closed_name(recording.ready.journal)
    complete = bool(recording.confirmed)
    if args.json:
        document = document_of(measured, journal=journal, complete=complete, skipped=plan.skipped)
        document["device"] = asdict(result.ended)
        print(json.dumps(document, ensure_ascii=False, indent=1))  # noqa: T201
    else:
        console = table_console()
        print_run(console, rows_of(measured), summaries_of(measured))
        console.print()
        console.print(device_line(result.ended), soft_wrap=True, highlight=False)
        if not complete:
            console.print(f"Not all of it is in the journal: {recording.losses}", style="red")
        console.print(f"Journal: {journal}", soft_wrap=True, highlight=False)
        console.print(
            "Next:    speechbench rescore --definition method --definition captured " + journal,
            soft_wrap=True,
            highlight=False,
        )
    for line in (result.ended.why, wav.trouble):
        if line is not None:
            _say(line)
    if result.interrupted:
        return INTERRUPTED
    fine = complete and result.ended.why is None and wav.trouble is None
    return 0 if fine and measured and all(one.reading.valid for one in measured) else 1


def device_line(ended: Ended) -> str:
    """What was found out about the device, for people."""
    heard = f"Device:  {ended.device}, heard for {ended.heard_ms / 1000:.1f} s"
    drift = "drift not known: it takes ten steady seconds"
    if ended.drift is not None:
        ppm, error_ppm = ended.drift.ppm, ended.drift.error_ppm
        drift = f"its clock {ppm:+.0f} ± {error_ppm:.0f} ppm against this host's"
    delay = "delay not told"
    if ended.delay_ns is not None:
        delay = f"delay {ended.delay_ns / MS:.0f} ms"
    xruns = {0: "no xruns", 1: "1 xrun"}.get(ended.xruns, f"{ended.xruns} xruns")
    return f"{heard}; {drift}; {delay}; {xruns}"


def _say(line: str) -> None:
    sys.stderr.write(f"speechbench: {line}\n")
    sys.stderr.flush()


def _plan(settings: Settings) -> Plan:
    targets, skipped = _targets(settings)
    rates_hz = {target.codec().facts.audio.rate_hz for target in targets}
    return Plan(
        settings,
        tuple(targets),
        (live_recording(rates_hz),),
        tuple(skipped),
        host_name(),
        known_error(settings, max(1, len(targets))),
    )


def _targets(settings: Settings) -> tuple[list[Target], list[str]]:
    """The models that can be listened with, and a line for each that cannot.

    A configuration that is made for clips may hold models that know only one endpoint.
    """
    targets: list[Target] = []
    skipped: list[str] = []
    for section in settings.model:
        try:
            found, without = targets_of(
                settings.model_copy(update={"model": [section]}), os.environ
            )
        except UserError as error:
            skipped.append(str(error))
        else:
            targets += found
            skipped += without
    return targets, skipped


def _settings(args: argparse.Namespace) -> Settings:
    """The file's settings, overruled by what stands on the command line."""
    settings = read_settings(args.config)
    changes = chosen(args, settings) | {"clip": [], "corpus": []}
    changes["method"] = {**settings.method.model_dump(), "endpoint": "every"}
    if args.silence is not None:
        changes["voice"] = {**settings.voice.model_dump(), "min_silence_ms": args.silence}
    return settings_of({**settings.model_dump(), **changes}, Path("command line"))


def _latency(text: str) -> float | str:
    if text == "low":
        return text
    return _number(text, 0.001, 2.0, "it must be 'low' or seconds from 0.001 to 2")


def _milliseconds(text: str) -> int:
    return round(_number(text, 0.0, 5_000.0, "it must be milliseconds from 0 to 5000"))


def _seconds(text: str) -> float:
    return _number(text, 1.0, 86_400.0, "it must be seconds from 1 to 86400")


def _number(text: str, least: float, most: float, said: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(said)
    return value
