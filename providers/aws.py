"""Amazon Transcribe's streaming over one websocket: a signed address, events in binary frames.

The address is signed with the key and the time, so nothing is said at the beginning. Each message
either way is an event with headers of its own. A result has a name, repeats all of its text, and
is final once it is no longer partial. There is no force: an event without audio ends the stream.

    we:    [audio] [audio] [audio] [audio]                 [audio, empty]
    they:     [partial 1]   [partial 1]      [final 1]                    Close

The key is written as ID:SECRET, or as ID:SECRET:TOKEN where it is one of a session.
"""

from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, urlsplit

from measure.events import Event, Notice, Transcript, Unread
from measure.faults import FaultKind
from measure.records import Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    ErrorMap,
    Facts,
    Limits,
    Message,
    OpenRequest,
    Options,
    PlainCodec,
    ProviderError,
    Source,
    parsed,
)
from providers.event_stream import EventMessage, decoded, encoded
from providers.families import address, no_sense
from providers.regions import with_region
from providers.sigv4 import Credentials, Scope, signed_query

PATH = "/stream-transcription-websocket"
REGION = "us-east-1"
URL = f"wss://transcribestreaming.{REGION}.amazonaws.com:8443{PATH}"
HOST = "transcribestreaming."
"""What comes before the region in the name of a host."""
SERVICE = "transcribe"
EXPIRES_S = 300
RATE_HZ = 16_000
AUDIO = {
    ":content-type": "application/octet-stream",
    ":event-type": "AudioEvent",
    ":message-type": "event",
}
EXCEPTIONS = {
    "BadRequestException": FaultKind.PROTOCOL,
    "ConflictException": FaultKind.PROTOCOL,
    "LimitExceededException": FaultKind.RATE,
    "ThrottlingException": FaultKind.RATE,
    "InternalFailureException": FaultKind.SERVER,
    "ServiceUnavailableException": FaultKind.SERVER,
    "AccessDeniedException": FaultKind.AUTH,
    "UnrecognizedClientException": FaultKind.AUTH,
    "InvalidSignatureException": FaultKind.AUTH,
    "ExpiredTokenException": FaultKind.AUTH,
}


class Transcribe(PlainCodec):
    """One stream."""

    facts = Facts(
        rule=Rule(Flow.FALLBACK),
        audio=AudioFormat(rate_hz=RATE_HZ, chunk_ms=100, max_chunk_ms=1000),
        key_variable="AWS_TRANSCRIBE_KEY",
        key_form="ID:SECRET",
        natural_endpointing="on: it ends segments by itself, and nothing of that can be set",
        ending=Ending.CLOSED,
        limits=Limits(session_s=4 * 3600.0, idle_s=15.0),
        errors=ErrorMap(names=EXCEPTIONS),
        languages=("en-US", "en-GB", "de-DE", "es-US", "fr-FR", "it-IT", "ja-JP", "pt-BR"),
        prompt="vocabulary-name, made beforehand",
        sources=(
            Source("docs.aws.amazon.com: Transcribe streaming, TranscriptResultStream", "2026"),
            Source("pipecat-ai/pipecat, its AWS client", "2026-08-21"),
        ),
        why="It cannot be forced, so its own end of a segment is awaited; its partials are asked "
        "to be stable, which they otherwise are not. A key of a session ends in :TOKEN.",
        awaits=(
            "With what an address that is signed wrongly is refused: HTTP 403, or an exception.",
            "Whether the stream always ends with a Close, or sometimes without one.",
            "Whether a piece of less than 50 ms is taken before the end of speech.",
            "The limit of four hours for a stream.",
        ),
    )

    def __init__(self, options: Options) -> None:
        settings = {
            "language-code": with_region(options.language),
            "media-encoding": "pcm",
            "sample-rate": str(RATE_HZ),
            "enable-partial-results-stabilization": "true",
            "partial-results-stability": "high",
        }
        self._url = address(options.url or URL, settings, path=PATH, who="AWS")
        self._wall_unix_s = 0.0

    def dated(self, wall_unix_s: float) -> None:
        self._wall_unix_s = wall_unix_s

    def open(self, key: str) -> OpenRequest:
        parts = urlsplit(self._url)
        query = signed_query(
            _credentials(key),
            Scope(_region(parts.hostname or ""), SERVICE, self._wall_unix_s),
            host=host_of(self._url),
            path=parts.path,
            settings=parse_qsl(parts.query, keep_blank_values=True),
            expires_s=EXPIRES_S,
        )
        return OpenRequest(parts._replace(query=query).geturl())

    def audio(self, frame: Frame) -> Message:
        return encoded(EventMessage(AUDIO, frame.pcm))

    def finish(self) -> Iterable[Message]:
        """An event without audio: there will be no more."""
        return (encoded(EventMessage(AUDIO)),)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one event says. Raises ProviderError where it is an exception or no sense."""
        if isinstance(message, str):
            raise no_sense("text where an event should be")
        event = decoded(message)
        match event.headers:
            case {":message-type": "exception" | "error"}:
                raise self._failure(event)
            case {":event-type": "TranscriptEvent"}:
                yield from _results(parsed(event.payload), at_ns)
            case {":event-type": name}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("an event without a type")

    def _failure(self, event: EventMessage) -> ProviderError:
        headers = event.headers
        name = headers.get(":exception-type") or headers.get(":error-code")
        try:
            words = parsed(event.payload).get("Message")
        except ProviderError:
            words = headers.get(":error-message")
        return self.facts.errors.error(name, words)


def _results(said: dict[str, object], at_ns: int) -> Iterator[Event]:
    match said:
        case {"Transcript": {"Results": []}}:
            yield Notice(at_ns, "no results")
        case {"Transcript": {"Results": list(results)}}:
            for result in results:
                yield from _result(result, at_ns)
        case _:
            raise no_sense("a transcript without results")


def _result(result: object, at_ns: int) -> Iterator[Event]:
    match result:
        case {"IsPartial": bool(partial), "Alternatives": [{"Transcript": str(text)}, *_]}:
            name = result.get("ResultId")  # type: ignore[attr-defined]
            if text or not partial:
                segment = name if isinstance(name, str) else None
                yield Transcript(at_ns, text, not partial, segment=segment)
        case {"IsPartial": bool(), "Alternatives": []}:
            yield Notice(at_ns, "a result without text")
        case _:
            raise no_sense("a result without text or state")


def host_of(url: str) -> str:
    """The host as the request names it: with the port where that is not the usual one."""
    parts = urlsplit(url)
    name = parts.hostname or ""
    host = f"[{name}]" if ":" in name else name
    usual = {"ws": 80, "wss": 443}[parts.scheme]
    return host if parts.port in (None, usual) else f"{host}:{parts.port}"


def _region(host: str) -> str:
    """The region that a host of Amazon names; for any other the first one."""
    return host.removeprefix(HOST).partition(".")[0] if host.startswith(HOST) else REGION


def _credentials(key: str) -> Credentials:
    """The key in its parts. Raises ProviderError where it has none."""
    match key.split(":"):
        case [name, secret] if name and secret:
            return Credentials(name, secret)
        case [name, secret, token] if name and secret and token:
            return Credentials(name, secret, token)
    raise ProviderError(FaultKind.AUTH, "the key must be written as ID:SECRET, or ID:SECRET:TOKEN")
