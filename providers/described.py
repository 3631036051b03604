"""A provider that its user has described, without code: JSON messages over one websocket.

    we:    hello    audio audio force audio            finish
    they:       ready     transcript  transcript, ack        done

What each message holds is said by paths: ``channel.alternatives.0.text`` goes into objects by name
and into lists by number. docs/add-a-provider.md shows how a description is written.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import parse_qsl, quote, urlsplit

from measure.events import (
    Event,
    ForceAcknowledged,
    Notice,
    StreamDone,
    StreamReady,
    Transcript,
    Unread,
)
from measure.records import FinalRule, Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    ErrorMap,
    Facts,
    ForceContext,
    Message,
    Model,
    OpenRequest,
    Options,
    TextMode,
)
from providers.families import JsonCodec, Segments, address, base64_of, compact, no_sense

QUOTED_KEY = "%7Bkey%7D"
"""``{key}`` as it stands in an address."""
Said = str | Mapping[str, object]
"""A message of ours: plain text, or what becomes JSON."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of message is told: it has these values at these paths."""

    when: Mapping[str, object]

    def is_it(self, said: object) -> bool:
        """``said`` is such a message."""
        return all(
            at(said, path) == value and type(at(said, path)) is type(value)
            for path, value in self.when.items()
        )


@dataclass(frozen=True, slots=True)
class Words:
    """Where a transcript says what."""

    kind: Kind
    text: str
    final: str | None = None
    """The path of true or false; None: by ``final_kind``."""
    final_kind: Kind | None = None
    """A message that is a final; where neither is given, all are."""
    segment: str | None = None
    forced: str | None = None
    """The path of true, where a final answers a force."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How an error is told, and where it says which."""

    kind: Kind
    code: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """All that is said of one provider."""

    name: str
    title: str
    url: str = field(repr=False)
    words: Words
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """``{key}`` stands for the key, here and in the address."""
    key_variable: str | None = None
    audio: AudioFormat = field(default_factory=AudioFormat)
    audio_key: str | None = None
    """Audio goes as base64 under this name in ``audio_message``; None: as it is, in bytes."""
    audio_message: Mapping[str, object] = field(default_factory=dict)
    hello: tuple[Said, ...] = ()
    force: tuple[Said, ...] = ()
    finish: tuple[Said, ...] = ()
    keepalive: tuple[Said, ...] = ()
    keepalive_s: float | None = None
    ready: Kind | None = None
    ack: Kind | None = None
    done: Kind | None = None
    failure: Failure | None = None
    notices: tuple[Kind, ...] = ()
    text_mode: TextMode = TextMode.CUMULATIVE
    joiner: str = " "
    silence_after_force: bool = True
    errors: ErrorMap = field(default_factory=ErrorMap)

    @property
    def facts(self) -> Facts:
        """What follows from it."""
        return Facts(
            rule=Rule(Flow.FORCED if self.force else Flow.FALLBACK, self._rule, self.joiner),
            audio=self.audio,
            key_variable=self.key_variable,
            greets=self.ready is not None,
            silence_after_force=self.silence_after_force,
            keepalive_s=self.keepalive_s,
            natural_endpointing="as its own settings have it",
            text_mode=self.text_mode,
            ending=self._ending,
            errors=self.errors,
            why="as its description says",
        )

    @property
    def _rule(self) -> FinalRule:
        if not self.force:
            return FinalRule.NONE
        if self.words.forced is not None:
            return FinalRule.MARKER
        return FinalRule.NEXT if self.ack is None else FinalRule.ACK

    @property
    def _ending(self) -> Ending:
        if not self.finish:
            return Ending.HANG_UP
        return Ending.CLOSED if self.done is None else Ending.SAID


