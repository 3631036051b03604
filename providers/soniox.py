"""Soniox' realtime transcription over one websocket: a stream of tokens.

Final tokens are sent once, the others again in each message. That a token is final is no final of
ours: one is made when ``<fin>`` comes, which says that all audio before our force is settled.

    we:    config  <pcm> <pcm> <pcm>  finalize <pcm>               (empty text)
    they:            tokens tokens             tokens, <fin>             finished, Close
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, StreamDone, Transcript
from measure.records import FinalRule, Flow, Rule
from providers.codec import ForceContext, Message, OpenRequest, Options
from providers.facts import AudioFormat, Facts, Forcing, Limits, Price, Source, TextMode
from providers.families import JsonCodec, Segments, address, compact, no_sense

URL = "wss://stt-rt.soniox.com/transcribe-websocket"
ENDS = {"<fin>": True, "<end>": False}
"""The tokens that end a segment, and whether our force did."""


class Soniox(JsonCodec):
    """One stream to a realtime model."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.MARKER, joiner=""),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=100),
        key_variable="SONIOX_API_KEY",
        keepalive_s=5.0,  # it asks for one every 20 s
        natural_endpointing="off; single words still become final as they are spoken",
        text_mode=TextMode.TOKENS,
        forcing=Forcing(min_gap_s=1.0, unanswered="the mark <fin> alone"),
        limits=Limits(session_s=18_000, idle_s=20, streams=10),
        languages=("multi",),
        prompt="context: general facts, terms, a text",
        price=Price(
            2.0, Source("soniox.com, speech-to-text features", "2026"), "minute of open stream"
        ),
        sources=(
            Source("soniox.com/docs: WebSocket API, manual finalization, error handling", "2026"),
        ),
        why=(
            "Without endpoint detection only finalize ends a segment. It is told how much silence"
            " it has had already, and is never sent within a second of the last one: Soniox hangs"
            " up where it comes every few hundred milliseconds."
        ),
        awaits=(
            "How often finalize may really be sent.",
            "Whether a wrong key is refused at the handshake or by a message.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "stt-rt-v5") -> None:
        self._url = address(options.url or URL, (), path="/transcribe-websocket", who="Soniox")
        self._config = {
            "model": model,
            "audio_format": "pcm_s16le",
            "sample_rate": self.facts.audio.rate_hz,
            "num_channels": 1,
            "enable_endpoint_detection": False,
        }
        language = options.language.partition("-")[0]
        if language != "multi":
            self._config |= {"language_hints": [language], "language_hints_strict": True}
        self._sure = Segments()

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": f"Bearer {key}"})

    def hello(self) -> Iterable[Message]:
        return (compact(self._config),)

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Make final whatever was heard; so much of it, at its end, is known to be silence."""
        silence_ms = max(0, round(context.silence_ms))
        return (compact({"type": "finalize", "trailing_silence_ms": silence_ms}),)

    def keepalive(self) -> Iterable[Message]:
        return ('{"type":"keepalive"}',)

    def finish(self) -> Iterable[Message]:
        """An empty text message; an empty binary one is not heard."""
        return ("",)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"error_code": code, **rest}:
                raise self.facts.errors.error(code, rest.get("error_message"))
            case {"tokens": list(tokens), **rest}:
                yield from self._tokens(tokens, at_ns)
                if rest.get("finished") is True:
                    yield from self._finished(at_ns)
            case _:
                raise no_sense("a message without tokens")

    def _tokens(self, tokens: list[object], at_ns: int) -> Iterator[Event]:
        may_change = ""
        for token in tokens:
            match token:
                case {"text": str(text), "is_final": True} if text in ENDS:
                    yield Transcript(at_ns, self._sure.take(), final=True, forced=ENDS[text])
                case {"text": str(text), "is_final": bool(final)}:
                    self._sure.add(text if final else "")
                    may_change += "" if final else text
                case _:
                    raise no_sense("a token without its text")
        shown = self._sure.so_far() + may_change
        if tokens and shown:
            yield Transcript(at_ns, shown, final=False)

    def _finished(self, at_ns: int) -> Iterator[Event]:
        """Nothing more comes: what was final token by token is so as a whole."""
        rest = self._sure.take()
        if rest:
            yield Transcript(at_ns, rest, final=True, forced=False)
        yield StreamDone(at_ns)
