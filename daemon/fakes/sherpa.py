"""sherpa-onnx's websocket server as one that anyone can run.

It never closes by itself. Audio between ``Done`` and ``Done!`` goes into a stream that has ended:
the real server may crash over it, this one closes.
"""

import json
from collections.abc import Iterable

from daemon.conformance.talker import ALIVE, Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Force, Order, Wrong
from daemon.fakes.floats import pcm_of
from providers.codec import HttpRequest, HttpResponse, Message

TOO_LATE = Wrong(1011, "audio behind Done")
NOT_UNDERSTOOD = Wrong(1011, "not samples")


class FakeSherpa(TalkingFake):
    """At any path, with any key or none."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        return Stream()


class Stream(Talker):
    """One connection: a stream, and after each ``Done!`` a fresh one."""

    def __init__(self) -> None:
        self._segment = 0
        self._done = False

    def heard(self, message: Message) -> Order | Reply:
        if isinstance(message, str):
            return self._done_came() if message == "Done" else ALIVE
        if self._done:
            return TOO_LATE
        try:
            return Audio(pcm_of(message))
        except ValueError:
            return NOT_UNDERSTOOD

    def _done_came(self) -> Order:
        if self._done:
            return TOO_LATE
        self._done = True
        return Force()

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        yield self._result(text, final=final, ended=marked)
        self._segment += final
        if marked:
            self._done, self._segment = False, 0
            yield "Done!"

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        return ()

    def _result(self, text: str, *, final: bool, ended: bool) -> str:
        return json.dumps(
            {
                "text": f" {text}" if text else "",
                "tokens": [f" {word}" for word in text.split()],
                "timestamps": [],
                "segment": self._segment,
                "start_time": 0.0,
                "is_final": final,
                "is_eof": ended,
            }
        )
