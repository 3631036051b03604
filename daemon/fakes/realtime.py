"""The members of the realtime transcription family, as providers that anyone can run.

OpenAI, Together, Alibaba's Qwen, SGLang, speaches, and a server that does as OpenAI's guide says.
Each wants its own address and its own session, as its makers' pages or source have it.
"""

import json
from collections.abc import Iterable
from typing import ClassVar

from daemon.conformance.fake_realtime import ITEM, NOT_UNDERSTOOD, FakeRealtime, Transcription
from daemon.conformance.talker import Reply, Talker
from daemon.fakes.dialect import Alive, Force, Order
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/v1/realtime"


class Member(Transcription):
    """One stream whose deltas hold what is new.

    Of what is said behind a commit, only the final that answers it has the name of its item.
    """

    def __init__(self, rate_hz: int) -> None:
        super().__init__(rate_hz)
        self._shown = ""
        self._committed = False

    def heard(self, message: Message) -> Order | Reply:
        order = super().heard(message)
        self._committed |= isinstance(order, Reply) and isinstance(order.order, Force)
        return order

    def partial(self, text: str) -> str:
        new, self._shown = text.removeprefix(self._shown), text
        return super().partial(new)

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        if not final:
            yield self.partial(text)
            return
        self._shown = ""
        if self._committed and not marked:
            name = f"{self.item}_before"
            yield self.message(f"{ITEM}completed", item_id=name, transcript=text)
            return
        yield self.message(f"{ITEM}completed", item_id=self.item, transcript=text)
        self.begin_item()
        self._committed = False

    def refused(self, code: str, param: str = "") -> Reply:
        """What it says to what it does not understand; the stream goes on."""
        error = {"type": "invalid_request_error", "code": code, "message": code, "param": param}
        return Reply((self.message("error", error=error),), Alive())


class Guided(Member):
    """It wants the session of OpenAI's guide."""

    def heard(self, message: Message) -> Order | Reply:
        match _object(message):
            case {"type": "session.update", "session": session}:
                match session:
                    case {
                        "type": "transcription",
                        "audio": {
                            "input": {
                                "format": {"type": "audio/pcm", "rate": self.rate_hz},
                                "transcription": {"language": str()},
                                "turn_detection": None,
                            }
                        },
                    }:
                        return super().heard(message)
                return self.refused("invalid_value", "session")
        return super().heard(message)


class Cumulative(Member):
    """Its deltas repeat all of the item."""

    def partial(self, text: str) -> str:
        return self.message(f"{ITEM}delta", item_id=self.item, delta=text)


class Manual(Member):
    """Qwen in manual mode: every message has a name, and a partial two parts."""

    def heard(self, message: Message) -> Order | Reply:
        match _object(message):
            case {"event_id": str(), "type": "session.update", "session": session}:
                if session.get("turn_detection", ...) is not None:
                    return self.refused("invalid_value", "session.turn_detection")
                return super().heard(message)
            case {"event_id": str()}:
                return super().heard(message)
        return NOT_UNDERSTOOD

    def partial(self, text: str) -> str:
        sure, _, tentative = text.rpartition(" ")
        parts = {"text": f"{sure} " if sure else "", "stash": tentative}
        return self.message(f"{ITEM}text", item_id=self.item, language="en", **parts)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        if rest:
            yield from self.said(rest, final=True, marked=False, audio_ms=audio_ms)
        yield self.message("session.finished")


class Unwatched(Member):
    """Speaches without its detector: no partials."""

    def heard(self, message: Message) -> Order | Reply:
        match _object(message):
            case {"type": "session.update", "session": dict(session)}:
                if "input_audio_format" in session:
                    return self.refused("", "session.input_audio_format")
                if session.get("turn_detection", ...) is not None:
                    return self.refused("", "session.turn_detection")
        return super().heard(message)

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        if final:
            yield from super().said(text, final=True, marked=marked, audio_ms=audio_ms)


class FakeOpenai(FakeRealtime):
    """A model in the address makes a conversation, which takes no session of transcription."""

    wants: ClassVar[dict[str, str | None]] = {"intent": "transcription", "model": None}
    """Settings in the address; None: it must not be there; empty: it must, whatever it is."""
    path = PATH

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != self.path:
            return _refusal(404, "not_found")
        given = query_of(request)
        for name, wanted in self.wants.items():
            value = given.get(name)
            if (wanted is None) == (value is not None) or (wanted and value != wanted):
                return _refusal(400, "invalid_value")
        return super().talk(request, secure=secure)

    def transcription(self) -> Talker:
        return Guided(self.rate_hz)


class FakeTogether(FakeOpenai):
    """Everything is set in the address."""

    rate_hz = 16_000
    wants: ClassVar[dict[str, str | None]] = {
        "model": "",
        "turn_detection": "none",
        "input_audio_format": "pcm_s16le_16000",
    }

    def transcription(self) -> Talker:
        return Cumulative(self.rate_hz)


class FakeQwen(FakeOpenai):
    """Its address has another path."""

    rate_hz = 16_000
    path = "/api-ws/v1/realtime"
    wants: ClassVar[dict[str, str | None]] = {"model": ""}

    def transcription(self) -> Talker:
        return Manual(self.rate_hz)


class FakeSglang(FakeOpenai):
    """A server of one's own, without a key and with one model."""

    needs_key = False
    rate_hz = 16_000
    wants: ClassVar[dict[str, str | None]] = {}


class FakeSpeaches(FakeOpenai):
    """A server of one's own; its model is in the address."""

    needs_key = False
    wants: ClassVar[dict[str, str | None]] = {"intent": "transcription", "model": ""}

    def transcription(self) -> Talker:
        return Unwatched(self.rate_hz)


class FakeClone(FakeOpenai):
    """A server of one's own that does as OpenAI's guide says."""

    needs_key = False
    wants: ClassVar[dict[str, str | None]] = {"intent": "transcription"}


def _refusal(status: int, code: str) -> HttpResponse:
    said = {"error": {"type": "invalid_request_error", "code": code}}
    return HttpResponse(status, JSON, json.dumps(said).encode())


def _object(message: Message) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
