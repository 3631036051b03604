"""The shape that every provider adapter has: one stream's conversation, in messages.

A codec turns what we want to say into messages and what the provider says into events. It holds
whatever state one stream needs and lives as long as the stream does. It never opens, waits,
retries, logs or reads a clock: the session does, once, for all providers.

    dated ─> prepare ─> prepared ─> open ─> hello ─> (ready) ─> audio … force … audio ─> finish
                                              └───────── decode, replies ────────────────┘
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from measure.events import Event
from measure.faults import Fault, FaultKind
from measure.records import Frame
from providers.errors import ErrorMap, ProviderError, fault_of_close, fault_of_status, one_line
from providers.facts import (
    AudioFormat,
    Encoding,
    Ending,
    Facts,
    Forcing,
    Limits,
    Price,
    Source,
    TextMode,
    Transport,
)

__all__ = [
    "AudioFormat",
    "Codec",
    "Encoding",
    "Ending",
    "ErrorMap",
    "Facts",
    "ForceContext",
    "Forcing",
    "HttpRequest",
    "HttpResponse",
    "Limits",
    "Message",
    "Model",
    "OpenRequest",
    "Options",
    "PlainCodec",
    "Price",
    "ProviderError",
    "Source",
    "TextMode",
    "Transport",
    "fault_of_close",
    "fault_of_status",
    "one_line",
    "parsed",
]

Message = str | bytes
"""One message: text or binary on a websocket, binary on any other transport."""


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
    number: int = 1
    """The first force of a stream is 1."""
    messages: int = 0
    """How many messages of audio have been sent."""


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
    def dated(self, wall_unix_s: float) -> None:
        """What time it is, told once before all else; for who has to sign with it."""

    def prepare(self, key: str) -> HttpRequest | None: ...
    def prepared(self, response: HttpResponse) -> None: ...
    def open(self, key: str) -> OpenRequest:
        """How to open the stream. Raises ProviderError where the key cannot be one."""

    def hello(self) -> Iterable[Message]: ...
    def audio(self, frame: Frame) -> Message: ...
    def force(self, context: ForceContext) -> Iterable[Message]: ...
    def keepalive(self) -> Iterable[Message]: ...
    def finish(self) -> Iterable[Message]: ...
    def decode(self, message: Message, at_ns: int) -> Iterable[Event]: ...
    def replies(self) -> Iterable[Message]:
        """What the message decoded last makes us say, once; asked for after each."""

    def cut(self, come: bytes) -> int | None:
        """How many bytes at the beginning are one message; None while it is not whole.

        On a plain connection only. Raises ProviderError where they can never become one.
        """

    def closed(self, code: int | None, reason: str) -> Fault | None:
        """What the provider's Close says of a failure; None where it is an ordinary end."""


class PlainCodec:
    """What most codecs need not say: no preparation, no greeting, no keepalive, ordinary codes."""

    facts: Facts

    def dated(self, wall_unix_s: float) -> None:
        return None

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

    def replies(self) -> Iterable[Message]:
        return ()

    def cut(self, come: bytes) -> int | None:
        return len(come) or None

    def closed(self, code: int | None, reason: str) -> Fault | None:
        return self.facts.errors.closed(code, reason)


@dataclass(frozen=True, slots=True)
class Model:
    """One line of the catalogue: a model and the codec that speaks to it."""

    make: Callable[[Options], Codec]
    """A new codec for one stream."""
    title: str
    """For people: "Deepgram Nova-3"."""
    fake: str | None = None
    """The fake that speaks like it, by its name; None: the one with the provider's name."""
    transcripts: tuple[str, ...] = ()
    """The conversations that its codec is proven with, by their names."""


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
