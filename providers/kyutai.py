"""Kyutai's moshi-server over one websocket: a stream of words, with nothing final in it.

All messages are binary MessagePack. A word comes when the model is past it by its delay, and none
is ever taken back. A marker of ours comes back once all audio before it and the delay behind it
have been gone through, for which silence has to follow it at the speed of speech. Then all words
so far are the final; a word of before the marker that comes later is a further final at once.

    we:           Audio  Audio       Audio Marker Audio Audio
    they:   Ready      Step   Step Word      Step EndWord    Marker
                               (partial)                     (final)
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from measure.events import (
    Event,
    ForceAcknowledged,
    Notice,
    StreamReady,
    Transcript,
    Unread,
)
from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    Encoding,
    Ending,
    ErrorMap,
    Facts,
    ForceContext,
    Forcing,
    Limits,
    Message,
    OpenRequest,
    Options,
    PlainCodec,
    Source,
    TextMode,
    one_line,
)
from providers.families import Segments, address, name_in, no_sense
from providers.packed import packed, packed_floats, unpacked

URL = "ws://localhost:8080/api/asr-streaming"
PUBLIC_KEY = "public_token"
"""What the server's own examples let in."""
NAMED_ERRORS = {"no free channels": FaultKind.RATE}
NOTICES = frozenset({"Step", "EndWord"})
FACTS = Facts(
    rule=Rule(Flow.FORCED, FinalRule.ACK),
    audio=AudioFormat(rate_hz=24_000, chunk_ms=80, encoding=Encoding.F32LE),
    greets=True,
    natural_endpointing="none: a stream of words without finals",
    natural_finals=False,
    text_mode=TextMode.DELTA,
    forcing=Forcing(unanswered="the marker alone"),
    ending=Ending.HANG_UP,
    limits=Limits(idle_s=120.0),
    errors=ErrorMap(NAMED_ERRORS),
    languages=("en", "fr"),
    sources=(
        Source("kyutai-labs/moshi: rust/moshi-server/src/batched_asr.rs, 7c6a189", "2026"),
        Source("kyutai-labs/delayed-streams-modeling: its clients, f6074cb", "2026"),
    ),
    why="The marker comes back when the model's delay behind it has been heard as well; silence "
    "goes on at the speed of speech, so the delay is in the latency, as in use. The server runs "
    "one model, whatever is asked for here; its steps count all streams, so others hurry a marker.",
    awaits=(
        "Whether words can come behind their marker where other streams hurry it.",
        "Whether the server greets: one that is not batched never says Ready.",
    ),
)
LARGE_FACTS = replace(
    FACTS,
    languages=("en",),
    awaits=(
        *FACTS.awaits,
        "How much is lost at the beginning: its maker sends a second of silence first, which "
        "is not done here.",
    ),
)


class Kyutai(PlainCodec):
    """One stream to a server of one's own."""

    def __init__(self, options: Options, *, facts: Facts = FACTS) -> None:
        self.facts = facts
        self._url = address(options.url or URL, {}, path="/api/asr-streaming", who="Kyutai")
        self._words = Segments()
        self._forced_s: dict[int, float] = {}
        """Where in the audio each marker of ours stands that has not come back."""
        self._settled_s = 0.0

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"kyutai-api-key": key or PUBLIC_KEY})

    def audio(self, frame: Frame) -> Message:
        return packed({"type": "Audio", "pcm": packed_floats(frame.pcm)})

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Say when all up to here has been gone through."""
        self._forced_s[context.number] = context.audio_ms / 1000
        return (packed({"type": "Marker", "id": context.number}),)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one message says. Raises ProviderError where it is a failure or no sense."""
        if isinstance(message, str):
            raise no_sense("a text, where all is binary")
        match unpacked(message):
            case {"type": "Word", "text": str(word), **rest}:
                yield from self._word(word.strip(), rest.get("start_time"), at_ns)
            case {"type": "Marker", "id": int(number)}:
                yield from self._marker(number, at_ns)
            case {"type": "Ready"}:
                yield StreamReady(at_ns)
            case {"type": "Error", **rest}:
                words = one_line(rest.get("message"))
                raise self.facts.errors.error(name_in(NAMED_ERRORS, words), words)
            case {"type": "Word" | "Marker"}:
                raise no_sense("a word or a marker that is not complete")
            case {"type": str(name)}:
                yield Notice(at_ns, name) if name in NOTICES else Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")

    def _word(self, word: str, start_s: object, at_ns: int) -> Iterator[Event]:
        text = self._words.add(word, joiner=" ")
        late = isinstance(start_s, int | float) and start_s < self._settled_s
        if late:
            self._words.take()
        if text:
            yield Transcript(at_ns, text, late, forced=True if late else None)

    def _marker(self, number: int, at_ns: int) -> Iterator[Event]:
        forced_s = self._forced_s.pop(number, None)
        if forced_s is None:
            yield Notice(at_ns, "another's marker")
            return
        self._settled_s = forced_s
        text = self._words.take()
        if text:
            yield Transcript(at_ns, text, final=True, forced=True)
        yield ForceAcknowledged(at_ns)
