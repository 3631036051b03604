"""xAI's streaming speech to text, as a provider that anyone can run.

The shapes are those of docs.x.ai. It refuses what those pages do not allow in the address.
"""

import json
from collections.abc import Iterable

from daemon.conformance.talker import Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Order, Wrong
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/v1/stt"
RATES = ("8000", "16000", "22050", "24000", "44100", "48000")
NOT_UNDERSTOOD = Wrong(1003, "not a message of this service")


class FakeXai(TalkingFake):
    """The service behind ``/v1/stt``."""

    has_force = False

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return _refusal(404, "not found")
        _, _, key = request.headers.get("authorization", "").partition(" ")
        if not self.is_good(key):
            return _refusal(401, "unauthorized")
        settings = query_of(request)
        endpointing = settings.get("endpointing", "10")
        known = settings.get("encoding", "pcm") == "pcm"
        known = known and settings.get("sample_rate", "16000") in RATES
        if not known or not endpointing.isdigit() or int(endpointing) > 5000:
            return _refusal(400, "invalid argument")
        return Stream(settings)


class Stream(Talker):
    """One turn."""

    forces = False

    def __init__(self, settings: dict[str, str]) -> None:
        self.rate_hz = int(settings.get("sample_rate", "16000"))
        self._interim = settings.get("interim_results") == "true"
        self._start_ms = 0.0

    def greeting(self) -> Iterable[Message]:
        return (json.dumps({"type": "transcript.created", "id": "1"}),)

    def heard(self, message: Message) -> Order:
        if isinstance(message, bytes):
            return Audio(message) if message and len(message) % 2 == 0 else NOT_UNDERSTOOD
        try:
            said = json.loads(message)
        except (ValueError, RecursionError):
            return NOT_UNDERSTOOD
        return Finish() if said == {"type": "audio.done"} else NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        start_ms = self._start_ms
        if final:
            self._start_ms = audio_ms
        if final or self._interim:
            yield json.dumps(
                {
                    "type": "transcript.partial",
                    "text": text,
                    "words": [],
                    "is_final": final,
                    "speech_final": final,
                    "start": start_ms / 1000,
                    "duration": (audio_ms - start_ms) / 1000,
                    "language": "",
                }
            )

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        done = {"type": "transcript.done", "text": rest, "words": [], "duration": audio_ms / 1000}
        return (json.dumps(done),)


def _refusal(status: int, words: str) -> HttpResponse:
    return HttpResponse(status, JSON, json.dumps({"code": words, "error": words}).encode())
