"""Inworld's speech to text over one websocket.

Everything is JSON text, audio is base64. The first message says how we want it; one that it cannot
read is answered by a Close without a code or a word. A transcript holds all of its segment so far;
it does not say whether a final answers our endTurn, so the next one is taken. It never closes: the
``usage`` behind closeStream is the last that it says.

    we:    transcribeConfig <audio> <audio>   endTurn <audio>                closeStream
    they:              speechStarted  transcription      transcription,isFinal         usage
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, Notice, StreamDone, Transcript, Unread
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
from providers.families import JsonCodec, address, base64_of, compact, no_sense

PATH = "/stt/v1/transcribe:streamBidirectional"
URL = f"wss://api.inworld.ai{PATH}"
NOTICES = ("speechStarted", "speechStopped")
GRPC = {
    **dict.fromkeys(("7", "16"), FaultKind.AUTH),
    **dict.fromkeys(("3", "5", "9", "11", "12"), FaultKind.PROTOCOL),
    "4": FaultKind.TIMEOUT,
    "8": FaultKind.RATE,
}
"""Its errors carry the codes of gRPC."""


class Inworld(JsonCodec):
    """One stream to a model of its own."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.NEXT),
        audio=AudioFormat(
            rate_hz=16_000, chunk_ms=100, min_chunk_ms=20, max_chunk_ms=1000, base64=True
        ),
        key_variable="INWORLD_API_KEY",
        natural_endpointing="hardly: it must be wholly sure that a turn is over",
        forcing=Forcing(unanswered="an empty final"),
        errors=ErrorMap(names=GRPC, closes={1005: FaultKind.PROTOCOL}),
        languages=("en-US",),
        sources=(
            Source("docs.inworld.ai: transcribe over websocket", "2026"),
            Source("coval-ai/benchmarks and livekit/agents, their Inworld clients", "2026-08-22"),
        ),
        why="endTurn is its way to end a turn at once. The key is sent as it is: the portal "
        "gives it ready for Basic authorisation.",
        awaits=(
            "Whether a final that endTurn made can be told from others.",
            "How long minEndOfTurnSilenceWhenConfident may be; it is left as it is.",
            "Whether code 8 stands for too many streams, for no credits, or for both.",
            "How long it waits for audio, and how long a stream may last.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "inworld-stt-1") -> None:
        self._url = address(options.url or URL, {}, path=PATH, who="Inworld")
        self._settings = {
            "modelId": f"inworld/{model}",
            "audioEncoding": "LINEAR16",
            "sampleRateHertz": self.facts.audio.rate_hz,
            "numberOfChannels": 1,
            "language": "en-US" if options.language == "en" else options.language,
            "endOfTurnConfidenceThreshold": 1.0,  # our endTurn is to end a turn, not its model
        }
        self._finished = False

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": f"Basic {key}"})

    def hello(self) -> Iterable[Message]:
        return (compact({"transcribeConfig": self._settings}),)

    def audio(self, frame: Frame) -> Message:
        return f'{{"audioChunk":{{"content":"{base64_of(frame.pcm)}"}}}}'

    def force(self, context: ForceContext) -> Iterable[Message]:
        """The turn is over, now."""
        return ('{"endTurn":{}}',)

    def finish(self) -> Iterable[Message]:
        """No more audio; say what is left."""
        self._finished = True
        return ('{"closeStream":{}}',)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"error": {"code": code, **rest}}:
                raise self.facts.errors.error(code, rest.get("message"))
            case {"error": error}:
                raise self.facts.errors.error(None, error)
            case {"result": {"transcription": {"transcript": str(text), **rest}}}:
                final = rest.get("isFinal", False)
                if not isinstance(final, bool):
                    raise no_sense("a transcription that is neither final nor not")
                if final or text:
                    yield Transcript(at_ns, text, final)
            case {"usage": _} | {"result": {"usage": _}}:
                yield StreamDone(at_ns) if self._finished else Notice(at_ns, "usage")
            case {"result": {"transcription": _}}:
                raise no_sense("a transcription without its text")
            case {"result": dict(result)}:
                name = next(iter(result), "an empty result")
                yield Notice(at_ns, name) if name in NOTICES else Unread(at_ns, name)
            case _:
                raise no_sense("a message without a result")
