"""Sarvam's realtime speech to text as a provider that anyone can run.

An end of speech must follow a start of it, and no start may follow another one.
"""

import base64
import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Alive, Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/speech-to-text-realtime/ws"
RATES_HZ = {"8000": 8000, "16000": 16_000}
NOT_UNDERSTOOD = Wrong(1003, "not a message of this service")
MODELS = ("saaras:v3-realtime", "saaras:v4")
ALLOWED = {
    "endpointing": ("manual",),
    "encoding": ("linear16",),
    "sample_rate": tuple(RATES_HZ),
    "model": MODELS,
    "stream_type": ("fast", "balanced", "simulated"),
    "mode": ("transcribe", "translate", "verbatim", "translit", "codemix"),
}


class FakeSarvam(TalkingFake):
    """Saaras behind its realtime address."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if not self.is_good(request.headers.get("api-subscription-key")):
            return _refusal(403, "invalid_api_key_error", "the key is missing or wrong")
        if path_of(request) != PATH:
            return _refusal(404, "not_found_error", "no such path")
        asked = query_of(request)
        for name, allowed in ALLOWED.items():
            if asked.get(name) not in allowed:
                text = f"{name} must be one of {', '.join(allowed)}"
                return _refusal(422, "unprocessable_entity_error", text)
        return Session(RATES_HZ[asked["sample_rate"]], f"request-{next(self.numbers)}")


def _refusal(status: int, code: str, message: str) -> HttpResponse:
    said = {"error": {"code": code, "message": message}}
    return HttpResponse(status, JSON, json.dumps(said).encode())


class Session(Talker):
    """One stream."""

    idle_s = 30.0

    def __init__(self, rate_hz: int, request_id: str) -> None:
        self.rate_hz = rate_hz
        self._request_id = request_id
        self._speaking = False

    def greeting(self) -> Iterable[Message]:
        return (_event("session.begin", request_id=self._request_id),)

    def heard(self, message: Message) -> Order | Reply:
        match _object(message):
            case {"event": "audio_input", "audio": str(audio)}:
                return _audio(audio)
            case {"event": "speech_start"} if not self._speaking:
                self._speaking = True
                return Alive()
            case {"event": "speech_end"} if self._speaking:
                self._speaking = False
                return Force()
            case {"event": "ping"}:
                return Reply((_event("pong"),))
            case {"event": "end"}:
                return Finish()
        return NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        name = "transcript.final" if final else "transcript.partial"
        yield _event(name, text=text, language="en-IN")

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        yield from super().farewell(rest, audio_ms)
        length_s = round(audio_ms / 1000, 3)
        yield _event("session.end", request_id=self._request_id, audio_duration_s=length_s)


def _audio(audio: str) -> Order:
    try:
        pcm = base64.b64decode(audio, validate=True)
    except ValueError:
        return NOT_UNDERSTOOD
    return Audio(pcm) if pcm and len(pcm) % 2 == 0 else NOT_UNDERSTOOD


def _event(name: str, **more: object) -> str:
    return json.dumps({"event": name, **more})


def _object(message: Message) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
