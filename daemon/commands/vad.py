"""``speechbench vad FILE…``: where speech starts and ends, as Silero VAD hears it.

With ``--json`` stdout holds one document and nothing else; places are in samples at ``rate_hz``::

    {"model": "silero_vad_16k_sequence.onnx", "model_sha256": "9cc…",
     "rate_hz": 16000, "window_samples": 512,
     "settings": {"threshold": 0.5, "neg_threshold": null, "min_silence_ms": 100,
                  "speech_pad_ms": 30, "min_speech_ms": 250, "max_speech_s": null,
                  "min_silence_at_max_ms": 98, "longest_silence_at_max": true},
     "tail_silence_s": 0.0,
     "files": [{"file": "talk.wav", "source": "WAV PCM_16, 16000 Hz, 1 channel", "remarks": [],
                "samples": 159414, "audio_s": 9.963375, "heard_as": "int16",
                "timestamps": [{"start": 5152, "end": 19936}],
                "events": [{"kind": "start", "sample": 5152, "fired_at": 6144},
                           {"kind": "end", "sample": 19936, "fired_at": 22016}],
                "speaking": false,
                "probabilities": [0.00172, 0.00694]},
               {"file": "none.wav", "error": "none.wav: no such file or directory"}]}

``timestamps`` are those of Silero's ``get_speech_timestamps``, which looks at the file as a whole.
``events`` are those of its ``VADIterator``, which hears the file as it comes, with
``tail_silence_s`` of digital silence behind it; each fired once ``fired_at`` samples were heard.
``speaking``: no end had fired when the audio was over. ``probabilities`` (only with
``--probabilities``) are one a window of the file, the last one completed with silence.
``heard_as``: a file with finer samples than 16 bits is heard as it is (``float32``) where neither
its rate nor its channels had to be changed; a measurement hears what it sends, which is 16 bits.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from daemon.errors import UserError
from measure.records import AudioClip, VoiceSettings
from vad.endpoint import WINDOW_SAMPLES, Edge, EdgeKind, EndpointDetector, edges
from vad.timestamps import Speech, TimestampSettings, speech_timestamps

if TYPE_CHECKING:
    from vad.silero import Floats, Model

HELP = "show where speech starts and ends in audio files"

DEFAULTS = TimestampSettings()
CHANNELS = ("mix", "left", "right")


@dataclass(frozen=True, slots=True)
class Number:
    """An option that takes a number."""

    default: float | None
    lowest: float
    highest: float
    help: str
    whole: bool = False


NUMBERS = {
    "threshold": Number(DEFAULTS.threshold, 0.01, 1, "a window at least this probable is speech"),
    "neg-threshold": Number(
        DEFAULTS.neg_threshold,
        0,
        1,
        "a window below it is silence; for the stretches only: a live detector always takes "
        "threshold - 0.15, which is the default",
    ),
    "min-silence-ms": Number(
        DEFAULTS.min_silence_ms, 0, 60_000, "how long it must be silent before speech ends", True
    ),
    "speech-pad-ms": Number(
        DEFAULTS.speech_pad_ms, 0, 10_000, "by how much speech is widened on either side", True
    ),
    "min-speech-ms": Number(
        DEFAULTS.min_speech_ms, 0, 600_000, "a stretch no longer than this is dropped", True
    ),
    "max-speech-s": Number(
        DEFAULTS.max_speech_s, 0.1, math.inf, "a stretch longer than this is split"
    ),
    "min-silence-at-max-ms": Number(
        DEFAULTS.min_silence_at_max_ms, 0, 60_000, "a longer silence is where it may be split", True
    ),
    "tail-silence-s": Number(
        None,
        0,
        60,
        "digital silence behind the file, for the live detector only; default: as much as it "
        "needs to decide the last end, with --json 0",
    ),
}
"""The options that take a number, by name."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options, checked."""

    files: Sequence[Path]
    rate_hz: int
    channels: str
    stretches: TimestampSettings
    tail_silence_s: float | None
    """None: as much as the live detector needs."""

    @property
    def voice(self) -> VoiceSettings:
        """The settings of the live detector."""
        said = self.stretches
        return VoiceSettings(said.threshold, int(said.min_silence_ms), int(said.speech_pad_ms))


