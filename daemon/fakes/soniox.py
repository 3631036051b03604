"""Soniox' realtime transcription, as a provider that anyone can run.

It holds its clients to its rules: a configuration first, forces that do not come all the time, a
sign of life every 20 s. The first half of a partial is final, token by token. A final that answers
no force ends with ``<end>``, as with endpoint detection.
"""

import json
from collections.abc import Iterable, Sequence

from daemon.conformance.talker import ALIVE, Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Force, Order
from daemon.fakes.refused import Refused
from daemon.fakes.server import JSON, path_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/transcribe-websocket"
LEAST_GAP_BYTES = 9_600
"""Between two forces: 300 ms of audio at 16 kHz."""


class FakeSoniox(TalkingFake):
    """The realtime models behind ``/transcribe-websocket``."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return HttpResponse(404, JSON, b"{}")
        _, _, key = request.headers.get("authorization", "").partition(" ")
        if not self.is_good(key):
            return Refused(_error(401, "Incorrect API key provided."), 1000)
        return Tokens()


class Tokens(Talker):
    """One stream."""

    idle_s = 20.0

    def __init__(self) -> None:
        self._configured = False
        self._heard_bytes = 0
        self._forced_bytes = 0
        self._sure: list[str] = []
        """The words of the segment that have been sent as final tokens."""

    def heard(self, message: Message) -> Order | Reply:
        """Bytes are audio, whatever is in them; no text at all is the end."""
        if isinstance(message, bytes):
            self._heard_bytes += len(message)
            return Audio(message) if self._configured and len(message) % 2 == 0 else _no("audio")
        if not message:
            return Finish()
        match _object(message):
            case {"model": str(), "audio_format": "pcm_s16le", "sample_rate": 16_000}:
                self._configured = True
                return ALIVE
            case {"type": "finalize"}:
                return self._forced()
            case {"type": "keepalive"}:
                return ALIVE
        return _no("message")

    def _forced(self) -> Order | Reply:
        since = self._heard_bytes - self._forced_bytes
        often = self._forced_bytes > 0 and since < LEAST_GAP_BYTES
        self._forced_bytes = self._heard_bytes
        return Reply((_error(429, "Finalized too often."),)) if often else Force()

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        words = text.split()
        known = len(self._sure) if words[: len(self._sure)] == self._sure else 0
        settled = len(words) if final else max(known, len(words) // 2)
        sure, open_ = words[known:settled], words[settled:]
        self._sure = [] if final else [*self._sure, *sure]
        mark = [_token("<fin>" if marked else "<end>", final=True)] if final else []
        tokens = [
            *(_token(f" {word}", final=True) for word in sure),
            *(_token(f" {word}", final=False) for word in open_),
        ]
        yield _message([*tokens, *mark], audio_ms)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        """What is left comes as final tokens, without a mark."""
        known = len(self._sure)
        last = [_token(f" {word}", final=True) for word in rest.split()[known:]]
        yield _message(last, audio_ms)
        yield _message([], audio_ms, finished=True)


def _token(text: str, *, final: bool) -> dict[str, object]:
    return {"text": text, "is_final": final, "confidence": 0.98}


def _message(tokens: Sequence[object], audio_ms: float, **more: object) -> str:
    heard = {"final_audio_proc_ms": round(audio_ms), "total_audio_proc_ms": round(audio_ms)}
    return json.dumps({"tokens": tokens, **heard, **more})


def _error(code: int, message: str) -> str:
    return json.dumps({"tokens": [], "error_code": code, "error_message": message})


def _no(what: str) -> Reply:
    return Reply((_error(400, f"Invalid {what}."),))


def _object(message: str) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
