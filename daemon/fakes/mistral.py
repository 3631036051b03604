"""Mistral's realtime transcription, as a provider that anyone can run.

The shapes are those of Mistral's own Python client.
"""

import base64
import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/v1/audio/transcriptions/realtime"
MOST_BYTES = 262_144
NOT_UNDERSTOOD = Wrong(1003, "not a message of this service")


class FakeMistral(TalkingFake):
    """Voxtral behind its path."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return HttpResponse(404, JSON, b'{"detail": "Not Found"}')
        _, _, key = request.headers.get("authorization", "").partition(" ")
        if not self.is_good(key):
            return HttpResponse(401, JSON, b'{"detail": "Unauthorized"}')
        model = query_of(request).get("model")
        if not model:
            return HttpResponse(422, JSON, b'{"detail": "model is missing"}')
        return Stream(model)


class Stream(Talker):
    """One session."""

    idle_s: float | None = 30.0

    def __init__(self, model: str) -> None:
        self._model = model
        self._shown = ""
        self._begun = False

    def greeting(self) -> Iterable[Message]:
        return (self._session("session.created"),)

    def heard(self, message: Message) -> Order | Reply:
        try:
            said = json.loads(message)
        except (ValueError, RecursionError):
            return NOT_UNDERSTOOD
        match said:
            case {"type": "session.update", "session": dict(session)}:
                return self._updated(session)
            case {"type": "input_audio.append", "audio": str(audio)}:
                return self._appended(audio)
            case {"type": "input_audio.flush"}:
                return Force()
            case {"type": "input_audio.end"}:
                return Finish()
        return NOT_UNDERSTOOD

    def _updated(self, session: dict[str, object]) -> Order | Reply:
        """How the audio is to be read; it cannot change once there is audio."""
        match session.get("audio_format"):
            case {"encoding": "pcm_s16le", "sample_rate": self.rate_hz} if not self._begun:
                return Reply((self._session("session.updated"),))
        error = {"message": {"detail": "audio_format"}, "code": "invalid_request"}
        return Reply((_message("error", error=error),))

    def _appended(self, audio: str) -> Order:
        try:
            pcm = base64.b64decode(audio, validate=True)
        except ValueError:
            return NOT_UNDERSTOOD
        self._begun = True
        return Audio(pcm) if pcm and len(pcm) <= MOST_BYTES else NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        new, self._shown = text.removeprefix(self._shown), "" if final else text
        if not final:
            yield _message("transcription.text.delta", text=new)
            return
        usage = {"prompt_audio_seconds": round(audio_ms / 1000), "total_tokens": 1}
        more = {"model": self._model, "language": "en", "segments": [], "usage": usage}
        yield _message("transcription.done", text=text, **more)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        return self.said(rest, final=True, marked=False, audio_ms=audio_ms)

    def _session(self, name: str) -> str:
        audio = {"encoding": "pcm_s16le", "sample_rate": self.rate_hz}
        session = {"request_id": "req_1", "model": self._model, "audio_format": audio}
        return _message(name, session=session)


def _message(name: str, **more: object) -> str:
    return json.dumps({"type": name, **more})
