"""ElevenLabs' Scribe in realtime, as a provider that anyone can run.

It holds its clients to its rules: base64 audio of the announced rate, at least 0.3 s of it before a
commit. Each committed transcript has its twin, where timestamps are asked for, and its echo.
"""

import base64
import json
from collections.abc import Iterable

from daemon.conformance.talker import ALIVE, Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Force, Order, Wrong
from daemon.fakes.refused import Refused
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/v1/speech-to-text/realtime"
LEAST_MS = 300
RATES_HZ = (8000, 16_000, 22_050, 24_000, 44_100, 48_000)
NOT_UNDERSTOOD = Wrong(1003, "input_error")


class FakeElevenLabs(TalkingFake):
    """Scribe behind ``/v1/speech-to-text/realtime``."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return HttpResponse(404, JSON, b"{}")
        if not self.is_good(request.headers.get("xi-api-key")):
            return Refused(_said("auth_error", error="Invalid API key"), 1008)
        settings = query_of(request)
        kind, _, rate = settings.get("audio_format", "pcm_16000").partition("_")
        known = kind == "pcm" and rate.isdigit() and int(rate) in RATES_HZ
        if not known or not settings.get("model_id"):
            return HttpResponse(400, JSON, b'{"detail": "audio_format or model_id"}')
        return Scribe(int(rate), twins=settings.get("include_timestamps") == "true")


class Scribe(Talker):
    """One stream."""

    def __init__(self, rate_hz: int, *, twins: bool) -> None:
        self.rate_hz = rate_hz
        self._twins = twins
        self._open_bytes = 0

    def greeting(self) -> Iterable[Message]:
        return (_said("session_started", session_id="session-1", config={}),)

    def heard(self, message: Message) -> Order | Reply:
        match _object(message):
            case {
                "message_type": "input_audio_chunk",
                "audio_base_64": str(audio),
                "commit": bool(commit),
                "sample_rate": self.rate_hz,
            }:
                return self._commit() if commit and not audio else self._chunk(audio)
        return NOT_UNDERSTOOD

    def _chunk(self, audio: str) -> Order:
        try:
            pcm = base64.b64decode(audio, validate=True)
        except ValueError:
            return NOT_UNDERSTOOD
        if len(pcm) % 2:
            return NOT_UNDERSTOOD
        self._open_bytes += len(pcm)
        return Audio(pcm) if pcm else ALIVE

    def _commit(self) -> Order | Reply:
        if self._open_bytes * 500 / self.rate_hz < LEAST_MS:
            return Reply((_said("commit_throttled", error="not enough uncommitted audio"),))
        self._open_bytes = 0
        return Force()

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        if not final:
            yield _said("partial_transcript", text=text)
            return
        yield _said("committed_transcript", text=text)
        if self._twins:
            yield _said("committed_transcript_with_timestamps", text=text, words=[])
        if text:
            yield _said("partial_transcript", text=text)


def _said(name: str, **more: object) -> str:
    return json.dumps({"message_type": name, **more})


def _object(message: Message) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
