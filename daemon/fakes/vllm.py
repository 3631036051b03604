"""vLLM's realtime transcription, as a server that anyone can run.

The shapes and rules are those of its source: the model is named first, a commit begins an
utterance, one with ``final`` ends it, and what is sent until ``done`` is thrown away.
"""

import base64
import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Alive, Audio, Force, Order
from daemon.fakes.server import JSON, path_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/v1/realtime"


class FakeVllm(TalkingFake):
    """One model behind ``/v1/realtime``; no key."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return HttpResponse(404, JSON, b'{"detail": "Not Found"}')
        return Stream()


class Stream(Talker):
    """One connection, utterance by utterance."""

    def __init__(self) -> None:
        self._named = False
        self._generating = False
        self._ending = False
        self._shown = ""

    def greeting(self) -> Iterable[Message]:
        return (_message("session.created", id="sess-1", created=1_780_000_000),)

    def heard(self, message: Message) -> Order | Reply:
        try:
            said = json.loads(message) if isinstance(message, str) else None
        except (ValueError, RecursionError):
            return _error("Invalid JSON", "invalid_json")
        match said:
            case {"type": "session.update", "model": str()}:
                self._named = True
                return Alive()
            case {"type": "input_audio_buffer.append", "audio": str(audio)}:
                return self._appended(audio)
            case {"type": "input_audio_buffer.commit", **rest}:
                return self._commit(final=rest.get("final") is True)
        return _error("Unknown event type", "unknown_event")

    def _appended(self, audio: str) -> Order | Reply:
        try:
            pcm = base64.b64decode(audio, validate=True)
        except ValueError:
            pcm = b""
        if not pcm or len(pcm) % 2:
            return _error("Invalid audio data", "invalid_audio")
        return Alive() if self._ending else Audio(pcm)

    def _commit(self, *, final: bool) -> Order | Reply:
        if not self._named:
            return _error("Model not validated.", "model_not_validated")
        if not final:
            self._generating = True
            return Alive()
        self._ending = self._generating
        return Force() if self._generating else Alive()

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        new, self._shown = text.removeprefix(self._shown), text
        if not final:
            yield _message("transcription.delta", delta=new)
            return
        self._generating = self._ending = False
        self._shown = ""
        yield _message("transcription.done", text=text, usage={"total_tokens": len(text.split())})


def _error(words: str, code: str) -> Reply:
    return Reply((_message("error", error=words, code=code),))


def _message(name: str, **more: object) -> str:
    return json.dumps({"type": name, **more})