class Described(JsonCodec):
    """One stream to a provider as it is described."""

    def __init__(self, options: Options, *, description: Description) -> None:
        self.facts = description.facts
        self._description = description
        self._fills = {
            "{language}": options.language,
            "{rate}": str(description.audio.rate_hz),
        }
        own = self._filled(description.url)
        self._url = address(
            options.url or own,
            _settings(own) if options.url else (),
            path=urlsplit(own).path,
            who=description.name,
        )
        self._segments = Segments()

    def open(self, key: str) -> OpenRequest:
        headers = {
            name: self._filled(value).replace("{key}", key)
            for name, value in self._description.headers.items()
        }
        return OpenRequest(self._url.replace(QUOTED_KEY, quote(key, safe="")), headers)

    def hello(self) -> Iterable[Message]:
        return self._messages(self._description.hello)

    def audio(self, frame: Frame) -> Message:
        name = self._description.audio_key
        if name is None:
            return frame.pcm
        return compact({**self._description.audio_message, name: base64_of(frame.pcm)})

    def force(self, context: ForceContext) -> Iterable[Message]:
        return self._messages(self._description.force)

    def keepalive(self) -> Iterable[Message]:
        return self._messages(self._description.keepalive)

    def finish(self) -> Iterable[Message]:
        return self._messages(self._description.finish)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        known = list(self._known(said, at_ns))
        yield from known
        if known:
            return
        if any(kind.is_it(said) for kind in self._description.notices):
            yield Notice(at_ns, "as described")
        else:
            name = next((said[one] for one in ("type", "event", "message_type") if one in said), "")
            yield Unread(at_ns, name if isinstance(name, str) else "")

    def _known(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        """All that it says; one message may be several things at once."""
        shape = self._description
        if shape.failure is not None and shape.failure.kind.is_it(said):
            code = at(said, shape.failure.code) if shape.failure.code else None
            text = at(said, shape.failure.text) if shape.failure.text else ""
            raise shape.errors.error(code if isinstance(code, str | int) else None, text)
        if shape.ready is not None and shape.ready.is_it(said):
            yield StreamReady(at_ns)
        if shape.words.kind.is_it(said):
            yield from self._transcript(said, at_ns)
        if shape.ack is not None and shape.ack.is_it(said):
            yield ForceAcknowledged(at_ns)
        if shape.done is not None and shape.done.is_it(said):
            yield StreamDone(at_ns)

    def _transcript(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        words = self._description.words
        text, final = at(said, words.text), self._is_final(said)
        if not isinstance(text, str) or final is None:
            raise no_sense("a transcript without its text, or without saying if it is final")
        name = at(said, words.segment) if words.segment else None
        segment = None if name is None else str(name)[:100]
        if self._description.text_mode is TextMode.DELTA and not final:
            text = self._segments.add(text, segment or "")
        if final:
            self._segments.take(segment or "")
        forced = None if words.forced is None else at(said, words.forced) is True
        if final or text:
            yield Transcript(at_ns, text, final, forced if final else None, segment)
        else:
            yield Notice(at_ns, "no words yet")

    def _is_final(self, said: dict[str, object]) -> bool | None:
        words = self._description.words
        if words.final is not None:
            final = at(said, words.final)
            return final if isinstance(final, bool) else None
        return words.final_kind is None or words.final_kind.is_it(said)

    def _messages(self, shapes: Iterable[Said]) -> tuple[Message, ...]:
        return tuple(
            self._filled(one) if isinstance(one, str) else self._filled(compact(one))
            for one in shapes
        )

    def _filled(self, text: str) -> str:
        for mark, value in self._fills.items():
            text = text.replace(mark, value)
        return text


def at(said: object, path: str) -> object:
    """What is at ``path``; None where there is nothing."""
    for step in path.split("."):
        match said:
            case dict() if step in said:
                said = said[step]
            case list() if step.isdecimal() and step.isascii() and int(step[:9]) < len(said):
                said = said[int(step[:9])]
            case _:
                return None
    return said


def _settings(url: str) -> list[tuple[str, str]]:
    """The settings in the described address, for another address of the same provider."""
    return parse_qsl(urlsplit(url).query, keep_blank_values=True)


def model_of(description: Description) -> Model:
    """The line of the catalogue that it makes."""
    return Model(partial(Described, description=description), description.title)
