"""The Wyoming protocol on a plain connection, as Home Assistant's voice servers speak it.

A message is a line of JSON, and behind it as many bytes of further JSON and of payload as the line
says. What is said between audio-start and audio-stop is one utterance; audio-stop makes the server
answer with its transcript. A server that streams sends chunks before it, each with what is new.
Many servers do not begin before audio-stop, and hang up behind the transcript.

    we:    transcribe audio-start audio-chunk audio-chunk …  audio-stop
    they:                             transcript-start transcript-chunk  transcript transcript-stop
"""

from collections.abc import Iterable, Iterator, Mapping

from measure.events import Event, Notice, Transcript, Unread
from measure.faults import Fault
from measure.records import FinalRule, Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    Facts,
    ForceContext,
    Forcing,
    Message,
    OpenRequest,
    Options,
    PlainCodec,
    Source,
    TextMode,
    Transport,
    parsed,
)
from providers.families import Segments, compact, no_sense
from providers.families_tcp import LINE_END, line_cut, tcp_address

URL = "tcp://localhost:10300"
LONGEST_PART_BYTES = 1 << 24
NOTICES = frozenset({"info", "pong", "transcript-start", "transcript-stop"})
FORMAT = {"rate": 16_000, "width": 2, "channels": 1}


class Wyoming(PlainCodec):
    """One utterance to a server of one's own."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.NEXT),
        transport=Transport.TCP,
        audio=AudioFormat(rate_hz=FORMAT["rate"], chunk_ms=20),
        silence_after_force=False,
        natural_endpointing="off: the client says when the utterance has ended",
        natural_finals=False,
        text_mode=TextMode.DELTA,
        forcing=Forcing(unanswered="an empty transcript"),
        ending=Ending.HANG_UP,
        prompt="transcript_names, transcript_terms, with newer servers",
        sources=(
            Source("OHF-Voice/wyoming: README.md and wyoming/asr.py, 22f8dea", "2026"),
            Source("rhasspy/wyoming-faster-whisper: handler.py", "2026"),
        ),
        why="audio-stop is the protocol's own end of an utterance. No audio follows it, for a "
        "connection may hold one utterance only.",
        awaits=(
            "Whether the server shows any words before audio-stop; many do not.",
            "What its errors are called: code is free text, and may be missing.",
        ),
    )

    def __init__(self, options: Options) -> None:
        self._url = tcp_address(options.url or URL, port=10_300, who="Wyoming")
        self._language = options.language.partition("-")[0]
        self._words = Segments()
        self._answered = False

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url)

    def hello(self) -> Iterable[Message]:
        language = {} if self._language == "multi" else {"language": self._language}
        return (event("transcribe", language), event("audio-start", FORMAT))

    def audio(self, frame: Frame) -> Message:
        return event("audio-chunk", FORMAT, frame.pcm)

    def force(self, context: ForceContext) -> Iterable[Message]:
        """The utterance ends here."""
        return (event("audio-stop"),)

    def cut(self, come: bytes) -> int | None:
        end = line_cut(come)
        if end is None:
            return None
        size = end + sum(_lengths(parsed(come[:end])))
        return size if len(come) >= size else None

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one message says. Raises ProviderError where it is a failure or no sense."""
        kind, said = _heard(message)
        match kind, said:
            case "transcript", {"text": str(text)}:
                self._words.take()
                self._answered = True
                yield Transcript(at_ns, text.strip(), final=True)
            case "transcript-chunk", {"text": str(piece)}:
                text = self._words.add(piece)
                if text.strip():
                    yield Transcript(at_ns, text.strip(), final=False)
            case "error", _:
                raise self.facts.errors.error(said.get("code"), said.get("text"))
            case (("transcript" | "transcript-chunk"), _):
                raise no_sense("a transcript without its text")
            case _:
                yield Notice(at_ns, kind) if kind in NOTICES else Unread(at_ns, kind)

    def closed(self, code: int | None, reason: str) -> Fault | None:
        """Behind its answer a server may hang up."""
        if self._answered and code is None:
            return None
        return super().closed(code, reason)


def event(kind: str, said: Mapping[str, object] | None = None, payload: bytes = b"") -> bytes:
    """One message."""
    more = compact(said).encode() if said else b""
    lengths = {"data_length": len(more), "payload_length": len(payload)}
    header = {"type": kind} | {name: size for name, size in lengths.items() if size}
    return compact(header).encode() + LINE_END + more + payload


def _heard(message: Message) -> tuple[str, dict[str, object]]:
    """Its type, and all that it says of itself. Raises ProviderError."""
    raw = message.encode("utf-8", "replace") if isinstance(message, str) else message
    line, _, rest = raw.partition(LINE_END)
    header = parsed(line)
    size, _ = _lengths(header)
    if len(rest) < size:
        raise no_sense("a message that is cut off")
    inline, more = header.get("data"), parsed(rest[:size]) if size else {}
    match header:
        case {"type": str(kind)}:
            return kind, (inline if isinstance(inline, dict) else {}) | more
    raise no_sense("a message without a type")


def _lengths(header: Mapping[str, object]) -> tuple[int, int]:
    """How many bytes of JSON and of payload follow the line."""
    match [header.get(name) or 0 for name in ("data_length", "payload_length")]:
        case [int(more), int(payload)] if (
            0 <= more <= LONGEST_PART_BYTES and 0 <= payload <= LONGEST_PART_BYTES
        ):
            return more, payload
    raise no_sense("a message of an impossible length")
