"""WhisperLive's server over one websocket: Whisper run again and again over the newest audio.

The first message says what is wanted; audio follows as binary messages of 32-bit floats. Each
message that comes back lists the segments of late, the completed ones and at the end the one that
is still open, all of it each time. There is no force, and END_OF_AUDIO loses what is still open.

    we:    options            <floats> <floats> <floats>                  END_OF_AUDIO
    they:         SERVER_READY         segments    segments   segments                Close
                                       (open)      (open)     (completed, open)
"""

from collections.abc import Iterable, Iterator
from math import isfinite

from measure.events import Event, Notice, StreamDone, StreamReady, Transcript, Unread
from measure.faults import FaultKind
from measure.records import Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    Encoding,
    Ending,
    ErrorMap,
    Facts,
    Limits,
    Message,
    OpenRequest,
    Options,
    ProviderError,
    Source,
    TextMode,
)
from providers.families import JsonCodec, address, bearer, compact, float32_of, no_sense

URL = "ws://localhost:9090"
SAME_OUTPUT = 10
"""A text that comes so often without a change is complete: what the maker's client asks for."""


class WhisperLive(JsonCodec):
    """One stream to a server of one's own, which loads the model that is asked for."""

    facts = Facts(
        rule=Rule(Flow.FALLBACK),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=20, encoding=Encoding.F32LE),
        greets=True,
        natural_endpointing=f"on: the next segment, or {SAME_OUTPUT} equal results, complete one",
        text_mode=TextMode.REPLACED,
        ending=Ending.CLOSED,
        limits=Limits(session_s=600.0, streams=4),
        errors=ErrorMap(
            {
                "WAIT": FaultKind.RATE,
                "ERROR": FaultKind.SERVER,
                "DISCONNECT": FaultKind.TIMEOUT,
            }
        ),
        languages=("multi",),
        prompt="initial_prompt",
        sources=(Source("collabora/WhisperLive: server.py and backend/base.py, bde730b", "2026"),),
        why="It cannot be forced. Settings are those of its maker's client, and it decides by "
        "itself when a segment is complete, which may take seconds.",
        awaits=(
            "Whether the server takes floats: one started with --raw_pcm_input takes 16 bits.",
            "Which streams and session length the server was started with: 4 and 600 s else.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "small") -> None:
        self._url = address(options.url or URL, {}, path="/", who="WhisperLive")
        language = options.language.partition("-")[0]  # it knows no regions
        self._options = {
            "uid": "speechbench",
            "language": None if language == "multi" else language,
            "task": "transcribe",
            "model": model,
            "use_vad": True,
            "audio_format": "float32",
            "send_last_n_segments": 10,
            "no_speech_thresh": 0.45,
            "clip_audio": False,
            "same_output_threshold": SAME_OUTPUT,
        }
        self._open = False
        self._settled_s = -1.0
        """Where in the audio the newest completed segment begins."""
        self._finished = False

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, bearer(key))

    def hello(self) -> Iterable[Message]:
        return (compact(self._options),)

    def audio(self, frame: Frame) -> Message:
        return float32_of(frame.pcm)

    def finish(self) -> Iterable[Message]:
        """No more audio; close. It says nothing more of what it has heard."""
        self._finished = True
        return (b"END_OF_AUDIO",)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"segments": list(segments)}:
                yield from self._segments(segments, at_ns)
            case {"status": "WARNING"}:
                yield Notice(at_ns, "WARNING")
            case {"status": str(status)}:
                raise self._failure(status, said.get("message"))
            case {"message": "SERVER_READY"}:
                yield StreamReady(at_ns)
            case {"message": "DISCONNECT"}:
                if not self._finished:
                    raise self.facts.errors.error("DISCONNECT", "the session is over")
                yield StreamDone(at_ns)
            case {"language": _} | {"translated_segments": _}:
                yield Notice(at_ns, "language")
            case {"segments": _}:
                raise no_sense("segments that are no list")
            case {"message": str(name)}:
                yield Unread(at_ns, name)
            case _:
                yield Unread(at_ns, "no segments")

    def _segments(self, segments: list[object], at_ns: int) -> Iterator[Event]:
        """What is newly complete, then what is open; nothing open takes back what was."""
        was_open, self._open = self._open, False
        for start_s, text, complete in map(_segment, segments):
            if not complete:
                self._open = bool(text)
                if text:
                    yield Transcript(at_ns, text, final=False)
            elif start_s > self._settled_s:
                self._settled_s = start_s
                was_open = False
                yield Transcript(at_ns, text, final=True)
        if was_open and not self._open:
            yield Transcript(at_ns, "", final=False)

    def _failure(self, status: str, said: object) -> ProviderError:
        minutes = said if isinstance(said, int | float) and 0 <= said < 10_000 else None
        if status != "WAIT" or minutes is None:
            return self.facts.errors.error(status, said)
        words = f"the server is full for about {minutes:.0f} minutes"
        return self.facts.errors.error(status, words, retry_after_s=minutes * 60.0)


def _segment(shown: object) -> tuple[float, str, bool]:
    """Where it begins, its text, and whether it is complete."""
    match shown:
        case {"start": str() | float() | int() as start, "text": str(text), **rest}:
            return _seconds(start), text.strip(), rest.get("completed") is True
    raise no_sense("a segment without its beginning or text")


def _seconds(said: str | float) -> float:
    try:
        seconds = float(said)
    except (ValueError, OverflowError):
        seconds = float("nan")
    if not isfinite(seconds):
        raise no_sense("a segment that begins at no number")
    return seconds
