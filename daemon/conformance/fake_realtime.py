"""The realtime transcription family as a provider that anyone can run.

It holds its clients to the family's rules: base64 audio, a session that is asked for, at least
100 ms in the buffer at a commit.
"""

import base64
import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Alive, Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON
from providers.codec import HttpRequest, HttpResponse, Message

ITEM = "conversation.item.input_audio_transcription."
NOT_UNDERSTOOD = Wrong(1003, "not a message of this service")
LEAST_MS = 100


class FakeRealtime(TalkingFake):
    """A server of the family; any address is good, a key comes as a bearer."""

    needs_key = True
    rate_hz = 24_000

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        _, _, key = request.headers.get("authorization", "").partition(" ")
        if self.needs_key and not self.is_good(key):
            said = {"error": {"type": "invalid_request_error", "code": "invalid_api_key"}}
            return HttpResponse(401, JSON, json.dumps(said).encode())
        return self.transcription()

    def transcription(self) -> Talker:
        """The stream's own part; a member that differs gives another."""
        return Transcription(self.rate_hz)


class Transcription(Talker):
    """One stream."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self._item = 1
        self._buffered_bytes = 0

    def greeting(self) -> Iterable[Message]:
        return (self.message("session.created", session={"type": "transcription"}),)

    def heard(self, message: Message) -> Order | Reply:
        match _object(message):
            case {"type": "session.update", "session": dict(session)}:
                return Reply((self.message("session.updated", session=session),))
            case {"type": "input_audio_buffer.append", "audio": str(audio)}:
                return self._appended(audio)
            case {"type": "input_audio_buffer.commit"}:
                return self._commit()
            case {"type": "session.finish"}:
                return Finish()
        return NOT_UNDERSTOOD

    def _appended(self, audio: str) -> Order:
        try:
            pcm = base64.b64decode(audio, validate=True)
        except ValueError:
            return NOT_UNDERSTOOD
        self._buffered_bytes += len(pcm)
        return Audio(pcm) if pcm and len(pcm) % 2 == 0 else NOT_UNDERSTOOD

    def _commit(self) -> Order | Reply:
        buffered, self._buffered_bytes = self._buffered_bytes, 0
        if buffered < LEAST_MS * self.rate_hz * 2 // 1000:
            error = {"type": "invalid_request_error", "code": "input_audio_buffer_commit_empty"}
            return Reply((self.message("error", error=error),), Alive())
        return Reply((self.message("input_audio_buffer.committed", item_id=self.item),), Force())

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        if not final:
            yield self.partial(text)
            return
        yield self.message(f"{ITEM}completed", item_id=self.item, transcript=text)
        self.begin_item()

    def partial(self, text: str) -> str:
        """A member whose deltas hold only what is new says otherwise."""
        return self.message(f"{ITEM}delta", item_id=self.item, delta=text)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        yield self.message("session.finished")

    @property
    def item(self) -> str:
        """The name of the item that is open."""
        return f"item_{self._item}"

    def begin_item(self) -> None:
        """What is said from here on belongs to another item."""
        self._item += 1

    def message(self, name: str, **more: object) -> str:
        return json.dumps({"type": name, "event_id": "event_1", **more})


class Deltas(Transcription):
    """A stream whose deltas hold only what is new."""

    def __init__(self, rate_hz: int) -> None:
        super().__init__(rate_hz)
        self._shown = ""

    def partial(self, text: str) -> str:
        new = text.removeprefix(self._shown)
        self._shown = text
        return super().partial(new)

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        yield from super().said(text, final=final, marked=marked, audio_ms=audio_ms)
        if final:
            self._shown = ""


def _object(message: Message) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
