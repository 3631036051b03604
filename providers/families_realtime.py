"""The realtime transcription protocol that began at OpenAI and that many servers speak alike.

Everything is JSON text, audio is base64. A commit closes the buffer and makes an item of it; the
item's transcript comes in deltas and, whole, in ``completed``. Which item is ours is said by
``committed``, so completions may come in any order.

    we:      update  append append append  commit                          (close)
    they:  created  updated       delta          committed  delta completed

A member of the family is a ``Dialect`` in the catalogue: what it does otherwise than the others.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from measure.events import (
    Event,
    ForceRejected,
    Notice,
    StreamDone,
    StreamReady,
    Transcript,
    Unread,
)
from measure.faults import FaultKind
from measure.records import Frame
from providers.codec import Facts, ForceContext, Message, OpenRequest, Options
from providers.families import JsonCodec, Segments, address, base64_of, compact, no_sense

ITEM = "conversation.item.input_audio_transcription."
BUFFER = "input_audio_buffer."
NAMED_ERRORS = {
    "invalid_api_key": FaultKind.AUTH,
    "authentication_error": FaultKind.AUTH,
    "permission_error": FaultKind.AUTH,
    "insufficient_quota": FaultKind.QUOTA,
    "rate_limit_exceeded": FaultKind.RATE,
    "rate_limit_error": FaultKind.RATE,
    "session_expired": FaultKind.TIMEOUT,
    "invalid_request_error": FaultKind.PROTOCOL,
    "server_error": FaultKind.SERVER,
}
"""The codes and types of its ``error``, for the ``ErrorMap`` of a member."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one member of the family does in its own way."""

    url: str
    facts: Facts
    settings: Mapping[str, str] = field(default_factory=dict)
    """In the address; ``{language}`` stands for the language."""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Authorization": "Bearer {key}"})
    """``{key}`` stands for the key; without a key no header that names it is sent."""
    session: Mapping[str, object] | None = None
    """What ``session.update`` sets, ``{language}`` filled in; None: it is not sent."""
    delta_is_all: bool = False
    """A delta repeats all of the item so far."""
    finish: Mapping[str, object] | None = None
    """The message that announces the end; None: the connection is closed without a word."""
    not_enough: tuple[str, ...] = ("input_audio_buffer_commit_empty",)
    """The codes of an error that only says: there was too little to make an item of."""


class Realtime(JsonCodec):
    """One stream to a member of the family."""

    def __init__(self, options: Options, *, dialect: Dialect) -> None:
        self.facts = dialect.facts
        self._dialect = dialect
        self._language = options.language
        self._url = address(
            options.url or dialect.url,
            {name: self._filled(value) for name, value in dialect.settings.items()},
            path=_path(dialect.url),
            who=dialect.url.partition("//")[2].partition("/")[0],
        )
        self._items = Segments()
        self._ours: set[str] = set()
        self._say: list[Message] = []

    def open(self, key: str) -> OpenRequest:
        headers = {
            name: value.replace("{key}", key)
            for name, value in self._dialect.headers.items()
            if key or "{key}" not in value
        }
        return OpenRequest(self._url, headers)

    def audio(self, frame: Frame) -> Message:
        return f'{{"type":"{BUFFER}append","audio":"{base64_of(frame.pcm)}"}}'

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Make an item, now, of whatever was heard up to here."""
        return (f'{{"type":"{BUFFER}commit"}}',)

    def finish(self) -> Iterable[Message]:
        return () if self._dialect.finish is None else (compact(self._dialect.finish),)

    def replies(self) -> Iterable[Message]:
        said, self._say = self._say, []
        return said

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"type": "session.created"}:
                yield from self._created(at_ns)
            case {"type": "session.updated"}:
                yield StreamReady(at_ns)
            case {"type": "session.finished"}:
                yield StreamDone(at_ns)
            case {"type": "input_audio_buffer.committed", "item_id": str(item)}:
                self._ours.add(item)
                yield Notice(at_ns, "committed")
            case {"type": "error", "error": error}:
                yield from self._refused(error, at_ns)
            case {"type": str(name), **rest} if name.startswith(ITEM):
                yield from self._transcribed(name.removeprefix(ITEM), rest, at_ns)
            case {"type": str(name)} if name.startswith((BUFFER, "conversation.item.")):
                yield Notice(at_ns, name)
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")

    def _created(self, at_ns: int) -> Iterator[Event]:
        """Now it can be told how we want it; where there is nothing to tell, it is ready."""
        if self._dialect.session is None:
            yield StreamReady(at_ns)
            return
        session = self._filled_in(self._dialect.session)
        self._say.append(compact({"type": "session.update", "session": session}))
        yield Notice(at_ns, "session.created")

    def _transcribed(self, name: str, rest: dict[str, object], at_ns: int) -> Iterator[Event]:
        match name, rest:
            case "delta", {"item_id": str(item), "delta": str(piece)}:
                if self._dialect.delta_is_all:
                    self._items.take(item)
                text = self._items.add(piece, item)
                if text:
                    yield Transcript(at_ns, text, final=False, segment=item)
            case "text", {"item_id": str(item), "text": str(sure), "stash": str(tentative)}:
                if sure or tentative:
                    yield Transcript(at_ns, sure + tentative, final=False, segment=item)
            case "completed", {"item_id": str(item), "transcript": str(text)}:
                text = text or self._items.so_far(item)
                self._items.take(item)
                yield Transcript(at_ns, text, True, item in self._ours, segment=item)
            case "failed", {"error": error}:
                yield from self._refused(error, at_ns)
            case (("delta" | "text" | "completed" | "failed"), _):
                raise no_sense(f"a message {name} that is not complete")
            case _:
                yield Unread(at_ns, ITEM + name)

    def _refused(self, error: object, at_ns: int) -> Iterator[Event]:
        said = error if isinstance(error, dict) else {"message": error}
        code = said.get("code") or said.get("type")
        if code in self._dialect.not_enough:
            yield ForceRejected(at_ns, str(code))
            return
        raise self.facts.errors.error(code, said.get("message"))

    def _filled(self, text: str) -> str:
        return text.replace("{language}", self._language)

    def _filled_in(self, value: object) -> object:
        match value:
            case str():
                return self._filled(value)
            case dict():
                return {name: self._filled_in(inner) for name, inner in value.items()}
            case list():
                return [self._filled_in(inner) for inner in value]
        return value


def _path(url: str) -> str:
    return "/" + url.partition("//")[2].partition("/")[2].partition("?")[0]
