"""Smallest AI's Pulse over one websocket.

A transcript is all of its segment so far, and each final is the next piece of the whole. Our
finalize makes what was heard final and leaves the stream open; the final does not say so.

    we:    <pcm> <pcm> <pcm>  finalize <pcm>               close_stream
    they:       partial partial           final                       final, is_last Close
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.records import FinalRule, Flow, Rule
from providers.codec import ForceContext, Message, OpenRequest, Options
from providers.errors import ProviderError
from providers.facts import AudioFormat, Facts, Forcing, Limits, Price, Source
from providers.families import JsonCodec, address, no_sense

PATH = "/waves/v1/stt/live"
URL = f"wss://api.smallest.ai{PATH}"
NOTICES = frozenset({"speech_started", "speech_ended", "pong"})
MODEL_CARD = Source("docs.smallest.ai, model card of Pulse, Standard plan", "2026")


class Smallest(JsonCodec):
    """One stream to Pulse."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.NEXT),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=20),
        key_variable="SMALLEST_API_KEY",
        natural_endpointing="nearly off: after 10 s of silence",
        forcing=Forcing(unanswered="not known"),
        limits=Limits(streams=100),
        prompt="keywords with weights",
        price=Price(8.0, MODEL_CARD),
        sources=(
            MODEL_CARD,
            Source("docs.smallest.ai, realtime WebSocket, and its note on finalize", "2026-05-30"),
            Source("livekit's and pipecat's clients for it", "2026-08-22"),
        ),
        why=(
            "Without endpointing only the time-out for silence, here at its maximum of 10 s, makes"
            " a final; finalize asks for one and keeps the stream open, close_stream ends it."
        ),
        awaits=(
            "Whether a time-out of 10 s is accepted without endpointing.",
            "What answers a finalize when nothing was heard.",
            "Its sign of life (livekit's client sends one) and the shapes of its errors.",
            "Whether a final says that it answers a finalize.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "pulse") -> None:
        settings = {
            "model": model,
            "language": options.language.partition("-")[0],
            "encoding": "linear16",
            "sample_rate": str(self.facts.audio.rate_hz),
            "endpointing": "false",
            "eou_timeout_ms": "10000",
            "word_timestamps": "false",
            "format": "true",
        }
        self._url = address(options.url or URL, settings, path=PATH, who="Smallest")

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": f"Bearer {key}"})

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Make final, now, whatever was heard up to here."""
        return ('{"type":"finalize"}',)

    def finish(self) -> Iterable[Message]:
        return ('{"type":"close_stream"}',)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"status": "error"} | {"type": "error"}:
                raise self._failure(said)
            case {"error": words} if words:
                raise self._failure(said)
            case {
                "type": "transcription",
                "transcript": str(text),
                "is_final": bool(final),
                **rest,
            }:
                last = rest.get("is_last") is True
                if text or (final and not last):
                    yield Transcript(at_ns, text, final=final)
                if last:
                    yield StreamDone(at_ns)
            case {"type": "transcription"}:
                raise no_sense("a transcription without its text")
            case {"type": str(name)}:
                yield Notice(at_ns, name) if name in NOTICES else Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")

    def _failure(self, said: dict[str, object]) -> ProviderError:
        """Its words are in ``error`` or in ``message``, or in the one within the other."""
        inner = said.get("error")
        told = {**said, **inner} if isinstance(inner, dict) else said
        words = next((told[name] for name in ("message", "error") if told.get(name)), "")
        return self.facts.errors.error(told.get("status_code") or told.get("code"), words)
