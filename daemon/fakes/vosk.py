"""Vosk's server as one that anyone can run.

The real one answers each piece of audio with exactly one message; this one answers only while no
words are open, and says the others at their own moments. Orders must be spelt as the server
compares them; any other text is taken for audio there, and ends the stream here.
"""

import json
from collections.abc import Iterable

from daemon.conformance.talker import ALIVE, Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Force, Order, Wrong
from providers.codec import HttpRequest, HttpResponse, Message

NOT_UNDERSTOOD = Wrong(1011, "")
"""An exception ends the connection, and its reason stays in the server's log."""
USUAL_RATE_HZ = 8000


class FakeVosk(TalkingFake):
    """At any path, with any key or none."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        return Stream()


class Stream(Talker):
    """One recogniser."""

    rate_hz = USUAL_RATE_HZ

    def __init__(self) -> None:
        self._open = False

    def heard(self, message: Message) -> Order | Reply:
        if isinstance(message, bytes):
            if len(message) % 2:
                return NOT_UNDERSTOOD
            silence = () if self._open else (_partial(""),)
            return Reply(silence, Audio(message))
        match message:
            case '{"reset" : 1}':
                return Force()
            case '{"eof" : 1}':
                return Finish()
        return self._configure(message)

    def _configure(self, message: str) -> Order:
        try:
            match json.loads(message):
                case {"config": {"sample_rate": int() | float() as rate_hz}}:
                    self.rate_hz = round(rate_hz)
                    return ALIVE
                case {"config": {}}:
                    return ALIVE
        except (ValueError, RecursionError):
            pass
        return NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        self._open = not final and bool(text)
        return (_result(text) if final else _partial(text),)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        return (_result(rest),)


def _partial(text: str) -> str:
    return json.dumps({"partial": text}, indent=2)


def _result(text: str) -> str:
    words = [
        {"conf": 1.0, "start": 0.1 * nth, "end": 0.1 * (nth + 1), "word": word}
        for nth, word in enumerate(text.split())
    ]
    return json.dumps({"result": words, "text": text} if words else {"text": text}, indent=2)
