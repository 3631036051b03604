"""What is known of a model before any stream is opened: data, each with where it comes from."""

from dataclasses import dataclass, field
from enum import StrEnum

from measure.records import Rule
from providers.errors import ErrorMap


class Transport(StrEnum):
    """What carries the messages."""

    WEBSOCKET = "websocket"
    TCP = "tcp"
    """Bytes on a plain connection; the codec cuts them into messages."""
    GRPC = "grpc"
    """One two-way stream of serialised protobuf messages."""


class Encoding(StrEnum):
    """One sample on the wire; little-endian, mono."""

    S16LE = "s16le"
    F32LE = "f32le"


class TextMode(StrEnum):
    """What a transcript message repeats. A codec gives all of a segment so far, whatever comes."""

    CUMULATIVE = "cumulative"
    """All of the segment so far."""
    DELTA = "delta"
    """Only what is new."""
    TOKENS = "tokens"
    """Words or pieces, each with its own mark of being final."""
    REPLACED = "replaced"
    """The latest state of each named segment."""


class Ending(StrEnum):
    """How a stream ends in good order."""

    SAID = "said"
    """We announce the end; the provider says when it has said all."""
    CLOSED = "closed"
    """We announce the end; the provider's Close is its answer."""
    HANG_UP = "hang_up"
    """Nothing is announced: we close the connection."""


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """How a provider wants to be sent audio; a codec is always given mono 16-bit little-endian."""

    rate_hz: int = 16_000
    chunk_ms: int = 20
    """The piece that leaves at once: 20 ms, or what the provider recommends."""
    min_chunk_ms: int = 0
    """A shorter piece is refused, so the last one is filled up with silence to this."""
    max_chunk_ms: int | None = None
    """A longer piece is refused; None: no limit is known."""
    encoding: Encoding = Encoding.S16LE
    """What the codec makes of the samples."""
    base64: bool = False
    """They go as base64 inside of a JSON message."""


@dataclass(frozen=True, slots=True)
class Forcing:
    """What a force needs around it. All silence is paced, and counts in the latency."""

    min_buffered_ms: int = 0
    """With less audio since the last force it is refused; silence fills it up first."""
    silence_before_ms: int = 0
    """So much silence is always sent first."""
    silence_after_ms: int | None = None
    """So much silence goes on behind it and then none; None: until the answer is complete."""
    min_gap_s: float = 0.0
    """From one force to the next; a force that comes too early waits."""
    unanswered: str = ""
    """What comes where nothing was heard: an empty final, an error, nothing; in words."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a provider ends a stream by itself; None where no limit is known."""

    session_s: float | None = None
    """From opening it, whatever is said."""
    idle_s: float | None = None
    """Without audio and without a sign of life."""
    streams: int | None = None
    """At the same time, with the smallest paid plan."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where facts come from, and of when that is."""

    what: str
    """ "API specification, listen v1": a document, a program, its maker's page."""
    date: str
    """2026-07-22, or 2026-07, or 2026."""


@dataclass(frozen=True, slots=True)
class Price:
    """What was listed at that date, for orientation: nobody has asked since."""

    usd_per_1000_min: float
    source: Source
    unit: str = "minute of audio"
    """What is billed."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a model before any stream is opened.

    Only ``rule`` must be given. What is None or empty is not known, or does not exist.
    """

    rule: Rule
    audio: AudioFormat = AudioFormat()
    key_variable: str | None = None
    """The environment variable that holds the key; None where no key is needed."""
    key_form: str = ""
    """How the key is written where it has parts: "ID:SECRET"."""
    greets: bool = False
    """Audio must wait for the provider's StreamReady."""
    silence_after_force: bool = True
    """Real-time silence goes on after zero until the answer is complete."""
    keepalive_s: float | None = None
    """How long the stream may be silent before ``keepalive`` is said; None: never."""
    natural_endpointing: str = "off"
    """Whether the provider ends segments by itself, in words for people: a label, not a rule."""
    natural_finals: bool = True
    """Something may be final before any force; False for a stream of words without finals."""
    transport: Transport = Transport.WEBSOCKET
    text_mode: TextMode = TextMode.CUMULATIVE
    forcing: Forcing = Forcing()
    ending: Ending = Ending.SAID
    limits: Limits = Limits()
    errors: ErrorMap = field(default_factory=ErrorMap)
    languages: tuple[str, ...] = ()
    """As the provider names them; "multi" where it finds out by itself. Perhaps not all."""
    prompt: str = ""
    """What may be said beforehand of the words to come: "keyterm, many"; empty: nothing known."""
    price: Price | None = None
    sources: tuple[Source, ...] = ()
    why: str = ""
    """Why it is driven in this way, in a sentence or two."""
    awaits: tuple[str, ...] = ()
    """What nobody has seen without a live key, one sentence each."""
