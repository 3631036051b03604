"""The embedded recogniser, spoken to over a websocket like any provider.

Audio goes out as binary messages, orders as JSON text; only JSON text comes back. Segments are
numbered; a final says whether it answers a force, and a force is always answered, without text
where nothing was said. Any error is the last message before the Close.

    we:           <pcm> <pcm> <pcm> force <pcm> <pcm>              close
    they:  ready       partial  partial        final,forced              closed Close

Source: docs/local-protocol.md.
"""

from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, urlencode, urlsplit

from measure.events import Event, StreamDone, StreamReady, Transcript, Unread
from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Rule
from providers.codec import (
    AudioFormat,
    Facts,
    ForceContext,
    Message,
    OpenRequest,
    Options,
    PlainCodec,
    ProviderError,
    parsed,
)

URL = "ws://127.0.0.1:8790"
"""Where ``speechbench local-server`` listens if it is not told otherwise."""
PATH = "/v1/listen"
ERRORS = {
    "busy": FaultKind.RATE,
    "engine": FaultKind.SERVER,
    "too_fast": FaultKind.RATE,
}
"""The error codes that are not a broken rule of the protocol."""
DETAIL_CHARS = 200


class Local(PlainCodec):
    """One stream to the server on this host."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.MARKER),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=20),
        greets=True,
        natural_endpointing="off; speech of more than 8 s becomes final at a pause",
    )

    def __init__(self, options: Options, *, model: str) -> None:
        self._settings = {
            "model": model,  # so that a server with another model refuses
            "rate": str(self.facts.audio.rate_hz),
            "language": options.language,
        }
        self._url = self._address(options.url or URL)

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url)

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Make final, now, whatever was heard up to here."""
        return ('{"type": "force"}',)

    def finish(self) -> Iterable[Message]:
        """No more audio; say what is left and close."""
        return ('{"type": "close"}',)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one message says. Raises ProviderError where it is a failure or no sense."""
        match parsed(message):
            case {"type": "partial", "segment": int(segment), "text": str(text)}:
                yield Transcript(at_ns, text, final=False, segment=str(segment))
            case {
                "type": "final",
                "segment": int(segment),
                "text": str(text),
                "forced": bool(forced),
            }:
                yield Transcript(at_ns, text, final=True, forced=forced, segment=str(segment))
            case {"type": "ready"}:
                yield StreamReady(at_ns)
            case {"type": "closed"}:
                yield StreamDone(at_ns)
            case {"type": "error", "code": str(code), "message": str(text)}:
                kind = ERRORS.get(code, FaultKind.PROTOCOL)
                raise ProviderError(kind, f"{code}: {text}"[:DETAIL_CHARS])
            case {"type": "partial" | "final" | "error" as name}:
                raise ProviderError(FaultKind.PROTOCOL, f"a message {name} that is not complete")
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise ProviderError(FaultKind.PROTOCOL, "a message without a type")

    def _address(self, url: str) -> str:
        """``url`` with the protocol's path where it has none, and with all settings.

        What ``url`` itself sets stays as it is. Raises ValueError where it is no websocket address.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname:
            raise ValueError("local: the address must be ws://HOST… or wss://HOST…")
        path = parts.path if parts.path.strip("/") else PATH
        theirs = parse_qsl(parts.query, keep_blank_values=True)
        named = {name for name, _ in theirs}
        ours = [(name, value) for name, value in self._settings.items() if name not in named]
        return parts._replace(path=path, query=urlencode(ours + theirs), fragment="").geturl()
