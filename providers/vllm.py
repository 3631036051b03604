"""vLLM's realtime transcription: like the realtime family at the address, unlike it in the words.

Naming the model is a must, and a commit without ``final`` begins an utterance before any audio has
come. The commit with ``final`` ends it; what is sent from then to ``done`` is thrown away.

    we:            update commit  append append  commit final            commit  append …
    they:  created                   delta delta               delta done

Source: vLLM, entrypoints/openai/realtime, connection.py and protocol.py, of 2026.
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, StreamReady, Transcript, Unread
from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    ErrorMap,
    Facts,
    ForceContext,
    Forcing,
    Message,
    Options,
    Source,
    TextMode,
)
from providers.families import no_sense
from providers.families_realtime import BUFFER, Dialect, Realtime
from providers.mistral import VOXTRAL_LANGUAGES

FACTS = Facts(
    rule=Rule(Flow.FORCED, FinalRule.NEXT),
    audio=AudioFormat(rate_hz=16_000, chunk_ms=100, base64=True),
    greets=True,
    silence_after_force=False,
    natural_endpointing="off: it has none",
    text_mode=TextMode.DELTA,
    forcing=Forcing(unanswered="done without text"),
    ending=Ending.HANG_UP,
    errors=ErrorMap(
        {
            "invalid_json": FaultKind.PROTOCOL,
            "invalid_audio": FaultKind.PROTOCOL,
            "unknown_event": FaultKind.PROTOCOL,
            "model_not_validated": FaultKind.PROTOCOL,
            "processing_error": FaultKind.SERVER,
        }
    ),
    languages=VOXTRAL_LANGUAGES,
    sources=(Source("vLLM: entrypoints/openai/realtime/connection.py", "2026"),),
    why=(
        "The commit with final ends the utterance and done is its text. No silence follows: it"
        " would be thrown away. A model of another name is said in the address, ?model=NAME."
    ),
    awaits=(
        "Whether a commit right behind done can come too early for the server to heed it.",
        "Whether a model other than Voxtral shows its own marks in the text, as Qwen3-ASR may.",
    ),
)


class Vllm(Realtime):
    """One stream to a server of one's own."""

    def __init__(self, options: Options, *, model: str) -> None:
        url = "ws://localhost:8000/v1/realtime"
        super().__init__(options, dialect=Dialect(url, FACTS, model=model))

    def force(self, context: ForceContext) -> Iterable[Message]:
        """End the utterance, and with it the generation."""
        return (self.message({"type": f"{BUFFER}commit", "final": True}),)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"type": "session.created"}:
                self.reply({"type": "session.update", "model": self.model})
                self.reply({"type": f"{BUFFER}commit"})
                yield StreamReady(at_ns)
            case {"type": "transcription.delta", "delta": str(piece)}:
                text = self.items.add(piece)
                if text:
                    yield Transcript(at_ns, text, final=False)
            case {"type": "transcription.done", "text": str(text)}:
                self.items.take()
                self.reply({"type": f"{BUFFER}commit"})  # the next utterance begins
                yield Transcript(at_ns, text, final=True)
            case {"type": "error", "error": words, **rest}:
                raise self.facts.errors.error(rest.get("code"), words)
            case {"type": "transcription.delta" | "transcription.done" | "error"}:
                raise no_sense("a message that is not complete")
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")
