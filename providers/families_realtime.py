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
from urllib.parse import parse_qsl, urlsplit

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
    """In the address; ``{language}`` stands for the language, without its region."""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Authorization": "Bearer {key}"})
    """``{key}`` stands for the key; without a key no header that names it is sent."""
    session: Mapping[str, object] | None = None
    """What ``session.update`` sets, ``{language}`` filled in; None: it is not sent."""
    model: str = ""
    """What ``{model}`` stands for, unless the address says ``model=…`` itself."""
    delta_is_all: bool = False
    """A delta repeats all of the item so far, and is its text where ``completed`` is empty."""
    event_ids: bool = False
    """Each of our messages must have a name of its own, ``event_id``."""
    finish: Mapping[str, object] | None = None
    """The message that announces the end; None: the connection is closed without a word."""
    not_enough: tuple[str, ...] = ("input_audio_buffer_commit_empty",)
    """The codes of an error that only says: there was too little to make an item of."""


class Realtime(JsonCodec):
    """One stream to a member of the family."""

    def __init__(self, options: Options, *, dialect: Dialect) -> None:
        self.facts = dialect.facts
        self._dialect = dialect
        language = options.language.partition("-")[0]  # no member knows regions
        self._words = {"{language}": language, "{model}": dialect.model}
        self._url = address(
            options.url or dialect.url,
            {name: self._filled(value) for name, value in dialect.settings.items()},
            path=_path(dialect.url),
            who=dialect.url.partition("//")[2].partition("/")[0],
        )
        named = dict(parse_qsl(urlsplit(self._url).query)).get("model")
        self.model = self._words["{model}"] = named or dialect.model
        self.items = Segments()
        self._ours: set[str] = set()
        self._owed = 0
        self._say: list[Message] = []
        self._said = 0

    def open(self, key: str) -> OpenRequest:
        headers = {
            name: value.replace("{key}", key)
            for name, value in self._dialect.headers.items()
            if key or "{key}" not in value
        }
        return OpenRequest(self._url, headers)

    def audio(self, frame: Frame) -> Message:
        name = f'"event_id":"{self._event_id()}",' if self._dialect.event_ids else ""
        return f'{{{name}"type":"{BUFFER}append","audio":"{base64_of(frame.pcm)}"}}'

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Make an item, now, of whatever was heard up to here."""
        self._owed += 1
        return (self.message({"type": f"{BUFFER}commit"}),)

    def finish(self) -> Iterable[Message]:
        return () if self._dialect.finish is None else (self.message(self._dialect.finish),)

    def replies(self) -> Iterable[Message]:
        said, self._say = self._say, []
        return said

    def reply(self, said: Mapping[str, object]) -> None:
        """Say this at once, behind the message that is being read."""
        self._say.append(self.message(said))

    def message(self, said: Mapping[str, object]) -> str:
        """One of our messages, with its name where it must have one."""
        named = {"event_id": self._event_id()} if self._dialect.event_ids else {}
        return compact({**named, **said})

    def _event_id(self) -> str:
        self._said += 1
        return f"event_{self._said}"

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
        self.reply({"type": "session.update", "session": session})
        yield Notice(at_ns, "session.created")

    def _transcribed(self, name: str, rest: dict[str, object], at_ns: int) -> Iterator[Event]:
        item = rest.get("item_id")
        item = item if isinstance(item, str) else ""  # some members name no items
        match name, rest:
            case "delta", {"delta": str(piece)} | {"transcript": str(piece)}:
                if self._dialect.delta_is_all:
                    self.items.take(item)
                text = self.items.add(piece, item)
                if text:
                    yield Transcript(at_ns, text, final=False, segment=item or None)
            case "text", {"text": str(sure), "stash": str(tentative)}:
                if sure or tentative:
                    yield Transcript(at_ns, sure + tentative, False, segment=item or None)
            case "completed", {"transcript": str(text)}:
                shown = self.items.take(item)
                text = text or (shown if self._dialect.delta_is_all else "")
                yield Transcript(at_ns, text, True, self._answers(item), segment=item or None)
            case "failed", {"error": error}:
                yield from self._refused(error, at_ns)
            case (("delta" | "text" | "completed" | "failed"), _):
                raise no_sense(f"a message {name} that is not complete")
            case _:
                yield Unread(at_ns, ITEM + name)

    def _answers(self, item: str) -> bool:
        """The item was made by our commit; where it has no name, the next one after it is."""
        if item:
            return item in self._ours
        owed, self._owed = self._owed, max(0, self._owed - 1)
        return owed > 0

    def _refused(self, error: object, at_ns: int) -> Iterator[Event]:
        said = error if isinstance(error, dict) else {"message": error}
        codes = [
            str(said[name]) for name in ("code", "type") if isinstance(said.get(name), str | int)
        ]
        known = [code for code in codes if code in self.facts.errors.names]
        if any(code in self._dialect.not_enough for code in codes):
            self._owed = max(0, self._owed - 1)
            yield ForceRejected(at_ns, codes[0])
            return
        code = next(iter(known or codes), None)
        raise self.facts.errors.error(code, said.get("message"))

    def _filled(self, text: str) -> str:
        for word, meant in self._words.items():
            text = text.replace(word, meant)
        return text

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
