"""Azure's speech to text over one websocket, in the words of its own protocol, without its SDK.

A message has headers and a body. Text messages hold JSON; audio is binary, its headers behind their
own length, and the first piece begins as a WAV file does. Each phrase is told as hypotheses, each
of all its text, and then once as a final. There is no public force; audio without samples ends it.

    we:    config context <pcm> <pcm> <pcm>                        <nothing>
    they:                turn.start   hypothesis hypothesis phrase           turn.end
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from struct import pack

from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.records import Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    Facts,
    Limits,
    Message,
    OpenRequest,
    Options,
    PlainCodec,
    Source,
    parsed,
)
from providers.families import address, no_sense
from providers.regions import with_region

PATH = "/speech/recognition/conversation/cognitiveservices/v1"
URL = f"wss://eastus.stt.speech.microsoft.com{PATH}"
RATE_HZ = 16_000
PAUSE_MS = 500
"""So much silence ends a phrase."""
CONFIG = {
    "context": {
        "system": {"name": "speechbench", "version": "1"},
        "os": {"platform": "Linux", "name": "Linux", "version": "1"},
    }
}
CONTEXT = {
    "phraseDetection": {
        "mode": "Conversation",
        "conversation": {
            "segmentation": {"mode": "Custom", "segmentationSilenceTimeoutMs": PAUSE_MS}
        },
    }
}
WAV = b"RIFF\0\0\0\0WAVEfmt " + pack("<IHHIIHH", 16, 1, 1, RATE_HZ, RATE_HZ * 2, 2, 16)
HEAD = WAV + b"data\0\0\0\0"
"""How a WAV file begins whose length nobody knows yet."""
NOTHING_HEARD = ("NoMatch", "InitialSilenceTimeout", "BabbleTimeout", "EndOfDictation")
NOTICES = ("turn.start", "speech.startDetected", "speech.endDetected")


class Azure(PlainCodec):
    """One stream, which is one turn."""

    facts = Facts(
        rule=Rule(Flow.FALLBACK),
        audio=AudioFormat(rate_hz=RATE_HZ, chunk_ms=100, max_chunk_ms=250),
        key_variable="AZURE_SPEECH_KEY",
        natural_endpointing=f"on: after {PAUSE_MS} ms of silence",
        limits=Limits(session_s=600.0, idle_s=180.0, streams=100),
        languages=("en-US", "en-GB", "de-DE", "es-ES", "fr-FR", "it-IT", "ja-JP", "pt-BR"),
        sources=(
            Source("Microsoft's page of its Speech websocket protocol", "2018-09-18"),
            Source("learn.microsoft.com: Speech service quotas and limits", "2026"),
            Source("coval-ai/benchmarks, its Azure client", "2026-08-21"),
            Source("microsoft/cognitive-services-speech-sdk-js", "2026-07-13"),
        ),
        why="A force exists only in a private preview, so its own end of a phrase is awaited. Its "
        "protocol is spoken without its SDK, which adds seconds of delay to its events. The "
        "address names the region of the key.",
        awaits=(
            "Whether the limits of 10 minutes and of 180 s without audio still hold.",
            "The codes and reasons of its Close, for quota above all.",
            "Whether its answer to the end of the audio is always turn.end.",
            "Whether a piece of audio may be longer than 8192 bytes by now.",
        ),
    )

    def __init__(self, options: Options) -> None:
        settings = {"language": with_region(options.language), "format": "detailed"}
        self._url = address(options.url or URL, settings, path=PATH, who="Azure")
        self._started_s = 0.0
        self._audio_s = 0.0
        self._begun = False

    def dated(self, wall_unix_s: float) -> None:
        self._started_s = wall_unix_s

    @property
    def _name(self) -> str:
        """Of this stream; no two that begin at different moments have the same."""
        return sha256(repr(self._started_s).encode()).hexdigest()[:32].upper()

    def open(self, key: str) -> OpenRequest:
        headers = {"Ocp-Apim-Subscription-Key": key, "X-ConnectionId": self._name}
        return OpenRequest(self._url, headers)

    def hello(self) -> Iterable[Message]:
        """Who speaks, and how a phrase is to end."""
        yield self._text("speech.config", CONFIG)
        yield self._text("speech.context", CONTEXT)

    def audio(self, frame: Frame) -> Message:
        """The samples; before the first ones, how a WAV file begins."""
        head = b"" if self._begun else HEAD
        self._begun = True
        self._audio_s = frame.audio_ms / 1000
        return self._binary(head + frame.pcm)

    def finish(self) -> Iterable[Message]:
        """Audio without samples: there will be no more."""
        return (self._binary(b""),)

    def _text(self, path: str, said: Mapping[str, object]) -> str:
        return f"{self._headers(path, 'application/json')}\r\n{json.dumps(said)}"

    def _binary(self, payload: bytes) -> bytes:
        headers = self._headers("audio", "audio/x-wav").encode()
        return pack(">H", len(headers)) + headers + payload

    def _headers(self, path: str, content: str) -> str:
        moment = datetime.fromtimestamp(self._started_s + self._audio_s, UTC)
        stamp = moment.isoformat(timespec="milliseconds").removesuffix("+00:00")
        lines = (
            f"Path:{path}",
            f"X-RequestId:{self._name}",
            f"X-Timestamp:{stamp}Z",
            f"Content-Type:{content}",
        )
        return "".join(f"{line}\r\n" for line in lines)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one message says. Raises ProviderError where it is a failure or no sense."""
        if isinstance(message, bytes):
            raise no_sense("a binary message")
        path, body = split(message)
        if path == "turn.end":
            yield StreamDone(at_ns)
        elif path == "speech.hypothesis":
            yield from _hypothesis(parsed(body), at_ns)
        elif path == "speech.phrase":
            yield from self._phrase(parsed(body), at_ns)
        else:
            yield Notice(at_ns, path) if path in NOTICES else Unread(at_ns, path)

    def _phrase(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"RecognitionStatus": "Success", "NBest": [{"Display": str(text)}, *_]}:
                yield Transcript(at_ns, text, final=True)
            case {"RecognitionStatus": "Success", "DisplayText": str(text)}:
                yield Transcript(at_ns, text, final=True)
            case {"RecognitionStatus": "Success"}:
                raise no_sense("a phrase without text")
            case {"RecognitionStatus": str(status)} if status in NOTHING_HEARD:
                yield Notice(at_ns, status)
            case {"RecognitionStatus": str(status)}:
                raise self.facts.errors.error(status)
            case _:
                raise no_sense("a phrase without a status")


def split(message: str) -> tuple[str, str]:
    """The path and the body of a text message. Raises ProviderError where it has no path."""
    headers, _, body = message.partition("\r\n\r\n")
    for line in headers.split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "path" and value.strip():
            return value.strip(), body
    raise no_sense("a message without a path")


def _hypothesis(said: dict[str, object], at_ns: int) -> Iterator[Event]:
    match said:
        case {"Text": str(text)}:
            if text:
                yield Transcript(at_ns, text, final=False)
        case _:
            raise no_sense("a hypothesis without text")