@dataclass(frozen=True, slots=True)
class Hearing:
    """What was heard in one file."""

    clip: AudioClip
    heard_as: str
    probabilities: Sequence[float]
    timestamps: Sequence[Speech]
    edges: Sequence[Edge]
    tail_ms: float
    """The digital silence behind the file."""

    @property
    def speaking(self) -> bool:
        """No end had fired when all was heard."""
        return bool(self.edges) and self.edges[-1].kind is EdgeKind.START


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="an audio file")
    for name, number in NUMBERS.items():
        default = "" if number.default is None else f" (default {number.default:g})"
        parser.add_argument(f"--{name}", metavar="N", help=number.help + default)
    parser.add_argument(
        "--last-silence-at-max",
        action="store_true",
        help="split at the last such silence, not at the longest",
    )
    parser.add_argument("--rate", metavar="HZ", default="16000", help="8000 or 16000 (default)")
    parser.add_argument(
        "--channels", default="mix", help="of several channels: mix (default), left or right"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument(
        "--probabilities", action="store_true", help="with --json: one probability a window too"
    )


def run(args: argparse.Namespace) -> int:
    """Show each file that can be read; 1 if one cannot."""
    request = _requested(args)
    # Only here is the model needed, and it takes longest to import.
    from pacer.clips import ClipError, load_clip
    from vad.silero import ModelError, load_model

    try:
        model = load_model(request.rate_hz)
    except ModelError as error:
        raise UserError(str(error), exit_code=1) from error
    entries: list[dict[str, object]] = []
    for path in request.files:
        try:
            clip = load_clip(path, rate_hz=request.rate_hz, channels=request.channels)
        except ClipError as error:
            sys.stderr.write(f"speechbench vad: {error}\n")
            entries.append({"file": str(path), "error": str(error)})
            continue
        hearing = _hear(path, clip, model, request)
        entries.append(_entry(path, hearing, with_probabilities=args.probabilities))
        if not args.json:
            sys.stdout.writelines(f"{line}\n" for line in _lines(path, hearing))
    if args.json:
        sys.stdout.write(json.dumps(_document(request, entries)) + "\n")
    else:
        sys.stdout.write(f"Settings: {_settings_in_words(request)}\n")
    return 1 if any("error" in entry for entry in entries) else 0


def _requested(args: argparse.Namespace) -> Request:
    """The options as values. Raises UserError for what is not allowed."""
    given = {name: _number(name, getattr(args, name.replace("-", "_"))) for name in NUMBERS}
    tail_s = given.pop("tail-silence-s")
    if tail_s is None and args.json:
        tail_s = 0.0
    named = {name.replace("-", "_"): value for name, value in given.items() if value is not None}
    stretches = replace(DEFAULTS, longest_silence_at_max=not args.last_silence_at_max, **named)
    if stretches.neg_threshold is not None and stretches.neg_threshold > stretches.threshold:
        raise UserError(
            f"--neg-threshold {stretches.neg_threshold:g}: it must be no higher than --threshold, "
            f"{stretches.threshold:g}"
        )
    if args.rate not in map(str, WINDOW_SAMPLES):
        raise UserError(f"--rate {args.rate}: it must be 8000 or 16000")
    if args.channels not in CHANNELS:
        raise UserError(f"--channels {args.channels}: it must be mix, left or right")
    if args.probabilities and not args.json:
        raise UserError("--probabilities: it goes with --json only")
    return Request(args.files, int(args.rate), args.channels, stretches, tail_s)


def _number(name: str, given: str | None) -> float | None:
    number = NUMBERS[name]
    if given is None:
        return number.default
    try:
        value = int(given) if number.whole else float(given)
    except ValueError:
        value = math.nan  # lies in no range
    if not number.lowest <= value <= number.highest:
        kind = "a whole number" if number.whole else "a number"
        raise UserError(
            f"--{name} {given}: it must be {kind} from {number.lowest:g} to {number.highest:g}"
        )
    return value


def _hear(path: Path, clip: AudioClip, model: "Model", request: Request) -> Hearing:
    import numpy as np

    from vad.silero import samples_of
    from vad.survey import hear_all, survey

    finer = _finer(path, clip)
    samples = samples_of(clip.pcm) if finer is None else finer
    tail = np.zeros(int((request.tail_silence_s or 0.0) * clip.rate_hz), np.float32)
    heard, _ = hear_all(np.concatenate([samples, tail]), clip.rate_hz, model)
    own = heard[: math.ceil(len(samples) / WINDOW_SAMPLES[clip.rate_hz])].tolist()
    if request.tail_silence_s is None:
        surveyed = survey(clip, model, request.voice)
        fired, tail_ms = surveyed.edges, surveyed.padding_ms
    else:
        detector = EndpointDetector(clip.rate_hz, request.voice)
        fired, tail_ms = tuple(edges(detector, heard.tolist())), len(tail) * 1000 / clip.rate_hz
    return Hearing(
        clip,
        "int16" if finer is None else "float32",
        own,
        speech_timestamps(own, clip.samples, clip.rate_hz, request.stretches),
        fired,
        tail_ms,
    )


def _finer(path: Path, clip: AudioClip) -> "Floats | None":
    """The samples of ``clip`` before they were rounded to 16 bits, where the file has them."""
    import numpy as np
    import soundfile

    try:
        content = BytesIO(path.read_bytes())  # has no name by which soundfile would judge it
        samples, rate_hz = soundfile.read(content, dtype="float32", always_2d=True)
    except soundfile.LibsndfileError:  # a file whose header had to be mended; we have its clip
        return None
    if rate_hz != clip.rate_hz or samples.shape != (clip.samples, 1):
        return None
    mono: Floats = samples[:, 0]
    rounded = np.rint(mono.astype(np.float64) * 32768).clip(-32768, 32767).astype("<i2")
    same, exact = rounded.tobytes() == clip.pcm, bool((rounded / 32768 == mono).all())
    return mono if same and not exact else None


def _document(request: Request, entries: list[dict[str, object]]) -> dict[str, object]:
    from vad.silero import SEQUENCE_MODEL, STEP_MODEL

    model = SEQUENCE_MODEL if request.rate_hz == 16_000 else STEP_MODEL
    settings = asdict(request.stretches)
    if settings["max_speech_s"] == math.inf:  # JSON has no word for it
        settings["max_speech_s"] = None
    return {
        "model": model.name,
        "model_sha256": model.sha256,
        "rate_hz": request.rate_hz,
        "window_samples": WINDOW_SAMPLES[request.rate_hz],
        "settings": settings,
        "tail_silence_s": request.tail_silence_s,
        "files": entries,
    }


def _entry(path: Path, hearing: Hearing, *, with_probabilities: bool) -> dict[str, object]:
    clip = hearing.clip
    entry: dict[str, object] = {
        "file": str(path),
        "source": clip.source,
        "remarks": clip.remarks,
        "samples": clip.samples,
        "audio_s": clip.audio_s,
        "heard_as": hearing.heard_as,
        "timestamps": [
            {"start": speech.start_sample, "end": speech.end_sample}
            for speech in hearing.timestamps
        ],
        "events": [
            {"kind": edge.kind.value, "sample": edge.sample, "fired_at": edge.fired_at_sample}
            for edge in hearing.edges
        ],
        "speaking": hearing.speaking,
    }
    return entry | ({"probabilities": hearing.probabilities} if with_probabilities else {})


def _lines(path: Path, hearing: Hearing) -> Iterator[str]:
    """One file, for people."""
    clip = hearing.clip
    yield f"{path}: {clip.audio_s:.3f} s ({clip.source})"
    yield from (f"  {remark}" for remark in clip.remarks)
    yield "  Speech in the whole file:" if hearing.timestamps else "  No speech in the whole file."
    for speech in hearing.timestamps:
        start_s, end_s = speech.start_sample / clip.rate_hz, speech.end_sample / clip.rate_hz
        yield f"    {start_s:8.3f} - {end_s:8.3f} s   ({end_s - start_s:.3f} s)"
    yield "  As a live detector hears it:" if hearing.edges else "  A live detector hears none."
    for edge in hearing.edges:
        known = ", the file ends in speech" if edge.at_eof else ""
        yield (
            f"    {edge.kind.value:5} at {edge.audio_ms / 1000:8.3f} s, "
            f"known at {edge.known_ms / 1000:8.3f} s{known}"
        )
    yield f"  {_tail_in_words(hearing)}"
    yield ""


def _tail_in_words(hearing: Hearing) -> str:
    silence = f"Digital silence heard behind the file: {hearing.tail_ms / 1000:.3f} s"
    return f"{silence}; no end had been decided then." if hearing.speaking else f"{silence}."


def _settings_in_words(request: Request) -> str:
    """The settings as one would type them."""
    said = asdict(request.stretches)
    shown = {name: said.get(name.replace("-", "_")) for name in NUMBERS}
    options = [f"--{name} {value:g}" for name, value in shown.items() if value is not None]
    if not request.stretches.longest_silence_at_max:
        options.append("--last-silence-at-max")
    return " ".join([f"--rate {request.rate_hz}", f"--channels {request.channels}", *options])
