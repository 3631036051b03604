"""A fake's protocol part that may answer at once, and in several messages.

class Listen(Talker):
    def heard(self, message): …     what one message means: Audio, Force, Finish, Reply, …
    def said(self, text, …): …      one transcript, in as many messages as it takes

class FakeAcme(TalkingFake):
    def talk(self, request): …      the answer to a request: a Listen, or a refusal
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import trio

from daemon.fakes.conversation import Conversation
from daemon.fakes.dialect import Alive, Dialect, Order, Wrong
from daemon.fakes.script import Faults, Flood, Line, Moment
from daemon.fakes.server import Fake
from daemon.fakes.visit import Stamped, Visit
from daemon.fakes.wire import WebSocket
from providers.codec import HttpRequest, HttpResponse, Message

ALIVE = Alive()


@dataclass(frozen=True, slots=True)
class Reply:
    """Something that is answered at once, and what it means besides."""

    messages: tuple[Message, ...]
    order: Order = ALIVE


class Talker:
    """How one provider hears and speaks; what most of them have in common."""

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

    def asked(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Dialect:
        answer = self.talk(request, secure=secure)
        return answer if isinstance(answer, HttpResponse) else _Plain(answer)

    def _conversation(
        self,
        dialect: Dialect,
        faults: Faults,
        socket: WebSocket,
        stream: trio.abc.Stream,
        visit: Visit,
    ) -> Conversation:
        assert isinstance(dialect, _Plain)
        return Talking(self.script, faults, dialect, socket, stream, visit)


class _Plain:
    """A Talker as a conversation knows its partner."""

    def __init__(self, talker: Talker) -> None:
        self.talker = talker
        self.rate_hz = talker.rate_hz
        self.forces = talker.forces
        self.idle_s = talker.idle_s
        self.subprotocol = talker.subprotocol
        self.replies: list[Message] = []

    def greeting(self) -> Iterable[str] | Wrong:
        return self.talker.greeting()  # type: ignore[return-value]  # bytes go out as well

    def heard(self, message: Message) -> Order:
        """What it means; what is to be said to it at once is in ``replies``."""
        order = self.talker.heard(message)
        if not isinstance(order, Reply):
            return order
        self.replies += order.messages
        return order.order

    def transcript(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> str | None:
        raise AssertionError("a Talking asks for all messages of a transcript")

    def speech(self, *, starts: bool, audio_ms: float) -> Iterable[str]:
        return self.talker.speech(starts=starts, audio_ms=audio_ms)  # type: ignore[return-value]

    def farewell(self, rest: str, audio_ms: float) -> Iterable[str]:
        return self.talker.farewell(rest, audio_ms)  # type: ignore[return-value]

    def idle(self) -> Wrong:
        return self.talker.idle()


class Talking(Conversation):
    """A conversation in which a transcript may be several messages, and an answer comes at once."""

    _dialect: _Plain

    def _take(self, came: Stamped) -> None:
        super()._take(came)
        replies, self._dialect.replies = self._dialect.replies, []
        if replies:
            self._later(0.0, partial(self._socket.send, *replies))

    async def _say(self, line: Line, *, answer: bool = False) -> None:
        text = self._open_text if line.text is None else line.text
        self._open_text = "" if line.final else text
        messages = list(
            self._dialect.talker.said(
                text, final=line.final, marked=bool(line.marked), audio_ms=self._audio_ms
            )
        )
        if not messages or (self._faults.no_partials and not line.final):
            return
        if line.waits:
            self._overtaken += messages  # type: ignore[arg-type]  # bytes go out as well
            return
        messages *= line.times
        if line.final:
            messages += self._overtaken
            self._overtaken = []
        last = line.final and (answer or not self._dialect.forces)
        await self._socket.send(*messages, close=self._close_with(last=last))
        if last:
            self._reach(Moment.FINAL)

    async def _flood(self, flood: Flood, nth: int = 0, started_s: float | None = None) -> None:
        started_s = trio.current_time() if started_s is None else started_s
        await self._socket.send(
            *self._dialect.talker.said(
                flood.text, final=False, marked=False, audio_ms=self._audio_ms
            )
        )
        if nth + 1 < flood.times:
            due_s = started_s + (nth + 1) / flood.per_s
            self._agenda.add(due_s, partial(self._flood, flood, nth + 1, started_s))
