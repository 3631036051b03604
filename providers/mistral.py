"""Mistral's realtime transcription (Voxtral): a stream of text, and a flush that ends an utterance.

Deltas bring their own spaces. A flush brings the rest of them and ``transcription.done``, which is
all of the utterance; the stream goes on with the next one.

    we:             update    append append  flush  append …             end
    they:  created    updated     delta delta       delta  done              done  Close

Source: mistralai/client-python of 2026-06-30, and pipecat's, LiveKit's and Coval's clients.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from measure.events import Event, Notice, StreamDone, StreamReady, Transcript, Unread
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
    Price,
    Source,
    TextMode,
)
from providers.families import JsonCodec, Segments, address, base64_of, compact, no_sense

URL = "wss://api.mistral.ai"
PATH = "/v1/audio/transcriptions/realtime"
DELAY_MS = 480
"""How far the text stays behind the audio; the maker's own choice."""
VOXTRAL_LANGUAGES = ("en", "fr", "es", "de", "ru", "zh", "ja", "it", "pt", "nl", "ar", "hi", "ko")
PRICED = {
    "voxtral-mini-transcribe-realtime-3-0": Price(
        8.0, Source("docs.mistral.ai, page of the model", "2026-10-20")
    )
}


class Mistral(JsonCodec):
    """One stream to a Voxtral model."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.NEXT),
        # 262144 bytes are the most, which are over 8 s
        audio=AudioFormat(rate_hz=16_000, chunk_ms=100, max_chunk_ms=8_000, base64=True),
        key_variable="MISTRAL_API_KEY",
        greets=True,
        natural_endpointing="off: it has none",
        text_mode=TextMode.DELTA,
        forcing=Forcing(unanswered="done without text"),
        limits=Limits(idle_s=30.0),
        errors=ErrorMap({"3804": FaultKind.TIMEOUT, "invalid_request": FaultKind.PROTOCOL}),
        languages=VOXTRAL_LANGUAGES,
        sources=(
            Source("mistralai/client-python, realtime", "2026-06-30"),
            Source("pipecat's, LiveKit's and Coval benchmarks' clients", "2026-08-21"),
        ),
        why=(
            "A flush ends the utterance and the next done is its text. The text stays"
            f" {DELAY_MS} ms behind the audio, as the maker has it."
        ),
        awaits=(
            "Whether a stream goes on behind done.",
            "What a flush is answered with where nothing was said.",
            "The codes of its errors besides 3804, and the HTTP status of a wrong key.",
        ),
    )

    def __init__(self, options: Options, *, model: str) -> None:
        self.facts = replace(type(self).facts, price=PRICED.get(model))
        self._url = address(options.url or URL, {"model": model}, path=PATH, who="Mistral")
        self._items = Segments()
        self._say: list[Message] = []
        self._owed = 0
        self._finished = False

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": f"Bearer {key}"})

    def audio(self, frame: Frame) -> Message:
        return f'{{"type":"input_audio.append","audio":"{base64_of(frame.pcm)}"}}'

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Say, now, all that was heard up to here."""
        self._owed += 1
        return ('{"type":"input_audio.flush"}',)

    def finish(self) -> Iterable[Message]:
        self._finished = True
        return ('{"type":"input_audio.end"}',)

    def replies(self) -> Iterable[Message]:
        said, self._say = self._say, []
        return said

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"type": "session.created"}:
                self._say.append(self._update())
                yield Notice(at_ns, "session.created")
            case {"type": "session.updated"}:
                yield StreamReady(at_ns)
            case {"type": "transcription.text.delta", "text": str(piece)}:
                text = self._items.add(piece)
                if text:
                    yield Transcript(at_ns, text, final=False)
            case {"type": "transcription.done", "text": str(text)}:
                yield from self._done(text, at_ns)
            case {"type": "transcription.language" | "transcription.segment" as name}:
                yield Notice(at_ns, name)
            case {"type": "error", "error": {"message": words, **rest}}:
                words = words.get("detail") if isinstance(words, dict) else words
                raise self.facts.errors.error(rest.get("code"), words)
            case {"type": "transcription.text.delta" | "transcription.done" | "error"}:
                raise no_sense("a message that is not complete")
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")

    def _update(self) -> str:
        audio = {"encoding": "pcm_s16le", "sample_rate": self.facts.audio.rate_hz}
        session = {"audio_format": audio, "target_streaming_delay_ms": DELAY_MS}
        return compact({"type": "session.update", "session": session})

    def _done(self, text: str, at_ns: int) -> Iterator[Event]:
        """The answer to a flush; one that no flush asked for answers the end."""
        self._items.take()
        yield Transcript(at_ns, text, final=True)
        if self._finished and not self._owed:
            yield StreamDone(at_ns)
        self._owed = max(0, self._owed - 1)
