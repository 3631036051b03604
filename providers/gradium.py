"""Gradium's speech to text over one websocket: a stream of words, with nothing final in it.

Everything is JSON text, audio is base64. ``text`` holds the words that are new, and none is ever
taken back. ``flushed`` says that a flush has been dealt with: then all words so far are the final.
Words of before the flush may still follow it; each is a further final at once, for nothing else
will come for it.

    we:    setup        <audio> <audio> flush <audio>                      end_of_stream
    they:         ready   text    step       text    flushed   text               end_of_stream
                        (partial)         (partial)  (final)  (final)             Close
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
from providers.codec import (
    AudioFormat,
    ErrorMap,
    Facts,
    ForceContext,
    Forcing,
    Limits,
    Message,
    OpenRequest,
    Options,
    Source,
    TextMode,
    one_line,
)
from providers.families import JsonCodec, Segments, address, base64_of, compact, no_sense

URL = "wss://api.gradium.ai/api/speech/asr"
DELAY_FRAMES = 12
"""How many frames of 80 ms it listens ahead: what its maker recommends for accuracy."""
NAMED_ERRORS = {
    "API key": FaultKind.AUTH,
    "credit": FaultKind.QUOTA,
    "concurren": FaultKind.RATE,
    "1008": FaultKind.PROTOCOL,
    "1011": FaultKind.SERVER,
}
"""By a word in what it says: its code 1008 stands for a wrong key and for a wrong message alike."""


class Gradium(JsonCodec):
    """One stream."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.ACK),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=80, base64=True),
        key_variable="GRADIUM_API_KEY",
        greets=True,
        natural_endpointing="none: a stream of words without finals",
        natural_finals=False,
        text_mode=TextMode.DELTA,
        forcing=Forcing(unanswered="flushed alone"),
        limits=Limits(session_s=300.0),
        errors=ErrorMap(names=NAMED_ERRORS),
        languages=("en", "fr", "de", "es", "pt"),
        sources=(
            Source("docs.gradium.ai: speech to text over websocket, limits, errors", "2026"),
            Source("pipecat, its Gradium client, and its changes 4066 and 4632", "2026-08-21"),
        ),
        why="Its words come about a second late by design; flush makes it hurry, and flushed says "
        "that it has. Words that come later than flushed are kept, as further finals.",
        awaits=(
            "Whether json_config may be an object; a string was seen as well.",
            "Whether flush_id may be a string; its newest page shows a number.",
            "How long after flushed words may still come: 100 ms are waited for elsewhere.",
            "Which words tell of a wrong key, of no credits and of too many streams.",
            "What a credit costs: it takes three for a second of audio.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "default") -> None:
        self._url = address(options.url or URL, {}, path="/api/speech/asr", who="Gradium")
        language = options.language.partition("-")[0]  # it knows no regions
        self._setup = {
            "type": "setup",
            "model_name": model,
            "input_format": f"pcm_{self.facts.audio.rate_hz}",
            "json_config": {"language": language, "delay_in_frames": DELAY_FRAMES},
        }
        self._words = Segments()
        self._forced_s = 0.0
        self._flushed_s = 0.0
        """Whatever was spoken up to here in the audio has been made final."""

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"x-api-key": key})

    def hello(self) -> Iterable[Message]:
        return (compact(self._setup),)

    def audio(self, frame: Frame) -> Message:
        return f'{{"type":"audio","audio":"{base64_of(frame.pcm)}"}}'

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Say, now, whatever was heard up to here."""
        self._forced_s = context.audio_ms / 1000
        return (compact({"type": "flush", "flush_id": str(context.number)}),)

    def finish(self) -> Iterable[Message]:
        """No more audio; say what is left and close."""
        return ('{"type":"end_of_stream"}',)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"type": "text", "text": str(piece), **rest}:
                text = self._words.add(piece, joiner=" ")
                final = self._flushed_s > 0 and self._is_late(rest.get("start_s"))
                if final:
                    self._words.take()
                if text:
                    yield Transcript(at_ns, text, final, forced=final or None)
            case {"type": "flushed"}:
                self._flushed_s = self._forced_s
                text = self._words.take()
                if text:
                    yield Transcript(at_ns, text, final=True, forced=True)
                yield ForceAcknowledged(at_ns)
            case {"type": "ready"}:
                yield StreamReady(at_ns)
            case {"type": "end_of_stream"}:
                yield StreamDone(at_ns)
            case {"type": "error"}:
                words = one_line(said.get("message"))
                named = next((name for name in NAMED_ERRORS if name in words), said.get("code"))
                raise self.facts.errors.error(named, words)
            case {"type": "text"}:
                raise no_sense("a message text without its words")
            case {"type": "step" | "end_text" as name}:
                yield Notice(at_ns, str(name))
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")

    def _is_late(self, start_s: object) -> bool:
        """Words of speech that had been flushed before they came; so too where nobody can tell."""
        return not isinstance(start_s, int | float) or start_s < self._flushed_s
