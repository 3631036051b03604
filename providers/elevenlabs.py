"""ElevenLabs' Scribe in realtime over one websocket.

Everything is JSON text, audio is base64. A commit settles what was heard since the last one; the
committed transcript does not say that it answers. A twin of it with timestamps, and a partial that
repeats it, say nothing new.

    we:                     chunk chunk chunk  chunk, commit                              (close)
    they:  session_started          partial                   committed (twin) (repeated partial)
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, ForceRejected, Notice, StreamReady, Transcript, Unread
from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Frame, Rule
from providers.codec import ForceContext, Message, OpenRequest, Options
from providers.errors import ErrorMap
from providers.facts import AudioFormat, Ending, Facts, Forcing, Price, Source
from providers.families import JsonCodec, address, base64_of, compact, no_sense

PATH = "/v1/speech-to-text/realtime"
URL = f"wss://api.elevenlabs.io{PATH}"
NAMED_ERRORS = {
    "auth_error": FaultKind.AUTH,
    "unaccepted_terms": FaultKind.AUTH,
    "quota_exceeded": FaultKind.QUOTA,
    "rate_limited": FaultKind.RATE,
    "queue_overflow": FaultKind.RATE,
    "resource_exhausted": FaultKind.RATE,
    "session_time_limit_exceeded": FaultKind.TIMEOUT,
    "insufficient_audio_activity": FaultKind.TIMEOUT,
    "input_error": FaultKind.PROTOCOL,
    "chunk_size_exceeded": FaultKind.PROTOCOL,
}
"""By the type of the message; of any other type with an ``error``, it is the server's."""


class ElevenLabs(JsonCodec):
    """One stream to a Scribe realtime model."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.NEXT),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=100, base64=True),
        key_variable="ELEVENLABS_API_KEY",
        greets=True,
        keepalive_s=10.0,
        natural_endpointing="off; long audio is committed by itself, after some 90 s",
        forcing=Forcing(min_buffered_ms=300, unanswered="commit_throttled below 0.3 s of audio"),
        ending=Ending.HANG_UP,
        errors=ErrorMap(names=NAMED_ERRORS),
        languages=("multi",),
        prompt="keyterms; previous_text with the first audio",
        price=Price(6.5, Source("Vercel's AI Gateway, Scribe v2 Realtime", "2026")),
        sources=(
            Source("ElevenLabs' Python SDK", "2026-07-23"),
            Source("pipecat's client for it and the threads on its twins and echoes", "2026-08-21"),
        ),
        why=(
            "With the manual strategy only a commit settles a segment. The commit is a message"
            " without audio, so that no audio waits for it. About the first 2 s of a stream are"
            " only warm-up: a shorter clip shows no partials."
        ),
        awaits=(
            "Whether the twin also comes with timestamps and language detection off.",
            "When audio that nobody commits is committed by itself.",
            "Whether a wrong key is refused at the handshake or by auth_error.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "scribe_v2_realtime") -> None:
        settings = {
            "model_id": model,
            "audio_format": f"pcm_{self.facts.audio.rate_hz}",
            "commit_strategy": "manual",
            "include_timestamps": "false",
            "include_language_detection": "false",
        }
        language = options.language.partition("-")[0]
        if language != "multi":
            settings["language_code"] = language
        self._url = address(options.url or URL, settings, path=PATH, who="ElevenLabs")
        self._committed = ""
        """Until something else is said: a partial that only repeats this says nothing new."""

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"xi-api-key": key})

    def audio(self, frame: Frame) -> Message:
        return self._chunk(base64_of(frame.pcm), commit=False)

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Settle whatever was heard up to here."""
        return (self._chunk("", commit=True),)

    def keepalive(self) -> Iterable[Message]:
        return (self._chunk("", commit=False),)

    def _chunk(self, audio: str, *, commit: bool) -> Message:
        chunk = {"message_type": "input_audio_chunk", "audio_base_64": audio}
        return compact({**chunk, "commit": commit, "sample_rate": self.facts.audio.rate_hz})

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"message_type": "partial_transcript", "text": str(text)}:
                if text and text == self._committed:
                    yield Notice(at_ns, "repeated")
                elif text:
                    self._committed = ""
                    yield Transcript(at_ns, text, final=False)
            case {"message_type": "committed_transcript", "text": str(text)}:
                self._committed = text
                yield Transcript(at_ns, text, final=True)
            case {"message_type": "committed_transcript_with_timestamps" as name}:
                yield Notice(at_ns, name)
            case {"message_type": "session_started"}:
                yield StreamReady(at_ns)
            case {"message_type": "commit_throttled" as name}:
                yield ForceRejected(at_ns, name)
            case {"message_type": str(name), "error": words} if words:
                raise self.facts.errors.error(name, words)
            case {"message_type": "partial_transcript" | "committed_transcript"}:
                raise no_sense("a transcript without its text")
            case {"message_type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without its type")
