"""Deepgram's live transcription (listen v1) over one websocket.

Audio goes out as binary messages, orders as JSON text; only JSON text comes back. ``Results`` is a
partial until it says ``is_final``, and each final is the next piece of the transcript. The final
that answers our Finalize says ``from_finalize``; it is empty where all words had been final before,
and may be missing where nothing was buffered.

    we:    <pcm> <pcm> <pcm> Finalize <pcm> <pcm>                 CloseStream
    they:       partial  final  partial        final,from_finalize           final Metadata Close

Source: Deepgram's API specification, listen v1, of 2026-07-22, and its pages on Finalize,
CloseStream, KeepAlive and errors. Not proven without a live key: what NET-0000 and ``Error`` mean.
"""

from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, urlencode, urlsplit

from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.faults import Fault, FaultKind, Whose
from measure.records import FinalRule, Flow, Rule
from measure.words import Word, Words
from providers.codec import (
    AudioFormat,
    Facts,
    ForceContext,
    Message,
    OpenRequest,
    Options,
    PlainCodec,
    ProviderError,
    fault_of_close,
    parsed,
)

URL = "wss://api.deepgram.com/v1/listen"
NAMED_ERRORS = {
    "DATA-0000": FaultKind.PROTOCOL,  # what we sent cannot be decoded as audio
    "NET-0000": FaultKind.SERVER,
    "NET-0001": FaultKind.TIMEOUT,  # neither audio nor KeepAlive came for ten seconds
}
"""Its own names of what went wrong, in the reason of a Close or in an ``Error``."""
DETAIL_CHARS = 200


class Deepgram(PlainCodec):
    """One stream to a Nova model."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.MARKER),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=20),
        key_variable="DEEPGRAM_API_KEY",
        keepalive_s=4.0,  # it asks for one every 3 to 5 s and hangs up after 10 s
        natural_endpointing="off; long speech still becomes final in pieces",
    )

    def __init__(self, options: Options, *, model: str = "nova-3") -> None:
        self._settings = {
            "model": model,
            "language": options.language,
            "encoding": "linear16",
            "sample_rate": str(self.facts.audio.rate_hz),
            "channels": "1",
            "interim_results": "true",
            "endpointing": "false",  # our detector ends the speech, not theirs
            "punctuate": "true",
            "smart_format": "false",  # it would hold words back until a number is complete
            "no_delay": "true",
        }
        self._url = self._address(options.url or URL)
        self._finished = False

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": f"Token {key}"})

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Make final, now, whatever was heard up to here."""
        return ('{"type": "Finalize"}',)

    def keepalive(self) -> Iterable[Message]:
        return ('{"type": "KeepAlive"}',)

    def finish(self) -> Iterable[Message]:
        """No more audio; say what is left and close."""
        self._finished = True
        return ('{"type": "CloseStream"}',)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one message says. Raises ProviderError where it is a failure or no sense."""
        match parsed(message):
            case {
                "type": "Results",
                "is_final": bool(final),
                "channel": {"alternatives": [{"transcript": str(text)}, *_]},
                **rest,
            }:
                if final:
                    forced = rest.get("from_finalize") is True
                    yield Transcript(at_ns, text, final=True, forced=forced)
                elif text:
                    yield Transcript(at_ns, text, final=False)
            case {"type": "Metadata"} if self._finished:
                yield StreamDone(at_ns)
            case {"type": "Metadata" | "SpeechStarted" | "UtteranceEnd" as name}:
                yield Notice(at_ns, name)
            case {"type": "Error", **rest}:
                raise _refusal(rest)
            case {"type": "Results"}:
                raise ProviderError(FaultKind.PROTOCOL, "Results without a transcript")
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise ProviderError(FaultKind.PROTOCOL, "a message without a type")

    def closed(self, code: int | None, reason: str) -> Fault | None:
        kind = _named(reason)
        if kind is None:
            return fault_of_close(code, reason)
        return Fault(Whose.PROVIDER, kind, f"Close {code}, {reason}")

    def _address(self, url: str) -> str:
        """``url`` with the provider's own path where it has none, and with all settings.

        What ``url`` itself sets stays as it is. Raises ValueError where it is no websocket address.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname:
            raise ValueError("Deepgram: the address must be ws://HOST… or wss://HOST…")
        path = parts.path if parts.path.strip("/") else urlsplit(URL).path
        theirs = parse_qsl(parts.query, keep_blank_values=True)
        named = {name for name, _ in theirs}
        ours = [(name, value) for name, value in self._settings.items() if name not in named]
        return parts._replace(path=path, query=urlencode(ours + theirs), fragment="").geturl()


def words_of(message: Message) -> Words | None:
    """The words of ``Results`` with their places in the stream; None where it says none."""
    try:
        said = parsed(message)
    except ProviderError:
        return None
    match said:
        case {
            "type": "Results",
            "is_final": bool(final),
            "channel": {"alternatives": [{"words": [_, *_] as words}, *_]},
        }:
            timed = tuple(word for word in map(_word, words) if word is not None)
            return Words(timed, final) if timed else None
    return None


def _word(said: object) -> Word | None:
    match said:
        case {
            "word": str(text),
            "start": float() | int() as start_s,
            "end": float() | int() as end_s,
        }:
            return Word(text, start_s * 1000, end_s * 1000)
    return None


def _named(text: str) -> FaultKind | None:
    return next((kind for name, kind in NAMED_ERRORS.items() if name in text), None)


def _refusal(error: dict[str, object]) -> ProviderError:
    words = [error.get(name) for name in ("variant", "description", "message")]
    said = " ".join(" ".join(word for word in words if isinstance(word, str)).split())
    return ProviderError(_named(said) or FaultKind.SERVER, said[:DETAIL_CHARS])
