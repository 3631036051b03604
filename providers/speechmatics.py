"""Speechmatics' realtime transcription (v2) over one websocket.

A transcript's text carries its own spaces: finals are put together as they are, and behind each
one the partials begin anew. What answers our force says ``forced``: the last AddTranscript, and
then an EndOfUtterance; that one alone where nothing was left to say.

    we:    StartRecognition    <pcm> <pcm>  ForceEndOfUtterance              EndOfStream
    they:   RecognitionStarted  AudioAdded …  AddTranscript EndOfUtterance    EndOfTranscript
"""

from collections.abc import Iterable, Iterator

from measure.events import (
    Event,
    ForceAcknowledged,
    Notice,
    StreamDone,
    StreamReady,
    Transcript,
    Unread,
)
from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Frame, Rule
from providers.codec import ForceContext, Message, OpenRequest, Options
from providers.errors import ErrorMap
from providers.facts import AudioFormat, Facts, Forcing, Limits, Source
from providers.families import JsonCodec, address, compact, no_sense

URL = "wss://eu.rt.speechmatics.com/v2/"
NAMED_ERRORS = {
    "not_authorised": FaultKind.AUTH,
    "not_allowed": FaultKind.AUTH,
    "insufficient_funds": FaultKind.QUOTA,
    "quota_exceeded": FaultKind.QUOTA,
    "timelimit_exceeded": FaultKind.QUOTA,
    "idle_timeout": FaultKind.TIMEOUT,
    "session_timeout": FaultKind.TIMEOUT,
    "invalid_message": FaultKind.PROTOCOL,
    "invalid_model": FaultKind.PROTOCOL,
    "invalid_config": FaultKind.PROTOCOL,
    "invalid_audio_type": FaultKind.PROTOCOL,
    "protocol_error": FaultKind.PROTOCOL,
    "data_error": FaultKind.PROTOCOL,
    "buffer_error": FaultKind.PROTOCOL,
    "job_error": FaultKind.SERVER,
}
CLOSES = {
    4001: FaultKind.AUTH,
    4003: FaultKind.AUTH,
    4004: FaultKind.PROTOCOL,
    4005: FaultKind.QUOTA,
    4006: FaultKind.QUOTA,
    4013: FaultKind.SERVER,
}
NOTICES = frozenset({"AudioAdded", "Info", "Warning", "EndOfUtterance"})


class Speechmatics(JsonCodec):
    """One stream to an operating point: ``enhanced`` or ``standard``."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.MARKER, joiner=""),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=100),
        key_variable="SPEECHMATICS_API_KEY",
        greets=True,
        natural_endpointing="off; words still become final at the latest after 4 s (max_delay)",
        forcing=Forcing(unanswered="an EndOfUtterance without a transcript"),
        limits=Limits(session_s=172_800, idle_s=180, streams=50),
        errors=ErrorMap(names=NAMED_ERRORS, closes=CLOSES),
        prompt="additional_vocab, many",
        sources=(
            Source("Speechmatics' realtime specification", "2026-08-13"),
            Source("docs.speechmatics.com, realtime limits and turn detection", "2026"),
        ),
        why=(
            "Without a silence trigger only the force ends an utterance; 4 s is the largest delay"
            " for words to become final by themselves. The force names the second up to which it"
            " is meant, as Speechmatics asks for the sake of accuracy, and adds nothing to it."
        ),
        awaits=(
            "Whether the host takes model, or still wants operating_point.",
            "What answers a force without speech.",
            "Whether an exact timestamp clips a short last word; Speechmatics' client adds 0.2 s.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "enhanced") -> None:
        self._url = address(options.url or URL, (), path="/v2/", who="Speechmatics")
        self._start = {
            "message": "StartRecognition",
            "audio_format": {
                "type": "raw",
                "encoding": "pcm_s16le",
                "sample_rate": self.facts.audio.rate_hz,
            },
            "transcription_config": {
                "language": options.language.partition("-")[0],
                "model": model,
                "enable_partials": True,
                "max_delay": 4,
                "max_delay_mode": "flexible",
            },
        }
        self._sent = 0
        """How many messages of audio, which the farewell has to say."""

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": f"Bearer {key}"})

    def hello(self) -> Iterable[Message]:
        return (compact(self._start),)

    def audio(self, frame: Frame) -> Message:
        self._sent += 1
        return frame.pcm

    def force(self, context: ForceContext) -> Iterable[Message]:
        """End the utterance at what has been sent up to here."""
        at_s = round(context.audio_ms / 1000, 3)
        return (compact({"message": "ForceEndOfUtterance", "timestamp": at_s}),)

    def finish(self) -> Iterable[Message]:
        return (compact({"message": "EndOfStream", "last_seq_no": self._sent}),)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"message": "AddPartialTranscript", "metadata": {"transcript": str(text)}}:
                if text:
                    yield Transcript(at_ns, text, final=False)
            case {"message": "AddTranscript", "metadata": {"transcript": str(text)}, **rest}:
                yield Transcript(at_ns, text, final=True, forced=rest.get("forced") is True)
            case {"message": "EndOfUtterance", "forced": True}:
                yield ForceAcknowledged(at_ns)
            case {"message": "RecognitionStarted"}:
                yield StreamReady(at_ns)
            case {"message": "EndOfTranscript"}:
                yield StreamDone(at_ns)
            case {"message": "Error", **rest}:
                raise self.facts.errors.error(rest.get("type"), rest.get("reason"))
            case {"message": "AddPartialTranscript" | "AddTranscript"}:
                raise no_sense("a transcript without its text")
            case {"message": str(name)}:
                yield Notice(at_ns, name) if name in NOTICES else Unread(at_ns, name)
            case _:
                raise no_sense("a message without its name")
