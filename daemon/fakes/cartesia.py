"""Cartesia's Ink models as a provider that anyone can run: both ways of ending a turn.

``/stt/websocket`` waits for the client's finalize; ``/stt/turns/websocket`` ends turns by itself.
"""

import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

MANUAL = "/stt/websocket"
TURNS = "/stt/turns/websocket"
RATES_HZ = {str(rate): rate for rate in (8000, 16_000, 22_050, 24_000, 44_100, 48_000)}
NOT_UNDERSTOOD = Wrong(1003, "not a message of this service")


class FakeCartesia(TalkingFake):
    """Ink behind both of its addresses."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "")
        if not self.is_good(key.removeprefix("Bearer ")):
            return _refusal(401, "the key is missing or wrong")
        if path_of(request) not in (MANUAL, TURNS):
            return _refusal(404, "no such path")
        asked = query_of(request)
        if "cartesia-version" not in request.headers and "cartesia_version" not in asked:
            return _refusal(400, "no Cartesia-Version")
        if not asked.get("model") or asked.get("encoding") != "pcm_s16le":
            return _refusal(400, "model is needed, and encoding must be pcm_s16le")
        if asked.get("sample_rate") not in RATES_HZ:
            return _refusal(400, "sample_rate is not one of those that are known")
        kind = Manual if path_of(request) == MANUAL else Turns
        return kind(RATES_HZ[asked["sample_rate"]], f"request-{next(self.numbers)}")


def _refusal(status: int, message: str) -> HttpResponse:
    return HttpResponse(status, JSON, json.dumps({"title": "refused", "message": message}).encode())


class _Ink(Talker):
    """What both have in common."""

    idle_s = 180.0

    def __init__(self, rate_hz: int, request_id: str) -> None:
        self.rate_hz = rate_hz
        self._request_id = request_id
        self._finals = 0

    def heard(self, message: Message) -> Order | Reply:
        if isinstance(message, bytes):
            return Audio(message) if len(message) % 2 == 0 else NOT_UNDERSTOOD
        return self.ordered(message)

    def ordered(self, message: str) -> Order:
        """What a text message means."""
        raise NotImplementedError

    def message(self, name: str, **more: object) -> str:
        return json.dumps({"type": name, "request_id": self._request_id, **more})

    def joined(self, text: str, *, final: bool) -> str:
        """``text`` with the blank that puts it behind the finals before."""
        blank = " " if self._finals and text else ""
        self._finals += final and bool(text)
        return blank + text


class Manual(_Ink):
    """One stream in which the client finalizes."""

    def ordered(self, message: str) -> Order:
        orders: dict[str, Order] = {"finalize": Force(), "close": Finish(), "done": Finish()}
        return orders.get(message, NOT_UNDERSTOOD)

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        if text or (final and not marked):
            shown = self.joined(text, final=final)
            more = {"duration": round(audio_ms / 1000, 3), "language": "en", "words": []}
            yield self.message("transcript", text=shown, is_final=final, **more)
        if marked:
            yield self.message("flush_done")

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        yield from super().farewell(rest, audio_ms)
        yield self.message("done")


class Turns(_Ink):
    """One stream in which the model ends turns."""

    forces = False

    def __init__(self, rate_hz: int, request_id: str) -> None:
        super().__init__(rate_hz, request_id)
        self._speaking = False

    def greeting(self) -> Iterable[Message]:
        return (self.message("connected"),)

    def ordered(self, message: str) -> Order:
        try:
            said = json.loads(message)
        except (ValueError, RecursionError):
            return NOT_UNDERSTOOD
        return Finish() if said == {"type": "close"} else NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        if not self._speaking:
            yield self.message("turn.start")
        self._speaking = not final
        shown = self.joined(text, final=final)
        yield self.message("turn.end" if final else "turn.update", transcript=shown)
