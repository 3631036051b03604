"""Sarvam's realtime speech to text over one websocket, for the languages of India.

Everything is JSON text with an ``event``, audio is base64. We say where speech starts and ends; the
end makes a final, blank where nothing was heard. The first start is said as soon as the session has
begun, each further one as soon as the final before it is there.

    we:                  speech_start <audio> <audio>  speech_end <audio>                end
    they:  session.begin                 transcript.partial      transcript.final  session.end
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, Notice, StreamDone, StreamReady, Transcript, Unread
from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    ErrorMap,
    Facts,
    ForceContext,
    Forcing,
    Message,
    OpenRequest,
    Options,
    Source,
)
from providers.families import JsonCodec, address, base64_of, no_sense

URL = "wss://api.sarvam.ai/speech-to-text-realtime/ws"
START = '{"event":"speech_start"}'
NAMED_ERRORS = {
    "invalid_api_key_error": FaultKind.AUTH,
    "insufficient_quota_error": FaultKind.QUOTA,
    "rate_limit_exceeded_error": FaultKind.RATE,
    "invalid_request_error": FaultKind.PROTOCOL,
    "unprocessable_entity_error": FaultKind.PROTOCOL,
}
NOTICES = frozenset({"vad.speech_start", "vad.speech_end", "config.updated", "pong"})


class Sarvam(JsonCodec):
    """One session with a Saaras model."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.NEXT),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=50, base64=True),
        key_variable="SARVAM_API_KEY",
        greets=True,
        keepalive_s=5.0,
        natural_endpointing="off: endpointing is manual",
        forcing=Forcing(unanswered="a blank final"),
        errors=ErrorMap(names=NAMED_ERRORS),
        languages=(
            *("en-IN", "hi-IN", "bn-IN", "gu-IN", "kn-IN", "ml-IN", "mr-IN", "or-IN", "pa-IN"),
            *("ta-IN", "te-IN", "as-IN", "ur-IN", "ne-IN", "kok-IN", "ks-IN", "sd-IN", "sa-IN"),
            *("sat-IN", "mni-IN", "brx-IN", "mai-IN", "doi-IN", "multi"),
        ),
        prompt="prompt, applied to the final",
        sources=(
            Source("docs.sarvam.ai: realtime streaming speech to text, beta; errors", "2026"),
            Source("pipecat, its client for Sarvam realtime", "2026-08-21"),
        ),
        why="With manual endpointing speech_end alone makes a final, at once; stream_type fast is "
        "its setting for voice agents.",
        awaits=(
            "Whether the account takes part in the beta of this address.",
            "Which chunk is best: 50 ms as base64 here, 500 ms as binary messages elsewhere.",
            "How long it waits for audio, and so how often it wants a ping.",
            "Whether its errors have the codes of its HTTP interface; mild ones are only noted.",
            "Whether the next speech_start may be said before the final of the last speech.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "saaras:v3-realtime") -> None:
        language = {"multi": "auto", "auto": "auto"}.get(options.language, options.language)
        settings = {
            "language_code": language
            if "-" in language or language == "auto"
            else f"{language}-IN",
            "stream_type": "fast",
            "endpointing": "manual",  # our detector ends the speech, not theirs
            "encoding": "linear16",
            "sample_rate": str(self.facts.audio.rate_hz),
            "model": model,
            "mode": "transcribe",
        }
        url = options.url or URL
        self._url = address(url, settings, path="/speech-to-text-realtime/ws", who="Sarvam")
        self._say: list[Message] = []
        self._speaking = False
        self._finishing = False

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"API-SUBSCRIPTION-KEY": key})

    def audio(self, frame: Frame) -> Message:
        return f'{{"event":"audio_input","audio":"{base64_of(frame.pcm)}"}}'

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Speech has ended, now."""
        self._speaking = False
        return ('{"event":"speech_end"}',)

    def keepalive(self) -> Iterable[Message]:
        return ('{"event":"ping"}',)

    def finish(self) -> Iterable[Message]:
        """No more audio; say what is left."""
        self._finishing = True
        return ('{"event":"end"}',)

    def replies(self) -> Iterable[Message]:
        said, self._say = self._say, []
        return said

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"event": "session.begin"}:
                self._start()
                yield StreamReady(at_ns)
            case {"event": "transcript.partial", "text": str(text)}:
                if text.strip():
                    yield Transcript(at_ns, text, final=False)
            case {"event": "transcript.final", "text": str(text)}:
                self._start()
                yield Transcript(at_ns, text, final=True)
            case {"event": "session.end"}:
                yield StreamDone(at_ns)
            case {"event": "error", "is_fatal": False}:
                yield Notice(at_ns, "error")
            case {"event": "error"}:
                code, status = said.get("code"), said.get("status_code")
                named = code if str(code) in NAMED_ERRORS else status or code
                raise self.facts.errors.error(named, said.get("message"))
            case {"event": "transcript.partial" | "transcript.final"}:
                raise no_sense("a transcript without its text")
            case {"event": str(name)}:
                yield Notice(at_ns, name) if name in NOTICES else Unread(at_ns, name)
            case _:
                raise no_sense("a message without an event")

    def _start(self) -> None:
        """Whatever is heard from here on belongs to the next speech."""
        if not self._speaking and not self._finishing:
            self._speaking = True
            self._say.append(START)
