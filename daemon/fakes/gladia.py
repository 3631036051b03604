"""Gladia's live transcription (v2), as a provider that anyone can run.

The request for a session and the websocket come to the same port; the websocket's address carries a
token that is good for one stream. A session that is over still opens, and closes with 4403.
"""

import base64
import json
from collections.abc import Iterable, Mapping

from daemon.fakes.dialect import Alive, Audio, Dialect, Finish, Order, Wrong
from daemon.fakes.script import Faults, Script
from daemon.fakes.server import JSON, Fake, path_of, query_of
from providers.codec import HttpRequest, HttpResponse

PATH = "/v2/live"
RATES_HZ = (8000, 16_000, 32_000, 44_100, 48_000)
OVER = Wrong(4403, "the session is over")
NOT_UNDERSTOOD = Wrong(4400, "not a message of this service")
SESSIONS_KEPT = 1000
CREATED_AT = "2026-01-01T00:00:00.000Z"

Settings = Mapping[str, object]


class FakeGladia(Fake):
    """Solaria behind ``/v2/live``."""

    has_force = False

    scheme = "http"

    def __init__(
        self, script: Script | None = None, faults: Faults | None = None, *, key: str | None = None
    ) -> None:
        super().__init__(script, faults, key=key)
        self._begun: dict[str, Settings] = {}
        """By their tokens, the sessions that nobody has opened yet."""
        self._over: dict[str, Settings] = {}

    def asked(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Dialect:
        if path_of(request) != PATH:
            return _refusal(404, "no such path")
        if request.method == "POST":
            return self._begin(request, secure=secure)
        return self._open(query_of(request).get("token", ""))

    def _begin(self, request: HttpRequest, *, secure: bool) -> HttpResponse:
        if not self.is_good(request.headers.get("x-gladia-key")):
            return _refusal(401, "the key is missing or wrong")
        settings = _settings(request.body)
        wrong = "the body must be a JSON object" if settings is None else _wrong(settings)
        if settings is None or wrong is not None:
            return _refusal(400, str(wrong))
        token = f"token-{next(self.numbers)}"
        _keep(self._begun, token, settings)
        host = request.headers.get("host", "")
        url = f"{'wss' if secure else 'ws'}://{host}{PATH}?token={token}"
        session = {"id": _session_id(token), "created_at": CREATED_AT, "url": url}
        return HttpResponse(201, JSON, json.dumps(session).encode())

    def _open(self, token: str) -> HttpResponse | Dialect:
        settings = self._begun.pop(token, None)
        if settings is not None:
            _keep(self._over, token, settings)
            return Live(settings, _session_id(token))
        if token in self._over:
            return Live({}, _session_id(token), over=True)
        return _refusal(401, "no such session")


def _keep(kept: dict[str, Settings], token: str, settings: Settings) -> None:
    """Remember it, and forget the oldest where there are too many."""
    kept[token] = settings
    if len(kept) > SESSIONS_KEPT:
        del kept[next(iter(kept))]


def _session_id(token: str) -> str:
    return token.replace("token", "session")


def _settings(body: bytes) -> Settings | None:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _wrong(settings: Settings) -> str | None:
    """What is wrong with how a session is asked for."""
    allowed: dict[str, tuple[object, ...]] = {
        "encoding": ("wav/pcm",),
        "bit_depth": (16,),
        "sample_rate": RATES_HZ,
        "channels": (1,),
    }
    for name, values in allowed.items():
        if settings.get(name, values[0]) not in values:
            return f"{name} must be one of {', '.join(map(str, values))}"
    pause_s = settings.get("endpointing", 0.05)
    if not isinstance(pause_s, int | float) or not 0.01 <= pause_s <= 10:
        return "endpointing must be a number from 0.01 to 10"
    return None


def _refusal(status: int, message: str) -> HttpResponse:
    said = {"statusCode": status, "message": message}
    return HttpResponse(status, JSON, json.dumps(said).encode())


class Live:
    """One stream."""

    forces = False
    idle_s: float | None = None
    subprotocol: str | None = None

    def __init__(self, settings: Settings, session_id: str, *, over: bool = False) -> None:
        rate_hz = settings.get("sample_rate")
        self.rate_hz = rate_hz if isinstance(rate_hz, int) else 16_000
        wishes = settings.get("messages_config")
        self._wishes = wishes if isinstance(wishes, dict) else {}
        self._session_id = session_id
        self._over = over
        self._finals = 0
        self._start_ms = 0.0

    def greeting(self) -> Iterable[str] | Wrong:
        return OVER if self._over else (self._message("start_session"),)

    def heard(self, message: str | bytes) -> Order:
        """Bytes are audio; so is the base64 of an audio_chunk, and none is a sign of life."""
        if isinstance(message, bytes):
            return _audio(message)
        match _settings(message.encode()):
            case {"type": "stop_recording"}:
                return Finish()
            case {"type": "audio_chunk", "data": {"chunk": str(chunk)}}:
                return _decoded(chunk)
        return NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[str]:
        kind = "final" if final else "partial"
        asked = self._wishes.get(f"receive_{kind}_transcripts", final) is True
        utterance = {
            "text": text,
            "start": _seconds(self._start_ms),
            "end": _seconds(audio_ms),
            "language": "en",
            "confidence": 0.9,
            "channel": 0,
            "words": [],
        }
        name = f"00_{self._finals:08d}"
        if final:
            self._finals += 1
            self._start_ms = audio_ms
        said = {"id": name, "is_final": final, "utterance": utterance}
        if asked:
            yield self._message("transcript", data=said)

    def speech(self, *, starts: bool, audio_ms: float) -> Iterable[str]:
        if self._wishes.get("receive_speech_events") is True:
            said = {"time": _seconds(audio_ms), "channel": 0}
            yield self._message("speech_start" if starts else "speech_end", data=said)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[str]:
        length = {"recording_duration": _seconds(audio_ms)}
        left = {**length, "recording_left_to_process": 0.0}
        yield self._message("stop_recording", acknowledged=True, error=None, data=left)
        if rest:
            yield from self.said(rest, final=True, marked=False, audio_ms=audio_ms)
        yield self._message("end_recording", data=length)
        yield self._message("end_session")

    def idle(self) -> Wrong:
        return OVER

    def _message(self, name: str, **more: object) -> str:
        head = {"type": name, "session_id": self._session_id, "created_at": CREATED_AT}
        return json.dumps({**head, **more})


def _audio(pcm: bytes) -> Order:
    if len(pcm) % 2:
        return NOT_UNDERSTOOD
    return Audio(pcm) if pcm else Alive()


def _decoded(chunk: str) -> Order:
    try:
        return _audio(base64.b64decode(chunk, validate=True))
    except ValueError:
        return NOT_UNDERSTOOD


def _seconds(ms: float) -> float:
    return round(ms / 1000, 3)
