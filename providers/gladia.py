"""Gladia's live transcription (v2): a request over HTTP, then one websocket.

The answer to the request holds the websocket's address, with a token in it; no key goes there.
There is no force: its own endpointing makes each final, and stop_recording ends the session. A
transcript's text is all of its ``data.id`` so far, and each final is the next piece.

    we:    POST              <pcm> <pcm> <pcm> <pcm>           stop_recording
    they:       201 url, start_session  partial   partial final               end_session Close

Source: docs.gladia.io, live v2, and pipecat's client for it, read in 2026. Not proven without a
live key: the form of ``error``, the codes of Close, how long speech may go without an endpoint.
"""

import json
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.faults import Fault, FaultKind, Whose
from measure.records import FinalRule, Flow, Rule
from providers.codec import (
    AudioFormat,
    Facts,
    HttpRequest,
    HttpResponse,
    Message,
    OpenRequest,
    Options,
    PlainCodec,
    ProviderError,
    fault_of_close,
    fault_of_status,
    parsed,
)

URL = "https://api.gladia.io/v2/live"
NOTICES = frozenset(
    {
        "start_session",
        "start_recording",
        "end_recording",
        "stop_recording",
        "speech_start",
        "speech_end",
        "audio_chunk",
        "post_transcript",
        "post_final_transcript",
    }
)
"""Messages that are known and have no part in any reading."""
ENDPOINTING_S = 0.05
LONGEST_SPEECH_S = 5
DETAIL_CHARS = 200


class Gladia(PlainCodec):
    """One session with a Solaria model."""

    facts = Facts(
        rule=Rule(Flow.FALLBACK, FinalRule.NONE),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=100),
        key_variable="GLADIA_API_KEY",
        keepalive_s=5.0,
        natural_endpointing=(
            f"on: after {ENDPOINTING_S} s of silence or {LONGEST_SPEECH_S} s of speech"
        ),
    )

    def __init__(self, options: Options, *, model: str = "solaria-1") -> None:
        self._address = _address(options.url or URL)
        self._stream_url: str | None = None
        self._settings = {
            "encoding": "wav/pcm",
            "bit_depth": 16,
            "sample_rate": self.facts.audio.rate_hz,
            "channels": 1,
            "model": model,
            "endpointing": ENDPOINTING_S,
            "maximum_duration_without_endpointing": LONGEST_SPEECH_S,
            "language_config": {
                "languages": [options.language.partition("-")[0]],  # it knows no regions
                "code_switching": False,
            },
            "pre_processing": {"audio_enhancer": False, "speech_threshold": 0.6},
            "messages_config": {
                "receive_partial_transcripts": True,
                "receive_final_transcripts": True,
                "receive_speech_events": True,
                "receive_acknowledgments": False,
                "receive_errors": True,
            },
        }

    def prepare(self, key: str) -> HttpRequest:
        """Ask for a session."""
        headers = {"X-Gladia-Key": key, "Content-Type": "application/json"}
        return HttpRequest("POST", self._address, headers, json.dumps(self._settings).encode())

    def prepared(self, response: HttpResponse) -> None:
        """Take the websocket's address. Raises ProviderError where there is none."""
        if response.status not in (200, 201):
            raise _refused(response)
        match parsed(response.body):
            case {"url": str(url)} if url.startswith(("ws://", "wss://")):
                self._stream_url = url
            case _:
                raise ProviderError(FaultKind.PROTOCOL, "a session without a websocket address")

    def open(self, key: str) -> OpenRequest:
        """Where the session is. Only after ``prepared``."""
        if self._stream_url is None:
            raise RuntimeError("Gladia: prepared() comes before open()")
        return OpenRequest(self._stream_url)

    def keepalive(self) -> Iterable[Message]:
        """A piece of audio without samples."""
        return ('{"type": "audio_chunk", "data": {"chunk": ""}}',)

    def finish(self) -> Iterable[Message]:
        """No more audio; say what is left and close."""
        return ('{"type": "stop_recording"}',)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one message says. Raises ProviderError where it is a failure or no sense."""
        said = parsed(message)
        if said.get("error") is not None:
            raise _failure(said["error"])
        match said:
            case {
                "type": "transcript",
                "data": {
                    "id": str(segment),
                    "is_final": bool(final),
                    "utterance": {"text": str(text)},
                },
            }:
                if final or text:
                    yield Transcript(at_ns, text, final, segment=segment)
            case {"type": "end_session"}:
                yield StreamDone(at_ns)
            case {"type": str(name)} if name in NOTICES:
                yield Notice(at_ns, name)
            case {"type": "transcript"}:
                raise ProviderError(FaultKind.PROTOCOL, "a transcript without its text")
            case {"type": "error"}:
                raise ProviderError(FaultKind.SERVER, "an error without a reason")
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise ProviderError(FaultKind.PROTOCOL, "a message without a type")

    def closed(self, code: int | None, reason: str) -> Fault | None:
        """Any code of its own, 4000 to 4999, says that the session is over and stays so."""
        if code is None or not 4000 <= code <= 4999:
            return fault_of_close(code, reason)
        said = f"Close {code}, the session is over" + (f": {reason}" if reason else "")
        return Fault(Whose.PROVIDER, FaultKind.CLOSED, said)


def _address(url: str) -> str:
    """``url`` with the provider's own path where it has none. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("Gladia: the address must be http://HOST… or https://HOST…")
    path = parts.path if parts.path.strip("/") else urlsplit(URL).path
    return parts._replace(path=path, fragment="").geturl()


def _refused(response: HttpResponse) -> ProviderError:
    fault = fault_of_status(response.status, response.headers, _reason(response))
    return ProviderError(fault.kind, fault.detail, retry_after_s=fault.retry_after_s)


def _reason(response: HttpResponse) -> str:
    """Its own words, but none about a key: they might repeat it."""
    if response.status in (401, 403):
        return ""
    try:
        return _line(parsed(response.body).get("message"))
    except ProviderError:
        return ""  # a proxy's page, say; the status alone is the reason


def _failure(error: object) -> ProviderError:
    match error:
        case {"status_code": int(status), **rest}:
            kind = fault_of_status(status, {}).kind
            kind = FaultKind.PROTOCOL if kind is FaultKind.HANDSHAKE else kind
            return ProviderError(kind, f"{status} {_line(rest.get('message'))}".rstrip())
        case {"message": said} | said:
            return ProviderError(FaultKind.SERVER, _line(said))


def _line(said: object) -> str:
    return " ".join(said.split())[:DETAIL_CHARS] if isinstance(said, str) else ""
