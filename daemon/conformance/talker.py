"""A fake's protocol part that may answer at once, and in several messages.

class Listen(Talker):
    def heard(self, message): …     what one message means: Audio, Force, Finish, Reply, …
    def said(self, text, …): …      one transcript, in as many messages as it takes

class FakeAcme(TalkingFake):
    def talk(self, request): …      the answer to a request: a Listen, or a refusal
"""

from abc import abstractmethod
from collections.abc import Iterable

from daemon.fakes.dialect import ALIVE, Order, Reply, Wrong
from daemon.fakes.server import Fake
from providers.codec import HttpRequest, HttpResponse, Message

__all__ = ["ALIVE", "Reply", "Talker", "TalkingFake"]
"""What a protocol part is written with; the first two are a dialect's."""


class Talker:
    """A dialect: how one provider hears and speaks; what most of them have in common."""

    rate_hz: int = 16_000
    forces: bool = True
    idle_s: float | None = None
    subprotocol: str | None = None

    def greeting(self) -> Iterable[Message] | Wrong:
        """What it says as soon as the stream is open."""
        return ()

    def heard(self, message: Message) -> Order | Reply:
        """What one message means to it."""
        raise NotImplementedError

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        """One transcript. ``marked``: a final that answers the force, empty where it only does so.

        Where the provider acknowledges a force apart, the acknowledgement belongs here as well.
        """
        raise NotImplementedError

    def speech(self, *, starts: bool, audio_ms: float) -> Iterable[Message]:
        """That speech starts or ends here."""
        return ()

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        """What it says when it is told to finish."""
        return self.said(rest, final=True, marked=False, audio_ms=audio_ms) if rest else ()

    def idle(self) -> Wrong:
        """How it closes when nothing has come for ``idle_s``."""
        return Wrong(1011, "idle")


class TalkingFake(Fake):
    """One provider whose protocol part is a Talker."""

    @abstractmethod
    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        """The answer to one request; for a websocket the Talker of its stream."""

    def asked(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        return self.talk(request, secure=secure)
