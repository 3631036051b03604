"""AssemblyAI's streaming transcription (v3) over one websocket: a stream of turns.

Each ``Turn`` is all of its turn so far: ``transcript`` holds the words that will not change,
``words`` those that may as well. ``end_of_turn`` settles it; it does not say whether our force did.

    we:         <pcm> <pcm> <pcm>  ForceEndpoint <pcm>                Terminate
    they:  Begin        Turn  Turn               Turn, end_of_turn         Termination Close
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from measure.events import Event, Notice, StreamDone, StreamReady, Transcript, Unread
from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Rule
from providers.codec import ForceContext, Message, OpenRequest, Options
from providers.errors import ErrorMap
from providers.facts import AudioFormat, Facts, Forcing, Limits, Price, Source
from providers.families import JsonCodec, address, name_in, no_sense

URL = "wss://streaming.assemblyai.com/v3/ws"
NAMED_ERRORS = {
    "Too many concurrent sessions": FaultKind.RATE,  # with 3009, in older servers with 1008
    "balance": FaultKind.QUOTA,
    "1008": FaultKind.AUTH,
    "3006": FaultKind.PROTOCOL,
    "3007": FaultKind.PROTOCOL,
    "3008": FaultKind.TIMEOUT,
    "3009": FaultKind.RATE,
}
CLOSES = {int(code): kind for code, kind in NAMED_ERRORS.items() if code.isdigit()}
SECOND_HAND = Source("apiscout.dev, comparison of speech-to-text APIs", "2026")
LISTED = Source("assemblyai.com/pricing, Universal-3.6 Pro Realtime", "2026-10-07")
OPEN = "minute of open stream"
SIX = ("en", "es", "fr", "de", "it", "pt")
MODELS: dict[str, tuple[tuple[str, ...], Price | None]] = {
    "universal-streaming-english": (("en",), Price(2.5, SECOND_HAND, OPEN)),
    "universal-streaming-multilingual": (SIX, Price(2.5, SECOND_HAND, OPEN)),
    "u3-rt-pro": (SIX, None),
    "universal-3-6-pro": (("multi",), Price(7.5, LISTED, OPEN)),
}
"""Their languages and what they cost."""
NOTICES = frozenset({"SpeechStarted", "Warning", "Heartbeat", "SpeakerRevision"})


class AssemblyAI(JsonCodec):
    """One stream to a Universal-Streaming or Universal-3 model."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.NEXT),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=60, min_chunk_ms=50, max_chunk_ms=1000),
        key_variable="ASSEMBLYAI_API_KEY",
        greets=True,
        natural_endpointing="nearly off: after 10 s of silence",
        forcing=Forcing(unanswered="nothing, or an empty turn"),
        limits=Limits(session_s=10_800),
        errors=ErrorMap(names=NAMED_ERRORS, closes=CLOSES),
        prompt="keyterms_prompt, a list of words",
        sources=(
            Source("AssemblyAI's Python SDK", "2026-08-14"),
            Source("AssemblyAI's page on session errors and closures", "2026"),
        ),
        why=(
            "At a confidence threshold of 1.0 only a long silence ends a turn, so ForceEndpoint"
            " does. Without formatting a turn ends once, not twice. It refuses pieces below 50 ms."
        ),
        awaits=(
            "The largest max_turn_silence that is accepted.",
            "What answers a force when a turn is open but empty, or none is.",
            "Whether Universal-3 models heed these settings; they end turns by punctuation.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "universal-streaming-english") -> None:
        languages, price = MODELS.get(model, ((), None))
        if languages == ("en",) and options.language.partition("-")[0] != "en":
            raise ValueError(f"AssemblyAI: {model} understands English alone")
        self.facts = replace(self.facts, languages=languages, price=price)
        settings = {
            "sample_rate": str(self.facts.audio.rate_hz),
            "encoding": "pcm_s16le",
            "speech_model": model,
            "format_turns": "false",
            "end_of_turn_confidence_threshold": "1.0",
            "min_turn_silence": "5000",
            "max_turn_silence": "10000",
        }
        self._url = address(options.url or URL, settings, path="/v3/ws", who="AssemblyAI")
        self._ended = -1
        """The last turn that has ended: a formatted twin of its end says nothing new."""

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": key})

    def force(self, context: ForceContext) -> Iterable[Message]:
        """End the turn, now."""
        return ('{"type":"ForceEndpoint"}',)

    def finish(self) -> Iterable[Message]:
        """An open stream costs money: end it."""
        return ('{"type":"Terminate"}',)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"type": "Turn", "turn_order": int(turn)} if turn <= self._ended:
                yield Notice(at_ns, "Turn")
            case {
                "type": "Turn",
                "turn_order": int(turn),
                "end_of_turn": True,
                "transcript": str(text),
            }:
                self._ended = turn
                yield Transcript(at_ns, text, final=True, segment=str(turn))
            case {"type": "Turn", "turn_order": int(turn), "transcript": str(text), **rest}:
                shown = _hypothesis(rest.get("words")) or text
                if shown:
                    yield Transcript(at_ns, shown, final=False, segment=str(turn))
            case {"type": "Begin"}:
                yield StreamReady(at_ns)
            case {"type": "Termination"}:
                yield StreamDone(at_ns)
            case {"type": "Turn"}:
                raise no_sense("a Turn without its order and transcript")
            case {"error": words, **rest} if words:
                code = name_in(NAMED_ERRORS, words) or rest.get("error_code")
                raise self.facts.errors.error(code, words)
            case {"type": str(name)}:
                yield Notice(at_ns, name) if name in NOTICES else Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")


def _hypothesis(words: object) -> str:
    """All words of the turn, those that may still change as well."""
    if not isinstance(words, list):
        return ""
    texts = [word.get("text") for word in words if isinstance(word, dict)]
    return " ".join(text for text in texts if isinstance(text, str) and text)
