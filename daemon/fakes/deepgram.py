"""Deepgram's live transcription (listen v1), as a provider that anyone can run.

The shapes are those of Deepgram's API specification. It holds its clients to the same rules: a key,
linear16 with a rate, binary messages for audio, a sign of life every ten seconds.
"""

import hashlib
import json
from collections.abc import Iterable

from daemon.fakes.dialect import Alive, Audio, Dialect, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON, Fake, path_of, query_of
from providers.codec import HttpRequest, HttpResponse

PATH = "/v1/listen"
ORDERS: dict[object, Order] = {"Finalize": Force(), "CloseStream": Finish(), "KeepAlive": Alive()}
NOT_AUDIO = Wrong(1008, "DATA-0000")
IDLE = Wrong(1011, "NET-0001")


class FakeDeepgram(Fake):
    """Nova behind ``/v1/listen``."""

    def asked(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Dialect:
        if path_of(request) != PATH:
            return _refusal(404, "NOT_FOUND", "no such path")
        key, subprotocol = _key_of(request)
        if not self.is_good(key):
            return _refusal(401, "INVALID_AUTH", "Invalid credentials.")
        settings = query_of(request)
        wrong = _wrong(settings)
        if wrong is not None:
            return _refusal(400, "Bad Request", wrong)
        return Listen(settings, next(self.numbers), subprotocol)


def _key_of(request: HttpRequest) -> tuple[str | None, str | None]:
    """The key, and the subprotocol to confirm where the key came as one."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("token", "bearer") and key:
        return key, None
    offered = [
        word.strip() for word in request.headers.get("sec-websocket-protocol", "").split(",")
    ]
    match offered:
        case ["token" | "bearer" as name, key]:
            return key, name
    return None, None


def _wrong(settings: dict[str, str]) -> str | None:
    """What is wrong with how a stream is asked for."""
    if not settings.get("model"):
        return "model is missing"
    if settings.get("encoding") != "linear16":
        return "encoding must be linear16"
    if not settings.get("sample_rate", "").isdigit() or int(settings["sample_rate"]) < 8000:
        return "sample_rate must be a number from 8000"
    if settings.get("channels", "1") != "1":
        return "channels must be 1"
    return None


def _refusal(status: int, code: str, message: str) -> HttpResponse:
    said = {"err_code": code, "err_msg": message, "request_id": _uuid(0)}
    return HttpResponse(status, JSON, json.dumps(said).encode())


def _uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


class Listen:
    """One stream."""

    forces = True
    idle_s: float | None = 10.0

    def __init__(self, settings: dict[str, str], number: int, subprotocol: str | None) -> None:
        self.subprotocol = subprotocol
        self.rate_hz = int(settings["sample_rate"])
        self._settings = settings
        self._number = number
        self._sha256 = hashlib.sha256()
        self._start_ms = 0.0

    def greeting(self) -> Iterable[str] | Wrong:
        return ()

    def heard(self, message: str | bytes) -> Order:
        """Bytes are audio, whatever is in them; text is an order."""
        if isinstance(message, bytes):
            self._sha256.update(message)
            return Audio(message) if len(message) % 2 == 0 else NOT_AUDIO
        try:
            said = json.loads(message)
        except (ValueError, RecursionError):
            return NOT_AUDIO
        return ORDERS.get(said.get("type"), NOT_AUDIO) if isinstance(said, dict) else NOT_AUDIO

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[str]:
        if not final and self._settings.get("interim_results") != "true":
            return
        start_ms = self._start_ms
        if final:
            self._start_ms = audio_ms
        natural = self._settings.get("endpointing", "10") != "false"
        yield json.dumps(
            {
                "type": "Results",
                "channel_index": [0, 1],
                "start": _seconds(start_ms),
                "duration": _seconds(audio_ms - start_ms),
                "is_final": final,
                "speech_final": final and natural,
                "from_finalize": marked,
                "channel": {"alternatives": [_alternative(text, start_ms, audio_ms)]},
                "metadata": {
                    "request_id": _uuid(self._number),
                    "model_info": {
                        "name": f"general-{self._settings['model']}",
                        "version": "2026-01-01.0",
                        "arch": self._settings["model"],
                    },
                    "model_uuid": _uuid(0),
                },
            }
        )

    def speech(self, *, starts: bool, audio_ms: float) -> Iterable[str]:
        asked = self._settings.get("vad_events") == "true"
        at_s = _seconds(audio_ms)
        if starts and asked:
            yield json.dumps({"type": "SpeechStarted", "channel": [0, 1], "timestamp": at_s})
        if not starts and "utterance_end_ms" in self._settings:
            yield json.dumps({"type": "UtteranceEnd", "channel": [0, 1], "last_word_end": at_s})

    def farewell(self, rest: str, audio_ms: float) -> Iterable[str]:
        last: Iterable[str] = ()
        if rest or audio_ms > self._start_ms:
            last = self.said(rest, final=True, marked=False, audio_ms=audio_ms)
        metadata = {
            "type": "Metadata",
            "transaction_key": "deprecated",
            "request_id": _uuid(self._number),
            "sha256": self._sha256.hexdigest(),
            "created": "2026-01-01T00:00:00.000Z",
            "duration": _seconds(audio_ms),
            "channels": 1,
        }
        return (*last, json.dumps(metadata))

    def idle(self) -> Wrong:
        return IDLE


def _alternative(text: str, start_ms: float, end_ms: float) -> dict[str, object]:
    """The words stand evenly between ``start_ms`` and ``end_ms``."""
    words = text.split()
    step_ms = (end_ms - start_ms) / max(len(words), 1)
    confidence = 0.98 if words else 0.0
    return {
        "transcript": text,
        "confidence": confidence,
        "words": [
            {
                "word": word.lower(),
                "start": _seconds(start_ms + index * step_ms),
                "end": _seconds(start_ms + (index + 1) * step_ms),
                "confidence": confidence,
                "punctuated_word": word,
            }
            for index, word in enumerate(words)
        ],
    }


def _seconds(ms: float) -> float:
    return round(ms / 1000, 3)
