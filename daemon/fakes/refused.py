"""A stream that opens only to be told that its key is wrong: how several providers refuse one."""

from collections.abc import Iterable

from daemon.conformance.talker import ALIVE, Reply, Talker
from daemon.fakes.dialect import Order, Wrong
from providers.codec import Message


class Refused(Talker):
    """Says why, puts up with one message that crosses this, and closes at the next."""

    def __init__(self, said: Message, code: int, reason: str = "") -> None:
        self._said = said
        self._close = Wrong(code, reason)
        self._crossed = False

    def greeting(self) -> Iterable[Message] | Wrong:
        return (self._said,)

    def heard(self, message: Message) -> Order | Reply:
        if self._crossed:
            return self._close
        self._crossed = True
        return ALIVE

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        return ()

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        return ()
