"""Inworld's speech to text as a provider that anyone can run.

It closes without a code where the first message is not its configuration, and refuses audio in
pieces that are too short or too long.
"""

import base64
import json
from collections.abc import Iterable, Mapping

from daemon.conformance.talker import Talker, TalkingFake
from daemon.fakes.dialect import Alive, Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON, path_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/stt/v1/transcribe:streamBidirectional"
LEAST_MS, MOST_MS = 20, 1000
NOT_UNDERSTOOD = Wrong(1008, "not a message of this service")
NO_PIECE = Wrong(1008, f"audio must come in pieces of {LEAST_MS} to {MOST_MS} ms")


class FakeInworld(TalkingFake):
    """Its models behind one address."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        if kind != "Basic" or not self.is_good(key):
            said = {"code": 16, "message": "the key is missing or wrong"}
            return HttpResponse(401, JSON, json.dumps(said).encode())
        if path_of(request) != PATH:
            return HttpResponse(404, JSON, b'{"code": 5, "message": "no such path"}')
        return Transcribe()


class Transcribe(Talker):
    """One stream."""

    def __init__(self) -> None:
        self._begun = False

    def heard(self, message: Message) -> Order:
        said = _object(message)
        if not self._begun:
            return self._begin(said)
        match said:
            case {"audioChunk": {"content": str(content)}}:
                return self._piece(content)
            case {"endTurn": {}}:
                return Force()
            case {"closeStream": {}}:
                return Finish()
        return NOT_UNDERSTOOD

    def _begin(self, said: object) -> Order:
        match said:
            case {
                "transcribeConfig": {
                    "modelId": str(),
                    "audioEncoding": "LINEAR16",
                    "sampleRateHertz": (8000 | 16_000 | 24_000 | 48_000) as rate_hz,
                }
            }:
                self._begun = True
                self.rate_hz = int(rate_hz)
                return Alive()
        return Wrong(1008, "the first message must be a transcribeConfig")

    def _piece(self, content: str) -> Order:
        try:
            pcm = base64.b64decode(content, validate=True)
        except ValueError:
            return NOT_UNDERSTOOD
        if len(pcm) % 2:
            return NOT_UNDERSTOOD
        ms = len(pcm) * 500 / self.rate_hz
        return Audio(pcm) if LEAST_MS <= ms <= MOST_MS else NO_PIECE

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        yield _result("transcription", {"transcript": text, "isFinal": final})

    def speech(self, *, starts: bool, audio_ms: float) -> Iterable[Message]:
        if starts:
            yield _result("speechStarted", {"startTimeMs": round(audio_ms), "confidence": 0.9})
        else:
            yield _result("speechStopped", {"silenceDurationMs": 0})

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        yield from super().farewell(rest, audio_ms)
        yield json.dumps({"usage": {"transcribedAudioMs": round(audio_ms)}})


def _result(name: str, said: Mapping[str, object]) -> str:
    return json.dumps({"result": {name: said}})


def _object(message: Message) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
