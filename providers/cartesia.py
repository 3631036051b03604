"""Cartesia's Ink models over one websocket, where the client says that the speech is over.

Audio goes out as binary messages; ``finalize`` and ``close`` are bare words, not JSON. A transcript
holds all that came since the last final, with the blank before it where one belongs there: texts
are put together just as they are. ``flush_done`` says that a finalize has been dealt with.

    we:    <pcm> <pcm> <pcm>   finalize <pcm> <pcm>                   close
    they:         partial      final               final  flush_done       done Close
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from measure.events import Event, ForceAcknowledged, StreamDone, Transcript, Unread
from measure.records import FinalRule, Flow, Rule
from providers.codec import (
    AudioFormat,
    Facts,
    ForceContext,
    Forcing,
    Limits,
    Message,
    OpenRequest,
    Options,
    Price,
    ProviderError,
    Source,
)
from providers.families import JsonCodec, address, no_sense

URL = "wss://api.cartesia.ai/stt/websocket"
VERSION = "2026-03-01"  # of its whole interface
FACTS = Facts(
    rule=Rule(Flow.FORCED, FinalRule.ACK, joiner=""),
    audio=AudioFormat(rate_hz=16_000, chunk_ms=100),
    key_variable="CARTESIA_API_KEY",
    natural_endpointing="no setting is known; text may become final by itself",
    forcing=Forcing(unanswered="flush_done alone"),
    limits=Limits(idle_s=180.0, streams=12),
    languages=("en",),
    prompt="keyterm",
    sources=(
        Source("cartesia-python, its client for speech to text", "2026-08-14"),
        Source("docs.cartesia.ai: realtime STT, limits, pricing", "2026"),
    ),
    why="finalize is what its maker recommends where the client knows when speech has ended; "
    "flush_done tells an empty answer from a late one.",
    awaits=(
        "What a credit costs: ink-2 takes three for a second of audio, ink-whisper one.",
        "Which Cartesia-Version is current, and whether close is taken or only the older done.",
        "Which errors tell of a wrong key, of no credits and of too many streams.",
        "How long silence may last: three minutes, or twenty seconds as older pages have it.",
    ),
)
WHISPER_FACTS = replace(
    FACTS,
    natural_endpointing="off: the longest pause is set to 30 s",
    languages=("en", "de", "es", "fr", "hi", "it", "ja", "ko", "nl", "pl", "pt", "zh"),
    prompt="",
    price=Price(2.17, Source("opentranscription.io: at launch, Scale plan", "2026-07-03")),
    awaits=(*FACTS.awaits, "Whether max_silence_duration_secs may be as long as 30."),
)


class Cartesia(JsonCodec):
    """One stream to an Ink model, with our own endpoint."""

    def __init__(self, options: Options, *, model: str = "ink-2") -> None:
        whisper = model == "ink-whisper"
        self.facts = WHISPER_FACTS if whisper else FACTS
        settings = {
            "model": model,
            "language": options.language.partition("-")[0],  # it knows no regions
            "encoding": "pcm_s16le",
            "sample_rate": str(self.facts.audio.rate_hz),
        }
        if whisper:
            settings["max_silence_duration_secs"] = "30"  # our finalize alone is to end a segment
        self._url = address(options.url or URL, settings, path="/stt/websocket", who="Cartesia")

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, headers(key))

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Make final, now, whatever was heard up to here."""
        return ("finalize",)

    def finish(self) -> Iterable[Message]:
        """No more audio; say what is left and close."""
        return ("close",)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"type": "transcript", "text": str(text), "is_final": bool(final)}:
                if final or text:
                    yield Transcript(at_ns, text, final)
            case {"type": "flush_done"}:
                yield ForceAcknowledged(at_ns)
            case {"type": "done"}:
                yield StreamDone(at_ns)
            case {"type": "error"}:
                raise failure(self.facts, said)
            case {"type": "transcript"}:
                raise no_sense("a transcript without its text")
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")


def headers(key: str) -> dict[str, str]:
    """What every request carries."""
    return {"X-API-Key": key, "Cartesia-Version": VERSION}


def failure(facts: Facts, said: Mapping[str, object]) -> ProviderError:
    """What an ``error`` means: an HTTP status, which older versions call ``code``."""
    status = said.get("status_code") or said.get("code") or said.get("error_code")
    return facts.errors.error(status, said.get("message") or said.get("title"))
