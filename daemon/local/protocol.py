"""The words of the local protocol: what a client may say, what it is told. Pure.

One rule for everything that goes wrong: the client is told in one ``error`` message, and then the
stream ends with a Close. ``docs/local-protocol.md`` is this file for people.
"""

import json
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import parse_qsl, urlsplit

PATH = "/v1/listen"
VERSION = 1
RATE_HZ = 16_000
LANGUAGE = "en"
MESSAGE_BYTES = 64_000
"""The longest message: two seconds of audio."""
ENDPOINT_MS = range(100, 10_001)
"""What ``endpoint_ms`` may be."""


class Refusal(Exception):
    """The client broke a rule, or the server cannot serve it: one error message, then Close."""

    def __init__(self, code: str, message: str, *, close_code: int = 1008) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.close_code = close_code


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a client asks for when it opens a stream."""

    partials: bool = True
    endpoint_ms: int | None = None
    """After how much silence a segment ends by itself; None: only a force ends one."""


@dataclass(frozen=True, slots=True)
class Audio:
    """The next samples: 16-bit little-endian mono."""

    pcm: bytes


@dataclass(frozen=True, slots=True)
class Force:
    """Settle now whatever was said up to here."""


@dataclass(frozen=True, slots=True)
class Close:
    """No more audio will come: settle what is left and end the stream."""


Order = Audio | Force | Close
"""What a client may say."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The stream is open and audio may come."""

    kind: ClassVar[str] = "ready"
    model: str
    version: int = VERSION
    rate: int = RATE_HZ


@dataclass(frozen=True, slots=True)
class Partial:
    """All of a segment so far; it may still change."""

    kind: ClassVar[str] = "partial"
    segment: int
    text: str


@dataclass(frozen=True, slots=True)
class Final:
    """A segment, settled."""

    kind: ClassVar[str] = "final"
    segment: int
    text: str
    forced: bool
    """It answers a force; else the segment ended by itself."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Everything was answered; the Close follows."""

    kind: ClassVar[str] = "closed"
    audio_ms: float
    """How much audio the stream was given."""
    close_code: ClassVar[int] = 1000


@dataclass(frozen=True, slots=True)
class Error:
    """Why the stream ends."""

    kind: ClassVar[str] = "error"
    code: str
    message: str
    close_code: int = 1008


Said = Ready | Partial | Final | Closed | Error
"""What a client is told."""


def told(said: Said) -> str:
    """One message to the client, as it goes on the wire."""
    fields: dict[str, object] = {"type": said.kind}
    for name in said.__dataclass_fields__:
        if name not in ("kind", "close_code"):
            fields[name] = getattr(said, name)
    return json.dumps(fields, ensure_ascii=False)


def error_of(refusal: Refusal) -> Error:
    """The message that tells a client why it is refused."""
    return Error(refusal.code, refusal.message, refusal.close_code)


def understood(message: str | bytes) -> Order:
    """What one message of the client means. Raises Refusal."""
    length = len(message) if isinstance(message, bytes) else len(message.encode())
    if length > MESSAGE_BYTES:
        said = f"a message of {length} bytes; at most {MESSAGE_BYTES} are allowed"
        raise Refusal("too_long", said, close_code=1009)
    if isinstance(message, bytes):
        return _audio(message)
    return _control(message)


def wishes_of(target: str, *, model: str, endpoint_ms: int | None) -> Wishes:
    """What the query of a request asks for, from the server of ``model``. Raises Refusal.

    ``endpoint_ms`` is for those who do not say.
    """
    asked: dict[str, str] = {}
    for name, value in parse_qsl(urlsplit(target).query, keep_blank_values=True):
        if name in asked:
            raise Refusal("query", f"{name} is given twice")
        asked[name] = value
    _only(asked.pop("model", model), model, "model")
    _only(asked.pop("rate", str(RATE_HZ)), str(RATE_HZ), "rate")
    _only(asked.pop("language", LANGUAGE), LANGUAGE, "language")
    partials = _switch(asked.pop("partials", "true"))
    if "endpoint_ms" in asked:
        endpoint_ms = _endpoint(asked.pop("endpoint_ms"))
    if asked:
        known = "model, rate, language, partials, endpoint_ms"
        raise Refusal("query", f"{_shown(min(asked))} is not known; known are: {known}")
    return Wishes(partials, endpoint_ms)


def is_listen(target: str) -> bool:
    """Whether a request is for the one path there is."""
    return urlsplit(target).path == PATH


def _audio(pcm: bytes) -> Audio:
    if len(pcm) % 2:
        raise Refusal("odd_bytes", f"{len(pcm)} bytes of audio; a sample has 2")
    return Audio(pcm)


def _control(message: str) -> Force | Close:
    try:
        said = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise Refusal("not_json", "a text message that is not JSON") from error
    match said:
        case {"type": "force"}:
            return Force()
        case {"type": "close"}:
            return Close()
        case {"type": str(name)}:
            raise Refusal("unknown_type", f"type {_shown(name)}; known are: force, close")
        case _:
            raise Refusal("no_type", "a text message must be a JSON object with a type")


def _only(asked: str, offered: str, what: str) -> None:
    if asked != offered:
        raise Refusal(what, f"{what} {_shown(asked)} is not offered here; only {offered} is")


def _switch(value: str) -> bool:
    if value not in ("true", "false"):
        raise Refusal("query", f"partials is {_shown(value)}; it may be true or false")
    return value == "true"


def _endpoint(value: str) -> int | None:
    if value == "0":
        return None
    allowed = f"0 (off) or {ENDPOINT_MS[0]} to {ENDPOINT_MS[-1]}"
    if not (value.isascii() and value.isdigit() and len(value) < 6 and int(value) in ENDPOINT_MS):
        raise Refusal("query", f"endpoint_ms is {_shown(value)}; it may be {allowed}")
    return int(value)


def _shown(value: str) -> str:
    """A client's own word, short enough to be said back."""
    return repr(value[:40])
