"""Azure's speech to text as a provider that anyone can run.

It wants its opening before any audio, and the beginning of a WAV file before the first samples.
"""

import json
from collections.abc import Iterable, Iterator

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Alive, Audio, Finish, Order, Wrong
from daemon.fakes.server import JSON, path_of, query_of
from providers.azure import HEAD, PATH, RATE_HZ, split
from providers.codec import HttpRequest, HttpResponse, Message, ProviderError

ALIVE = Alive()
MOST_BYTES = 8192
NAME_CHARS = 32
TICKS_PER_MS = 10_000
NOT_UNDERSTOOD = Wrong(1002, "not a message of this service")
NO_OPENING = Wrong(1002, "speech.config must come before audio")
NO_WAV = Wrong(1007, "audio must begin as a WAV file does")
TOO_LONG = Wrong(1009, "too much audio in one message")


class FakeAzure(TalkingFake):
    """Its recognition of conversations."""

    has_force = False

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if not self.is_good(request.headers.get("ocp-apim-subscription-key")):
            return _refusal(401, "the key is missing or wrong")
        if path_of(request) != PATH:
            return _refusal(404, "no such path")
        name = request.headers.get("x-connectionid", "")
        if len(name) != NAME_CHARS or not name.isalnum():
            return _refusal(400, "X-ConnectionId must be 32 letters and digits")
        if "-" not in query_of(request).get("language", ""):
            return _refusal(400, "a language with its region must be named")
        return Stream()


def _refusal(status: int, message: str) -> HttpResponse:
    return HttpResponse(status, JSON, json.dumps({"error": {"message": message}}).encode())


class Stream(Talker):
    """One turn."""

    forces = False
    rate_hz = RATE_HZ
    idle_s = 180.0

    def __init__(self) -> None:
        self._name = ""
        self._opened = False
        self._begun = False
        self._from_ms = 0.0

    def heard(self, message: Message) -> Order | Reply:
        if isinstance(message, str):
            return self._opening(message)
        size = int.from_bytes(message[:2], "big")
        headers, payload = message[2 : 2 + size], message[2 + size :]
        if len(headers) != size or b"Path:audio\r\n" not in headers:
            return NOT_UNDERSTOOD
        if not self._opened:
            return NO_OPENING
        if len(payload) > MOST_BYTES:
            return TOO_LONG
        return self._audio(headers, payload)

    def _opening(self, message: str) -> Order:
        try:
            path, body = split(message)
            json.loads(body)
        except (ProviderError, ValueError):
            return NOT_UNDERSTOOD
        if path not in ("speech.config", "speech.context", "telemetry"):
            return NOT_UNDERSTOOD
        self._opened = self._opened or path == "speech.config"
        return ALIVE

    def _audio(self, headers: bytes, payload: bytes) -> Order | Reply:
        if self._begun:
            return Audio(payload) if payload else Finish()
        if not payload.startswith(HEAD):
            return NO_WAV
        self._begun = True
        lines = dict(line.partition(":")[::2] for line in headers.decode().split("\r\n"))
        self._name = lines.get("X-RequestId", "")
        started = self._message("turn.start", {"context": {"serviceTag": "fake"}})
        return Reply((started,), Audio(payload[len(HEAD) :]))

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        place = {
            "Offset": round(self._from_ms * TICKS_PER_MS),
            "Duration": round((audio_ms - self._from_ms) * TICKS_PER_MS),
        }
        if not final:
            yield self._message("speech.hypothesis", {"Text": text, **place})
            return
        best = {"Confidence": 0.9, "Lexical": text, "ITN": text, "Display": text}
        said = {"RecognitionStatus": "Success", **place, "NBest": [best]}
        yield self._message("speech.phrase", said)
        self._from_ms = audio_ms

    def speech(self, *, starts: bool, audio_ms: float) -> Iterator[Message]:
        path = "speech.startDetected" if starts else "speech.endDetected"
        yield self._message(path, {"Offset": round(audio_ms * TICKS_PER_MS)})

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        yield from super().farewell(rest, audio_ms)
        yield self._message("turn.end", {})

    def _message(self, path: str, said: dict[str, object]) -> str:
        content = "Content-Type:application/json; charset=utf-8"
        return f"X-RequestId:{self._name}\r\n{content}\r\nPath:{path}\r\n\r\n{json.dumps(said)}"
