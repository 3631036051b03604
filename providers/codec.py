"""The shape that every provider adapter has: one stream's conversation, in messages.

A codec turns what we want to say into messages and what the provider says into events. It holds
whatever state one stream needs and lives as long as the stream does. It never opens, waits,
retries, logs or reads a clock: the session does, once, for all providers.

    prepare ─> prepared ─> open ─> hello ─> (ready) ─> audio … force … audio ─> finish
                                              └───────── decode ─────────────────┘
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from measure.events import Event
from measure.faults import Fault, FaultKind, Whose
from measure.records import Frame, Rule

Message = str | bytes
"""One websocket message: text or binary."""


class ProviderError(Exception):
    """The provider refused, failed or broke its own rules."""

    def __init__(
        self, kind: FaultKind, detail: str = "", *, retry_after_s: float | None = None
    ) -> None:
        self.fault = Fault(Whose.PROVIDER, kind, detail, retry_after_s)
        super().__init__(str(self.fault))


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """How a provider wants to be sent audio; always mono, 16-bit little-endian before encoding."""

    rate_hz: int = 16_000
    chunk_ms: int = 20
    """The piece that leaves at once: 20 ms, or what the provider recommends."""
    min_chunk_ms: int = 0
    """A shorter piece is refused, so the last one is filled up with silence to this."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a model before any stream is opened; the source of each is in its file."""

    rule: Rule
    audio: AudioFormat = AudioFormat()
    key_variable: str | None = None
    """The environment variable that holds the key; None where no key is needed."""
    greets: bool = False
    """Audio must wait for the provider's StreamReady."""
    silence_after_force: bool = True
    """Real-time silence goes on after zero until the answer is complete."""
    keepalive_s: float | None = None
    """How long the stream may be silent before ``keepalive`` is said; None: never."""
    natural_endpointing: str = "off"
    """Whether the provider ends segments by itself, in words for people: a label, not a rule."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that has to be answered before the stream can be opened."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    """They carry the key, so they are left out of repr, and with it out of logs."""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """What it takes to open the stream."""

    url: str = field(repr=False)
    """May carry a token, so it is left out of repr as well."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    subprotocols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForceContext:
    """What a codec may need to know when it forces an endpoint."""

    audio_ms: float
    """How much audio has been sent, silence included."""
    silence_ms: float = 0.0
    """How much of it, at its end, came after the speech."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may change about any model."""

    url: str | None = None
    """Another address than the provider's own: a region, a proxy, a fake."""
    language: str = "en"


class Codec(Protocol):
    """See providers/deepgram.py for a simple complete one."""

    @property
    def facts(self) -> Facts: ...
    def prepare(self, key: str) -> HttpRequest | None: ...
    def prepared(self, response: HttpResponse) -> None: ...
    def open(self, key: str) -> OpenRequest: ...
    def hello(self) -> Iterable[Message]: ...
    def audio(self, frame: Frame) -> Message: ...
    def force(self, context: ForceContext) -> Iterable[Message]: ...
    def keepalive(self) -> Iterable[Message]: ...
    def finish(self) -> Iterable[Message]: ...
    def decode(self, message: Message, at_ns: int) -> Iterable[Event]: ...
    def closed(self, code: int | None, reason: str) -> Fault | None:
        """What the provider's Close says of a failure; None where it is an ordinary end."""


class PlainCodec:
    """What most codecs need not say: no preparation, no greeting, no keepalive, ordinary codes."""

    def prepare(self, key: str) -> HttpRequest | None:
        return None

    def prepared(self, response: HttpResponse) -> None:
        return None

    def hello(self) -> Iterable[Message]:
        return ()

    def audio(self, frame: Frame) -> Message:
        """The samples as they are, in one binary message."""
        return frame.pcm

    def force(self, context: ForceContext) -> Iterable[Message]:
        return ()

    def keepalive(self) -> Iterable[Message]:
        return ()

    def finish(self) -> Iterable[Message]:
        return ()

    def closed(self, code: int | None, reason: str) -> Fault | None:
        return fault_of_close(code, reason)


@dataclass(frozen=True, slots=True)
class Model:
    """One line of the catalogue: a model and the codec that speaks to it."""

    make: Callable[[Options], Codec]
    """A new codec for one stream."""
    title: str
    """For people: "Deepgram Nova-3"."""


def parsed(message: Message) -> dict[str, object]:
    """A JSON object from one message. Raises ProviderError where it is none."""
    try:
        said = json.loads(message)
    except (ValueError, RecursionError) as error:  # also what is not UTF-8
        raise ProviderError(FaultKind.PROTOCOL, "a message that is not JSON") from error
    if not isinstance(said, dict):
        raise ProviderError(FaultKind.PROTOCOL, "a message that is not a JSON object")
    escapes = "\\ud" if isinstance(message, str) else b"\\ud"
    if escapes in message.lower() and not _is_text(said):  # type: ignore[operator]  # both alike
        raise ProviderError(FaultKind.PROTOCOL, "a message with half a character in it")
    return said


def _is_text(said: object) -> bool:
    """Every string in it can be written: JSON may escape one half of a surrogate pair alone."""
    try:
        json.dumps(said, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def fault_of_status(status: int, headers: Mapping[str, str], detail: str = "") -> Fault:
    """What an HTTP refusal means, in the words that all providers share."""
    kinds = {
        401: FaultKind.AUTH,
        403: FaultKind.AUTH,
        402: FaultKind.QUOTA,
        408: FaultKind.TIMEOUT,
        429: FaultKind.RATE,
        504: FaultKind.TIMEOUT,
    }
    kind = kinds.get(status, FaultKind.SERVER if status >= 500 else FaultKind.HANDSHAKE)
    said = f"HTTP {status}" + (f", {detail}" if detail else "")
    return Fault(Whose.PROVIDER, kind, said, _retry_after_s(headers))


def fault_of_close(code: int | None, reason: str) -> Fault | None:
    """What a websocket's Close means where the provider has no codes of its own."""
    kinds = {
        1000: None,
        1001: None,
        1005: None,
        None: FaultKind.CLOSED,
        1006: FaultKind.CLOSED,
        1002: FaultKind.PROTOCOL,
        1003: FaultKind.PROTOCOL,
        1007: FaultKind.PROTOCOL,
        1008: FaultKind.PROTOCOL,
        1009: FaultKind.PROTOCOL,
    }
    kind = kinds.get(code, FaultKind.SERVER)
    if kind is None:
        return None
    said = "no Close" if code is None else f"Close {code}" + (f", {reason}" if reason else "")
    whose = Whose.NETWORK if kind is FaultKind.CLOSED else Whose.PROVIDER
    return Fault(whose, kind, said)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    for name, value in headers.items():
        if name.lower() == "retry-after" and value.strip().isdigit():
            return float(value)
    return None
