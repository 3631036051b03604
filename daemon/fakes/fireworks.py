"""Fireworks' streaming speech to text as a provider that anyone can run.

Each message lists all segments of late; a checkpoint comes back when all before it is dealt with.
"""

import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Order, Wrong
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/v1/audio/transcriptions/streaming"
LEAST_MS, MOST_MS = 50, 400
NOT_UNDERSTOOD = Wrong(1003, "not a message of this service")
NO_PIECE = Wrong(1008, f"audio must come in pieces of {LEAST_MS} to {MOST_MS} ms")
KEPT = 2
"""How many segments a message lists."""


class FakeFireworks(TalkingFake):
    """Both of its models: they differ by their address alone."""

    has_force = False

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        key = request.headers.get("authorization") or query_of(request).get("Authorization")
        if not self.is_good(key):
            return _refusal(401, "the key is missing or wrong")
        if path_of(request) != PATH:
            return _refusal(404, "no such path")
        if query_of(request).get("response_format", "verbose_json") != "verbose_json":
            return _refusal(400, "response_format must be verbose_json")
        if not _is_pause(query_of(request).get("text_timeout_seconds", "1.0")):
            return _refusal(400, "text_timeout_seconds must be a number from 1 to 29")
        return Stream()


def _is_pause(text: str) -> bool:
    try:
        return 1.0 <= float(text) <= 29.0
    except ValueError:
        return False


def _refusal(status: int, message: str) -> HttpResponse:
    said = {"error": {"message": message, "code": status}}
    return HttpResponse(status, JSON, json.dumps(said).encode())


class Stream(Talker):
    """One stream."""

    forces = False

    def __init__(self) -> None:
        self._settled: list[str] = []

    def heard(self, message: Message) -> Order | Reply:
        if isinstance(message, bytes):
            if len(message) % 2:
                return NOT_UNDERSTOOD
            ms = len(message) * 500 / self.rate_hz
            return Audio(message) if LEAST_MS <= ms <= MOST_MS else NO_PIECE
        match _object(message):
            case {"checkpoint_id": "final"}:
                return Finish()
            case {"checkpoint_id": str(name)}:
                return Reply((json.dumps({"checkpoint_id": name}),))
            case {"object": "stt.state.clear", "reset_id": str(name)}:
                return Reply((json.dumps({"object": "stt.state.cleared", "reset_id": name}),))
        return NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        every = [*((one, True) for one in self._settled), (text, final)]
        shown = [
            {"id": str(number), "text": one, "words": _words(one, final=settled)}
            for number, (one, settled) in enumerate(every)
        ]
        whole = " ".join(one for one, _ in every)
        said = {"task": "transcribe", "language": "en", "text": whole, "segments": shown[-KEPT:]}
        yield json.dumps(said)
        if final:
            self._settled.append(text)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        yield from super().farewell(rest, audio_ms)
        yield json.dumps({"checkpoint_id": "final"})


def _words(text: str, *, final: bool) -> list[dict[str, object]]:
    """The last word of an open segment may still change."""
    words = text.split()
    return [
        {"word": word, "language": "en", "probability": 0.9, "is_final": final or number > 1}
        for number, word in zip(range(len(words), 0, -1), words, strict=True)
    ]


def _object(message: Message) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
