"""Speechmatics' realtime transcription (v2), as a provider that anyone can run.

It holds its clients to its rules: a recognition that is started, a farewell that counts the audio
messages. Each of them is acknowledged.
"""

import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON, path_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/v2"
NOT_UNDERSTOOD = Wrong(1003, "protocol_error")
MODELS = ("standard", "enhanced")


class FakeSpeechmatics(TalkingFake):
    """Both operating points behind ``/v2``."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request).rstrip("/") != PATH:
            return HttpResponse(404, JSON, b'{"error": "no such path"}')
        _, _, key = request.headers.get("authorization", "").partition(" ")
        if not self.is_good(key):
            return HttpResponse(401, JSON, b'{"error": "not authorised"}')
        return Recognition()


class Recognition(Talker):
    """One stream."""

    def __init__(self) -> None:
        self._heard = 0
        self._started = False

    def heard(self, message: Message) -> Order | Reply:
        """Bytes are audio, whatever is in them; text is an order."""
        if isinstance(message, bytes):
            return self._audio(message)
        match _object(message):
            case {
                "message": "StartRecognition",
                "audio_format": {"type": "raw", "encoding": "pcm_s16le", "sample_rate": 16_000},
                "transcription_config": {"language": str(), "model": str(model)},
            } if model in MODELS and not self._started:
                self._started = True
                return Reply((_said("RecognitionStarted", id="recognition-1"),))
            case {"message": "ForceEndOfUtterance", **rest} if self._started:
                at_s = rest.get("timestamp", 0)
                return Force() if isinstance(at_s, int | float) else NOT_UNDERSTOOD
            case {"message": "EndOfStream", "last_seq_no": self._heard}:
                return Finish()
        return NOT_UNDERSTOOD

    def _audio(self, pcm: bytes) -> Order | Reply:
        if not self._started or len(pcm) % 2:
            return NOT_UNDERSTOOD
        self._heard += 1
        return Reply((_said("AudioAdded", seq_no=self._heard),), Audio(pcm))

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        """A final that another may follow ends with a space, as its words are put together so."""
        name = "AddTranscript" if final else "AddPartialTranscript"
        if text:
            words = text if marked else f"{text} "
            times = {"start_time": 0.0, "end_time": round(audio_ms / 1000, 3)}
            forced = {"forced": True} if marked else {}
            yield _said(name, metadata={**times, "transcript": words}, results=[], **forced)
        if marked:
            yield _said("EndOfUtterance", metadata={}, forced=True)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        if rest:
            yield from self.said(rest, final=True, marked=False, audio_ms=audio_ms)
        yield _said("EndOfTranscript")


def _said(name: str, **more: object) -> str:
    return json.dumps({"message": name, **more})


def _object(message: str) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
