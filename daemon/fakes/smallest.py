"""Smallest AI's Pulse, as a provider that anyone can run.

It holds its clients to its rules: the settings of its address, binary messages for audio.
"""

import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/waves/v1/stt/live"
RATES_HZ = ("8000", "16000", "22050", "24000", "44100", "48000")
ORDERS: dict[object, Order] = {"finalize": Force(), "close_stream": Finish()}
NOT_UNDERSTOOD = Wrong(1003, "not a message of this service")


class FakeSmallest(TalkingFake):
    """Pulse behind ``/waves/v1/stt/live``."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return _refusal(404, "no such path")
        _, _, key = request.headers.get("authorization", "").partition(" ")
        if not self.is_good(key):
            return _refusal(401, "Invalid API key")
        settings = query_of(request)
        wrong = _wrong(settings)
        return _refusal(400, wrong) if wrong else Pulse(settings)


def _wrong(settings: dict[str, str]) -> str | None:
    """What is wrong with how a stream is asked for."""
    if settings.get("model") != "pulse":
        return "model must be pulse"
    if settings.get("encoding") != "linear16" or settings.get("sample_rate") not in RATES_HZ:
        return "encoding or sample_rate"
    timeout = settings.get("eou_timeout_ms", "800")
    if not timeout.isdigit() or not 100 <= int(timeout) <= 10_000:
        return "eou_timeout_ms must be from 100 to 10000"
    return None


def _refusal(status: int, message: str) -> HttpResponse:
    return HttpResponse(status, JSON, json.dumps({"status": "error", "message": message}).encode())


class Pulse(Talker):
    """One stream."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.rate_hz = int(settings["sample_rate"])
        self._language = settings.get("language", "en")

    def heard(self, message: Message) -> Order | Reply:
        """Bytes are audio, whatever is in them; text is an order."""
        if isinstance(message, bytes):
            return Audio(message) if len(message) % 2 == 0 else NOT_UNDERSTOOD
        try:
            order = json.loads(message)["type"]
        except (ValueError, RecursionError, TypeError, KeyError):
            return NOT_UNDERSTOOD
        return ORDERS.get(order, NOT_UNDERSTOOD) if isinstance(order, str) else NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        yield self._message(text, final=final, last=False)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        yield self._message(rest, final=True, last=True)

    def _message(self, text: str, *, final: bool, last: bool) -> str:
        said = {
            "type": "transcription",
            "status": "success",
            "session_id": "session-1",
            "transcript": text,
            "is_final": final,
            "is_last": last,
        }
        return json.dumps(said | ({"language": self._language} if final else {}))
