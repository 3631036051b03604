"""AssemblyAI's streaming transcription (v3), as a provider that anyone can run.

It holds its clients to its rules: pieces of 50 to 1000 ms, no faster than they can be spoken. A
wrong key opens a stream that says so and closes.
"""

import json
from collections.abc import Iterable

from daemon.conformance.talker import ALIVE, Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Force, Order, Wrong
from daemon.fakes.refused import Refused
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/v3/ws"
ORDERS: dict[object, Order] = {
    "ForceEndpoint": Force(),
    "Terminate": Finish(),
    "KeepAlive": ALIVE,
}
NOT_UNDERSTOOD = Wrong(3006, "Invalid Message")
UNAUTHORIZED = "Unauthorized Connection: Missing Authorization header"


class FakeAssemblyAI(TalkingFake):
    """The models behind ``/v3/ws``."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return HttpResponse(404, JSON, b'{"error": "no such path"}')
        if not self.is_good(request.headers.get("authorization")):
            said = {"type": "Error", "error_code": 1008, "error": UNAUTHORIZED}
            return Refused(json.dumps(said), 1008, UNAUTHORIZED)
        settings = query_of(request)
        rate = settings.get("sample_rate", "")
        if settings.get("encoding", "pcm_s16le") != "pcm_s16le" or not rate.isdigit():
            return HttpResponse(400, JSON, b'{"error": "encoding or sample_rate"}')
        if not settings.get("speech_model"):
            return HttpResponse(400, JSON, b'{"error": "speech_model is missing"}')
        return Turns(max(1, int(rate)))


class Turns(Talker):
    """One stream."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self._turn = 0

    def greeting(self) -> Iterable[Message]:
        return (json.dumps({"type": "Begin", "id": "session-1", "expires_at": 1_790_000_000}),)

    def heard(self, message: Message) -> Order | Reply:
        """Bytes are audio, whatever is in them; text is an order."""
        if isinstance(message, bytes):
            return self._audio(message)
        try:
            said = json.loads(message)
        except (ValueError, RecursionError):
            return NOT_UNDERSTOOD
        return (
            ORDERS.get(said.get("type"), NOT_UNDERSTOOD)
            if isinstance(said, dict)
            else (NOT_UNDERSTOOD)
        )

    def _audio(self, pcm: bytes) -> Order:
        length_ms = len(pcm) * 500 / self.rate_hz
        if 50 <= length_ms <= 1000 and len(pcm) % 2 == 0:
            return Audio(pcm)
        said = f"Input duration violation: {length_ms:g} ms. Expected between 50 and 1000 ms"
        return Wrong(3007, said)

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        """Of a partial the last word may still change; it is not in the transcript."""
        words = text.split()
        sure = words if final else words[:-1]
        said = {
            "type": "Turn",
            "turn_order": self._turn,
            "turn_is_formatted": False,
            "end_of_turn": final,
            "transcript": " ".join(sure),
            "end_of_turn_confidence": 0.5,
            "words": [
                {"text": word, "confidence": 0.97, "word_is_final": nth < len(sure)}
                for nth, word in enumerate(words)
            ],
        }
        self._turn += final
        yield json.dumps(said)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        if rest:
            yield from self.said(rest, final=True, marked=False, audio_ms=audio_ms)
        lasted = {"audio_duration_seconds": audio_ms / 1000, "session_duration_seconds": 1}
        yield json.dumps({"type": "Termination", **lasted})
