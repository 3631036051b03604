"""WhisperLive's server as one that anyone can run: segments that are told again and again."""

import json
from collections.abc import Iterable

from daemon.conformance.talker import ALIVE, Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Order, Wrong
from daemon.fakes.floats import pcm_of
from providers.codec import HttpRequest, HttpResponse, Message

NOT_UNDERSTOOD = Wrong(1000, "")
"""It gives up without a word."""
NEEDED = ("uid", "language", "task", "model")
KEPT = 10
"""How many completed segments a message lists."""


class FakeWhisperLive(TalkingFake):
    """At any path, with any key or none."""

    has_force = False

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        return Stream()


class Stream(Talker):
    """One client."""

    forces = False

    def __init__(self) -> None:
        self._uid = ""
        self._complete: list[dict[str, object]] = []
        self._start_s = 0.0

    def heard(self, message: Message) -> Order | Reply:
        if not self._uid:
            return self._begin(message)
        if message == b"END_OF_AUDIO":
            return Finish()
        try:
            return Audio(pcm_of(message)) if isinstance(message, bytes) else NOT_UNDERSTOOD
        except ValueError:
            return NOT_UNDERSTOOD

    def _begin(self, message: Message) -> Order | Reply:
        try:
            options = json.loads(message)
        except (ValueError, RecursionError):
            return NOT_UNDERSTOOD
        if not isinstance(options, dict) or any(name not in options for name in NEEDED):
            return NOT_UNDERSTOOD
        self._uid = str(options["uid"])
        return Reply((self._message(message="SERVER_READY", backend="faster_whisper"),), ALIVE)

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        end_s = max(audio_ms / 1000, self._start_s + 0.01)
        segment = {
            "start": f"{self._start_s:.3f}",
            "end": f"{end_s:.3f}",
            "text": f" {text}",
            "completed": final,
        }
        if final:
            self._complete.append(segment)
            self._start_s = end_s
        open_ones = [] if final else [segment]
        yield self._message(segments=[*self._complete[-KEPT:], *open_ones])

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        return ()  # what is still open is lost

    def _message(self, **said: object) -> str:
        return json.dumps({"uid": self._uid, **said})
