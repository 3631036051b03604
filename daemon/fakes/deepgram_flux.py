"""Deepgram's Flux (listen v2), as a provider that anyone can run.

It holds its clients to its rules: no setting of listen v1, thresholds within their ranges. A force
while no turn is open ends none, and a warning says so.
"""

import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/v2/listen"
OF_V1 = ("language", "punctuate", "interim_results", "channels", "endpointing", "smart_format")
ORDERS: dict[str, Order] = {"ForceEndTurn": Force(), "CloseStream": Finish()}
NOT_UNDERSTOOD = Wrong(1008, "DATA-0000")


class FakeDeepgramFlux(TalkingFake):
    """Flux behind ``/v2/listen``."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return _refusal(404, "NOT_FOUND")
        _, _, key = request.headers.get("authorization", "").partition(" ")
        if not self.is_good(key):
            return _refusal(401, "INVALID_AUTH")
        settings = query_of(request)
        wrong = _wrong(settings)
        natural = float(settings.get("eot_threshold", "0.7")) < 1.0 if not wrong else False
        return _refusal(400, wrong) if wrong else Turns(forces=not natural)


def _wrong(settings: dict[str, str]) -> str | None:
    """What is wrong with how a stream is asked for."""
    foreign = [name for name in OF_V1 if name in settings]
    if foreign:
        return f"{foreign[0]} is no setting of listen v2"
    if not settings.get("model", "").startswith("flux-"):
        return "model must be one of Flux"
    if (settings.get("encoding"), settings.get("sample_rate")) != ("linear16", "16000"):
        return "this one takes linear16 at 16000 Hz alone"
    if not _within(settings.get("eot_threshold", "0.7"), 0.5, 1.0):
        return "eot_threshold must be from 0.5 to 1.0"
    if not _within(settings.get("eot_timeout_ms", "5000"), 500, 60_000):
        return "eot_timeout_ms must be from 500 to 60000"
    return None


def _within(text: str, least: float, most: float) -> bool:
    try:
        return least <= float(text) <= most
    except ValueError:
        return False


def _refusal(status: int, why: str) -> HttpResponse:
    return HttpResponse(status, JSON, json.dumps({"err_code": why, "err_msg": why}).encode())


class Turns(Talker):
    """One stream."""

    def __init__(self, *, forces: bool) -> None:
        self.forces = forces
        """Else it ends turns by itself, and a force is as good as none."""
        self._said = 0
        self._turn = 0
        self._open = False

    def greeting(self) -> Iterable[Message]:
        return (self._message("Connected"),)

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
        if final and not text:
            yield self._message("Warning", code="FORCE_END_TURN_NO_ACTIVE_TURN")
            return
        event = "EndOfTurn" if final else "Update" if self._open else "StartOfTurn"
        natural = "timeout" if self.forces else "model"
        more = {"trigger": "manual" if marked else natural} if final else {}
        yield self._info(event, text, audio_ms, **more)
        self._open = not final
        self._turn += final

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        """What is left is shown once more; no turn is ended."""
        return (self._info("Update", rest, audio_ms),)

    def _info(self, event: str, text: str, audio_ms: float, **more: object) -> str:
        return self._message(
            "TurnInfo",
            event=event,
            turn_index=self._turn,
            audio_window_start=0.0,
            audio_window_end=round(audio_ms / 1000, 3),
            transcript=text,
            words=[{"word": word, "confidence": 0.97} for word in text.split()],
            end_of_turn_confidence=0.5,
            **more,
        )

    def _message(self, name: str, **more: object) -> str:
        self._said += 1
        return json.dumps({"type": name, "request_id": "0", "sequence_id": self._said - 1, **more})
